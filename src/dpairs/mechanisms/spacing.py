"""Where a window's knots lie best: close together where numbers are common.

Numbers and knots lie on a grid of 2^-12. A number's mass is split between its two neighbours there, which
leaves the share of every window as it is. The average variance is then

    sum over symbols y of (A + B (share of the windows that favour y)) d(y)^2 - mean of v^2

with d linear in the gaps between knots (`WindowResponse.decode`), so many sets of knots are judged at once.
For every shape of window a few densities of knots are tried, of the form share + (1 - share) (density of
numbers)^power; then the best shapes' knots are moved while that helps. Variances are compared to 12 decimals,
on which processors agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..randomness import WORDS
from .window import STEPS, WindowResponse

GRID = 2**12
BINS = 256
"""Bins of the density that knots begin with."""
EVEN_PART = 0.01
"""The part of the people who are taken to be anywhere: the pilot that says where they are is noisy."""
DENSITIES = [(share, power) for share in (0.8, 0.5, 0.3, 0.15, 0.05) for power in (1.0, 1 / 2, 1 / 3)]
POLISHED = 2
"""So many of the best shapes have their knots moved."""
LARGEST_MOVE, MOVES = GRID // 16, 300
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Knots = NDArray[np.int64]
_NONE: Knots = np.array([], dtype=np.int64)


def spaced_window(
    values: Vector, weights: Vector, windows: Iterable[WindowResponse], polished: int = POLISHED
) -> WindowResponse | None:
    """The window with knots of least average variance, of the shapes of ``windows``."""
    crowd = _Crowd(values, weights)
    shapes = [window for window in windows if window.last > 1]
    if not shapes:
        return None
    starts = _starts(crowd.densities(), sorted({window.last for window in shapes}))
    shares = {last: crowd.shares(knots) for last, knots in starts.items()}
    tried: list[tuple[float, int, WindowResponse, Knots]] = []
    for window in shapes:
        variances = _agreed(crowd.judged(window, *shares[window.last]))
        best = int(variances.argmin())
        tried.append((float(variances[best]), len(tried), window, starts[window.last][best]))
    tried.sort(key=lambda each: each[:2])
    best_shapes = [(least, window, knots) for least, _, window, knots in tried[: max(polished, 1)]]
    if polished:
        best_shapes = [_moved(crowd, *each) for each in best_shapes]
    _, window, knots = min(best_shapes, key=lambda each: each[0])
    inner = tuple(int(knot) * (STEPS // GRID) for knot in knots[1:-1])
    return WindowResponse(window.symbols, window.width, window.floor, window.boost, inner)


class _Crowd:
    """Masses on the grid, and what they make of knots."""

    def __init__(self, values: Vector, weights: Vector) -> None:
        place = np.minimum((values * GRID).astype(np.int64), GRID - 1)
        through = values * GRID - place
        shares = np.maximum(weights, 0.0)
        shares = shares / shares.sum()
        lower = np.bincount(place, shares * (1 - through), GRID + 1)
        upper = np.bincount(place + 1, shares * through, GRID + 1)
        even = np.full(GRID + 1, 1 / GRID)
        even[[0, -1]] /= 2
        self.masses: Vector = (1 - EVEN_PART) * (lower + upper) + EVEN_PART * even
        at = np.arange(GRID + 1)
        self.below = np.concatenate(([0.0], np.cumsum(self.masses)))
        self.moment = np.concatenate(([0.0], np.cumsum(self.masses * at)))
        self.square = float(self.masses @ (at / GRID) ** 2)

    def densities(self) -> list[Vector]:
        """How many of the knots lie below the end of each bin, for each density."""
        inside = np.add.reduceat(self.masses[:-1], np.arange(0, GRID, GRID // BINS))
        inside[-1] += self.masses[-1]
        even = np.linspace(0, 1, BINS + 1)
        rest = [inside**power for _, power in DENSITIES]
        return [even] + [
            share * even + (1 - share) * np.concatenate(([0.0], np.cumsum(each) / each.sum()))
            for (share, _), each in zip(DENSITIES, rest, strict=True)
        ]

    def variances(self, window: WindowResponse, knots: Knots) -> Vector:
        """The average variance for each row of knots."""
        return self.judged(window, *self.shares(knots))

    def shares(self, knots: Knots) -> tuple[Matrix, Matrix]:
        """Gaps between knots, and the share of all windows below each, for each row of knots."""
        at = knots.astype(np.float64)
        gaps, below = at[:, 1:] - at[:, :-1], self.below.take(knots)
        # Of those between two knots, who are nearer to the upper one: the window below it is not theirs.
        upper = self.moment.take(knots)
        upper = upper[:, 1:] - upper[:, :-1] - at[:, :-1] * (below[:, 1:] - below[:, :-1])
        sums = np.zeros((knots.shape[0], knots.shape[1] + 1))
        np.subtract(below[:, 1:], upper / gaps, out=sums[:, 1:-1])
        sums[:, -1] = self.below[-1]
        return gaps, sums

    def judged(self, window: WindowResponse, gaps: Matrix, sums: Matrix) -> Vector:
        """The average variance, from `shares`."""
        decoded = gaps @ _decoding(window)
        words = window.floor + window.boost * _favouring(window, sums)
        return np.asarray(np.einsum("ij,ij,ij->i", words, decoded, decoded) / (WORDS * GRID**2) - self.square)


def _favouring(window: WindowResponse, sums: Matrix) -> Matrix:
    """The share of windows that favour each symbol, from sums of shares over the windows below each."""
    after, before = _favourers(window.symbols, window.width)
    return np.asarray(sums.take(after, axis=-1) - sums.take(before, axis=-1))


@lru_cache(maxsize=256)
def _favourers(symbols: int, width: int) -> tuple[Knots, Knots]:
    """The window after the last that favours each symbol, and the first."""
    symbol = np.arange(symbols)
    return np.minimum(symbol, symbols - width) + 1, np.maximum(symbol - width + 1, 0)


@lru_cache(maxsize=256)
def _decoding(window: WindowResponse) -> Matrix:
    """What a gap between knots adds to each decoded symbol: `WindowResponse.decode` as a matrix."""
    width, group = window.width, np.arange(window.symbols) % window.width
    floor, boost = window.floor / WORDS, window.boost / WORDS
    above = np.zeros((window.symbols, window.last))
    for start in range(window.last):
        above[start + width] = above[start]
        above[start + width, start] += 1 / boost
    first = floor + boost * (np.arange(window.symbols) < width)
    sums = np.arange(window.last + 2) / (window.last + 1)
    every = floor + boost * _favouring(window, sums)
    groups = np.eye(width)[group]
    words, own = every @ groups, first @ groups
    mean = -(groups.T @ (every[:, None] * above)) / words[:, None]
    multiplier = (-(first @ above) - own @ mean) / (own**2 / words).sum()
    return np.asarray((above + (mean + np.outer(own / words, multiplier))[group]).T)


def _starts(densities: list[Vector], numbers: list[int]) -> dict[int, Knots]:
    """Knots at even shares of each density, a step or more apart, for each number of gaps."""
    ends = np.linspace(0, GRID, BINS + 1)
    places = [np.arange(gaps + 1) for gaps in numbers]
    even = np.concatenate([place / place[-1] for place in places])
    every = np.round([np.interp(even, below, ends) for below in densities]).astype(np.int64)
    by_gaps, start = {}, 0
    for gaps, place in zip(numbers, places, strict=True):
        knots = every[:, start : start + gaps + 1]
        knots[:, 0], knots[:, -1] = 0, GRID
        knots = np.maximum.accumulate(knots - place, axis=1) + place
        by_gaps[gaps] = np.minimum(knots, GRID - (gaps - place))
        start += gaps + 1
    return by_gaps


def _moved(
    crowd: _Crowd, least: float, window: WindowResponse, knots: Knots
) -> tuple[float, WindowResponse, Knots]:
    """Knots after moves that help: all that do at once or the best of them, by ever smaller steps.

    A move is of one knot, or of one gap that grows or shrinks while all others keep their proportions.
    """
    place = np.arange(window.last + 1)
    knot, gap = (place == place[1:-1, None]).astype(np.int64), (place > place[:-1, None]).astype(np.int64)
    steps = np.concatenate((knot, -knot, gap, -gap))
    longer = steps[:, -1:]
    move = LARGEST_MOVE
    by, shrunk = move * steps, GRID / (GRID + move * longer)
    for _ in range(MOVES):
        tried = np.rint((knots + by) * shrunk).astype(np.int64)
        apart = np.logical_and.reduce(tried[:, 1:] > tried[:, :-1], axis=1)
        if not apart.all():
            tried = tried[apart]
        better = _NONE
        if len(tried):
            variances = _agreed(crowd.variances(window, tried))
            (better,) = (variances < least * (1 - 1e-6)).nonzero()
        if better.size == 0:
            if move == 1:
                break
            move //= 2
            by, shrunk = move * steps, GRID / (GRID + move * longer)
            continue
        best = int(variances.argmin())
        knots_of_best, least = tried[best], float(variances[best])
        together = knots + (tried[better] - knots).sum(axis=0)
        knots = knots_of_best
        if better.size > 1 and (together[1:] > together[:-1]).all():
            variance = float(_agreed(crowd.variances(window, together[None]))[0])
            if variance < least:
                knots, least = together, variance
    return least, window, knots


def _agreed(variances: Vector) -> Vector:
    """To 12 decimals: sums of numbers of up to 1 are off in the 16th."""
    return variances.round(12)
