"""What every maker of vectors uses: a study, the operations on it, and people derived from a name."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Iterable
from typing import Any

from dpairs import BadFile, DpairsError, Integers, NotEstimable, Participant, Report, Study, Tally
from dpairs.formats.canonical import canonical, digest
from dpairs.randomness import TapeRandomness

PEOPLE = 40
DIGITS = 13
"""Estimates are written to so many digits: the last ones depend on the processor."""
FILES: dict[str, Callable[[], Vector]] = {}
"""What makes each file, by its name."""

Values = dict[str, Any]
Person = tuple[str, Values]
"""Stratum and values."""


def file(make: Callable[[], Vector]) -> Callable[[], Vector]:
    """Register what makes a file: `bad_study` of the module `tree_bad` makes `tree_bad_study.json`."""
    protocol = make.__module__.rsplit(".", 1)[-1].split("_")[0]
    FILES[f"{protocol}_{make.__name__}"] = make
    return make


def stream(name: str, count: int) -> bytes:
    """Bytes that look random and are the same everywhere."""
    return hashlib.shake_128(name.encode()).digest(count)


def tape_of(words: Iterable[int]) -> str:
    return b"".join(word.to_bytes(8, "little") for word in words).hex()


class Vector:
    """A study and the operations on it, run as they are written down."""

    def __init__(self, study: Study) -> None:
        self.first = study
        self.study = study
        self.tally = Tally(study)
        self.operations: list[dict[str, Any]] = []

    def good(self, operation: str, **fields: Any) -> None:
        self.operations.append({"operation": operation, "success": True, **fields})

    def bad(
        self, operation: str, error: type[DpairsError], why: str, act: Callable[[], Any], **fields: Any
    ) -> None:
        """An operation that must fail, and does."""
        try:
            act()
        except error as raised:
            if type(raised) is not error:
                raise
        else:
            raise AssertionError(f"{why}: accepted")
        self.operations.append(
            {"operation": operation, "success": False, "error": error.__name__, "comment": why, **fields}
        )

    def refuse_study(self, why: str, text: str) -> None:
        assert text != self.study.to_json()
        self.bad("load_study", BadFile, why, lambda: Study.from_json(text), text=text)

    def refuse_report(self, error: type[DpairsError], why: str, wire: bytes) -> None:
        self.bad("read_report", error, why, lambda: Report.from_bytes(wire, self.study), wire=wire.hex())

    def refuse_tally(self, error: type[DpairsError], why: str, text: str) -> None:
        self.bad("load_tally", error, why, lambda: Tally.from_json(text, self.study), text=text)

    def refuse_person(
        self, error: type[DpairsError], why: str, index: int, person: Person, tape: bytes
    ) -> None:
        stratum, values = person

        def act() -> None:
            Participant(self.study, index, stratum, bits=TapeRandomness(tape)).report(**values)

        given = {"index": str(index), "stratum": stratum, "values": written(self.study, values)}
        self.bad("report", error, why, act, **given, tape=tape.hex())

    def count(self) -> None:
        """The tally of all reports above."""
        self.good("tally", tally=self.tally.to_json())

    def answer(self) -> None:
        """The tally of all reports above and its estimate, if so few people allow one."""
        self.count()
        try:
            estimate = self.tally.estimate(self.study.protocol.estimators[0])
        except NotEstimable:
            return
        self.good(
            "estimate",
            value=rounded(estimate.value),
            standard_error=_known(estimate.standard_error),
            sample_standard_error=_known(estimate.sample_standard_error),
        )

    def text(self) -> str:
        content = {
            "study": self.first.to_json(),
            "study_id": self.first.id,
            "operations": self.operations,
        }
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _known(error: float) -> float | None:
    """JSON has no infinity: null where nothing is known of a value."""
    return rounded(error) if math.isfinite(error) else None


def written(study: Study, values: dict[str, Any]) -> dict[str, Any]:
    """Values as JSON: whole numbers of an `integers` domain have up to 64 bits, so they are strings."""
    whole = {
        name
        for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True)
        if isinstance(domain, Integers)
    }
    return {name: str(value) if name in whole else value for name, value in values.items()}


def rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def signed(content: dict[str, Any]) -> str:
    """A study's text whose id does belong to its contents."""
    content = {name: value for name, value in content.items() if name != "id"}
    return canonical({**content, "id": digest(content)})


def forged(content: dict[str, Any], **changes: Any) -> str:
    """A study's text with other parameters of its protocol; `...` leaves one out."""
    protocol = {**content["protocol"], **changes}
    return signed({**content, "protocol": {name: each for name, each in protocol.items() if each is not ...}})


def numbers(name: str, *edges: float, count: int = PEOPLE) -> list[float]:
    """Numbers of [0, 1]: the edges, then any."""
    drawn = struct.unpack(f">{count}H", stream(name + " values", 2 * count))
    return [*edges, *(round(each / 65535, 4) for each in drawn)][:count]


def integers(name: str, *edges: int, count: int = PEOPLE) -> list[int]:
    """Numbers of 64 bits: the edges, then any."""
    return [*edges, *struct.unpack(f">{count}q", stream(name + " values", 8 * count))][:count]


def picks(name: str, values: list[Any], count: int = PEOPLE) -> list[Any]:
    return [values[byte % len(values)] for byte in stream(name + " values", count)]


def everybody(**columns: list[Any]) -> list[Person]:
    return [
        ("everybody", dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)
    ]


def in_classes(scores: list[Any]) -> list[Person]:
    return [(("positive", "negative")[place % 2], {"score": score}) for place, score in enumerate(scores)]
