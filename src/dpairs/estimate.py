"""An answer with its error: what an analyst gets from a tally."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import BadParameter
from .formats.checks import choice, real
from .privacy import PrivacyClaim

TARGETS = ("population", "sample")


class ConfidenceInterval(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """The two estimated distributions, on parts of the domain from the lowest to the highest.

    ``discarded`` parts were not looked into: their pairs were taken to be won half of the time.
    ``recursed_nodes`` and ``discarded_nodes`` are by level, the root first.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    positive: NDArray[np.float64]
    negative: NDArray[np.float64]
    discarded: NDArray[np.bool_]
    recursed_nodes: tuple[int, ...]
    discarded_nodes: tuple[int, ...]

    def rows(self) -> list[tuple[int, int, int]]:
        """(level, recursed nodes, discarded nodes), for a table."""
        pairs = zip(self.recursed_nodes, self.discarded_nodes, strict=True)
        return [(level, recursed, discarded) for level, (recursed, discarded) in enumerate(pairs)]


@dataclass(frozen=True)
class Quantization:
    """What binning may have done to the value: not part of the interval.

    ``bound`` holds for any data (known when the kernel has a Lipschitz constant). ``estimate`` is for
    data like these, from the same reports: how far the kernel can lie from its binned value, averaged
    over pairs. ``delta`` is the paper's Delta, the average of the square of that distance, so
    ``estimate <= sqrt(delta)`` but for noise. The last two are None under random rounding. All are zero
    on domains that were not binned.
    """

    bound: float | None
    estimate: float | None
    delta: float | None


@dataclass(frozen=True)
class Estimate:
    """A statistic's value with its standard error and the privacy claim it was bought under.

    ``standard_error`` is around the value in the *population* the people were drawn from: it holds the
    sampling of people and the privacy noise. ``sample_standard_error`` is around the exact statistic of
    the very people who took part: the privacy noise alone.
    """

    statistic: str
    value: float
    standard_error: float
    sample_standard_error: float
    strata: Mapping[str, int]
    privacy: PrivacyClaim
    protocol: str
    estimator: str
    study_id: str
    quantization: Quantization
    details: Mapping[str, float] = field(default_factory=dict)
    explanation: Explanation | None = field(default=None, repr=False, compare=False)
    bounds: tuple[float, float] = (-math.inf, math.inf)
    """What the statistic can be, where the interval ends at the latest."""

    @property
    def n(self) -> int:
        """How many people took part."""
        return sum(self.strata.values())

    def confidence_interval(self, level: float = 0.95, target: str = "population") -> ConfidenceInterval:
        """A normal interval that covers the target with probability about ``level``.

        ``target="population"``: the value in the population the people come from. ``target="sample"``:
        the exact statistic of the people who took part. Either way it covers the privacy noise, and
        it does not cover quantization (see `quantization`), answers that were not honest, nor who
        chose to take part.
        """
        share = real("level", level)
        if not 0 < share <= 1 - 1e-12:
            raise BadParameter(f"level must lie between 0 and 1, not {level!r}")
        error = (
            self.standard_error
            if choice("target", target, TARGETS) == "population"
            else self.sample_standard_error
        )
        reach = NormalDist().inv_cdf((1 + share) / 2) * error
        low, high = self.bounds
        return ConfidenceInterval(max(self.value - reach, low), min(self.value + reach, high))

    def explain(self) -> Explanation:
        """Where the estimate looked closely and where it did not (tree studies)."""
        if self.explanation is None:
            raise BadParameter(f"an estimate of the {self.protocol} protocol has nothing to explain")
        return self.explanation

    def notes(self) -> list[str]:
        """What the interval covers and does not cover, in sentences."""
        said = ["The interval covers the privacy noise and the sampling of people."]
        estimate, bound = self.quantization.estimate, self.quantization.bound
        if estimate is None or estimate > 0:
            size = (
                "by an amount that is not estimated"
                if estimate is None
                else f"by up to about {estimate:.3g} here"
            )
            known = "" if bound is None else f", and by at most {bound:.3g} for any data"
            cause = "binning" if self.explanation is None else "parts that were not looked into"
            said.append(f"Not covered: {cause} may shift the value, {size}{known}.")
        said.append("Not covered: people who answer falsely, and who chose to take part.")
        return said

    def to_json(self) -> dict[str, Any]:
        """The estimate as plain values; a number that does not exist becomes null."""
        low, high = self.confidence_interval()
        return {
            "statistic": self.statistic,
            "value": _finite(self.value),
            "standard_error": _finite(self.standard_error),
            "sample_standard_error": _finite(self.sample_standard_error),
            "confidence_interval_95": [_finite(low), _finite(high)],
            "n": self.n,
            "strata": dict(self.strata),
            "protocol": self.protocol,
            "estimator": self.estimator,
            "study": self.study_id,
            "privacy": self.privacy.to_json(),
            "quantization": asdict(self.quantization),
            "details": {name: _finite(value) for name, value in self.details.items()},
            "notes": self.notes(),
        }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
