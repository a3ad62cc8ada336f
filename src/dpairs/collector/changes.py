"""What the writer commits: changes, the handlers that apply them, and what comes of each."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import Connection

from ..errors import DpairsError

log = structlog.get_logger()
Handler = Callable[[Connection, Sequence[Any]], list[Any]]
"""Applies changes of one kind, in order, and says what came of each: a result, or a `DpairsError`.

It may raise a `DpairsError` when it is given one change. What follows from a commit, such as counting, it
returns in an `OnCommit`: a handler itself changes nothing but the database.
"""
AtOnce = Callable[[Connection, Sequence[int], Sequence[Any]], list[Any] | None]
"""A handler whose change is one statement that also renews the lease; None if that is lost."""
Row = tuple[int | None, ...]
Work = tuple[Handler, Any, "asyncio.Future[Any]"]
Reading = Callable[[int, Callable[[], list[Row]]], list[Any] | None]
"""What came of each change by an answer, its number of rows and the rows; None if the lease is lost.

Of a change that has None for its outcome, a handler has to find it out.
"""


@dataclass(frozen=True)
class Statement:
    """A handler's change as one statement that also renews the lease, with ``{}`` for each parameter."""

    handler: Handler
    text: str
    begin: Callable[[Sequence[Any]], tuple[list[str], Reading]]
    """The parameters for these changes, after those of the renewal; and how to read the answer."""


class OnCommit:
    """A result, and what is to be done once it is on the disk, by whoever has the writer's turn."""

    def __init__(self, result: Any, then: Callable[[], None]) -> None:
        self.result, self.then = result, then


def counted(outcomes: Iterable[Any]) -> bool:
    """Do what follows a commit. Where it fails, what is in memory cannot be trusted."""
    try:
        for outcome in outcomes:
            if isinstance(outcome, OnCommit):
                outcome.then()
    except Exception:
        log.exception("what was committed could not be counted: it is read again")
        return False
    return True


def one_by_one(
    connection: Connection, items: Sequence[Any], one: Callable[[Connection, Any], Any]
) -> list[Any]:
    """What comes of each item, in order: a refusal of one keeps no other from being done."""
    outcomes: list[Any] = []
    for item in items:
        try:
            outcomes.append(one(connection, item))
        except DpairsError as error:
            outcomes.append(error)
    return outcomes


def tell(settled: Iterable[tuple[asyncio.Future[Any], Any]]) -> None:
    """Tell those who wait, from another thread, what came of their changes."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for future, outcome in settled:
        by_loop.setdefault(future.get_loop(), []).append((future, outcome))
    for loop, outcomes in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed; nobody waits there
            loop.call_soon_threadsafe(settle, outcomes)


def settle(settled: Iterable[tuple[asyncio.Future[Any], Any]]) -> None:
    """The same, from their own loop."""
    for future, outcome in settled:
        if future.done():  # the request went away
            continue
        result = outcome.result if isinstance(outcome, OnCommit) else outcome
        if isinstance(result, DpairsError):
            future.set_exception(result)
        else:
            future.set_result(result)
