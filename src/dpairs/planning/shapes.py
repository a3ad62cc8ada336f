"""What people may look like: shares of each stratum in fine cells, before anybody was asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain, Integers, Interval
from ..data.grids import Axis, CutAxis, Grid
from ..data.tables import whole
from ..errors import BadParameter, BadValue
from ..formats.checks import real
from ..protocols.shape import Shape
from ..protocols.tree.haar import CUT_BITS
from ..randomness import SeededRandomness, SystemRandomness
from ..statistics import Statistic
from ..statistics.labels import NEGATIVE, POSITIVE
from .cells import sample_axis

FINE_BITS = 6
FINE, FINE_PAIR = 2**FINE_BITS, 16
"""Cells of one column of numbers, and of each of two."""
MOST = 1024
POINT_BITS = 16
"""Levels down to which a value that many people may share is followed, when nobody knows whether they do."""
SAMPLED, SAMPLED_PAIR = 192, 24
"""Cells of a sample's shape: of one column, and of each of two."""
Vector = NDArray[np.float64]


def draw(shape: Shape, sizes: Mapping[str, int], seed: int) -> dict[str, NDArray[Any]]:
    """People like a shape, for a simulation: cells by their shares, and anywhere within a cell."""
    # Not the sequence of a simulation with the same seed: its noise would know the values.
    bits, columns = SeededRandomness(2**64 + seed), shape.statistic.columns
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in columns}
    for place, (stratum, people) in enumerate(sizes.items()):
        words = bits.words(people * (1 + len(shape.grid.axes))).reshape(-1, people)
        uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        cells = np.searchsorted(np.cumsum(shape.masses[stratum]), uniform[0], side="right")
        cells = np.minimum(cells, shape.grid.cells - 1)
        bins = np.unravel_index(cells, [axis.bins for axis in shape.grid.axes])
        for name, axis, own, within in zip(
            shape.statistic.private_columns, shape.grid.axes, bins, uniform[1:], strict=True
        ):
            parts[name].append(_value(axis, own, within))
        for name in set(columns) - set(shape.statistic.private_columns):
            parts[name].append(np.full(people, len(sizes) - 1 - place if len(sizes) == 2 else place))
    return {name: np.concatenate(each) for name, each in parts.items()}


def _value(axis: Axis, bins: NDArray[np.int64], within: Vector) -> NDArray[Any]:
    low, high, _ = axis.geometry
    if isinstance(axis.domain, Interval):
        places = np.clip(low[bins] + within * (high - low)[bins], axis.domain.low, axis.domain.high)
        return axis.domain.values_at(places)
    if isinstance(axis.domain, Integers):
        return np.floor(low[bins] + within * (high - low + 1)[bins]).astype(np.int64)
    return np.array(axis.domain.values)[bins]


def fine_grid(statistic: Statistic, domains: tuple[Domain, ...], points: Sequence[float] = ()) -> Grid:
    """Cells fine enough to tell how a statistic behaves; around ``points`` ever finer, as deep trees are."""
    if points and len(statistic.strata) > 1 and isinstance(domains[0], Interval):
        low, extent = domains[0].low, domains[0].high - domains[0].low
        places = {place * 2 ** (CUT_BITS - FINE_BITS) for place in range(FINE + 1)}
        for point in points:
            leaf = min(int((point - low) / extent * 2**CUT_BITS), 2**CUT_BITS - 1)
            for level in range(FINE_BITS, POINT_BITS + 1):
                start = leaf >> (CUT_BITS - level)
                places |= {start << (CUT_BITS - level), (start + 1) << (CUT_BITS - level)}
        edges = [low + extent * (place / 2.0**CUT_BITS) for place in sorted(places)]
        edges[-1] = domains[0].high
        return statistic.grid((CutAxis.at(domains[0], edges),))
    count = FINE if len(domains) == 1 else FINE_PAIR
    axes = []
    for domain in domains:
        if isinstance(domain, (Interval, Integers)):
            axes.append(Axis(domain, count if isinstance(domain, Interval) else min(count, domain.size)))
        else:
            axes.append(Axis(domain, domain.size))
    if math.prod(axis.bins for axis in axes) > MOST:
        raise BadParameter(f"these domains have more than the {MOST} cells that a plan can examine")
    return statistic.grid(tuple(axes))


def even(statistic: Statistic, domains: tuple[Domain, ...]) -> Shape:
    """Everybody anywhere: the prior of those who know nothing."""
    grid = fine_grid(statistic, domains)
    masses = {name: np.full(grid.cells, 1 / grid.cells) for name in statistic.strata}
    return Shape(statistic, domains, grid, masses, "evenly spread values", assumed=True)


