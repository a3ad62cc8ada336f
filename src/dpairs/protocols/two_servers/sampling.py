"""The variance of sampling people, and what binning does, from coarse noisy counts.

The released value contains neither: the variance is a cubic form of the histogram. Coarse counts give the
influence function psi; by Hoeffding's decomposition the statistic's sampling variance is the sum over strata
of Var(psi) / n, and a second-order term. Within a fine bin people are told apart no more: if they lie evenly
there, that moves the statistic by a variance of E Var(psi within a bin) / n.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from ...errors import NotEstimable
from ...randomness import Randomness, SeededRandomness
from ...statistics import Statistic
from ...statistics.base import CLEAR, TWO_SIDED
from ...statistics.kendall import HIDDEN
from ...statistics.linear import Linear, Linearizer
from ...statistics.vertices import cell_means
from ..projection.pilot import adding_up, on_simplex
from .coarse import coarsened, finer
from .moments import moments, variances_within
from .narrow import by_quadrants, crammed, hides_curves, narrow, unordered, unseen
from .smooth import bent
from .standing_out import PairRates, cut_places, hiding_places, ties, together, unresolved

Vector = NDArray[np.float64]
IMAGINED = 32
"""How often noise is imagined again."""
HEAVIEST = 1 + 1 / HIDDEN
"""The weight of a pair in a tau of bins, at most."""
LEAST_RATIO = math.sqrt(2)
"""Of what cells of twice the width do: less is taken for noise."""


@dataclass(frozen=True, eq=False)
class Rough:
    """Rough distributions of the strata on coarse cells, and what the statistic does around them."""

    statistic: Statistic
    grid: Grid
    counts: Mapping[str, NDArray[np.int64]]
    """As released: noisy, and perhaps below 0."""
    sizes: Mapping[str, int]
    variance: float
    """Of the noise of each count."""
    bins: Grid
    """What the released value was computed on."""
    place: NDArray[np.int64] | None = None
    """The count that each cell of ``grid`` belongs to, where a table is known on finer cells only."""
    merging: bool = False
    """Whether merged neighbours tell what cells of two columns hide, where these are the released ones."""
    near: bool = True
    """Whether near pairs make up for those that bins hide."""

    @cached_property
    def finer_along(self) -> dict[int, Vector]:
        """Of every axis whose bins hold several values, the chance that two of a cell share such a bin."""
        return self._finer(1.0)

    def _finer(self, order: float) -> dict[int, Vector]:
        return {
            place: finer(self.grid.axes[place], self.bins.axes[place], order)
            for place in hiding_places(self.bins)
        }

    @property
    def finer(self) -> float:
        """The largest of these; 0 where values are counted one by one."""
        return max((float(near.max()) for near in self.finer_along.values()), default=0.0)

    @cached_property
    def masses(self) -> dict[str, Vector]:
        """The distributions nearest to the noisy counts: none negative, with a sum of 1."""
        return self._nearest({name: people / self.sizes[name] for name, people in self.counts.items()})

    def _nearest(self, shares: Mapping[str, Vector]) -> dict[str, Vector]:
        """Distributions on the cells of the grid, evenly within those that were counted."""
        nearest = {name: on_simplex(each) for name, each in shares.items()}
        if self.place is None:
            return nearest
        held = np.bincount(self.place)
        return {name: (each / held)[self.place] for name, each in nearest.items()}

    @cached_property
    def linearizer(self) -> Linearizer:
        return self.statistic.linearizer(self.grid)

    @cached_property
    def linear(self) -> Linear:
        return self.linearizer.at(self.masses, self.sizes)

    @cached_property
    def value(self) -> float:
        """The statistic at the noisy shares, some below 0; the nearest distributions spread people out."""
        shares = {name: adding_up(each / self.sizes[name]) for name, each in self.counts.items()}
        try:
            return self.linearizer.at(shares, self.sizes).value
        except NotEstimable:
            return self.linear.value

    @cached_property
    def sampling(self) -> float:
        """The variance over samples of people, in the unit of psi.

        Noise in the counts spreads people out and makes it too large: by as much as the same noise, imagined
        once more, makes it larger still. That is taken off, at most half of the whole.
        """
        seen = self._sampling(self.masses)
        return max(2 * seen - float(np.mean(self._imagined)), seen / 2)

    def _sampling(self, masses: Mapping[str, Vector]) -> float:
        functions = self.linearizer.at(masses, self.sizes).functions
        return sum(
            moments(self.grid, function, masses[name])[0] / self.sizes[name]
            for name, function in functions.items()
        )

    @cached_property
    def _imagined(self) -> list[float]:
        """The sampling variance at the counts with imagined noise on top, the same in every run."""
        bits, errors = SeededRandomness(0), []
        start = {name: on_simplex(people / self.sizes[name]) for name, people in self.counts.items()}
        for _ in range(IMAGINED):
            noisy = {
                name: each + math.sqrt(self.variance) * _normals(each.size, bits) / self.sizes[name]
                for name, each in start.items()
            }
            masses = self._nearest(noisy)
            try:
                errors.append(self._sampling(masses))
            except NotEstimable:
                continue
        if len(errors) < IMAGINED / 2:
            raise NotEstimable("the coarse counts are too noisy to tell how much people differ")
        return errors

    @cached_property
    def sampling_deviation(self) -> float:
        """The standard deviation of `sampling` under the noise of the counts, from imagined noise."""
        return float(np.std(self._imagined, ddof=1))

    def bias(self, released: float) -> float:
        """How far binning moves the value where people do not lie evenly, by extrapolation.

        That bounds nothing, so its square is one of several variances.

        The coarse cells move it by B, what lies between their value and the released one, and bins that are
        finer by a factor f by f^a B. A smooth density has a = 2, a spike less. Merging neighbours moves the
        coarse value by D further, and cells of twice the width by 2^a B: so 2^a = 1 + D / B. Unless B is
        well beyond the noise, a = 2 is taken. Where the coarse cells are the released ones, D and what a
        second merging moves, 2^a D, have to tell. Two columns are looked at in `smooth`.
        """
        if self.finer == 0 or self.place is not None:
            return 0.0
        off = released - self.linear.value
        if len(cut_places(self.grid)) > 1:
            # Merged neighbours hide four times as much, three times more.
            return self._lost(released) / 3 if self.merging else bent(self, released)
        grid, masses, values = self.grid, self.masses, [self.linear.value]
        for _ in range(2):
            grid, place = coarsened(grid)
            masses = {name: _merged(place, each, grid.cells) for name, each in masses.items()}
            values.append(self.statistic.linearizer(grid).at(masses, self.sizes).value)
        near, far = values[0] - values[1], values[1] - values[2]
        whole, ratio = (off, 1 + near / off if off else 4.0)
        if self.finer == 1:
            ratio = far / near if near else 4.0
            whole = near / (min(max(ratio, LEAST_RATIO), 4.0) - 1)
        noise = math.sqrt(self.noise)
        clear = abs(whole) > CLEAR * noise
        # The least favourable ratio that noise of either leaves possible: one standard deviation less.
        least = ratio - noise / abs(whole) * math.hypot(1.0, ratio - 1) if clear else 4.0
        order = math.log2(min(max(least, LEAST_RATIO), 4.0))
        return self.beyond(whole) * max(float(near.max()) for near in self._finer(order).values())

    def hidden(self, released: float) -> float:
        """A bound of what bins hide of how two columns go together: see `standing_out.unresolved`.

        Coarse cells hide B, what lies between their value and the released one, at a rate of B / S of the
        pairs S that share one. Where they are the bins, merging neighbours tells: see `_lost`. Pairs within
        bins count 0, so there are at most 1 - |tau| of them. Where nobody stands out and there is no curve,
        dependence is smooth across cells and `bias` tells.
        """
        if self.finer == 0 or self.place is not None or self.statistic.needs != "ordered":
            return 0.0
        if len(cut_places(self.grid)) < 2:
            return 0.0
        ((name, masses),) = self.masses.items()
        most = max(1 - abs(released) / HEAVIEST, 0.0)
        shared = together(self.grid, masses)
        if self.merging:
            grid, place = coarsened(self.grid)
            shared = together(grid, _merged(place, masses, grid.cells)) - shared
        if shared <= 0:
            return most
        deviation = math.sqrt(self.variance) / self.sizes[name]
        rates = self._rates(released, shared)
        crowds = unresolved(self.grid, masses, deviation, self.finer_along, rates)
        return min(max(crowds, unordered(masses, self.narrow, self.finer_along)), most)

    def rate(self, released: float, within: float) -> float:
        """At which pairs go together that share a coarse cell and no bin; a share ``within`` shares one."""
        ((_, masses),) = self.masses.items()
        apart = together(self.grid, masses) - within
        return min(self._lost(released) / apart, 1.0) if apart > 0 else 1.0

    @cached_property
    def narrow(self) -> dict[int, Vector]:
        """Shares of cells in which two columns may go together more narrowly than cells are wide."""
        if self.place is not None or self.statistic.needs != "ordered" or len(cut_places(self.grid)) < 2:
            return {}
        ((name, masses),) = self.masses.items()
        return narrow(self.grid, masses, math.sqrt(self.variance) / self.sizes[name])

    @property
    def hides_curves(self) -> bool:
        """Whether noise hides a curve: see `narrow.hides_curves`."""
        if self.place is not None or self.statistic.needs != "ordered" or len(self.finer_along) < 2:
            return False
        (people,) = self.sizes.values()
        return hides_curves(self.grid, math.sqrt(self.variance) / people)

    def crammed(self, released: float) -> float:
        """How much larger a tau may be than bins see it, where all may be around one corner of coarse cells.

        Cells as wide as that show no spread, so that any of these pairs may share a bin; but how people lie
        around the corner tells what their tau is at most: see `narrow.by_quadrants`. Nothing is hidden of
        people whom counts show beyond the corner's cells.
        """
        ((name, counts),), most = self.counts.items(), 0.0
        shares, noise = counts / self.sizes[name], math.sqrt(self.variance) / self.sizes[name]
        table = shares.reshape([axis.bins for axis in self.grid.axes])
        for places, block in crammed(table, list(self.finer_along), noise):
            inside, people = block.reshape(-1), np.zeros(shares.size)
            people[inside] = on_simplex(shares[inside])
            there = self.linearizer.at({name: people}, self.sizes)
            means = cell_means(self.grid, there.functions[name])[inside]
            off = noise * math.sqrt(float(((means - means.mean()) ** 2).sum()))
            below = []
            for place in places:
                along = np.moveaxis(people.reshape(table.shape), place, 0).reshape(table.shape[place], -1)
                below.append(float(along.sum(axis=1)[np.argmax(block.any(axis=1 - place))]))
            if there.value < 0:
                below[-1] = 1 - below[-1]  # one column the other way round
            most = max(most, by_quadrants(abs(there.value) + TWO_SIDED * off, below))
        return max(most - abs(released), 0.0)

    def unseen(self, released: float) -> float:
        """The sampling variance at most by which narrow people's comparisons vary within cells: see `narrow`.

        A person's derivative has twice the mean sign.
        """
        if not self.narrow:
            return 0.0
        ((name, masses),) = self.masses.items()
        lost = 0.0 if self.merging else abs(released - self.linear.value)
        clear = max(lost - CLEAR * math.sqrt(self.noise), 0.0)
        return 4 * unseen(masses, self.narrow, clear) / self.sizes[name]

    def _rates(self, released: float, shared: float) -> PairRates:
        """At which pairs of one bin go together, by those that coarse cells hide.

        A crowd may do so at the rate r = B / S of all, with the largest B that noise leaves possible where
        none is clear; so may a hump if B is clear. If the mean sign of two people at a distance t is t / W,
        cells of width W hide a third of their pairs' order, and merging cells of half that width hides half
        of it. A larger r needs a curve, on which pairs go together at any distance: at least a share q of the
        pairs with r = q + (1 - q) / 3. Coarse cells have a value of at most 1 - S, so r is no less than
        (|tau| - 1 + S) / S, however noisy they are.
        """
        lost, noise = self._lost(released), math.sqrt(self._lost_noise)
        clear = lost if lost > CLEAR * noise else 0.0
        hump, smooth, least = clear, 1 / 3, max(clear, abs(released) - 1 + shared)
        if self.merging:
            # Few cells of noisy counts cannot exclude a curve: as much as noise leaves possible.
            hump, smooth, least = lost, 1 / 2, lost + TWO_SIDED * noise
        curve = (min(least / shared, 1.0) - smooth) / (1 - smooth)
        possible = lost if self.merging or clear else lost + TWO_SIDED * noise
        return PairRates(min(possible / shared, 1.0), min(hump / shared, 1.0), max(curve, 0.0))

    def tied(self, released: float) -> float:
        """The same of equal values, where pairs of one bin were not counted."""
        if len(cut_places(self.grid)) < 2 or self.finer == 0 or self.place is not None:
            return 0.0
        noise = math.sqrt(self.variance)
        shares = (ties(self.grid, each, noise / self.sizes[name]) for name, each in self.masses.items())
        return max(map(self.statistic.tied, shares)) * abs(released)

    def _lost(self, released: float) -> float:
        """What cells hide of how two columns go together; if they are the released ones, merged ones more.

        As much as both values show: the nearest distribution's is off where cells are many, the other one is
        noisier where they are few.
        """
        if not self.merging:
            return min(abs(released - self.value), abs(released - self.linear.value))
        return abs(self.linear.value - self._wider[1].value)

    @cached_property
    def _wider(self) -> tuple[Grid, Linear, NDArray[np.int64]]:
        """Cells with neighbours merged, the statistic there, and the merged cell of every cell."""
        grid, place = coarsened(self.grid)
        masses = {name: _merged(place, each, grid.cells) for name, each in self.masses.items()}
        return grid, self.statistic.linearizer(grid).at(masses, self.sizes), place

    @property
    def _lost_noise(self) -> float:
        """The variance of `_lost`, of first order in the noise of the counts."""
        if not self.merging:
            return self.noise
        (grid, merged, place), total = self._wider, 0.0
        for name, function in self.linear.functions.items():
            there = cell_means(grid, merged.functions[name])[place]
            means = cell_means(self.grid, function) - there
            total += self.variance * float(((means - means.mean()) ** 2).sum()) / self.sizes[name] ** 2
        return total

    @property
    def even(self) -> bool:
        """Whether people can be taken to lie evenly in cells: not where the statistic counts equal values."""
        return self.statistic.needs != "discrete" or self.grid.single

    def beyond(self, difference: float) -> float:
        """What a difference is beyond the noise."""
        return math.sqrt(max(difference**2 - self.noise, 0.0))

    @property
    def noise(self) -> float:
        """The variance of the value at the coarse counts, of first order in their noise."""
        total = 0.0
        for name, function in self.linear.functions.items():
            means = cell_means(self.grid, function)
            total += self.variance * float(((means - means.mean()) ** 2).sum()) / self.sizes[name] ** 2
        return total

    @cached_property
    def places(self) -> float:
        """The variance of the value by where people who lie evenly in bins are in them."""
        shape, share = [axis.bins for axis in self.grid.axes], np.zeros(1)
        for place, near in self._finer(2.0).items():
            share = np.maximum(share, near.reshape([-1 if at == place else 1 for at in range(len(shape))]))
        shares = np.broadcast_to(share, shape).reshape(-1)
        return sum(
            float(self.masses[name] * shares @ variances_within(self.grid, function)) / self.sizes[name]
            for name, function in self.linear.functions.items()
        )


def _normals(count: int, bits: Randomness) -> Vector:
    """Standard normal numbers by Box and Muller's transform: imagined noise protects nobody."""
    uniform = ((bits.words(2 * count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    radius, angle = np.sqrt(-2 * np.log(uniform[:count])), 2 * np.pi * uniform[count:]
    return np.asarray(radius * np.cos(angle))


def _merged(place: NDArray[np.int64], masses: Vector, cells: int) -> Vector:
    return np.bincount(place, weights=masses, minlength=cells).astype(np.float64)
