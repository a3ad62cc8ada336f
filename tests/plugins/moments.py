"""A toy protocol that a user's own package adds: the variance from two means, one bit of each person.

People of even index send a bit whose mean is x, the others one whose mean is x^2, both scaled to [0, 1].
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpairs import BadParameter, Interval, NotEnoughData, PrivacyClaim, Quantization, Statistic
from dpairs.formats.checks import fields, required
from dpairs.mechanisms import BitResponse, scalar_from_json
from dpairs.privacy import local_claim
from dpairs.protocols import Alone, Answer, FirstRound, Prediction, Setting, Shape
from dpairs.protocols.counts import DenseCounts
from dpairs.randomness import Randomness
from dpairs.randomness.coins import Coins


@dataclass(frozen=True)
class Moments(Alone, FirstRound):
    statistic: Statistic
    domains: tuple[Interval]
    response: BitResponse
    name: ClassVar[str] = "moments"
    uses_coins: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ()
    estimators: ClassVar[tuple[str, ...]] = ("moments",)

    def __post_init__(self) -> None:
        self.statistic.check_domains(self.domains)
        if self.statistic.name != "variance" or not isinstance(self.domains[0], Interval):
            raise BadParameter("the moments protocol computes the variance on an Interval")

    @classmethod
    def create(cls, statistic: Statistic, domains: Any, epsilon: float) -> "Moments":
        return cls(statistic, domains, BitResponse.for_epsilon(epsilon))

    @classmethod
    def from_json(cls, statistic: Statistic, domains: Any, spec: Mapping[str, Any]) -> "Moments":
        fields("protocol 'moments'", spec, ("name", "response"))
        required("protocol 'moments'", spec, ("response",))
        response = scalar_from_json(spec["response"])
        if not isinstance(response, BitResponse):
            raise BadParameter("the moments protocol sends one bit")
        return cls(statistic, domains, response)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "response": self.response.to_json()}

    @property
    def symbols(self) -> int:
        return 4

    @property
    def epsilon(self) -> float:
        return self.response.epsilon

    def randomize(
        self, coins: Coins, stratum: int, first_index: int, columns: Sequence[Any], bits: Randomness
    ) -> NDArray[np.int64]:
        (domain,) = self.domains
        scaled = (domain.check(columns[0], "value") - domain.low) / (domain.high - domain.low)
        odd = (first_index + np.arange(scaled.size)) % 2
        return 2 * odd + self.response.randomize(np.where(odd == 1, scaled**2, scaled), bits)

    def empty_counts(self, coins: Coins, stratum: int) -> DenseCounts:
        return DenseCounts(self.symbols)

    def estimate(self, counts: Mapping[str, DenseCounts], estimator: str) -> Answer:
        table = counts["everybody"].array.reshape(2, 2)
        people = table.sum(axis=1)
        if people.min() < 2:
            raise NotEnoughData("the moments protocol needs two people of even and two of odd index")
        means = table @ self.response.decode / people
        variances = (table @ self.response.decode**2 / people - means**2) / (people - 1)
        scale = (self.domains[0].high - self.domains[0].low) ** 2
        error = scale * math.sqrt(4 * means[0] ** 2 * variances[0] + variances[1])
        return Answer(scale * float(means[1] - means[0] ** 2), error, error, Quantization(0.0, 0.0, 0.0))

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        return local_claim(
            self.epsilon, epsilon_asked, 0.0, ("value",), "exact ratio of a bit's probabilities"
        )

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        return (
            [{}] if setting.statistic.name == "variance" and isinstance(setting.domains[0], Interval) else []
        )

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        masses, places = shape.masses["everybody"], shape.grid.axes[0].centres
        (domain,) = self.domains
        scaled = (places - domain.low) / (domain.high - domain.low)
        halves = sum(sizes.values()) / 2
        noise = [float(masses @ self.response.variances(each)) for each in (scaled, scaled**2)]
        mean = float(masses @ scaled)
        scale = (domain.high - domain.low) ** 2
        privacy = scale * math.sqrt((4 * mean**2 * noise[0] + noise[1]) / halves)
        return Prediction(privacy, math.sqrt(2 * shape.sampling(sizes)), 0.0, 0.0)