def from_masses(
    statistic: Statistic,
    domains: tuple[Domain, ...],
    given: Mapping[str, Sequence[float] | Vector],
    name: str = "the given shares",
) -> Shape:
    """From shares of the fine cells, by stratum."""
    grid = fine_grid(statistic, domains)
    masses = {}
    for stratum in statistic.strata:
        if stratum not in given:
            raise BadParameter(f"a shape needs the shares of {', '.join(statistic.strata)}")
        shares = np.asarray(given[stratum], dtype=np.float64)
        if (
            shares.shape != (grid.cells,)
            or not np.isfinite(shares).all()
            or shares.min() < 0
            or not shares.sum() > 0
        ):
            raise BadParameter(
                f"the shares of {stratum} must be {grid.cells} numbers, none below 0, not all 0"
            )
        masses[stratum] = shares / shares.sum()
    return Shape(statistic, domains, grid, masses, name)


def from_sample(
    statistic: Statistic, domains: tuple[Domain, ...], data: Any, name: str = "people like these"
) -> Shape:
    """From values of some people, of whom it is known already."""
    table = whole(data, statistic.columns)
    people = list(statistic.split(table))
    for stratum, columns in people:
        if len(columns[0]) == 0:
            raise BadValue(f"the sample has nobody in {stratum}")
    first, most = (FINE_BITS, SAMPLED) if len(domains) == 1 else (FINE_BITS // 2, SAMPLED_PAIR)
    axes = [
        sample_axis(domain, [columns[place] for _, columns in people], first, most)
        for place, domain in enumerate(domains)
    ]
    grid = statistic.grid(tuple(axes))
    masses = {}
    for stratum, columns in people:
        cells = grid.place(columns, statistic.private_columns, SystemRandomness())
        masses[stratum] = np.bincount(cells, minlength=grid.cells) / cells.size
    return Shape(statistic, domains, grid, masses, name)


def normals(statistic: Statistic, domains: tuple[Domain, ...], auc: float) -> Shape:
    """Two normal classes with a guessed AUC, in the middle of the domain and within it."""
    wanted = real("the guessed auc", auc)
    if statistic.strata != (POSITIVE, NEGATIVE) or not 0.01 <= wanted <= 0.99:
        raise BadParameter("a guess of the AUC is a number from 0.01 to 0.99, for auc with public labels")
    grid, standard = fine_grid(statistic, domains), NormalDist()
    apart = standard.inv_cdf(wanted) * math.sqrt(2)
    places = (np.arange(grid.cells + 1) / grid.cells - 0.5) * (6 + abs(apart))
    masses = {}
    for name, centre in ((POSITIVE, apart / 2), (NEGATIVE, -apart / 2)):
        reached = np.array([standard.cdf(float(place) - centre) for place in places])
        masses[name] = np.diff(reached) / (reached[-1] - reached[0])
    return Shape(statistic, domains, grid, masses, f"two normals with AUC {wanted:g}")


def even_alone(statistic: Statistic, domains: tuple[Domain, ...]) -> tuple[Shape, ...]:
    """An even spread and nothing else."""
    return (even(statistic, domains),)


@lru_cache(maxsize=16)
def extremes(statistic: Statistic, domains: tuple[Domain, ...]) -> tuple[Shape, ...]:
    """People among whom there is least to learn: all at one value, or every stratum at an end of its own."""
    grid = fine_grid(statistic, domains)
    ends = {"low": (0, 0), "middle": (grid.cells // 2,) * 2, "apart": (grid.cells - 1, 0)}
    shapes = []
    for name, places in ends.items():
        masses = {
            stratum: np.eye(grid.cells)[places[place % 2]] for place, stratum in enumerate(statistic.strata)
        }
        shapes.append(Shape(statistic, domains, grid, masses, name))
    return tuple(shapes)


@lru_cache(maxsize=16)
def hard(statistic: Statistic, domains: tuple[Domain, ...]) -> tuple[Shape, ...]:
    """Shapes of several kinds, among which the worst is looked for."""
    grid = fine_grid(statistic, domains)
    cells = grid.cells
    index = np.arange(cells)
    kinds: dict[str, Callable[[int], NDArray[Any]]] = {
        "ends": lambda _: np.where((index == 0) | (index == cells - 1), 1.0, 0.0),
        "falling": lambda _: 0.9**index,
        "steep": lambda _: 0.7**index,
        "crowded": lambda place: (0.75 if place % 2 else 0.85) ** index,
        "packed": lambda place: (0.4 if place % 2 else 0.6) ** index,
        "opposite": lambda place: 0.9 ** (index if place % 2 else cells - 1 - index),
        "point": lambda _: np.where(index == cells // 2, cells, 1.0),
    }
    shapes = [even(statistic, domains)]
    if len(statistic.strata) > 1 and isinstance(domains[0], Interval):
        middle = (domains[0].low + domains[0].high) / 2
        closer = fine_grid(statistic, domains, [middle])
        low, high, _ = closer.axes[0].geometry
        point = np.where(low == middle, 1.0, 0.0) + (high - low) / (domains[0].high - domains[0].low)
        masses = dict.fromkeys(statistic.strata, point / point.sum())
        shapes.append(Shape(statistic, domains, closer, masses, "point"))
        del kinds["point"]
    for name, make in kinds.items():
        masses = {stratum: make(place) for place, stratum in enumerate(statistic.strata)}
        shapes.append(replace(from_masses(statistic, domains, masses, name), guessed=True))
    return tuple(shapes)
