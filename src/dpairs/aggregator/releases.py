"""Which tasks were released, in a file beside the keys: a database that is set back must not release again.

A result leaves a server only after its task stands here. So a server whose database was brought back from an
older copy knows that the result is out, and refuses to draw noise a second time.
"""

from __future__ import annotations

import threading
from pathlib import Path

from ..errors import BadFile, Refused
from ..formats import files


class Releases:
    """The ids of released tasks; without a file, for as long as the process lives."""

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._lock = path, threading.Lock()
        self._known: set[bytes] = set()
        if path is not None and path.exists():
            lines = files.read(path, "the list of released tasks").decode("ascii", "replace").split()
            try:
                self._known = {bytes.fromhex(line) for line in lines}
            except ValueError:
                raise BadFile(f"the list of released tasks {path} has lines that are no ids") from None

    def __repr__(self) -> str:
        return f"Releases({len(self._known)})"

    def check(self, task: bytes) -> None:
        """Refuse a task that was released, of which the database knows nothing."""
        if task in self._known:
            raise Refused(
                "this task was released before: the database is older than its result, and was set back",
                "batchOverlap",
            )

    def add(self, task: bytes) -> None:
        """Write a task down, once its result is in the database and before it leaves."""
        with self._lock:
            if task in self._known:
                return
            known = {*self._known, task}
            if self._path is not None:
                content = "".join(f"{each.hex()}\n" for each in sorted(known))
                files.write(self._path, content.encode(), "the list of released tasks", private=True)
            self._known = known
