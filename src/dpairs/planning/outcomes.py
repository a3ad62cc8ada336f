"""What became of simulated studies: how far off they were, and how often they gave no answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

REFUSED = 0.05
"""A study that gives no answer more often than this comes after all that do."""


@dataclass(frozen=True)
class SimulatedRun:
    """One run of a study: how far off it was; or None, and why there was no answer."""

    off: float | None
    people: float = 0.0
    """How far the exact statistic of the people drawn was from the data's."""
    reason: str = ""


@dataclass(frozen=True)
class Rehearsal:
    """What became of simulated runs of a study."""

    error: float
    """The root of the runs' mean square error, one standard error higher, and of ``unseen``, squared.

    Rare runs that are far off make most of a mean square, and few runs may have none of them. Where there are
    some, the kurtosis says how uncertain it is. Where there are none, the error that formulas fear, if it is
    larger, counts as one run more, as Laplace's rule of succession has it. A plan should promise too little
    rather than too much.
    """
    unseen: float
    """What another sample than the data may hide from the study: a standard error."""
    accuracy: float
    """The relative standard error of the root mean square error."""
    bias: float
    runs: int
    refused: int
    reason: str
    """Why the last of those that were refused had no answer."""

    @classmethod
    def of(cls, outcomes: Sequence[SimulatedRun], share: float, feared: float = 0.0) -> Rehearsal:
        """From runs with ``share`` times as many people as the data has."""
        told = [each for each in outcomes if each.off is not None]
        reasons = [each.reason for each in outcomes if each.off is None]
        count = (len(outcomes), len(reasons), reasons[-1] if reasons else "")
        if not told:
            return cls(math.inf, 0.0, math.inf, 0.0, *count)
        off = np.array([each.off for each in told], dtype=np.float64)
        hidden = unseen(off, np.array([each.people for each in told]), share)
        square = float(np.mean(off**2))
        accuracy = math.sqrt(max(kurtosis(off) - 1, 0.0) / (4 * off.size))
        if math.isfinite(feared * feared):
            square += max(feared * feared - square, 0.0) / (off.size + 1)
        error = math.hypot((1 + accuracy) * math.sqrt(square), hidden)
        return cls(error, hidden, accuracy, float(off.mean()), *count)

    @property
    def reliable(self) -> bool:
        return self.refused <= REFUSED * self.runs

    @property
    def hopeless(self) -> bool:
        return 2 * self.refused >= self.runs

    @property
    def told(self) -> str:
        """How often there was no answer, in a sentence without its end."""
        return f"{self.refused} of {self.runs} simulated studies of such people gave no answer: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "refused": self.refused,
            "accuracy": self.accuracy,
            "bias": self.bias,
            "unseen": self.unseen,
        }


def kurtosis(off: NDArray[np.float64]) -> float:
    """The mean fourth power over the squared mean square: 3 for normal errors.

    The relative standard error of a root mean square of R errors is sqrt((kurtosis - 1) / (4 R)).
    """
    largest = float(np.abs(off).max())
    if not largest:
        return 3.0
    squares = (off / largest) ** 2
    return float(np.mean(squares**2) / np.mean(squares) ** 2)


def unseen(off: NDArray[np.float64], people: NDArray[np.float64], share: float) -> float:
    """How far the bias of a study of the data may be from its bias in the population: a standard error.

    Samples of people differ in their exact statistic, and a study's answers follow with a slope b. A study
    whose bins tell nobody apart has b = 0. Of the difference between the data and the population, which is
    that of a sample as large as the data, the study does not see (1 - b). The square of a slope's error is
    taken off.
    """
    variance = float(np.mean((people - people.mean()) ** 2))
    if variance == 0 or off.size < 3:
        return 0.0
    slope = float(np.mean((people - people.mean()) * (off - off.mean()))) / variance
    residuals = off - off.mean() - slope * (people - people.mean())
    slope_variance = float(residuals @ residuals) / (off.size - 2) / (off.size * variance)
    return math.sqrt(max((slope - 1) ** 2 - slope_variance, 0.0) * variance * share)
