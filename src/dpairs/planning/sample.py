"""Some people's data: the population that studies are rehearsed on before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain
from ..data.tables import whole
from ..errors import BadParameter, NotEnoughData, NotEstimable, WrongStudy
from ..protocols.base import PERSON_COLUMN, SITE_COLUMN
from ..protocols.shape import Shape
from ..protocols.sites.protocol import USUAL_SITES
from ..randomness import SeededRandomness
from ..randomness.coins import below
from ..simulate import simulate
from ..statistics import Statistic, exact
from ..study import Study
from .outcomes import SimulatedRun
from .shapes import from_sample

Columns = dict[str, NDArray[Any]]
ROWS_OF_KERNELS = 4096
"""Of more people, so many at random: the exact value of a user's own kernel takes all pairs."""


def seed_of(run: int, what: str) -> int:
    """Of a rehearsal's run: always the same, so that the same question gets the same plan."""
    return int.from_bytes(sha256(f"dpairs plan, {what} {run}".encode()).digest()[:8])


@dataclass(frozen=True, eq=False)
class Sample:
    """Data of people who are known already, and what became of studies of people like them."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    strata: dict[str, tuple[NDArray[Any], ...]]
    """Each stratum's private columns."""
    shape: Shape
    outcomes: dict[tuple[str, str | None, tuple[int, ...]], dict[int, SimulatedRun]] = field(
        default_factory=dict
    )
    """Of every study that was rehearsed, by its estimator and its people: of each run, by its number."""

    @classmethod
    def of(cls, statistic: Statistic, domains: tuple[Domain, ...], data: Any) -> Sample:
        table = whole(data, statistic.columns)
        shape = from_sample(statistic, statistic.placed(domains), table)
        rows = len(next(iter(table.values())))
        if statistic.own_domain is not None and rows > ROWS_OF_KERNELS:
            kept = np.argsort(SeededRandomness(seed_of(0, "rows")).words(rows))[:ROWS_OF_KERNELS]
            table = {name: values[kept] for name, values in table.items()}
        return cls(statistic, domains, dict(statistic.split(table)), shape)

    @cached_property
    def _shapes(self) -> dict[tuple[Domain, ...], Shape]:
        return {self.domains: self.shape}

    def on(self, domains: tuple[Domain, ...]) -> Shape:
        """Their shape on other domains of the same values."""
        if domains not in self._shapes:
            table = self._table({name: self._rows(name, 1) for name in self.strata})
            self._shapes[domains] = from_sample(self.statistic, self.statistic.placed(domains), table)
        return self._shapes[domains]

    @cached_property
    def truth(self) -> float:
        """The statistic of the population that people are drawn from, with replacement.

        There a person may meet one with the same row. With every row k times, the statistic differs from
        that by c / k, so twice the value of two copies less that of one has no such term.
        """
        domains = None if self.statistic.own_domain is not None else self.domains
        once, twice = (
            exact(self.statistic, self._table(rows), domain=domains)
            for rows in ({name: self._rows(name, times) for name in self.strata} for times in (1, 2))
        )
        return 2 * twice - once

    def _rows(self, stratum: str, times: int) -> NDArray[np.int64]:
        return np.tile(np.arange(len(self.strata[stratum][0])), times)

    def _table(self, rows: Mapping[str, NDArray[np.int64]]) -> Columns:
        """These rows of each stratum, with the public columns that say which it is."""
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in self.statistic.columns}
        for place, (stratum, own) in enumerate(rows.items()):
            for name, values in zip(self.statistic.private_columns, self.strata[stratum], strict=True):
                parts[name].append(values[own])
            for name in set(parts) - set(self.statistic.private_columns):
                label = len(rows) - 1 - place if len(rows) == 2 else place
                parts[name].append(np.full(own.size, label))
        return {name: np.concatenate(each) for name, each in parts.items()}

    def draw(self, sizes: Mapping[str, int], run: int) -> Columns:
        """So many people of each stratum, drawn with replacement."""
        bits = SeededRandomness(seed_of(run, "people"))
        rows = {
            name: below(bits.words(count), np.array([len(self.strata[name][0])], dtype=np.uint64)).astype(
                np.int64
            )
            for name, count in sizes.items()
        }
        return self._table(rows)

    def outcome(
        self, study: Study, sizes: Mapping[str, int], run: int, estimator: str | None = None
    ) -> SimulatedRun:
        """One run: fresh people, fresh coins, fresh noise.

        A second round that is refused is no answer, nor is one of which nothing is known.
        """
        people, seed = self.draw(sizes, run), seed_of(run, f"noise of {study.id}")
        numbers = np.arange(sum(sizes.values()))
        dealt = {SITE_COLUMN: numbers % (study.protocol.planned_sites or USUAL_SITES), PERSON_COLUMN: numbers}
        people |= {name: dealt[name] for name in study.protocol.record_columns}
        try:
            estimate = simulate(replace(study, seed=seed), people, seed=seed, estimator=estimator)
        except (NotEstimable, NotEnoughData, BadParameter, WrongStudy) as error:
            return SimulatedRun(None, reason=str(error))
        if math.isinf(estimate.standard_error):
            return SimulatedRun(None, reason=" ".join(estimate.caveats))
        value = estimate.value
        # The exact value of a user's own kernel takes longer than the study.
        own = (
            self.truth
            if self.statistic.own_domain is not None
            else exact(self.statistic, people, domain=self.domains)
        )
        return SimulatedRun(value - self.truth, own - self.truth)

    @property
    def people(self) -> int:
        return sum(len(columns[0]) for columns in self.strata.values())
