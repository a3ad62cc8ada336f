"""The best local randomizer for a given kernel, by projected gradient.

The leading variance of a U-statistic with kernel A is that of r(y)' A h, where r(y) is a report's decoded
cell and h the distribution of people. With a prior under which h has the second moment H, its mean is
trace(C T) with T = A H A' and C = (Q D^-1 Q')^-1 the covariance of the best unbiased decoding of the
channel Q (a row of probabilities for each cell; D the symbols' probabilities under the prior). It is
minimised over all channels whose entries for one symbol differ by at most e^epsilon: entries between z_y and
e^epsilon z_y, rows that sum to 1. McKenna, Maity, Mazumdar, Miklau, "A workload-adaptive mechanism for
linear queries under local differential privacy" (VLDB 2020), do so for linear queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from ..randomness.coins import Coins, Purpose
from .base import Mechanism
from .krr import KaryResponse
from .projective import ProjectiveResponse
from .table import MAX_INPUTS, MAX_SYMBOLS, TableResponse

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
CONCENTRATION = 1.0
"""How sure the prior is of its mean: as sure as after seeing so many people."""
RIDGE = 1e-4
"""A little weight on every direction, so that all of them can be decoded."""
TRIAL, DESCENT = 150, 1500
"""Steps from every start, and then from the best."""
ENOUGH = 1e-6
WORTH = 0.98
"""A table of one's own must take at least 2% off the variance of the best built-in mechanism."""
SINGULAR = 1e-6
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Goal:
    """What is minimised: trace(C T) at a prior, within e^epsilon."""

    target: Matrix
    prior: Vector
    ratio: float

    def cost(self, channel: Matrix) -> tuple[float, Matrix]:
        """The variance, and its derivative by each entry; a row of ``channel`` for each symbol."""
        symbols = channel @ self.prior
        scaled = channel / symbols[:, None]
        try:
            root = np.linalg.cholesky(channel.T @ scaled)
        except np.linalg.LinAlgError:
            return math.inf, np.zeros_like(channel)
        pivots = np.diag(root)
        if pivots.min() < SINGULAR * pivots.max():
            # Such a channel cannot be decoded, however small the computed variance is.
            return math.inf, np.zeros_like(channel)
        half = np.linalg.inv(root)
        inverse = half.T @ half
        inner = -(inverse @ self.target @ inverse)
        along = channel @ inner
        own = np.einsum("yk,yk->y", along, channel) / symbols**2
        return float((self.target * inverse).sum()), 2 * along / symbols[:, None] - own[:, None] * self.prior

    def project(self, wanted: Matrix, floor: Vector) -> Matrix:
        """The nearest entries between the floors and e^epsilon times them, each input's summing to 1."""
        low = np.repeat(floor[:, None], wanted.shape[1], axis=1)
        high = self.ratio * low
        least, most = (low - wanted).min(axis=0), (high - wanted).max(axis=0)
        shift = np.clip(np.zeros(wanted.shape[1]), least, most)
        every, clipped = np.ones(len(wanted)), np.empty_like(wanted)
        for _ in range(60):
            np.add(wanted, shift, out=clipped)
            np.minimum(np.maximum(clipped, low, out=clipped), high, out=clipped)
            missing = 1 - clipped.sum(axis=0)
            off = np.abs(missing) >= 1e-12
            if not off.any():
                break
            below = missing > 0
            least, most = np.where(below, shift, least), np.where(below, most, shift)
            # Newton's step on a piecewise linear function, kept between the bounds that are known.
            free = every @ ((clipped > low) & (clipped < high))  # a sum, in a third of its time
            newton = shift + missing / np.maximum(free, 1)
            inside = (newton > least) & (newton < most) & (free > 0)
            # Inputs that are there stay: they would be sent half way back, and come again.
            shift = np.where(off, np.where(inside, newton, (least + most) / 2), shift)
        projected: Matrix = clipped / clipped.sum(axis=0)
        return projected


