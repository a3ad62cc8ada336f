"""The only writer: one thread that commits what many requests ask for in one transaction.

A request waits until its own change is on the disk. While a commit runs, others queue up and share the next
one, so durability costs one flush for all of them (group commit). Everything that decides over a change, such
as whether a round is open, is decided here, one after another, so there is nothing to race with.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from sqlalchemy import Connection, Engine

from ..errors import DpairsError, Unavailable

MOST = 4096
"""Changes in one transaction."""
Handler = Callable[[Connection, Sequence[Any]], list[Any]]
"""Applies changes of one kind, in order, and says what came of each: a result, or a `DpairsError`.

It may raise a `DpairsError` when it is given one change. What follows from a commit, such as counting, it
returns in an `OnCommit`: a handler itself changes nothing but the database.
"""
log = structlog.get_logger()


class OnCommit:
    """A result, and what is to be done once it is on the disk, in the writer's thread."""

    def __init__(self, result: Any, then: Callable[[], None]) -> None:
        self.result, self.then = result, then


class Writer:
    """A queue of changes and the thread that commits them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queue: queue.SimpleQueue[tuple[Handler, Any, asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()
        self.commits = 0

    async def do(self, handler: Handler, item: Any) -> Any:
        """Apply one change durably; its result, or its error."""
        future = asyncio.get_running_loop().create_future()
        self._queue.put((handler, item, future))
        return await future

    @property
    def waiting(self) -> int:
        """Changes that are not begun."""
        return self._queue.qsize()

    def close(self) -> None:
        """Commit what waits, and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            work = [self._queue.get()]
            while len(work) < MOST and not self._queue.empty():
                work.append(self._queue.get())
            going = None not in work
            kinds: dict[Handler, list[tuple[Any, asyncio.Future[Any]]]] = {}
            for each in work:
                if each is not None:
                    kinds.setdefault(each[0], []).append(each[1:])
            # A transaction for each kind of change, so that what one kind decides by is what was committed.
            for handler, changes in kinds.items():
                outcomes = self._commit(handler, [item for item, _ in changes])
                by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
                for (_, future), outcome in zip(changes, outcomes, strict=True):
                    by_loop.setdefault(future.get_loop(), []).append((future, outcome))
                for loop, settled in by_loop.items():
                    with contextlib.suppress(RuntimeError):  # the loop was closed; nobody waits there
                        loop.call_soon_threadsafe(_settle, settled)

    def _commit(self, handler: Handler, items: list[Any]) -> list[Any]:
        try:
            with self._engine.begin() as connection:
                outcomes = handler(connection, items)
            self.commits += 1
            for outcome in outcomes:
                if isinstance(outcome, OnCommit):
                    outcome.then()
            return outcomes
        except Exception as error:
            if len(items) > 1:  # one bad change must not spoil the others
                return [outcome for item in items for outcome in self._commit(handler, [item])]
            known = isinstance(error, DpairsError)
            if not known:
                log.error("commit failed", reason=type(error).__name__, change=type(items[0]).__name__)
            return [error if known else Unavailable("this could not be stored now; try again")]


def _settle(settled: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, outcome in settled:
        if future.done():  # the request went away
            continue
        result = outcome.result if isinstance(outcome, OnCommit) else outcome
        if isinstance(result, DpairsError):
            future.set_exception(result)
        else:
            future.set_result(result)
