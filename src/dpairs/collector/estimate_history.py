"""The estimate over time: a point whenever the reports have grown by some per cent."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, insert, select

from ..errors import DpairsError
from . import schema
from .live_study import AboutStudy, LiveStudy, Round

STEP = 1.05
"""A point for every 5% more reports: some 280 points from 1 report to a million."""


@dataclass(frozen=True)
class Point:
    """The estimate and its 95% interval at so many reports; without them where there was none yet."""

    serial: int
    reports: int
    at: int
    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Grown(AboutStudy):
    """A study's history has a new point."""

    live: LiveStudy
    point: Point


def due(asked: Round) -> bool:
    """Whether a point is wanted after the last one's number of reports."""
    return sum(asked.reports) >= max(asked.charted * STEP, asked.charted + 1)


def measure(asked: Round) -> Point:
    point = Point(asked.serial, sum(asked.reports), int(time.time()))
    try:
        reports, estimate = asked.estimated()
        low, high = estimate.confidence_interval()
    except DpairsError:
        return point
    if not all(map(math.isfinite, (estimate.value, low, high))):  # there is nothing to draw
        return point
    return replace(point, reports=reports, value=estimate.value, low=low, high=high)


def keep(connection: Connection, items: Sequence[Grown]) -> list[Any]:
    outcomes: list[Any] = []
    for point in [item.point for item in items]:
        table = schema.estimate_history
        last = connection.scalar(select(func.max(table.c.reports)).where(table.c.round == point.serial))
        rounds = schema.rounds.c.serial
        there = connection.scalar(select(rounds).where(rounds == point.serial)) is not None
        if there and (last is None or point.reports > last):
            row: dict[str, Any] = {"round": point.serial, "reports": point.reports, "at": point.at}
            row |= {"value": point.value, "low": point.low, "high": point.high}
            connection.execute(insert(table), row)
        outcomes.append(None)
    return outcomes


def points(connection: Connection, serial: int) -> list[Point]:
    """All points of a round, in order."""
    table = schema.estimate_history
    rows = connection.execute(select(table).where(table.c.round == serial).order_by(table.c.reports))
    return [Point(row.round, row.reports, row.at, row.value, row.low, row.high) for row in rows]
