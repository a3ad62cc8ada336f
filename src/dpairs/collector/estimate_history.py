"""The estimate over time: a point whenever the reports have grown by some per cent."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection, func, insert, select

from ..errors import DpairsError
from . import schema
from .live_study import Round

STEP = 1.05
"""A point for every 5% more reports: some 280 points from 1 report to a million."""


@dataclass(frozen=True)
class Point:
    """The estimate at so many reports; without a value where there was none yet."""

    serial: int
    reports: int
    at: int
    value: float | None
    standard_error: float | None
    rows: ClassVar[int] = 1
    retired: ClassVar[bool] = False


def due(asked: Round) -> bool:
    """Whether a point is wanted after the last one's number of reports."""
    return sum(asked.reports) >= max(asked.charted * STEP, asked.charted + 1)


def measure(asked: Round) -> Point:
    value = error = None
    reports = sum(asked.reports)
    try:
        estimate = asked.estimate()
        value, error = estimate.value, estimate.standard_error
    except DpairsError:
        pass
    return Point(asked.serial, reports, int(time.time()), value, error)


def keep(connection: Connection, points: Sequence[Point]) -> list[Any]:
    outcomes: list[Any] = []
    for point in points:
        table = schema.growth
        last = connection.scalar(select(func.max(table.c.reports)).where(table.c.round == point.serial))
        rounds = schema.rounds.c.serial
        there = connection.scalar(select(rounds).where(rounds == point.serial)) is not None
        if there and (last is None or point.reports > last):
            row: dict[str, Any] = {"round": point.serial, "reports": point.reports, "at": point.at}
            row |= {"value": point.value, "standard_error": point.standard_error}
            connection.execute(insert(table), row)
        outcomes.append(None)
    return outcomes


def points(connection: Connection, serial: int) -> list[Point]:
    """All points of a round, in order."""
    table = schema.growth
    rows = connection.execute(select(table).where(table.c.round == serial).order_by(table.c.reports))
    return [Point(row.round, row.reports, row.at, row.value, row.standard_error) for row in rows]
