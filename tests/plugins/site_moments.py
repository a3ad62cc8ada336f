"""A toy protocol of sites that a user's own package adds: the variance from two noisy sums of each site."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpairs import Interval, PrivacyClaim, Quantization, Statistic
from dpairs.formats.checks import fields
from dpairs.protocols import Answer, BySites, FirstRound, Prediction, Setting, Shape, Trust
from dpairs.protocols.sites.by_sites import SiteNumbers
from dpairs.protocols.sites.claim import sites_claim
from dpairs.protocols.sites.unit import Unit
from dpairs.protocols.two_servers.budget import BUDGET_FIELDS, LAPLACE, NoiseBudget, Query

STEPS = 1000
"""Of a value, and of its square, both scaled to [0, 1]."""


@dataclass(frozen=True, eq=False)
class SiteMoments(BySites, FirstRound):
    statistic: Statistic
    domains: tuple[Interval]
    budget: NoiseBudget
    unit: Unit = field(default_factory=Unit)
    name: ClassVar[str] = "site-moments"
    options: ClassVar[tuple[str, ...]] = ()
    estimators: ClassVar[tuple[str, ...]] = ("moments",)
    trust: ClassVar[Trust] = Trust.SITES
    entries: ClassVar[int] = 2
    query: ClassVar[Query] = Query(2, 2 * STEPS, 2 * STEPS**2, Fraction(1))

    @classmethod
    def create(cls, statistic: Statistic, domains: Any, epsilon: float) -> "SiteMoments":
        return cls(statistic, domains, NoiseBudget(LAPLACE, epsilon, 0.0))

    @classmethod
    def from_json(cls, statistic: Statistic, domains: Any, spec: Mapping[str, Any]) -> "SiteMoments":
        fields("protocol 'site-moments'", spec, ("name", *BUDGET_FIELDS))
        return cls(statistic, domains, NoiseBudget.from_json(spec))

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, **self.budget.to_json()}

    @property
    def epsilon(self) -> float:
        return float(self.budget.loss(Fraction(1)))

    def ends(self, stratum: str) -> tuple[int, int]:
        return 0, STEPS

    def added(self, stratum: str, columns: Sequence[Any]) -> NDArray[np.int64]:
        (domain,) = self.domains
        scaled = (domain.check(columns[0], "value") - domain.low) / (domain.high - domain.low)
        return np.array([np.rint(STEPS * each).sum() for each in (scaled, scaled**2)], dtype=np.int64)

    def answer(self, answers: Mapping[str, SiteNumbers]) -> tuple[Answer, dict[str, int]]:
        sizes = {"everybody": sum(sum((each.sizes or {}).values()) for each in answers.values())}
        people, (domain,) = sizes["everybody"], self.domains
        added = np.sum([each.numbers["everybody"] for each in answers.values()], axis=0)
        mean, square = (added / (STEPS * people)).tolist()
        scale = (domain.high - domain.low) ** 2
        error = scale * math.sqrt(len(answers) * self.variance * (1 + 4 * mean**2)) / (STEPS * people)
        sampling = scale / math.sqrt(people)
        nothing = Quantization(0.0, 0.0, 0.0)
        return Answer(scale * (square - mean**2), math.hypot(error, sampling), error, nothing), sizes

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        return sites_claim(self.statistic, self.unit, self.budget, self.epsilon, epsilon_asked, 1)

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        return [{}] if setting.statistic.name == "variance" else []

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        (domain,) = self.domains
        noise = (domain.high - domain.low) ** 2 * math.sqrt(self.variance) / (STEPS * sum(sizes.values()))
        return Prediction(noise, math.sqrt(2 * shape.sampling(sizes)), 0.0, 0.0)
