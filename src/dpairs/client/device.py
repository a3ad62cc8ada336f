"""What a person's device keeps: who it is in each study, what it has sent, and the person's ledger.

Everything is written down before it leaves, so a device that crashes continues where it was: it sends the
same report again, never another one. Only the owner can read the files. One process at a time acts for a
person in a study.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from ..errors import BadFile
from ..formats import files
from ..formats.canonical import canonical, parse
from ..privacy.ledger import LIMIT, Ledger
from ..randomness import secret_bytes
from ..study import Study

FORMAT = "dpairs-device"
HOME = "DPAIRS_HOME"
LEDGER = "ledger.json"
"""The person's ledger: `dpairs ledger show` reads it."""
KINDS = {"request": str, "keys": dict, "index": int, "stratum": str, "secret": str, "counted": bool}
KINDS |= {
    "collector": str,
    "answer": str,
    "report": dict,
    "sealed": dict,
    "coded": list,
    "people": dict,
    "pairs": dict,
}
KINDS |= {"site": str, "answers": dict, "delivered": list}
"""What a device may have written down about its part in a study."""


def default_home() -> Path:
    """Where a person's files are by default: where the system keeps a program's data."""
    given = os.environ.get(HOME)
    return Path(given) if given else user_data_path("dpairs", appauthor=False)


class Device:
    """A person's folder: which studies they are in, and what they answered, so that nobody answers twice."""

    def __init__(self, home: str | os.PathLike[str] | None = None) -> None:
        self.home = default_home() if home is None else Path(home)
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise BadFile(f"the folder {self.home} cannot be used: {error.strerror or error}") from None

    def __repr__(self) -> str:
        return f"Device({str(self.home)!r})"

    @contextlib.contextmanager
    def study(self, study: str) -> Iterator[Membership]:
        """What the device knows of its part in a study, for one process at a time."""
        path = self.home / f"{study}.json"
        busy = "another process takes part in this study for this person"
        with files.locked(path, "the device's file", busy=busy):
            files.sweep(path)
            yield Membership(path, study)

    def forget(self, study: str) -> None:
        """Delete all that the device knows of a study, its keys included; the ledger keeps what was spent.

        A person who takes part in the study again afterwards gives a second answer.
        """
        busy = "a process takes part in this study"
        with files.locked(self.home / f"{study}.json", "the device's file", busy=busy):
            for path in self.home.glob(f"{study}.*"):
                if path.suffix != ".lock":
                    path.unlink(missing_ok=True)
            files.flush_folder(self.home)

    def check(self, study: Study, limit: float | None = None, delta: float | None = None) -> None:
        """Refuse a study that exceeds the person's limit, before anything is asked."""
        self._ledger(limit, delta).check(study)

    def spend(
        self, study: Study, answer: str, limit: float | None = None, delta: float | None = None
    ) -> None:
        """Write an answer into the person's ledger, once; refuse one that exceeds the person's limit."""
        path = self.home / LEDGER
        with files.locked(path, "the ledger"):
            ledger = self._ledger(limit, delta)
            ledger.spend(study, answer)
            ledger.save(path)

    def _ledger(self, limit: float | None, delta: float | None) -> Ledger:
        """The person's ledger, with another limit if one is given; begun with the default one."""
        path = self.home / LEDGER
        ledger = Ledger.load(path) if path.exists() else Ledger(LIMIT)
        return Ledger(
            ledger.limit if limit is None else limit, ledger.delta if delta is None else delta, ledger.spent
        )


class Membership:
    """A device's part in one study; `save` after every change."""

    def __init__(self, path: Path | None, study: str) -> None:
        self._path = path
        self.data: dict[str, Any] = {"format": FORMAT, "study": study}
        if path is not None and path.exists():
            saved = parse(files.read(path, "the device's file"), "the device's file")
            kept = all(type(saved[name]) is kind for name, kind in KINDS.items() if name in saved)
            whole = "secret" not in saved or "site" in saved or {"index", "stratum"} <= saved.keys()
            if saved.get("format") != FORMAT or saved.get("study") != study or not (kept and whole):
                raise BadFile(f"{path} is not what this device wrote about this study")
            self.data = saved

    def __repr__(self) -> str:
        return f"Membership({self.data['study'][:16]!r})"

    def _random(self, name: str) -> str:
        if name not in self.data:
            self.data[name] = secret_bytes(16).hex()
            self.save()
        return str(self.data[name])

    @property
    def request(self) -> str:
        """The random name of this device's enrolment; made once, and written down before it is used."""
        return self._random("request")

    @property
    def answer(self) -> str:
        """The random name of this device's answer, for the ledger; made once."""
        return self._random("answer")

    @property
    def began(self) -> bool:
        """Whether anything was made of the person's value: a report, or what goes into a circuit."""
        return any(name in self.data for name in ("report", "sealed", "pairs"))

    def key(self, name: str) -> bytes:
        """A secret key of that name; made once."""
        keys = self.data.setdefault("keys", {})
        if name not in keys:
            keys[name] = secret_bytes().hex()
            self.save()
        return bytes.fromhex(keys[name])

    def erase(self, *names: str) -> None:
        """Forget keys of these names, without saving."""
        for name in names:
            self.data.get("keys", {}).pop(name, None)

    def save(self) -> None:
        """Write everything down, for the owner only."""
        if self._path is not None:
            files.write(self._path, canonical(self.data).encode() + b"\n", "the device's file", private=True)
