"""One round: every site counts its records in cells, adds noise to every count, and answers once.

Noise of all sites adds up, so a count's standard deviation is sqrt(8 sites) / epsilon, however many records
there are: the error of a mean over pairs falls like sqrt(sites) / (n epsilon).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...data.grids import Grid
from ...errors import BadFile, BadParameter, BadValue, NotEnoughData
from ...estimate import Laws
from ...formats.checks import integer
from ...privacy import PrivacyClaim
from ...randomness import SystemRandomness
from ...statistics import Statistic
from ..base import Answer, FirstRound, Setting, Trust
from ..shape import Prediction, Shape
from ..two_servers.answer import Measured
from ..two_servers.bins import MOST_COUNTED, chosen_bins
from ..two_servers.budget import BUDGET_FIELDS, LAPLACE, NoiseBudget, Query
from ..two_servers.law import ErrorLaw
from ..two_servers.one_hot import as_table, grid_of
from ..two_servers.sampling import Rough
from .by_sites import FAR, FAR_GAUSSIAN, BySites, SiteNumbers
from .claim import sites_claim
from .counted import NoisyClass, forms_of, hidden_slack, laplace_cumulant, sizes_of
from .hidden import by_merging, by_standing_out
from .predict import candidates, predict_counts
from .unit import RECORD, UNIT_FIELDS, Unit, read_fields

USUAL_SITES = 10
"""How many sites a study is planned for where nobody says."""
MOST_SITES = 10**6
FEWEST = 2
"""Records of a class below which there is no answer."""


def chosen_grid(
    statistic: Statistic,
    domains: tuple[Domain, ...],
    bins: Any,
    n: Any,
    epsilon: float,
    sites: int,
    unit: Unit,
) -> tuple[int, ...]:
    """Bins of each domain, as for two servers' counts: sites have sqrt(sites / 2) times their noise."""
    return chosen_bins(statistic, domains, bins, n, epsilon * (2 / sites) ** 0.5 / unit.most)


class Counting(BySites):
    """A round in which sites count their records in the cells of ``grid``."""

    bins: tuple[int, ...]
    expected: int
    """Sites that the study was planned for."""

    @property
    def planned_sites(self) -> int:
        return self.expected

    @cached_property
    def grid(self) -> Grid:
        return grid_of(self.statistic, self.domains, self.bins)

    @property
    def entries(self) -> int:
        return self.grid.cells

    def ends(self, stratum: str) -> tuple[int, int]:
        return 0, 1

    def added(self, stratum: str, columns: Sequence[Any]) -> NDArray[np.int64]:
        cells = self.grid.place(columns, self.statistic.private_columns, SystemRandomness())
        return np.bincount(cells, minlength=self.grid.cells).astype(np.int64)

    def check_together(self, stratum: str, numbers: NDArray[np.int64], size: int | None) -> None:
        """Counts of ``size`` records are at least so far, in all, from numbers below 0 or of another total.

        Without this a site with one record would weigh the noise of every cell, 64 scales each.
        """
        numbers = numbers.astype(np.float64)
        apart = -float(numbers[numbers < 0].sum())
        if size is not None:
            apart += abs(float(numbers[numbers > 0].sum()) - size)
        if apart > self.reach_together:
            whose = "any" if size is None else f"{size:,}"
            raise BadValue(f"the counts of {stratum} lie beyond what {whose} records and noise can make")

    @cached_property
    def reach_together(self) -> float:
        """How much noise on all counts of a class can be believed, with the chances of `reach`.

        The absolute value of discrete Laplace noise is at most that of an exponential one, rounded up, so all
        of them add up to at most a gamma distributed number and one for each. Squares of Gaussian noise:
        Laurent and Massart, "Adaptive estimation of a quadratic functional", Ann. Stat. 2000, lemma 1.
        """
        from scipy.special import gammainccinv  # heavy, and no participant needs it

        scale, cells = float(self.budget.scale(self.query)), self.entries
        if self.budget.noise == LAPLACE:
            return scale * float(gammainccinv(cells, math.exp(-FAR))) + cells
        far = FAR_GAUSSIAN**2 / 2
        return math.sqrt(cells * scale * (cells + 2 * math.sqrt(cells * far) + 2 * far))

    def classes(self, answers: Mapping[str, SiteNumbers]) -> dict[str, NoisyClass]:
        noisy = self.noisy_sites(answers.values())
        scale = float(self.budget.scale(self.query))
        cumulant = laplace_cumulant(scale) if self.budget.noise == LAPLACE else 0.0
        by_class = {}
        for name in self.strata:
            counts = np.zeros(self.entries)
            for answer in answers.values():
                counts += answer.numbers[name]
            size = None
            if not self.unit.hide_sizes:
                size = sum(each.sizes[name] for each in answers.values() if each.sizes is not None)
            by_class[name] = NoisyClass(counts, noisy[name] * self.variance, noisy[name] * cumulant, size)
        return by_class


