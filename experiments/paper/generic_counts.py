"""The paper's generic protocol for the AUC on any number of bins, from counts alone.

The histogram protocol of dpairs averages the kernel over all pairs of cells, and stops at 4,096 of them.
For the AUC, running sums do: k-ary randomized response on a million bins takes a moment.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpairs.protocols.theory import redraw_probability

Counts = NDArray[np.int64]


def reports(people: Counts, epsilon: float, draw: np.random.Generator) -> Counts:
    """How often each bin is reported, when each person redraws the bin with probability beta."""
    bins = people.size
    kept = draw.binomial(people, 1 - redraw_probability(bins, epsilon))
    redrawn: Counts = draw.multinomial(int(people.sum() - kept.sum()), np.full(bins, 1 / bins))
    return kept + redrawn


def estimated_auc(positive: Counts, negative: Counts, epsilon: float) -> float:
    """The paper's unbiased estimate from the reports of both classes; a tie counts 1/2."""
    shares = []
    for counts in (positive, negative):
        beta = redraw_probability(counts.size, epsilon)
        shares.append((counts / counts.sum() - beta / counts.size) / (1 - beta))
    below = np.cumsum(shares[1]) - shares[1] / 2
    return float(shares[0] @ below)


def two_points_noise(size: int, bins: int, epsilon: float) -> float:
    """About the standard deviation of the estimate when ``size`` people of each class are at one bin each.

    The two bins are neighbours at the low end, as for ithdigit. A redrawn bin is then above both, whoever it
    comes from, and cancels but for the negatives' own bin. What is left are the people who keep that bin, and
    the product of both classes' noises.
    """
    kept = 1 - redraw_probability(bins, epsilon)
    alone = (kept + 1 / bins) / (size * kept**2)
    product = 1 / (12 * size**2 * kept**4)
    return math.sqrt(alone + product)
