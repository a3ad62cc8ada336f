"""A domain cut into bins, and a grid of such axes: how a person's data becomes one cell.

An `Axis` also describes its bins to the statistics: bin i covers ``low[i] .. high[i]`` and holds
``points[i]`` equally spaced values (infinitely many on an interval, one on a level). That is all a
closed form of a kernel matrix needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from ..formats.checks import choice, integer
from ..randomness import Randomness
from .domains import Categories, Domain, Integers, Interval, Levels, ends

MAX_BINS = 4096
ROUNDINGS = ("simple", "random")
EXACT = 2**52
"""Differences of whole numbers up to here are doubles."""


@dataclass(frozen=True)
class Axis:
    """A domain cut into ``bins`` bins.

    ``rounding="simple"``: equal bins, a value goes to the bin that holds it. ``rounding="random"``
    (intervals and whole numbers): ``bins`` points from end to end, a value goes to one of its two
    neighbours so that the mean is kept. Points are evenly spaced, or edges of an interval that has some.
    """

    domain: Domain
    bins: int
    rounding: str = "simple"

    def __post_init__(self) -> None:
        """Refuse bins that the domain cannot have."""
        choice("rounding", self.rounding, ROUNDINGS)
        integer("bins", self.bins, 2, MAX_BINS)
        if self.rounding == "random":
            _check_rounded(self.domain, self.bins)
        if not isinstance(self.domain, Interval) and self.bins > self.domain.size:
            raise BadParameter(f"bins must be at most {self.domain.size}, the domain's size, not {self.bins}")
        if isinstance(self.domain, (Levels, Categories)) and self.bins != self.domain.size:
            raise BadParameter(
                f"bins must be {self.domain.size}, one for each of the domain's values, not {self.bins}"
            )

    def place(self, values: Any, column: str, bits: Randomness) -> NDArray[np.int64]:
        """The bin of each value. Only random rounding draws from ``bits``: one word a value."""
        if isinstance(self.domain, (Levels, Categories)):
            return self.domain.codes(values, column)
        if isinstance(self.domain, Integers) and self.rounding == "simple":
            offsets = self.domain.offsets(values, column)
            if self.bins == self.domain.size:
                return offsets.view(np.int64)
            edges = np.array(self.offsets[1:-1], dtype=np.uint64)
            return np.searchsorted(edges, offsets, side="right").astype(np.int64)
        numbers = self.domain.check(values, column)
        if self.rounding == "simple":
            position = (numbers - self.domain.low) * (self.bins / (self.domain.high - self.domain.low))
            return np.minimum(position.astype(np.int64), self.bins - 1)
        if self._at_edges:
            below = np.clip(np.searchsorted(self.points, numbers, side="right") - 1, 0, self.bins - 2)
            up = (numbers - self.points[below]) / (self.points[below + 1] - self.points[below])
        else:
            position = (numbers - self.domain.low) * ((self.bins - 1) / (self.domain.high - self.domain.low))
            below = np.minimum(position.astype(np.int64), self.bins - 2)
            up = position - below
        uniform = (bits.words(numbers.size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return below + (uniform < up)

    @property
    def _at_edges(self) -> bool:
        return isinstance(self.domain, Interval) and bool(self.domain.edges)

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """Of random rounding, the values that all others are rounded to."""
        if isinstance(self.domain, Interval) and self.domain.edges:
            return np.array(edges_of(self.domain, self.bins))
        return np.linspace(*ends(self.domain), self.bins)

    @cached_property
    def gaps(self) -> NDArray[np.float64]:
        """Of random rounding, how far each point lies from the next."""
        points = self.points
        return np.diff(points) if self._at_edges else np.full(self.bins - 1, points[1] - points[0])

    @cached_property
    def offsets(self) -> list[int]:
        """Of integers: how far each bin begins from the lowest, and the end of the last, exactly."""
        size = self.domain.size if isinstance(self.domain, Integers) else 0
        return [-(-index * size // self.bins) for index in range(self.bins + 1)]

    @cached_property
    def geometry(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """``low``, ``high`` and ``points`` of every bin."""
        ones = np.ones(self.bins)
        if self.rounding == "random":
            return self.points, self.points, ones
        if isinstance(self.domain, Interval):
            edges = np.linspace(self.domain.low, self.domain.high, self.bins + 1)
            return edges[:-1], edges[1:], ones * math.inf
        if isinstance(self.domain, Integers):
            starts = self.offsets
            lows = np.array([float(self.domain.low + start) for start in starts[:-1]])
            highs = np.array([float(self.domain.low + start - 1) for start in starts[1:]])
            return lows, highs, np.diff(np.array([float(start) for start in starts]))
        places = np.array(self.domain.values if self.domain.numeric else range(self.bins), dtype=np.float64)
        return places, places, ones

    @property
    def single(self) -> bool:
        """Whether every bin holds one value, so that bins hide nothing."""
        return bool((self.geometry[2] == 1).all())

    @property
    def centres(self) -> NDArray[np.float64]:
        """The middle of every bin: the mean of its values when they are evenly spread."""
        low, high, _ = self.geometry
        return (low + high) / 2

    @property
    def width(self) -> float:
        """The widest bin's extent; under random rounding, the largest distance between neighbours."""
        low, high, _ = self.geometry
        return float((self.gaps if self.rounding == "random" else high - low).max())

    def describe(self) -> list[Any]:
        """The values that name the bins: levels themselves, or (low, high) of each bin."""
        if isinstance(self.domain, (Levels, Categories)):
            return list(self.domain.values)
        low, high, points = self.geometry
        single = points == 1
        return [a if one else (a, b) for a, b, one in zip(low.tolist(), high.tolist(), single, strict=True)]


