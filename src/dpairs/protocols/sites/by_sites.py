"""What every round of a study of sites offers: a site's numbers and their noise, the analyst's answer."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...errors import BadValue
from ...estimate import Manipulation
from ...randomness import Randomness
from ..base import NUMBERS, PERSON_COLUMN, SITE_COLUMN, SITES, Answer
from ..two_servers.budget import LAPLACE, Query
from ..two_servers.rounds import Noisy
from .unit import PERSON, Unit

FAR = 64
"""Scales of noise beyond which a number is refused: an honest one lies there with a chance of e^-64."""
FAR_GAUSSIAN = 12
"""Standard deviations, for a chance of e^-72."""
MOST_RECORDS = 2**36
"""Of one site and class: sums of whole numbers of 16 bits stay exact everywhere."""
Vector = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SiteNumbers:
    """What one site answers: numbers by class, and its sizes unless they are hidden."""

    numbers: dict[str, Vector]
    sizes: dict[str, int] | None = None


@dataclass(frozen=True, eq=False)
class OfSites:
    """One class's numbers by site: what a next round is made from."""

    numbers: dict[str, Vector] = field(default_factory=dict)
    sizes: dict[str, int] | None = None


class BySites(Noisy):
    """A round that sites answer, each once for all its records."""

    unit: Unit
    uses_coins: ClassVar[bool] = False
    answered_by = SITES
    sends: ClassVar[str] = NUMBERS

    @property
    def record_columns(self) -> tuple[str, ...]:
        return (SITE_COLUMN, PERSON_COLUMN) if self.unit.kind == PERSON else (SITE_COLUMN,)

    @property
    @abstractmethod
    def entries(self) -> int:
        """How many numbers a site answers for each class."""

    @property
    @abstractmethod
    def query(self) -> Query:
        """The numbers of this round, with the share of the loss that they take."""

    @abstractmethod
    def added(self, stratum: str, columns: Sequence[Any]) -> Vector:
        """The numbers of these records, but for the noise."""

    @abstractmethod
    def ends(self, stratum: str) -> tuple[int, int]:
        """The least and the most that one record adds to a number."""

    def answer(self, answers: Mapping[str, SiteNumbers]) -> tuple[Answer, dict[str, int]] | None:
        """The answer from all sites' numbers, by site, and the records that it is of, by class.

        None for a pilot, which is none.
        """
        return None

    @property
    def first_numbers(self) -> Mapping[str, SiteNumbers] | None:
        """What the only sites that this round asks answered in the first; None where all are asked."""
        return None

    def exact_numbers(self, parts: Mapping[str, Sequence[Any]]) -> SiteNumbers:
        """A site's numbers without noise: what never leaves."""
        sizes = {name: len(parts[name][0]) for name in self.strata}
        most = max(sizes.values())
        if most > MOST_RECORDS:
            raise BadValue(f"a site answers for at most {MOST_RECORDS:,} records of a class, not {most:,}")
        numbers = {name: self.added(name, parts[name]) for name in self.strata}
        return SiteNumbers(numbers, None if self.unit.hide_sizes else sizes)

    def with_noise(self, exact: SiteNumbers, bits: Randomness) -> SiteNumbers:
        """What leaves: noise on every number, but on those of a class that is known to be empty."""
        noisy = {}
        for name, numbers in exact.numbers.items():
            empty = exact.sizes is not None and exact.sizes[name] == 0
            drawn = 0 if empty else self.budget.draw(self._each(self.query), bits)
            noisy[name] = numbers + drawn
        return SiteNumbers(noisy, exact.sizes)

    def _each(self, query: Query) -> Query:
        return Query(self.entries, query.reach, query.square, query.share)

    @property
    def variance(self) -> float:
        """Of one number of one site."""
        return self.budget.variance(self.query, draws=1)

    @property
    def reach(self) -> int:
        """How far noise can be believed to move a number."""
        scale = self.budget.scale(self.query)
        if self.budget.noise == LAPLACE:
            return math.ceil(FAR * scale)
        return FAR_GAUSSIAN * (math.isqrt(math.ceil(scale)) + 1)

    def check(self, given: SiteNumbers) -> None:
        """Refuse what an honest site cannot have answered: a site weighs what it declares, and noise."""
        if (given.sizes is None) != self.unit.hide_sizes:
            raise BadValue(
                f"a site's sizes are {'hidden' if self.unit.hide_sizes else 'given'} in this study"
            )
        if set(given.numbers) != set(self.strata):
            raise BadValue(f"a site answers for {' and '.join(self.strata)}")
        if given.sizes is not None and set(given.sizes) != set(self.strata):
            raise BadValue(f"a site says how many records it has of {' and '.join(self.strata)}")
        for name, numbers in given.numbers.items():
            size = MOST_RECORDS if given.sizes is None else given.sizes[name]
            if not 0 <= size <= MOST_RECORDS:
                raise BadValue(f"a site has from 0 to {MOST_RECORDS:,} records of a class, not {size:,}")
            if numbers.shape != (self.entries,):
                raise BadValue(f"a site answers {self.entries} number(s) for {name}")
            least, most = self.extremes(name, size)
            if numbers.min() < least or numbers.max() > most:
                raise BadValue(f"a number of {name} lies beyond what {size:,} records and noise can make")
            self.check_together(name, numbers, None if given.sizes is None else size)

    def check_together(self, stratum: str, numbers: Vector, size: int | None) -> None:
        """Refuse numbers of a class that are believable one by one, and not together."""

    def extremes(self, stratum: str, size: int) -> tuple[int, int]:
        """The least and the most that a number of so many records can be taken for, with its noise."""
        low, high = self.ends(stratum)
        room = self.reach if size else 0
        return size * min(low, 0) - room, size * max(high, 0) + room

    def moved_by(self, answers: Mapping[str, SiteNumbers], sites: int) -> Manipulation:
        """How far so many lying sites can move the answer; infinite where no bound is known."""
        reach = math.inf if sites else 0.0
        return Manipulation(sites, sites, reach, reach, False, math.inf)

    def noisy_sites(self, answers: Iterable[SiteNumbers]) -> dict[str, int]:
        """How many sites added noise to each class's numbers."""
        noisy = dict.fromkeys(self.strata, 0)
        for answer in answers:
            for name in self.strata:
                noisy[name] += answer.sizes is None or answer.sizes[name] > 0
        return noisy

    @property
    def report_bits(self) -> int:
        """What a site sends, about: a number takes as many bits as its noise."""
        bits = max(8, 2 + self.reach.bit_length())
        return bits * self.entries * len(self.strata)

    @property
    def sent(self) -> tuple[str, str]:
        return "a site sends", f"{self.entries:,} noisy numbers for each class"
