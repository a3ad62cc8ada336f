"""How an answer's error is distributed, and so how far an interval must reach.

The sum of m independent Laplace numbers of variance w together is sqrt(w G / m) Z with a standard normal
Z and G from the gamma distribution of shape m (two servers: m = 2): its tails are heavier than normal ones. A
sampling variance v that is itself estimated, with f degrees of freedom, makes Student's sqrt(v f / C) Z with
a chi-squared C. So the error is a mixture of normal numbers,

    sqrt(W) Z,    W = known + v f / C + sum_i w_i G_i / m,

and a bias of at most b either way: an interval of half-length r covers with a chance of at least
P(|sqrt(W) Z + b| <= r), which `reach` solves for r (Armstrong and Kolesar, "Optimal inference in a class of
regression models", Econometrica 2018, for the bias).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

POINTS = 512
"""Of a Kronecker sequence, over which chances are averaged."""
LEAST_FREEDOM = 1.0
PRECISE = 1e-9


@dataclass(frozen=True)
class ErrorLaw:
    """The parts of an error: variances of what is normal, sampled and noisy, and a bound of the bias."""

    known: float = 0.0
    sampling: float = 0.0
    freedom: float = math.inf
    noise: tuple[float, ...] = ()
    """Variances of independent sums of ``draws`` Laplace numbers."""
    draws: int = 2
    bias: float = 0.0

    def with_freedom(self, deviation: float) -> ErrorLaw:
        """The same with a sampling variance whose estimate has this standard deviation (Satterthwaite)."""
        freedom = 2 * (self.sampling / deviation) ** 2 if deviation > 0 else math.inf
        return replace(self, freedom=max(freedom, LEAST_FREEDOM))

    def wider(self, times: float) -> ErrorLaw:
        """The same with an error so many times as large, but for the bias."""
        square = times**2
        if math.isinf(square):
            return ErrorLaw(math.inf)
        noise = tuple(square * part for part in self.noise)
        return replace(self, known=square * self.known, sampling=square * self.sampling, noise=noise)

    @property
    def deviation(self) -> float:
        """The root of the mean square error, at the largest bias."""
        return math.sqrt(self.known + self.sampling + sum(self.noise) + self.bias**2)

    @property
    def caveats(self) -> tuple[str, ...]:
        """A sentence where people within cells may move the value by more than noise does."""
        if self.bias**2 <= self.known + sum(self.noise):
            return ()
        return (
            "Counts do not show where people are within a cell. As far as released numbers tell, that may "
            f"move the value by up to {self.bias:.2g}, which the interval allows for. A narrower domain "
            "would help, or Levels or Integers where values are few.",
        )

    @cached_property
    def _variances(self) -> NDArray[np.float64]:
        from scipy.special import chdtri  # heavy, and no participant needs it

        shares = _points(1 + len(self.noise))
        total = np.full(POINTS, self.known)
        if math.isfinite(self.freedom):
            total += self.sampling * self.freedom / chdtri(self.freedom, shares[0])
        else:
            total += self.sampling
        for gamma, variance in zip(_gammas(len(self.noise), self.draws), self.noise, strict=True):
            total += variance / self.draws * gamma
        return total

    def covered(self, half_length: float) -> float:
        """The chance that an interval of this half-length covers, at the largest bias."""
        from scipy.special import erf

        ends = np.array([[half_length - self.bias], [half_length + self.bias]])
        return float(erf(ends / np.sqrt(2 * self._variances)).mean())

    def reach(self, level: float) -> float:
        """The half-length that covers with the chance ``level``."""
        from scipy.optimize import brentq

        if self.deviation == self.bias or math.isinf(self.deviation):
            return self.deviation
        scale = math.sqrt(float(self._variances.max()))
        high = self.bias + scale
        while self.covered(high) < level:
            high = self.bias + 2 * (high - self.bias)
        return float(brentq(lambda half: self.covered(half) - level, 0.0, high, xtol=PRECISE * high))


@lru_cache(maxsize=16)
def _gammas(numbers: int, draws: float) -> list[NDArray[np.float64]]:
    """Quantiles of the gamma distribution at the points of all but the first dimension."""
    from scipy.special import gammaincinv

    return [gammaincinv(float(draws), share) for share in _points(1 + numbers)[1:]]


@lru_cache(maxsize=16)
def _points(dimensions: int) -> NDArray[np.float64]:
    """Points that fill a cube evenly: multiples of powers of the root of x^(d+1) = x + 1, modulo 1."""
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    places = (0.5 + np.outer(steps, np.arange(1, POINTS + 1))) % 1.0
    return np.clip(places, 0.5 / POINTS, 1 - 0.5 / POINTS)
