"""How far a run has come, told as numbers of rows that add up to all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PERIOD = 0.1
"""Seconds between two looks at a query."""
Tell = Callable[[float], None]
"""Takes the part of a stage that is done, from 0 to 1."""


class Meter:
    """Turns parts of stages into rows; without anybody to tell, it does nothing."""

    def __init__(self, progress: Callable[[int], None] | None, rows: int) -> None:
        self._progress = progress
        self._rows = rows
        self._told = 0

    def stage(self, start: float, end: float) -> Tell:
        """What a stage calls that goes from one part of the whole to another."""
        return lambda part: self._to(start + (end - start) * part)

    def rows(self, start: float, end: float, share: float) -> Callable[[int], None]:
        """What a stage calls with numbers of rows, which are about ``share`` of all rows together."""
        tell, seen = self.stage(start, end), 0

        def advance(rows: int) -> None:
            nonlocal seen
            seen += rows
            tell(min(1.0, seen / max(1.0, share * self._rows)))

        return advance

    def _to(self, part: float) -> None:
        rows = round(min(max(part, 0.0), 1.0) * self._rows)
        # A run that is repeated without a damaged file begins again; what was told stays told.
        if self._progress is not None and rows > self._told:
            self._progress(rows - self._told)
            self._told = rows


@contextmanager
def watched(connection: Any, tell: Tell) -> Iterator[None]:
    """Tell how far DuckDB has come with a query that runs meanwhile."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(PERIOD):
            tell(max(0.0, connection.query_progress()) / 100)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    tell(1.0)
