"""The first of two rounds: noisy counts of a few cells, with a small share of the loss.

They make a pilot, a rough distribution that is public. In the second round (`sum_round`) every site answers
one noisy sum of the influence function for each class. The pilot's error enters the answer squared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from ...data.domains import Domain, Integers, Interval
from ...errors import BadParameter
from ...formats.checks import integer, real
from ...privacy import PrivacyClaim
from ...randomness.coins import Coins
from ...statistics import Statistic
from ...statistics.influence import STEPS
from ..base import FirstRound, Setting, Trust
from ..continuation import total_loss
from ..shape import Prediction, Shape
from ..two_servers.bins import MOST_COUNTED
from ..two_servers.budget import BUDGET_FIELDS, LAPLACE, NoiseBudget, Query
from ..two_servers.one_hot import as_table
from ..two_servers.rounds import TwoRounds
from .by_sites import BySites, OfSites, SiteNumbers
from .claim import sites_claim
from .first_answers import FirstAnswers
from .predict import candidates, predict_rounds
from .protocol import MOST_SITES, USUAL_SITES, Counting, Sites, chosen_grid, read_counting
from .sum_round import SitesSum
from .unit import RECORD, Unit, read_fields

SPLIT, SPLIT_PLANE = 0.15, 0.3
"""The share of the loss that the pilot takes, of one column and of two, whose cells are more."""
_FIELDS = ("name", "rounds", "round", "bins", "sites", "split", *BUDGET_FIELDS)


@dataclass(frozen=True, eq=False)
class SitesPilot(Counting, TwoRounds, FirstRound):
    """The first of two answers of each site."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    bins: tuple[int, ...]
    unit: Unit
    budget: NoiseBudget
    expected: int
    split: float
    name: ClassVar[str] = "sites"
    rounds: ClassVar[int] = 2
    options: ClassVar[tuple[str, ...]] = Sites.options
    trust: ClassVar[Trust] = Trust.SITES
    estimators: ClassVar[tuple[str, ...]] = ("pilot",)

    @classmethod
    def create(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        epsilon: float,
        bins: int | Sequence[int] | None = None,
        split: float | None = None,
        noise: str = LAPLACE,
        delta: float = 0.0,
        n: int | None = None,
        sites: int = USUAL_SITES,
        unit: str = RECORD,
        max_records_per_person: int | None = None,
        hide_sizes: bool = False,
    ) -> SitesPilot:
        statistic.check_domains(domains)
        usual = SPLIT if len(domains) == 1 else SPLIT_PLANE
        share = usual if split is None else real("split", split)
        whose = Unit.of(unit, max_records_per_person, hide_sizes)
        many = integer("sites", sites, 1, MOST_SITES)
        chosen = chosen_grid(statistic, domains, bins, n, epsilon * share, many, whose)
        if bins is None and sum(isinstance(each, (Interval, Integers)) for each in domains) > 1:
            # Noise enters squared, and what two columns hide within cells does not: twice as fine.
            chosen = tuple(min(2 * each, _most(domain)) for each, domain in zip(chosen, domains, strict=True))
        statistic = as_table(statistic, domains, chosen)
        return cls(statistic, domains, chosen, whose, NoiseBudget(noise, epsilon, delta), many, share)

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        self.check_statistic()
        self.check_split()
        if self.grid.cells > MOST_COUNTED:
            raise BadParameter(f"a pilot has at most {MOST_COUNTED} cells, not {self.grid.cells}")

    @classmethod
    def from_json(cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]) -> BySites:
        return read_round(statistic, domains, spec)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rounds": 2,
            "round": 1,
            "bins": list(self.bins),
            "sites": self.expected,
            "split": self.split,
            **self.budget.to_json(),
            **self.unit.to_json(),
        }

    @property
    def query(self) -> Query:
        return self.unit.counts(self.entries, Fraction(self.split))

    @property
    def sum_query(self) -> Query:
        """What the second round answers, at the worst centres."""
        return self.unit.sums([(0, STEPS)] * len(self.strata), 1 - Fraction(self.split))

    def next_round(self, study_id: str, coins: Coins, counts: Mapping[str, Any], epsilon: float) -> SitesSum:
        """The round of sums that follows from all sites' counts."""
        given: dict[str, OfSites] = dict(counts)
        sites = next(iter(given.values())).numbers
        answers = {
            site: SiteNumbers(
                {name: each.numbers[site] for name, each in given.items()},
                None if self.unit.hide_sizes else {name: _size(each, site) for name, each in given.items()},
            )
            for site in sites
        }
        return SitesSum.of(FirstAnswers(self, answers), study_id)

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        return candidates(setting)

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        return predict_rounds(self, shape, sizes)

    @property
    def terms(self) -> tuple[object, ...]:
        return *super().terms, self.unit

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        return sites_claim(self.statistic, self.unit, self.budget, total_loss(self), epsilon_asked, 2)


def _most(domain: Domain) -> int:
    most = math.isqrt(MOST_COUNTED)
    return min(most, domain.size) if not isinstance(domain, Interval) else most


def _size(of: OfSites, site: str) -> int:
    return 0 if of.sizes is None else of.sizes[site]


def read_round(statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]) -> BySites:
    """Either round from its file."""
    if spec.get("round") == 2:
        return SitesSum.from_json(statistic, domains, spec)
    read_fields("a sites study of two rounds", spec, _FIELDS)
    integer("round", spec["round"], 1, 2)
    return SitesPilot(
        statistic, domains, *read_counting(statistic, domains, spec), real("split", spec["split"])
    )
