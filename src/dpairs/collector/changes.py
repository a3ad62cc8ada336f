"""What the writer commits: changes, the handlers that apply them, and what comes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection

from ..errors import DpairsError

Handler = Callable[[Connection, Sequence[Any]], list[Any]]
"""Applies changes of one kind, in order, and says what came of each: a result, or a `DpairsError`.

It may raise a `DpairsError` when it is given one change. What follows from a commit, such as counting, it
returns in an `OnCommit`: a handler itself changes nothing but the database.
"""
AtOnce = Callable[[Connection, Sequence[int], Sequence[Any]], list[Any] | None]
"""A handler whose change is one statement that also renews the lease; None if that is lost."""


class OnCommit:
    """A result, and what is to be done once it is on the disk, in the writer's thread."""

    def __init__(self, result: Any, then: Callable[[], None]) -> None:
        self.result, self.then = result, then


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
