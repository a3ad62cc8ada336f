"""What must not happen twice, in a file beside the keys: a database that is set back must not repeat it.

A result leaves a server only after its task stands here, an answer of the transfers only after its secret
does. So a server whose database was brought back from an older copy knows what is out, and refuses to draw
noise a second time, or to answer a second reply with one secret. Servers that share their keys share this
file too: it is read again before each use.
"""

from __future__ import annotations

import threading
from pathlib import Path

from ..errors import BadFile, Refused
from ..formats import files

WHAT = "the list of released tasks"


class Releases:
    """The ids of released tasks; without a file, for as long as the process lives."""

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._lock = path, threading.Lock()
        self._known: dict[bytes, bytes] = {}
        if path is not None:
            self._known = self._read(path)

    def __repr__(self) -> str:
        return f"Releases({len(self._known)})"

    def check(self, task: bytes) -> None:
        """Refuse a task that was released, of which the database knows nothing."""
        with self._lock:
            if self._path is not None:
                self._known |= self._read(self._path)
            if task in self._known:
                raise Refused(
                    "this task was released before: the database is older than its result, and was set back",
                    "batchOverlap",
                )

    def add(self, task: bytes) -> None:
        """Write a task down, once its result is in the database and before it leaves."""
        self._write(task, b"")

    def once(self, secret: bytes, said: bytes) -> None:
        """Write down what a secret (named by its hash) is used for; refuse any other use of it."""
        if self._write(secret, said) != said:
            raise Refused(
                "another reply was answered before: the database is older than the answer, and was set back",
                "stepMismatch",
            )

    def _write(self, name: bytes, value: bytes) -> bytes:
        """Write a line, unless its name is there; the value that now stands there."""
        with self._lock:
            if self._path is None or name in self._known:
                return self._known.setdefault(name, value)
            with files.locked(self._path, WHAT):
                known = self._known | self._read(self._path)
                if name not in known:
                    known[name] = value
                    lines = (f"{key.hex()} {found.hex()}".rstrip() for key, found in sorted(known.items()))
                    content = "".join(f"{line}\n" for line in lines)
                    files.write(self._path, content.encode(), WHAT, private=True)
            self._known = known
            return known[name]

    @staticmethod
    def _read(path: Path) -> dict[bytes, bytes]:
        if not path.exists():
            return {}
        try:
            lines = files.read(path, WHAT).decode("ascii", "replace").splitlines()
            pairs = [line.partition(" ") for line in lines]
            return {bytes.fromhex(key): bytes.fromhex(value) for key, _, value in pairs}
        except ValueError:
            raise BadFile(f"{WHAT} {path} has lines that are not ids") from None