def rounded_at_random(domain: Domain) -> bool:
    """Whether values of a domain can lie between points: whole numbers if these are doubles, and not all."""
    if isinstance(domain, Integers):
        return domain.size > 2 and max(abs(domain.low), abs(domain.high)) <= EXACT
    return isinstance(domain, Interval)


def _check_rounded(domain: Domain, points: int) -> None:
    if isinstance(domain, Integers) and points >= domain.size:
        raise BadParameter(
            f"rounding='random' of {domain!r} needs fewer than {domain.size} bins, not {points}: with one "
            "for each value nothing is rounded"
        )
    if not rounded_at_random(domain):
        raise BadParameter(
            f"rounding='random' needs an Interval, or Integers from -2^52 to 2^52, not {domain!r}"
        )
    if isinstance(domain, Interval) and points > most_points(domain):
        raise BadParameter(
            f"rounding='random' of an Interval with {len(domain.edges)} edges has at most "
            f"{most_points(domain)} bins, the edges and both ends, not {points}"
        )


def most_points(domain: Domain) -> int:
    """How many points of random rounding there are at most: edges and ends of an interval with edges."""
    return len(domain.edges) + 2 if isinstance(domain, Interval) and domain.edges else MAX_BINS


def edges_of(domain: Interval, count: int) -> list[float]:
    """So many of an interval's edges, as evenly among them as may be, from its low end to its high one."""
    every = [domain.low, *domain.edges, domain.high]
    return [every[place * (len(every) - 1) // (count - 1)] for place in range(count)]


@dataclass(frozen=True)
class CutAxis(Axis):
    """An axis of unequal bins: bin i holds the values from ``edges[i]`` up to, not including, the next edge.

    Edges of an interval are its numbers, and its high end belongs to the last bin. Edges of integers
    are offsets from the lowest.
    """

    edges: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        """Refuse edges that do not cut the domain."""
        if not isinstance(self.domain, (Interval, Integers)):
            raise BadParameter(f"only an Interval or Integers can be cut at edges, not {self.domain!r}")
        integer("bins", self.bins, 1, MAX_BINS)
        ascending = all(low < high for low, high in pairwise(self.edges))
        if len(self.edges) != self.bins + 1 or not ascending or self.edges[:: self.bins] != self._ends:
            raise BadParameter(f"edges must ascend from one end of {self.domain!r} to the other")

    @property
    def _ends(self) -> tuple[Any, Any]:
        domain = self.domain
        return (domain.low, domain.high) if isinstance(domain, Interval) else (0, domain.size)

    @classmethod
    def at(cls, domain: Interval | Integers, edges: Sequence[Any]) -> CutAxis:
        """The axis with these edges, the domain's ends included."""
        return cls(domain, max(len(edges) - 1, 0), "simple", tuple(edges))

    def locate(self, values: Any, column: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The bin of each value, and how far through its bin it lies, from 0 to 1."""
        low, high, points = self.geometry
        if isinstance(self.domain, Integers):
            offsets = self.domain.offsets(values, column)
            starts = np.array(self.edges[:-1], dtype=np.uint64)
            bins = np.searchsorted(starts, offsets, side="right") - 1
            # A bin of one value has no extent, and its value lies at its beginning.
            through = (offsets - starts[bins]).astype(np.float64) / np.maximum(points - 1, 1.0)[bins]
        else:
            numbers = self.domain.check(values, column)
            bins = np.searchsorted(low[1:], numbers, side="right")
            through = (numbers - low[bins]) / (high - low)[bins]
        return bins.astype(np.int64), np.minimum(through, 1.0)

    @cached_property
    def offsets(self) -> list[int]:
        return list(self.edges) if isinstance(self.domain, Integers) else []

    def place(self, values: Any, column: str, bits: Randomness) -> NDArray[np.int64]:
        """The bin of each value."""
        return self.locate(values, column)[0]

    @cached_property
    def geometry(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """``low``, ``high`` and ``points`` of every bin."""
        if isinstance(self.domain, Interval):
            edges = np.array(self.edges)
            return edges[:-1], edges[1:], np.full(self.bins, math.inf)
        base = self.domain.low if isinstance(self.domain, Integers) else 0
        lows = np.array([float(base + edge) for edge in self.edges[:-1]])
        highs = np.array([float(base + edge - 1) for edge in self.edges[1:]])
        # Whole numbers are subtracted first: beyond 2^53 neighbours have the same double.
        return lows, highs, np.array([float(stop - start) for start, stop in pairwise(self.edges)])


@dataclass(frozen=True)
class Grid:
    """The cells of several axes; the last axis runs fastest."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        """Refuse grids too large for the estimator's square matrices."""
        if self.cells > MAX_BINS:
            shape = " x ".join(str(axis.bins) for axis in self.axes)
            raise BadParameter(f"the grid of {shape} has {self.cells} cells; at most {MAX_BINS} are allowed")

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(axis.bins for axis in self.axes)

    @property
    def single(self) -> bool:
        """Whether every cell holds one value of each axis."""
        return all(axis.single for axis in self.axes)

    def place(self, columns: Sequence[Any], names: Sequence[str], bits: Randomness) -> NDArray[np.int64]:
        """The cell of each person."""
        cell: NDArray[np.int64] | None = None
        for axis, values, name in zip(self.axes, columns, names, strict=True):
            places = axis.place(values, name, bits)
            cell = places if cell is None else cell * axis.bins + places
        if cell is None:
            raise BadParameter("a grid needs at least one axis")
        return cell
