"""Hoeffding's decomposition of the mean over decoded reports, of people whose shares of the cells are known.

With D the decoder and K the kernel, two reports have the kernel (D K D')_ab. A variance is estimated from the
reports alone where these show it. At a large epsilon a mechanism hardly ever changes a value, and where in
one study it has changed none, reports show no noise although there is some: then the mechanism's own is known
better, at the estimated shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...statistics.ustatistics import Variances
from .rounding import shares

if TYPE_CHECKING:
    from .protocol import Histogram

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class StratumMoments:
    """Of one stratum's people: what a report of theirs does to the mean."""

    reports: float
    """The variance between reports."""
    people: float
    """The variance between people; the rest is noise."""
    reports_fourth: float
    """The fourth central moment of reports."""
    noise_fourth: float
    """The same around each person's own mean."""


@dataclass(frozen=True)
class Moments:
    """First-order moments of each stratum, and the second-order variances of reports and of people."""

    parts: tuple[StratumMoments, ...]
    pairs: float
    pairs_of_people: float

    def variances(self, sizes: Sequence[float], seen: Variances) -> Variances:
        """Those that reports have shown, or larger ones where these moments are known better."""
        reports = [(each.reports, each.reports_fourth) for each in self.parts]
        noise = [(max(each.reports - each.people, 0.0), each.noise_fourth) for each in self.parts]
        population = _larger(sizes, reports, self.pairs, seen.population)
        sample = _larger(sizes, noise, max(self.pairs - self.pairs_of_people, 0.0), seen.sample)
        return Variances(population, min(sample, population))


def _larger(
    sizes: Sequence[float], firsts: Sequence[tuple[float, float]], second: float, seen: float
) -> float:
    """A variance by moments, if it is larger than the one that was seen and as a rule less wrong.

    Of n reports with the variance v and the fourth moment w, a variance is seen with the relative error
    ((w / v^2 - 1) / n)^(1/2). Moments are those of noisy shares: their noise, squared, is in them once more,
    and is what second-order variance there is.
    """
    # A mean over pairs of one stratum has everybody in both places.
    places = 2 / len(sizes)
    linear = places**2 * sum(v / n for n, (v, _) in zip(sizes, firsts, strict=True))
    if linear <= 0:
        return seen
    both = places * second / math.prod(sizes) ** places
    unsure = sum(max(w - v**2, 0.0) / n**3 for n, (v, w) in zip(sizes, firsts, strict=True))
    by_reports, by_moments = places**2 * math.sqrt(unsure) / linear, both / (linear + both)
    return max(seen, linear + both) if by_moments < by_reports else seen


def variances(protocol: Histogram, kernel: Matrix, vectors: Sequence[Vector]) -> Variances:
    """The variances of a mean over decoded reports, around the population's value and the sample's."""
    seen = protocol.average(kernel).variances(list(vectors))
    if not math.isfinite(seen.population):
        return seen
    moments = hoeffding(protocol, kernel, [shares(protocol, counts) for counts in vectors])
    return moments.variances([float(counts.sum()) for counts in vectors], seen)


def hoeffding(protocol: Histogram, kernel: Matrix, shares: Sequence[Vector]) -> Moments:
    """The moments of people with these shares of the cells, of one stratum or two."""
    mechanism = protocol.mechanism
    decoder, channel = mechanism.decoder, mechanism.channel
    first, last = shares[0], shares[-1]
    centre = float(first @ kernel @ last)
    # What somebody in a cell does, which is the mean of what the reports from there do.
    along = [kernel @ last] if len(shares) == 1 else [kernel @ last, first @ kernel]
    parts = tuple(_part(decoder, channel, *each, centre) for each in zip(shares, along, strict=True))
    symbols = first @ channel, last @ channel
    two = [*parts, *parts][:2]
    pairs = _mean_square(decoder, kernel, *symbols) - centre**2 - sum(each.reports for each in two)
    people = float(first @ kernel**2 @ last) - centre**2 - sum(each.people for each in two)
    return Moments(parts, max(pairs, 0.0), max(people, 0.0))


def _part(decoder: Matrix, channel: Matrix, masses: Vector, along: Vector, centre: float) -> StratumMoments:
    off = decoder @ along
    symbols = masses @ channel
    noise = float(masses @ (channel * (off - along[:, None]) ** 4).sum(axis=1))
    return StratumMoments(
        float(symbols @ (off - centre) ** 2),
        float(masses @ (along - centre) ** 2),
        float(symbols @ (off - centre) ** 4),
        noise,
    )


def _mean_square(decoder: Matrix, kernel: Matrix, p: Vector, q: Vector) -> float:
    """The mean square of D K D' at symbols p and q.

    Where there are far more symbols than cells, this matrix is not made: the mean is tr(K W_q K' W_p), with
    the second moments W_p = D' diag(p) D of a decoded report.
    """
    symbols, cells = decoder.shape
    if symbols <= 2 * cells:
        return float(p @ (decoder @ kernel @ decoder.T) ** 2 @ q)
    first = second = (decoder * p[:, None]).T @ decoder
    if not np.array_equal(p, q):
        second = (decoder * q[:, None]).T @ decoder
    return float(np.sum((kernel @ second) * (kernel.T @ first).T))
