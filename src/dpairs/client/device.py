"""What a person's device keeps: who it is in each study, what it has sent, and the person's ledger.

Everything is written down before it leaves, so that a device that crashes goes on where it was: the same
report again, never another one. Files are the owner's only. Only one process at a time acts for a person in
a study.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadFile, Conflict
from ..formats import files
from ..formats.canonical import canonical, parse
from ..privacy.ledger import Ledger
from ..randomness import secret_bytes
from ..study import Study

FORMAT = "dpairs-device"
HOME = "DPAIRS_HOME"
LEDGER = "ledger.json"
"""The person's ledger: `dpairs ledger show` reads it."""
KINDS = {"request": str, "keys": dict, "index": int, "stratum": str, "secret": str, "counted": bool}
KINDS |= {"report": dict, "coded": list, "pairs": dict}
"""What a device may have written down about its part in a study."""


def default_home() -> Path:
    """Where a person's files are, unless said otherwise."""
    given = os.environ.get(HOME)
    return Path(given) if given else Path.home() / ".dpairs"


class Device:
    """A folder of a person's."""

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
        with self._locked(f"{study[:32]}.lock", "another process takes part in this study for this person"):
            yield Membership(self.home / f"{study}.json", study)

    def check(self, study: Study, limit: float | None) -> None:
        """Refuse a study that exceeds the person's limit, before anybody is asked for anything."""
        ledger = self._ledger(limit)
        if ledger is not None and study.first_id not in ledger.spent:
            ledger.check(study)

    def spend(self, study: Study, limit: float | None) -> None:
        """Write a study into the person's ledger, once; refuse one that exceeds the person's limit."""
        path = self.home / LEDGER
        with files.locked(path, "the ledger"):
            ledger = self._ledger(limit)
            if ledger is not None:
                if study.first_id not in ledger.spent:
                    ledger.spend(study)
                ledger.save(path)

    def _ledger(self, limit: float | None) -> Ledger | None:
        path = self.home / LEDGER
        if not path.exists():
            return None if limit is None else Ledger(limit)
        ledger = Ledger.load(path)
        return ledger if limit is None else Ledger(limit, ledger.delta, ledger.spent)

    @contextlib.contextmanager
    def _locked(self, name: str, busy: str) -> Iterator[None]:
        try:
            file = (self.home / name).open("ab")
        except OSError as error:
            raise BadFile(f"the folder {self.home} cannot be used: {error.strerror or error}") from None
        with file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # elsewhere a person has to start one process at a time
                pass
            except BlockingIOError:
                raise Conflict(f"{busy}; wait until it is done") from None
            yield


class Membership:
    """A device's part in one study; `save` after every change."""

    def __init__(self, path: Path | None, study: str) -> None:
        self._path = path
        self.data: dict[str, Any] = {"format": FORMAT, "study": study}
        if path is not None and path.exists():
            found = parse(files.read(path, "the device's file"), "the device's file")
            kept = all(type(found[name]) is kind for name, kind in KINDS.items() if name in found)
            whole = "secret" not in found or {"index", "stratum"} <= found.keys()
            if found.get("format") != FORMAT or found.get("study") != study or not (kept and whole):
                raise BadFile(f"{path} is not what this device wrote about this study")
            self.data = found

    def __repr__(self) -> str:
        return f"Membership({self.data['study'][:16]!r})"

    @property
    def request(self) -> str:
        """The random name of this device's enrolment; made once, and written down before it is used."""
        if "request" not in self.data:
            self.data["request"] = secret_bytes(16).hex()
            self.save()
        return str(self.data["request"])

    def key(self, name: str) -> bytes:
        """A secret key of that name; made once."""
        keys = self.data.setdefault("keys", {})
        if name not in keys:
            keys[name] = secret_bytes().hex()
            self.save()
        return bytes.fromhex(keys[name])

    def save(self) -> None:
        """Write everything down, for the owner only."""
        if self._path is None:
            return
        previous = os.umask(0o077)
        try:
            files.write(self._path, canonical(self.data).encode() + b"\n", "the device's file")
        finally:
            os.umask(previous)