@dataclass
class Search:
    """A channel on its way down."""

    goal: Goal
    channel: Matrix
    floor: Vector
    cost: float
    slope: Matrix
    step: float

    @classmethod
    def start(cls, goal: Goal, channel: Matrix) -> Search:
        """At a channel that keeps epsilon."""
        cost, slope = goal.cost(channel)
        size = np.abs(slope).mean()
        return cls(
            goal, channel, channel.min(axis=1), cost, slope, 0.1 * channel.mean() / size if size else 1.0
        )

    def descend(self, steps: int, progress: Progress | None = None) -> None:
        """Take up to ``steps`` steps, none of them upwards."""
        still = 0
        for number in range(steps):
            before = self.cost
            if not math.isfinite(before) or not self._step():
                break
            still = still + 1 if before - self.cost < ENOUGH * before else 0
            if still == 20:
                break
            if progress is not None and number % 10 == 9:
                progress(10)

    def _step(self) -> bool:
        low = self.floor[:, None]
        at_low = self.channel <= low * (1 + 1e-9)
        at_high = self.channel >= self.goal.ratio * low * (1 - 1e-9)
        free = ~(at_low | at_high)
        # Rows sum to 1, so only what differs from the free entries' mean can change anything.
        mean = (self.slope * free).sum(axis=0) / np.maximum(free.sum(axis=0), 1)
        tilt = self.slope - mean
        lift = (tilt * at_low).sum(axis=1) + self.goal.ratio * (tilt * at_high).sum(axis=1)
        lift /= math.sqrt(self.channel.shape[1])
        while self.step > 1e-16:
            floor = np.maximum(self.floor - self.step * lift, 1e-9 * self.floor.mean())
            floor /= max(floor.sum() / (1 - 1e-9), 1.0)
            floor *= max((1 + 1e-9) / (self.goal.ratio * floor.sum()), 1.0)
            channel = self.goal.project(self.channel - self.step * tilt, floor)
            cost, slope = self.goal.cost(channel)
            if cost <= self.cost:
                self.channel, self.floor, self.cost, self.slope = channel, floor, cost, slope
                self.step *= 1.3
                return True
            self.step /= 2
        return False


def target_of(kernels: list[Matrix], prior: Vector) -> Matrix:
    """T: the mean square of A h over distributions around the prior (Dirichlet), for each given A."""
    second = (CONCENTRATION * np.outer(prior, prior) + np.diag(prior)) / (1 + CONCENTRATION)
    total: Matrix = sum((kernel @ second @ kernel.T for kernel in kernels), np.zeros_like(second))
    total += RIDGE * np.trace(total) / len(prior) * np.eye(len(prior))
    return total


def optimize(
    kernels: list[Matrix], prior: Vector, epsilon: float, progress: Progress | None = None
) -> Mechanism:
    """The best mechanism found for the sum of the kernels' leading variances: a built-in one, or a table.

    ``progress`` is called with numbers of steps, at most `STEPS` in all.
    """
    cells = len(prior)
    if not 2 <= cells <= MAX_INPUTS:
        raise BadParameter(f"an optimized mechanism has from 2 to {MAX_INPUTS} cells, not {cells}")
    goal = Goal(target_of(kernels, prior), prior, math.exp(epsilon))
    built_in = [kind.for_epsilon(cells, epsilon) for kind in (KaryResponse, ProjectiveResponse)]
    least, known = min(((goal.cost(each.channel.T)[0], each) for each in built_in), key=lambda pair: pair[0])
    starts = [each.channel.T for each in built_in if each.symbols <= MAX_SYMBOLS]
    searches = [Search.start(goal, channel) for channel in (*starts, *_random(goal, cells))]
    for search in searches:
        search.descend(TRIAL, progress)
    best = min(searches, key=lambda search: search.cost)
    best.descend(DESCENT, progress)
    if best.cost > WORTH * least:
        return known
    channel = best.channel.T
    return TableResponse.rounded(channel / channel.sum(axis=1, keepdims=True), prior, epsilon)


STEPS = 4 * TRIAL + DESCENT


def _random(goal: Goal, cells: int) -> list[Matrix]:
    """Two starts at random, always the same: each symbol favours about 1 / (1 + e^epsilon) of the cells."""
    # Coins of no study, so their purpose is nobody's.
    coins, symbols = Coins((cells, 0)), min(8 * cells, MAX_SYMBOLS)
    floor = np.full(symbols, 2 / (1 + goal.ratio) / symbols)
    starts = []
    for number in (0, 1):
        words = coins.words(Purpose.ROW, number, 0, symbols * cells // 4 + 1).reshape(-1)[: symbols * cells]
        uniform = (words >> np.uint64(11)).astype(np.float64).reshape(symbols, cells) * 2.0**-53
        favoured = uniform < 1 / (1 + goal.ratio)
        starts.append(goal.project(np.where(favoured, goal.ratio, 1.0) * floor[:, None], floor))
    return starts
