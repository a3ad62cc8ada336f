"""Two rounds, for domains too large for a vector of shares: first noisy counts of a few cells.

They make a pilot: a rough distribution that is public. In the second round (`sum_round`) everybody sends the
influence function at the own value. The pilot's error enters the answer squared, so few cells are enough, and
all that is released is linear in people's answers: private against a server that does anything, by adaptive
composition of the two rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...errors import BadFile, BadParameter, NotEnoughData, NotEstimable
from ...formats.checks import choice, fields, integer, real, required
from ...privacy import PrivacyClaim
from ...randomness import Randomness
from ...randomness.coins import Coins
from ...statistics import Statistic
from ...statistics.base import TWO_SIDED
from ...statistics.linear import nominal
from ..base import PEOPLE, SITES, FirstRound, Setting, Trust
from ..projection.pilot import REPLICATES, Pilot, PublicNoise, adding_up, on_simplex
from ..projection.pilot_histogram import cut_cells
from ..shape import Prediction, Shape
from .bins import MOST_COUNTED, chosen_bins
from .budget import BUDGET_FIELDS, LAPLACE, SERVERS, NoiseBudget, Query
from .claim import two_servers_claim
from .corrected import LARGEST
from .goldilocks import MODULUS
from .one_hot import OneHot, as_table
from .predict import candidates, predict_rounds
from .protocol import PILOT_OPTIONS, VALUE
from .released import NoisyCounts, Numbers, SharedNumbers
from .rounds import TwoRounds
from .shared import ANSWERED_BY, FEWEST, Shared, read_answered_by, write_answered_by
from .sum_round import SumRound

SPLIT = 0.3
"""The share of the loss that the pilot takes."""
FEW_CELLS, MORE_REPLICATES = 128, 128
"""Up to so many cells rounds are imagined more often: noise squared has heavy tails."""
RARE = 0.1
"""The share of people in a hidden class that cells are chosen for: they must tell such a class from noise."""
LOW = 0.3
"""The mean that cells of another ratio are chosen for, as a share of the domain: incomes are low."""


@dataclass(frozen=True, eq=False)
class PilotRound(OneHot, TwoRounds, FirstRound):
    """The first of two rounds: noisy counts of a few cells."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    bins: tuple[int, ...]
    split: float
    budget: NoiseBudget
    answered_by: str = PEOPLE
    name: ClassVar[str] = "two_servers"
    rounds: ClassVar[int] = 2
    options: ClassVar[tuple[str, ...]] = PILOT_OPTIONS
    trust: ClassVar[Trust] = Trust.TWO_SERVERS
    estimators: ClassVar[tuple[str, ...]] = ("pilot",)

    @classmethod
    def create(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        epsilon: float,
        release: str = VALUE,
        bins: int | Sequence[int] | None = None,
        split: float = SPLIT,
        noise: str = LAPLACE,
        delta: float = 0.0,
        n: int | None = None,
        answered_by: str = PEOPLE,
    ) -> PilotRound:
        statistic.check_domains(domains)
        choice(ANSWERED_BY, answered_by, (PEOPLE, SITES))
        if release != VALUE:
            raise BadParameter("two rounds release a pilot and a sum: release='counts' is for one round")
        share = real("split", split)
        hidden = len(statistic.cell_domains(domains)) > len(domains)
        least = RARE if hidden else math.sqrt(LOW) if statistic.form_count > 1 else 1.0
        chosen = chosen_bins(statistic, domains, bins, n, epsilon * share * least, pilot=True)
        statistic = as_table(statistic, domains, chosen)
        return cls(statistic, domains, chosen, share, NoiseBudget(noise, epsilon, delta), answered_by)

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        self.check_statistic()
        self.check_split()
        if self.statistic.needs == "discrete" and not self.grid.single:
            raise BadParameter(
                f"two rounds of {self.statistic.name} need a bin for each value: take one round"
            )
        if self.grid.cells > MOST_COUNTED:
            raise BadParameter(f"a pilot has at most {MOST_COUNTED} cells, not {self.grid.cells}")

    @classmethod
    def from_json(cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]) -> Shared:
        return read_round(statistic, domains, spec)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rounds": 2,
            "round": 1,
            "bins": list(self.bins),
            "split": self.split,
            **self.budget.to_json(),
            **write_answered_by(self.answered_by),
        }

    def query(self, sizes: Mapping[str, int]) -> Query:
        """Counts of every stratum; a person is in one."""
        if set(sizes) != set(self.strata) or min(sizes.values()) < FEWEST:
            raise NotEnoughData(f"nothing is released about fewer than {FEWEST} people of each class")
        return Query.counts(self.grid.cells, Fraction(self.split))

    def sum_query(self, sizes: Mapping[str, int]) -> Query:
        """What the second round releases."""
        return Query.number(LARGEST, 1 - Fraction(self.split))

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        return candidates(setting)

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        return predict_rounds(self, shape, sizes)

    def totals(self, sums: Mapping[str, NDArray[np.int64]]) -> Numbers:
        return Numbers((), {name: sums[name] for name in self.strata})

    def multiplicands(self, server: int, shares: Mapping[str, Sequence[int]]) -> list[list[int]]:
        return []

    def share_totals(
        self, shares: Mapping[str, Sequence[int]], products: Sequence[int], sizes: Mapping[str, int]
    ) -> SharedNumbers:
        return SharedNumbers([], {name: [each % MODULUS for each in shares[name]] for name in self.strata})

    def noise(self, sizes: Mapping[str, int], bits: Randomness) -> Numbers:
        query = self.query(sizes)
        return Numbers((), {name: self.budget.draw(query, bits) for name in self.strata})

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, dict[str, int]]:
        return 0, dict.fromkeys(self.strata, self.grid.cells)

    def next_round(self, study_id: str, coins: Coins, counts: Mapping[str, Any], epsilon: float) -> SumRound:
        """The round of sums that follows from the released counts."""
        released: dict[str, NoisyCounts] = dict(counts)
        sizes = {name: each.people for name, each in released.items()}
        variance = self.budget.variance(self.query(sizes))
        shares = {name: adding_up(each.array / each.people) for name, each in released.items()}
        masses = {name: on_simplex(each) for name, each in shares.items()}
        deviations = {name: math.sqrt(variance) / people for name, people in sizes.items()}
        noise, grid = PublicNoise(coins), cut_cells(self.grid)
        kept: Callable[[NDArray[np.float64]], NDArray[np.float64]] = adding_up
        start, truth = shares, shares
        if self.statistic.form_count > 1 and not self.statistic.same_bin:
            # What a ratio is divided by must be that of people, or it may be nothing.
            kept, start = on_simplex, masses
            truth = {name: beyond_noise(each, deviations[name]) for name, each in shares.items()}
            try:
                self.statistic.linearizer(grid).at(truth, nominal(self.statistic))
            except NotEstimable:
                # A class of which no cell stands out of the noise.
                truth = masses
        rounds = REPLICATES if grid.cells > FEW_CELLS else MORE_REPLICATES
        drawn = self._noise(noise, [each.size for each in truth.values()], rounds)
        imagined = [
            {
                name: kept(each + deviations[name] * rows[place])
                for (name, each), rows in zip(truth.items(), drawn, strict=True)
            }
            for place in range(rounds)
        ]
        pilot, again = Pilot(grid, masses, []), Pilot(grid, truth, imagined)
        following = SumRound.of(
            self.statistic,
            self.domains,
            pilot,
            start,
            again,
            study_id,
            self.split,
            self.budget,
            sizes,
            deviations,
        )
        return replace(following, answered_by=self.answered_by)

    def _noise(self, noise: PublicNoise, counts: Sequence[int], rounds: int) -> list[NDArray[np.float64]]:
        """Numbers of variance 1 with the tails of a released count's noise, whose squares enter the answer.

        For every count a row of so many for each round. The sum of two Laplace numbers is sqrt(G / 2) Z with
        G from the gamma distribution of shape 2, which half the sum of four squared normal numbers has.
        """
        if self.budget.noise != LAPLACE:
            return noise.rounds(counts, rounds)
        drawn = noise.rounds([times * count for count in counts for times in (1, 2 * SERVERS)], rounds)
        return [
            normal * np.sqrt((others.reshape(rounds, 2 * SERVERS, -1) ** 2).mean(axis=1))
            for normal, others in zip(drawn[::2], drawn[1::2], strict=True)
        ]

    @property
    def terms(self) -> tuple[object, ...]:
        return *super().terms, self.answered_by

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        return two_servers_claim(self, epsilon_asked, False)


def beyond_noise(masses: NDArray[np.float64], deviation: float) -> NDArray[np.float64]:
    """A distribution on the cells that hold more than noise would put there, 97.5% of the time.

    A pilot takes noise in empty cells for people; whoever imagines it again must not begin with those.
    """
    clear = np.where(masses > TWO_SIDED * deviation, masses, 0.0)
    return clear / clear.sum() if clear.any() else on_simplex(masses)


def read_round(statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]) -> Shared:
    """Either round from its file."""
    if spec.get("round") == 2:
        return SumRound.from_json(statistic, domains, spec)
    names = ("name", "rounds", "round", "bins", "split", *BUDGET_FIELDS)
    fields("a two_servers study of two rounds", spec, (*names, ANSWERED_BY))
    required("a two_servers study of two rounds", spec, names)
    integer("round", spec["round"], 1, 2)
    if not isinstance(spec["bins"], list):
        raise BadFile("the bins of a two_servers study are a list")
    bins = chosen_bins(statistic, domains, spec["bins"], None, None)
    return PilotRound(
        statistic,
        domains,
        bins,
        real("split", spec["split"]),
        NoiseBudget.from_json(spec),
        read_answered_by(spec),
    )