@dataclass(frozen=True, eq=False)
class Sites(Counting, FirstRound):
    """One answer of each site: noisy counts."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    bins: tuple[int, ...]
    unit: Unit
    budget: NoiseBudget
    expected: int
    name: ClassVar[str] = "sites"
    options: ClassVar[tuple[str, ...]] = (
        *("rounds", "bins", "split", "noise", "delta", "n", "sites"),
        *UNIT_FIELDS,
    )
    estimators: ClassVar[tuple[str, ...]] = ("plug-in",)
    trust: ClassVar[Trust] = Trust.SITES

    @classmethod
    def create(cls, *given: Any, **options: Any) -> FirstRound:
        if integer("rounds", options.pop("rounds", 2), 1, 2) == 1:
            return cls._create(*given, **options)
        from .pilot_round import SitesPilot

        return SitesPilot.create(*given, **options)

    @classmethod
    def _create(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        epsilon: float,
        bins: int | Sequence[int] | None = None,
        split: Any = None,
        noise: str = LAPLACE,
        delta: float = 0.0,
        n: int | None = None,
        sites: int = USUAL_SITES,
        unit: str = RECORD,
        max_records_per_person: int | None = None,
        hide_sizes: bool = False,
    ) -> Sites:
        statistic.check_domains(domains)
        if split is not None:
            raise BadParameter("split is for two rounds: one round spends all of epsilon at once")
        whose = Unit.of(unit, max_records_per_person, hide_sizes)
        many = integer("sites", sites, 1, MOST_SITES)
        chosen = chosen_grid(statistic, domains, bins, n, epsilon, many, whose)
        statistic = as_table(statistic, domains, chosen)
        return cls(statistic, domains, chosen, whose, NoiseBudget(noise, epsilon, delta), many)

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        self.check_statistic()
        if self.statistic.arity > 2:
            raise BadParameter(
                f"{self.statistic.name} is a function of three people: sites need rounds=2 for it"
            )
        self.statistic.check_grid(self.grid, "average")
        if self.grid.cells > MOST_COUNTED:
            raise BadParameter(f"a site counts in at most {MOST_COUNTED} cells, not {self.grid.cells}")

    @classmethod
    def from_json(cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]) -> BySites:
        if spec.get("rounds") == 2:
            from .pilot_round import read_round

            return read_round(statistic, domains, spec)
        read_fields("a sites study", spec, ("name", "rounds", "bins", "sites", *BUDGET_FIELDS))
        integer("rounds", spec["rounds"], 1, 2)
        return cls(statistic, domains, *read_counting(statistic, domains, spec))

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rounds": 1,
            "bins": list(self.bins),
            "sites": self.expected,
            **self.budget.to_json(),
            **self.unit.to_json(),
        }

    @property
    def query(self) -> Query:
        return self.unit.counts(self.entries, Fraction(1))

    def answer(self, answers: Mapping[str, SiteNumbers]) -> tuple[Answer, dict[str, int]]:
        classes = self.classes(answers)
        sizes = sizes_of(classes)
        if min(sizes.values()) < FEWEST:
            raise NotEnoughData(f"there are fewer than {FEWEST} records of a class at all sites together")
        kernels = [form.matrix for form in self.statistic.forms(self.grid, "average")]
        forms, noise = forms_of(list(classes.values()), kernels)
        rough = self._rough(classes, sizes)
        # A form adds up the noise of many counts: nearly normal, whatever that of one is.
        answer = Measured(self.statistic, self.domains, sizes, forms, noise, rough, False).answer()
        people = {name: each.people / sizes[name] for name, each in classes.items()}
        deviations = {name: math.sqrt(each.variance) / sizes[name] for name, each in classes.items()}
        off = by_standing_out(self.statistic, self.grid, people, deviations, answer.value, followed=False)
        off += by_merging(self.statistic, self.grid, next(iter(people.values())))
        if forms.size == 1:
            off *= abs(float(self.statistic.finish(forms, sizes).gradient[0]))
        return _wider(answer, hidden_slack(list(classes.values())), off), sizes

    def _rough(self, classes: Mapping[str, NoisyClass], sizes: Mapping[str, int]) -> Rough:
        """What the counts say about sampling and binning."""
        counts = {name: np.rint(each.people).astype(np.int64) for name, each in classes.items()}
        variance = max(each.variance for each in classes.values())
        if self.statistic.from_table:
            place = np.arange(self.grid.cells)
            return Rough(self.statistic, self.grid, counts, sizes, variance, self.grid, place)
        return Rough(self.statistic, self.grid, counts, sizes, variance, self.grid)

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        return candidates(setting)

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        return predict_counts(self, shape, sizes)

    @property
    def epsilon(self) -> float:
        return self.budget.epsilon if self.delta else float(self.budget.loss(Fraction(1)))

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        return sites_claim(self.statistic, self.unit, self.budget, self.epsilon, epsilon_asked, 1)


def _wider(answer: Answer, slack: float, bias: float) -> Answer:
    """The answer with an error so many times as large, which may be off so much more."""
    if (slack == 1 and not bias) or not isinstance(answer.laws, Laws):
        return answer
    population, sample = (
        replace(each, bias=each.bias + bias).wider(slack)
        for each in answer.laws
        if isinstance(each, ErrorLaw)
    )
    return replace(
        answer,
        standard_error=population.deviation,
        sample_standard_error=sample.deviation,
        laws=Laws(population, sample),
        caveats=sample.caveats,
    )


def read_counting(
    statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
) -> tuple[tuple[int, ...], Unit, NoiseBudget, int]:
    """What rounds that count are made of, from a file."""
    if not isinstance(spec["bins"], list):
        raise BadFile("the bins of a sites study are a list")
    return (
        chosen_bins(statistic, domains, spec["bins"], None, None),
        Unit.from_json(spec),
        NoiseBudget.from_json(spec),
        integer("sites", spec["sites"], 1, MOST_SITES),
    )
