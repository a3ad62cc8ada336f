"""Two people who compute together over a collector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dpairs.client import Device, Transport, join

from .people import pairwise
from .servers import STUDIES

ORDER = ("offer", "choice", "circuit", "table", "labels")


class Two:
    """A study of one pair, matched, with the devices of both."""

    def __init__(self, running: Any, folder: Path, people: int = 2, pairs: int = 1) -> None:
        self.study = pairwise(pairs=pairs)
        self.running, self.analyst = running, running.analyst()
        self.link = self.analyst.begin(self.study, "Two people")
        self.devices = [Device(folder / f"device{who}") for who in range(people)]
        self.values = [{"x": who % 4, "y": (3 * who + 1) % 4} for who in range(people)]
        self.line = running.transport()
        for who in range(people):
            assert self.go(who).state == "waiting"
        assert self.analyst.advance(self.study.id) == "pairing"
        sizes = {"everybody": people}
        self.pairs = self.study.protocol.match(self.study.coins, sizes)  # type: ignore[attr-defined]
        self.number = int(self.pairs.numbers[0])
        index = {self.data(who)["index"]: who for who in range(people)}
        self.garbler, self.evaluator = (
            index[int(self.pairs.garblers[0])],
            index[int(self.pairs.evaluators[0])],
        )

    def go(self, who: int, line: Transport | None = None) -> Any:
        return join(self.link, self.values[who], device=self.devices[who], transport=line or self.line)

    def data(self, who: int) -> dict[str, Any]:
        """What a device has written down."""
        return json.loads((self.devices[who].home / f"{self.study.id}.json").read_text())

    def secret(self, who: int) -> str:
        return str(self.data(who)["secret"])

    def path(self, kind: str, number: int | None = None) -> str:
        return f"{STUDIES}/{self.study.id}/pairs/{self.number if number is None else number}/{kind}"

    def finish(self) -> None:
        for _ in range(3):
            for who in (self.garbler, self.evaluator):
                self.go(who)
