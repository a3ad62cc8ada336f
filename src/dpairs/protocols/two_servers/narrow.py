"""Where two columns go together more narrowly than coarse cells are wide: an X, a chessboard, a curve.

Where a density is smooth across cells, those beside a cell tell how people lie in it. A cell that holds more
than both cells beside it along an axis, beyond noise, may have its people in any order there: the share that
is narrow. Pairs of such people in one bin of the axis may all go the same way; and coarse cells do not see
how much these people's comparisons with each other differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...data.grids import Grid
from ...statistics.base import TWO_SIDED
from .standing_out import Vector, hiding_places, widths

FALSELY = 0.01
"""The chance at most that noise makes any cell of a grid look narrow."""
OUTSIDE = 1 - math.erf(math.sqrt(math.pi / 2)) ** 2
"""The share outside of two by two coarse cells from which on people are not narrow, 0.147.

Two normal people are near each other at a rate of 1 / (2 sqrt(pi) s), for a deviation s, and two who lie
evenly in two cells of width w at 1 / (2 w): the same for s = w / sqrt(pi), when erf(sqrt(pi / 2)) of them are
in the two cells around their mean, and the square of that in two by two. With more outside, bins hide no more
of them than of even people. Of one axis alone fewer are outside: there this limit is the more cautious.
"""
TAUS = 512
"""That are compared with what cells show."""


def surely(cells: int) -> float:
    """Standard deviations that none of so many noises is beyond, but for that chance.

    The sum of two Laplace numbers of scale s has a standard deviation of 2 s and is above t s with a chance
    of (2 + t) e^-t / 4; normal noise has lighter tails.
    """
    scales, chance = 1.0, 4 * FALSELY / cells
    for _ in range(64):
        scales = math.log((2 + scales) / chance)
    return scales / 2


def narrow(grid: Grid, masses: Vector, deviation: float) -> dict[int, Vector]:
    """The share of every cell that is narrow along each axis whose bins hold several values."""
    shape = [axis.bins for axis in grid.axes]
    limit, narrowed = surely(masses.size) * deviation, {}
    for place in hiding_places(grid):
        table = np.moveaxis(masses.reshape(shape), place, 0)
        width = widths(grid.axes[place]).reshape(-1, *[1] * (table.ndim - 1))
        if len(table) == 1:
            narrowed[place] = np.ones(shape)
            continue
        dense, scale = table / width, np.ones_like(table) / width
        beside, other = np.full_like(dense, -math.inf), np.ones_like(dense)
        for here, there in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
            denser = dense[there] > beside[here]
            beside[here] = np.where(denser, dense[there], beside[here])
            other[here] = np.where(denser, scale[there], other[here])
        beyond = table - width * beside
        clear = beyond > limit * np.sqrt(1 + (width * other) ** 2)
        share = np.divide(beyond, table, out=np.zeros_like(table), where=clear & (table > 0))
        narrowed[place] = np.moveaxis(np.clip(share, 0.0, 1.0), 0, place)
    return narrowed


def hides_curves(grid: Grid, deviation: float) -> bool:
    """Whether noise hides narrow cells of a curve.

    A curve passes through about 2 k of k by k cells, and a cell beside one of them may hold half of it.
    """
    most = max(axis.bins for axis in grid.axes)
    return surely(grid.cells) * deviation * math.sqrt(2) > 1 / (4 * most)


def crammed(
    shares: Vector, places: Sequence[int], deviation: float
) -> Iterator[tuple[list[int], NDArray[np.bool_]]]:
    """Two cells side by side of axes that may hold everybody, where not one cell of any of them may.

    Of all these axes together, or else of each alone where noise leaves `OUTSIDE` to be told from nobody.
    ``shares`` are as released; ``deviation`` is that of the noise of one.
    """
    alone = [[place] for place in places] if len(places) > 1 else []
    for axes in ([*places], *alone):
        two = dict.fromkeys(axes, 2)
        if axes in alone and _noise_outside(shares, two, deviation) > OUTSIDE:
            continue
        block = _holding_all(shares, two, deviation)
        ones = ({**two, place: 1} for place in axes)
        if block is not None and all(_holding_all(shares, one, deviation) is None for one in ones):
            yield axes, block
            if axes not in alone:
                return


def _sides(shares: Vector, lengths: Mapping[int, int]) -> list[int]:
    return [min(lengths.get(place, cells), cells) for place, cells in enumerate(shares.shape)]


def _noise_outside(shares: Vector, lengths: Mapping[int, int], deviation: float) -> float:
    """How many noise alone may put outside of a block.

    Inside a block of k of K cells and outside of it noise is independent, and people add up to 1: so two
    numbers tell the share outside, and the best mean of both has a variance of k (K - k) / K counts.
    """
    held = math.prod(_sides(shares, lengths))
    return TWO_SIDED * deviation * math.sqrt(held * (shares.size - held) / shares.size)


def _holding_all(shares: Vector, lengths: Mapping[int, int], deviation: float) -> NDArray[np.bool_] | None:
    """The block of so many cells of axes that holds most, if noise leaves nobody outside possible."""
    sides = _sides(shares, lengths)
    inside = sliding_window_view(shares, sides).sum(axis=tuple(range(-shares.ndim, 0)))
    first = np.unravel_index(int(inside.argmax()), inside.shape)
    held, most = math.prod(sides), float(inside.max())
    outside = ((shares.size - held) * (1 - most) + held * (float(shares.sum()) - most)) / shares.size
    if outside > min(_noise_outside(shares, lengths, deviation), OUTSIDE):
        return None
    block = np.zeros(shares.shape, dtype=np.bool_)
    block[tuple(slice(at, at + side) for at, side in zip(first, sides, strict=True))] = True
    return block


def by_quadrants(seen: float, shares: Sequence[float]) -> float:
    """Tau at most of people around an edge or a corner of cells, whose cells show ``seen`` of it.

    ``shares`` are those below the edge, u and v, at the normal quantiles a and b. Normal people of tau have
    quadrants of which cells show the integral of e^(-(a^2 + b^2 - 2 a b sin t) / (2 cos^2 t)) / pi over t
    from 0 to pi tau / 2 (Plackett, "A reduction formula for normal multivariate integrals", 1954): tau / 2
    around the centre, as for all elliptical people. With one column cut, tau is at most the mean sign across.
    """
    if len(shares) == 1:
        shown = 2 * shares[0] * (1 - shares[0])
        return seen / shown if seen < shown else 1.0
    from scipy.special import ndtri  # heavy, and no participant needs it

    a, b = ndtri(np.array(shares))
    angles = (np.arange(TAUS) + 0.5) * math.pi / (2 * TAUS)
    rises = np.exp(-(a**2 + b**2 - 2 * a * b * np.sin(angles)) / (2 * np.cos(angles) ** 2)) / (2 * TAUS)
    return float(1 + np.searchsorted(np.cumsum(rises), seen, side="right")) / TAUS if seen < 0.5 else 1.0


def unordered(masses: Vector, shares: Mapping[int, Vector], finer: Mapping[int, Vector]) -> float:
    """The pairs of narrow people that share a bin of an axis, if people lie evenly in a cell's bins.

    ``finer`` has the chance that two of a cell share a bin of each axis.
    """
    total = 0.0
    for place, share in shares.items():
        others = tuple(at for at in range(share.ndim) if at != place)
        along = (masses.reshape(share.shape) * share).sum(axis=others)
        total += float(along**2 @ finer[place]) if place in finer else 0.0
    return total


def turning(masses: Vector, shares: Mapping[int, Vector]) -> float:
    """The pairs within narrow cells, or two of them side by side: those of lines that turn within a few."""
    if not shares:
        return 0.0
    share = _either(shares)
    people = masses.reshape(share.shape) * share
    beside = sum(float((people[1:] * people[:-1]).sum()) for people in (people, people.T))
    return float((people**2).sum()) + 2 * beside


def unseen(masses: Vector, shares: Mapping[int, Vector], moved: float) -> float:
    """The variance at most of how narrow people's pairs that share a cell of an axis move their mean signs.

    On a curve one column tells the order in the other, and cells do not see it. Beside narrow people of a
    mass p in the same cell of either axis, mean signs move by d in -p..p, whose mean over all people is
    ``moved``: so d varies by at most the mean of p^2 less the square of that.
    """
    if not shares:
        return 0.0
    share = _either(shares)
    table = masses.reshape(share.shape)
    people = table * share
    beside = people.sum(axis=0, keepdims=True) + people.sum(axis=1, keepdims=True) - people
    return max(float((table * (share > 0) * beside**2).sum()) - moved**2, 0.0)


def _either(shares: Mapping[int, Vector]) -> Vector:
    """The share of every cell that is narrow along whichever axis has more."""
    return np.asarray(np.max(np.array(list(shares.values())), axis=0))
