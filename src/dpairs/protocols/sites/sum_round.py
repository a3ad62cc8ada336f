"""The second of two rounds: for each class, one noisy sum of the influence function over a site's records.

With the pilot g and psi, the statistic's derivative there, theta(h) = theta(g) + <psi, h> - <psi, g> + a rest
of second order in h - g. A record adds psi at its values in fixed point, less the pilot's mean, so that an
error in a hidden size is of second order too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...errors import BadFile, BadParameter, NotEnoughData
from ...estimate import Manipulation
from ...formats.canonical import canonical
from ...formats.checks import integer, real
from ...privacy import PrivacyClaim
from ...randomness.coins import Coins
from ...statistics import Statistic
from ...statistics.influence import Influence
from ..base import Answer
from ..continuation import total_loss
from ..manipulation import at_vertices
from ..projection.reading import by_stratum, read_first, read_grid, write_edges
from ..two_servers.budget import BUDGET_FIELDS, LAPLACE, NoiseBudget, Query
from ..two_servers.corrected import LARGEST, corrected
from ..two_servers.rounds import TwoRounds
from .by_sites import BySites, SiteNumbers
from .claim import sites_claim
from .first_answers import FirstAnswers
from .manipulation import of_sums
from .protocol import FEWEST
from .unit import Unit, read_fields

_FIELDS = ("name", "rounds", "round", "first", "split", *BUDGET_FIELDS)
_FUNCTIONS = ("edges", "functions", "centres")


@dataclass(frozen=True, eq=False)
class SitesSum(BySites, TwoRounds):
    """The second round of a study; ``analysis`` is the analyst's, and no part of the study's file."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    first: str
    split: float
    unit: Unit
    budget: NoiseBudget
    influences: dict[str, Influence]
    centres: dict[str, int]
    analysis: FirstAnswers | None = None
    name: ClassVar[str] = "sites"
    round: ClassVar[int] = 2
    rounds: ClassVar[int] = 2
    estimators: ClassVar[tuple[str, ...]] = ("two rounds",)

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        self.statistic.check_domains(self.domains)
        self.check_split()

    @classmethod
    def of(cls, analysis: FirstAnswers, first: str) -> SitesSum:
        """Linearize the statistic at the pilot that all answers of the first round make."""
        pilot = analysis.pilot
        functions = {name: influence for name, (influence, _) in analysis.influences.items()}
        centres = {name: round(analysis.mean(name) * LARGEST) for name in functions}
        return cls(
            pilot.statistic.described(),
            pilot.domains,
            first,
            pilot.split,
            pilot.unit,
            pilot.budget,
            functions,
            centres,
            analysis,
        )

    @classmethod
    def from_json(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
    ) -> SitesSum:
        read_fields("a second round of sites", spec, (*_FIELDS, *_FUNCTIONS))
        integer("round", spec["round"], 2, 2)
        grid = read_grid(statistic, domains, spec["edges"])
        functions = by_stratum(statistic, "functions", spec["functions"])
        centres = by_stratum(statistic, "centres", spec["centres"])
        return cls(
            statistic,
            domains,
            read_first(spec["first"]),
            real("split", spec["split"]),
            Unit.from_json(spec),
            NoiseBudget.from_json(spec),
            {name: Influence.from_json(grid, each) for name, each in functions.items()},
            {name: integer("a centre", each, 0, LARGEST) for name, each in centres.items()},
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rounds": 2,
            "round": 2,
            "first": self.first,
            "split": self.split,
            **self.budget.to_json(),
            **self.unit.to_json(),
            "edges": write_edges(self.influences),
            "functions": {name: influence.to_json() for name, influence in self.influences.items()},
            "centres": self.centres,
        }

    def analysis_to_json(self) -> dict[str, Any] | None:
        return None if self.analysis is None else self.analysis.to_json()

    def with_analysis(self, spec: Any) -> SitesSum:
        """With the first round's answers; refused unless this round follows from them."""
        analysis = FirstAnswers.from_json(self.domains, spec)
        if canonical(SitesSum.of(analysis, self.first).to_json()) != canonical(self.to_json()):
            raise BadFile("this round does not follow from the answers of the first that the analysis holds")
        return replace(self, analysis=analysis)

    @property
    def terms(self) -> tuple[object, ...]:
        return *super().terms, self.unit

    @property
    def first_study(self) -> str:
        return self.first

    @property
    def entries(self) -> int:
        return 1

    def ends(self, stratum: str) -> tuple[int, int]:
        centre = self.centres[stratum]
        return -centre, LARGEST - centre

    @property
    def query(self) -> Query:
        return self.unit.sums([self.ends(name) for name in self.strata], 1 - Fraction(self.split))

    def added(self, stratum: str, columns: Sequence[Any]) -> NDArray[np.int64]:
        heights = self.influences[stratum](columns, self.statistic.private_columns)
        whole = np.rint(heights * LARGEST).astype(np.int64)
        return np.array([int(whole.sum()) - len(whole) * self.centres[stratum]], dtype=np.int64)

    @property
    def first_numbers(self) -> Mapping[str, SiteNumbers] | None:
        """Known to whoever has the analysis; a site knows itself whether it answered."""
        return None if self.analysis is None else self.analysis.answers

    def answer(self, answers: Mapping[str, SiteNumbers]) -> tuple[Answer, dict[str, int]]:
        """The statistic at the pilot of those who answered twice, corrected by the means of the functions."""
        if self.analysis is None:
            raise BadParameter("the second round's answer needs its analysis: see Study.with_analysis")
        if not answers:
            raise NotEnoughData("no site has answered the second round")
        at, sizes, hidden, divided = self.analysis.of_those(answers.keys(), Coins.of(self.first))
        if min(sizes.values()) < FEWEST:
            raise NotEnoughData(f"there are fewer than {FEWEST} records of a class at all sites together")
        noisy = self.noisy_sites(answers.values())
        means = self._means(answers, sizes)
        variances = {name: count * self.variance for name, count in noisy.items()}
        draws = max(min(noisy.values()), 1) if self.budget.noise == LAPLACE else None
        return corrected(self.statistic, at, means, variances, sizes, hidden, draws, divided), sizes

    def _means(self, answers: Mapping[str, SiteNumbers], sizes: Mapping[str, int]) -> dict[str, float]:
        """The functions' means, as shares of their ranges."""
        totals = {name: sum(int(each.numbers[name][0]) for each in answers.values()) for name in self.strata}
        return {name: (total / sizes[name] + self.centres[name]) / LARGEST for name, total in totals.items()}

    def moved_by(self, answers: Mapping[str, SiteNumbers], sites: int) -> Manipulation:
        if self.analysis is None or self.unit.hide_sizes:
            return super().moved_by(answers, sites)
        at, sizes, *_ = self.analysis.of_those(answers.keys(), Coins.of(self.first))
        extents = {name: high - low for name, (low, high) in at.ranges.items()}
        weights = {name: extent / (LARGEST * sizes[name]) for name, extent in extents.items()}
        sums, multiplier = of_sums(self, answers, weights, sites)
        means = self._means(answers, sizes)
        value = at.value + at.remainder.mean
        value += sum(extents[name] * (mean - at.means[name]) for name, mean in means.items())
        reach = at_vertices(
            lambda form: at.finished(self.statistic, float(form[0]), 0.0, 0.0, sizes).value,
            np.array([value]),
            [sums],
        )
        return Manipulation(sites, sites, reach.down, reach.up, True, multiplier)

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        return sites_claim(self.statistic, self.unit, self.budget, total_loss(self), epsilon_asked, 2)
