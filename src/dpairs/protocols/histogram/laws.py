"""The errors of both ends of what binning or random rounding leaves possible, and how far they lean.

With random rounding both ends are forms of the same reports, so each has a standard error of its own. That of
the lower end may be several times that of the mean: with half of the people near either end of the domain,
the mean is nearly the largest that it can be, and noise hardly moves it. The interval reaches from the middle
to both ends, with the larger of the two, and further to the side that either leans to (`statistics.leaning`).
Nothing is taken off its other side: where noise hides how a mean leans, it may be said to lean too far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...estimate import Laws
from ...statistics.fixed_length import reach
from ...statistics.leaning import Lean, lean
from ...statistics.rounded import rounding_variances
from ...statistics.ustatistics import OneSample
from .moments import variances
from .rounding import shares

if TYPE_CHECKING:
    from .protocol import Histogram

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class AroundMiddle:
    """A normal error around a middle that is off by ``bias`` at most, which an estimate adds to its reach."""

    standard_error: float
    bias: float
    leans: tuple[Lean, ...] = ()
    scale: float = 1.0
    """What the leans are multiplied by."""

    def reach(self, level: float) -> float:
        return reach(self.standard_error, self.bias, level) - self.bias

    def lean(self, level: float) -> tuple[float, float]:
        """How much further the interval goes down, and up, for the z that it reaches beyond the bias."""
        z = self.reach(level) / self.standard_error if self.leans else 0.0
        down = [self.scale * each.down(z) for each in self.leans]
        return max([0.0, *down]), -min([0.0, *down])


def laws(
    protocol: Histogram, vectors: Sequence[Vector], ends: Sequence[Matrix], slack: float, bias: float
) -> Laws:
    """Of the errors around the population's value and the sample's, for the kernels of both ends."""
    if not math.isfinite(slack):
        return Laws(AroundMiddle(math.inf, bias), AroundMiddle(math.inf, bias))
    made = [variances(protocol, kernel, vectors) for kernel in ends]
    rounded = [_rounding(protocol, vectors[0], kernel) for kernel in ends]
    population = max(each.population for each in made)
    # What rounding does is in the population's variance, where it counts as a choice of people.
    sample = min(max(each.sample + more for each, more in zip(made, rounded, strict=True)), population)
    leans: tuple[Lean, ...] = ()
    if 0 < population < math.inf:
        decoder = protocol.mechanism.decoder
        leans = tuple(
            lean(vectors[0], OneSample(decoder, kernel), each.population)
            for kernel, each in zip(ends, made, strict=True)
        )
    # B / V and C / V have the covariance of a report once more above than below: privacy's noise that is a
    # share of it in every direction makes this share of the lean.
    share = sample / population if leans else 0.0
    return Laws(
        AroundMiddle(slack * math.sqrt(population), bias, leans, slack),
        AroundMiddle(slack * math.sqrt(sample), bias, leans if sample > 0 else (), slack * share),
    )


def _rounding(protocol: Histogram, counts: Vector, kernel: Matrix) -> float:
    """The most that rounding can vary a mean over pairs.

    Rounding between points i and i + 1 moves a person's part of the mean by h(i + 1) - h(i), with the
    variance u (1 - u) (h(i + 1) - h(i))^2, where h is twice the kernel's mean over the others. Few people
    between two points may all have gone to the same one, so points beside people count one person more.
    """
    people, masses = float(counts.sum()), shares(protocol, counts)
    steps = np.diff(2 * kernel @ masses)
    there = np.concatenate([[0.0], masses, [0.0]]) > 0
    masses = masses + (there[:-2] | there[2:]) / people
    return float(masses @ rounding_variances(masses, steps**2)) / people
