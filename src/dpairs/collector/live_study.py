"""A study as the collector runs it: its rounds, its state, who is enrolled, and its tallies, in memory.

All of it follows from the tables. Only whoever has the writer's turn changes it; others read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, select

from ..errors import DpairsError, NotEnoughData, NotFound, Unavailable
from ..estimate import Estimate
from ..protocols.base import PAIRS
from ..protocols.pairwise.matching import Pairs
from ..protocols.sides import in_pairs, of_symbols
from ..sites import SiteTally
from ..study import Study
from ..tally import Tally
from . import schema

if TYPE_CHECKING:
    from .sites import EnrolledSite

OPEN, PAIRING, CLOSED, DELETED = "open", "pairing", "closed", "deleted"
"""People enrol and answer; people compute in pairs, nobody enrols; nothing more is taken; its rows go."""
GATHER = 2**16
"""Reports that wait to be counted: a batch's columns are held no longer than until so many are there."""
SLICE = 2**18
"""Stored reports that are counted at a time."""
WRAP = 2**64
Column = NDArray[np.int64]


def stored(symbol: int) -> int:
    """A symbol as a signed integer of 64 bits."""
    return symbol - WRAP if symbol >= WRAP // 2 else symbol


@dataclass(eq=False)
class Round:
    """One round: its study, and the tally of what was committed."""

    serial: int
    study: Study
    _tally: Any = field(init=False)
    _waiting: list[tuple[int, Column, Column]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    reports: list[int] = field(init=False)
    """How many were counted, by stratum."""
    _estimated: tuple[int, Estimate] | None = None
    charted: int = 0
    """How many reports the last point of the estimate's history had."""
    _gathered: int = 0

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self._tally = Tally(self.study)
        self.reports = [0] * len(self.study.strata)

    def recall(self, before: Round) -> None:
        """Learn again, from the round before, what an estimate needs and the study's file does not hold."""
        made = before.study.next(before.tally)
        if made == self.study:
            self.study = made
            self.begin()

    def count(self, stratum: int, indices: Column, symbols: Column) -> None:
        """Count committed reports; they wait until somebody looks, or many have gathered."""
        with self._lock:
            self._waiting.append((stratum, indices, symbols))
            self.reports[stratum] += indices.size
            self._gathered += indices.size
            if self._gathered >= GATHER or len(self._waiting) >= 4096:
                self._fold()

    def recount(self, connection: Connection) -> None:
        """Count what is stored, in slices, so that no transaction is left open meanwhile."""
        for stratum, indices, symbols in committed(connection, self, SLICE):
            self.count(stratum, indices, symbols)
            with self._lock:
                self._fold()
            connection.rollback()

    def _fold(self) -> None:
        for place, name in enumerate(self.study.strata):
            parts = [each for each in self._waiting if each[0] == place]
            if parts:
                indices = np.concatenate([each[1] for each in parts])
                symbols = np.concatenate([each[2] for each in parts])
                if of_symbols(self.study).symbols > WRAP // 2:
                    symbols = symbols.view(np.uint64)
                self._tally.add_reports(name, indices, symbols)
        self._waiting, self._gathered = [], 0

    @property
    def tally(self) -> Tally | SiteTally:
        """All that was counted, in a tally that nobody adds to."""
        with self._lock:
            self._fold()
            copy: Tally = self._tally + Tally(self.study)
            return copy

    def estimate(self) -> Estimate:
        """The estimate from all reports so far; computed once for the same reports."""
        return self.estimated()[1]

    def estimated(self) -> tuple[int, Estimate]:
        """The same, and how many reports it is from: others may come meanwhile."""
        known = self._estimated  # which another thread may replace
        if known is None or known[0] != sum(self.reports):
            tally = self.tally
            known = self._estimated = tally.n, tally.estimate()
        return known


class AboutStudy:
    """A change about one study."""

    live: LiveStudy
    rows = 1
    """About how many it stores."""

    @property
    def retired(self) -> bool:
        """Whether the study is not this collector's any more: loaded before it took over, or deleted."""
        return self.live.retired

    @property
    def refusal(self) -> DpairsError:
        """What whoever asked for it is told then."""
        if self.live.state == DELETED:
            return NotFound("there is no such study here")
        return Unavailable("the database was taken over by another collector meanwhile; try again")


@dataclass(eq=False)
class LiveStudy:
    """One study of the collector's."""

    id: str
    title: str
    question: str
    state: str
    enrolment: str
    expected: int | None
    created: int
    rounds: list[Round]
    next_index: list[int]
    """The next free index, by stratum of people."""
    epoch: str = ""
    """Random, made when the study begins: whoever begins the same study again begins with new secrets."""
    words: dict[str, Any] = field(default_factory=dict)
    """What the analyst calls things, for the participant's page."""
    sites: dict[int, EnrolledSite] = field(default_factory=dict)
    """Enrolled sites by their index, in a study of sites."""
    retired: bool = False
    """Whether it was dropped from memory, because it was deleted or another collector took over."""

    @property
    def now(self) -> Round:
        """The round that is asked."""
        return self.rounds[-1]

    @property
    def study(self) -> Study:
        """The study that is asked now."""
        return self.now.study

    @property
    def strata(self) -> tuple[str, ...]:
        return self.study.statistic.strata

    @property
    def of_pairs(self) -> bool:
        """Whether people compute in pairs."""
        return self.study.protocol.answered_by == PAIRS

    @property
    def of_sites(self) -> bool:
        """Whether sites answer, each for all its records."""
        return self.study.protocol.of_sites

    @property
    def enrolled(self) -> dict[str, int]:
        """How many are enrolled, by stratum; in a study of sites, how many sites."""
        if self.of_sites:
            return {"sites": len(self.sites)}
        return dict(zip(self.strata, self.next_index, strict=True))

    def round(self, number: int) -> Round | None:
        """The round of that number, if it has begun."""
        return next((each for each in self.rounds if each.study.protocol.round == number), None)

    @property
    def last_round(self) -> bool:
        return self.study.protocol.round == self.study.protocol.rounds

    @cached_property
    def pairs(self) -> Matched:
        """Who computes with whom: fixed once nobody enrols any more."""
        sizes = dict(zip(self.strata, self.next_index, strict=True))
        try:
            return Matched(in_pairs(self.study).match(self.study.coins, sizes))
        except NotEnoughData:
            raise NotFound("nobody found a partner in this study before it was closed") from None


class Matched:
    """All pairs, found by number and by person."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self._place = {number: place for place, number in enumerate(pairs.numbers.tolist())}
        self._garbler: dict[int, list[int]] = {}
        self._evaluator: dict[int, list[int]] = {}
        both = zip(pairs.numbers.tolist(), pairs.garblers.tolist(), pairs.evaluators.tolist(), strict=True)
        for number, garbler, evaluator in both:
            self._garbler.setdefault(garbler, []).append(number)
            self._evaluator.setdefault(evaluator, []).append(number)

    def __len__(self) -> int:
        return len(self.pairs)

    def people(self, number: int) -> tuple[int, int, int]:
        """The garbler, the evaluator and the pairing of a pair."""
        place = self._place.get(number)
        if place is None:
            raise NotFound(f"there is no pair {number} in this study")
        pairs = self.pairs
        return int(pairs.garblers[place]), int(pairs.evaluators[place]), int(pairs.pairings[place])

    def of(self, stratum: int, index: int, strata: int) -> list[tuple[int, str]]:
        """The pairs of a person, with the person's role in each.

        With two strata the evaluator is of the first, and the garbler of the second.
        """
        garbles = self._garbler.get(index, []) if stratum == strata - 1 else []
        evaluates = self._evaluator.get(index, []) if stratum == 0 else []
        return sorted([(each, "garbler") for each in garbles] + [(each, "evaluator") for each in evaluates])


def committed(connection: Connection, asked: Round, size: int) -> Iterator[tuple[int, Column, Column]]:
    """A round's stored reports by stratum and index, in slices of at most ``size``."""
    place: tuple[int, int] = (0, -1)
    while (part := following(connection, asked, place, size)) is not None:
        yield part
        place = part[0], int(part[1][-1])


def following(
    connection: Connection, asked: Round, place: tuple[int, int], size: int
) -> tuple[int, Column, Column] | None:
    """The reports of one stratum that come next after a stratum and an index, if any are left."""
    table, (first, after) = schema.reports.c, place
    for stratum in range(first, len(asked.study.strata)):
        wanted = (
            select(table.index, table.symbol)
            .where(table.round == asked.serial, table.stratum == stratum, table.index > after)
            .order_by(table.index)
            .limit(size)
        )
        indices, symbols = two_columns(connection, wanted)
        if indices.size:
            return stratum, indices, symbols
        after = -1
    return None


def two_columns(connection: Connection, wanted: Select[int, int]) -> tuple[Column, Column]:
    """The result of a query for two integers, as arrays."""
    rows = connection.execute(wanted).all()
    first, second = zip(*rows, strict=True) if rows else ((), ())
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
