"""A toy protocol of two rounds that a user's own package adds: the variance as a mean distance from a mean.

A share of every 64 people send a bit whose mean is x, scaled to [0, 1]; that gives m. The others send a bit
whose mean is (x - m)^2. As m is independent of them, E (x - m)^2 is the variance and E (m - mean)^2.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpairs import BadParameter, Interval, NotEnoughData, NotEstimable, PrivacyClaim, Quantization, Statistic
from dpairs.formats.checks import fields, integer, real, required, text
from dpairs.mechanisms import BitResponse, scalar_from_json
from dpairs.privacy import local_claim
from dpairs.protocols import Alone, Answer, FirstRound, Prediction, Protocol, Setting, Shape
from dpairs.protocols.counts import DenseCounts
from dpairs.protocols.rounds import BLOCK, asked_first, places_in_first
from dpairs.randomness import Randomness
from dpairs.randomness.coins import Coins


@dataclass(frozen=True)
class Bits(Alone):
    """What both rounds have in common: a bit of each person, whose mean is `height` of the scaled value."""

    statistic: Statistic
    domains: tuple[Interval]
    response: BitResponse
    share: int
    name: ClassVar[str] = "around-mean"
    rounds: ClassVar[int] = 2
    uses_coins: ClassVar[bool] = True

    @property
    def symbols(self) -> int:
        return 2

    @property
    def epsilon(self) -> float:
        return self.response.epsilon

    def height(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        return scaled

    def randomize(
        self, coins: Coins, stratum: int, first_index: int, columns: Sequence[Any], bits: Randomness
    ) -> NDArray[np.int64]:
        (domain,) = self.domains
        scaled = (domain.check(columns[0], "value") - domain.low) / (domain.high - domain.low)
        return self.response.randomize(self.height(scaled), bits)

    def empty_counts(self, coins: Coins, stratum: int) -> DenseCounts:
        return DenseCounts(2)

    def mean(self, counts: Mapping[str, DenseCounts]) -> tuple[float, float]:
        """The mean of all heights, and the variance of this estimate."""
        table = counts["everybody"].array
        people = int(table.sum())
        if people < 2:
            raise NotEnoughData("each round needs two people")
        mean = float(table @ self.response.decode) / people
        return mean, (float(table @ self.response.decode**2) / people - mean**2) / (people - 1)

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        """Of a first round, what the second may lose: nobody acts in both."""
        loss = epsilon_asked if self.round == 1 else self.epsilon
        why = "exact ratio of a bit's probabilities; each person acts in one round"
        return local_claim(loss, epsilon_asked, 0.0, ("value",), why, self.rounds)


@dataclass(frozen=True)
class AroundMean(Bits, FirstRound):
    """The first round."""

    options: ClassVar[tuple[str, ...]] = ("share",)
    estimators: ClassVar[tuple[str, ...]] = ("none",)

    @classmethod
    def create(cls, statistic: Statistic, domains: Any, epsilon: float, share: int = 16) -> "AroundMean":
        return cls(
            statistic, domains, BitResponse.for_epsilon(epsilon), integer("share", share, 1, BLOCK - 1)
        )

    @classmethod
    def from_json(cls, statistic: Statistic, domains: Any, spec: Mapping[str, Any]) -> Protocol:
        later = ("first", "centre") if spec.get("round") == 2 else ()
        names = ("name", "round", "share", "response", *later)
        fields("protocol 'around-mean'", spec, names)
        required("protocol 'around-mean'", spec, names)
        share = integer("share", spec["share"], 1, BLOCK - 1)
        response = scalar_from_json(spec["response"])
        if not isinstance(response, BitResponse):
            raise BadParameter("the around-mean protocol sends one bit")
        given = (statistic, domains, response, share)
        if spec["round"] == 2:
            return Distances(*given, text("first", spec["first"]), real("centre", spec["centre"]))
        return cls(*given)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "round": 1, "share": self.share, "response": self.response.to_json()}

    def asked(self, coins: Coins, stratum: int, first: int, count: int) -> NDArray[np.bool_] | None:
        return asked_first(coins, stratum, first, count, self.share)

    def places(self, coins: Coins, stratum: int, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        return places_in_first(coins, stratum, indices, self.share)

    def estimate(self, counts: Mapping[str, DenseCounts], estimator: str) -> Answer:
        raise NotEstimable("the first of two rounds has no answer: see Study.next")

    def next_round(
        self, study_id: str, coins: Coins, counts: Mapping[str, DenseCounts], epsilon: float
    ) -> "Distances":
        mean, variance = self.mean(counts)
        centre = min(max(mean, 0.0), 1.0)
        given = (self.statistic, self.domains, BitResponse.for_epsilon(epsilon), self.share)
        return Distances(*given, study_id, centre, variance)

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        fits = setting.statistic.name == "variance" and isinstance(setting.domains[0], Interval)
        return [{}] if fits else []

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        (domain,) = self.domains
        masses, places = shape.masses["everybody"], shape.grid.axes[0].centres
        scaled, scale = (places - domain.low) / (domain.high - domain.low), (domain.high - domain.low) ** 2
        later = sum(sizes.values()) * (1 - self.share / BLOCK)
        noise = masses @ self.response.variances((scaled - masses @ scaled) ** 2)
        asked = {name: max(1, int(each * later / sum(sizes.values()))) for name, each in sizes.items()}
        return Prediction(scale * math.sqrt(noise / later), math.sqrt(shape.sampling(asked)), 0.0, 0.0)


@dataclass(frozen=True)
class Distances(Bits):
    """The second round: whom the first did not ask."""

    first: str = ""
    centre: float = 0.0
    uncertainty: float | None = None
    """The variance of m, which only the analyst needs, so it is no part of the study."""
    round: ClassVar[int] = 2
    estimators: ClassVar[tuple[str, ...]] = ("distances",)

    @property
    def first_study(self) -> str:
        return self.first

    def to_json(self) -> dict[str, Any]:
        given = {"name": self.name, "round": 2, "share": self.share, "response": self.response.to_json()}
        return {**given, "first": self.first, "centre": self.centre}

    def analysis_to_json(self) -> dict[str, Any] | None:
        return None if self.uncertainty is None else {"uncertainty": self.uncertainty}

    def with_analysis(self, spec: Any) -> "Distances":
        required("the analysis", spec, ("uncertainty",))
        return replace(self, uncertainty=real("uncertainty", spec["uncertainty"]))

    def asked(self, coins: Coins, stratum: int, first: int, count: int) -> NDArray[np.bool_] | None:
        """By the coins of the first round: everybody whom it did not ask."""
        return ~asked_first(Coins.of(self.first), stratum, first, count, self.share)

    def height(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        return (scaled - self.centre) ** 2

    def estimate(self, counts: Mapping[str, DenseCounts], estimator: str) -> Answer:
        if self.uncertainty is None:
            raise NotEstimable("an estimate needs the analyst's file of this round")
        mean, variance = self.mean(counts)
        scale = (self.domains[0].high - self.domains[0].low) ** 2
        error = scale * math.sqrt(variance + 2 * self.uncertainty**2)
        return Answer(scale * (mean - self.uncertainty), error, error, Quantization(0.0, 0.0, 0.0))
