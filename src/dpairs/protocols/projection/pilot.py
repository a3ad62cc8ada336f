"""What a first round yields: a rough distribution of each stratum, and how rough it is.

A pilot need not be unbiased, only a distribution that is near the truth. How near is learnt by a
parametric bootstrap: the round is imagined again with the pilot as the truth, many times, and each imagined
pilot is compared with the true one, which here is known. The imagined noise comes from public coins,
so everybody who has the tally gets the same second round from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from ...randomness.coins import WORDS_IN_BLOCK, Coins, Purpose
from .crowded import NOBODY, Crowded
from .winsorize import moved

if TYPE_CHECKING:
    from .pilot_ties import Room

REPLICATES = 32
TOO_NOISY = "the first round is too noisy for a pilot: more people are needed in it"
Vector = NDArray[np.float64]
Masses = dict[str, Vector]


@dataclass(frozen=True)
class Narrowed:
    """The bins ``first .. last - 1`` that values are moved into; what may lie beyond: shares and values."""

    first: int
    last: int
    sure: tuple[int, int]
    """The bins that the pilot's own people are moved into."""
    beyond: tuple[tuple[float, float], ...]
    means: tuple[tuple[float, float], ...]
    """The mean of people moved into the latter, and less than that, as it was measured: without bias, each
    with its standard error."""
    heavier: tuple[tuple[float, float], ...] = ()
    """What may lie beyond if the tail falls no faster than it was seen to."""
    tails: tuple[tuple[float, tuple[float, ...]], ...] = ()
    """Shares beyond the first of some values, each twice as far from the median as the one before."""


@dataclass(frozen=True, eq=False)
class Pilot:
    """Each stratum's share of people in the cells of ``grid``; and the same from imagined rounds."""

    grid: Grid
    masses: Masses
    imagined: list[Masses]
    uneven: float = 0.0
    """The share of pairs of people who lie in one part that was not split."""
    given: Grid | None = None
    """The same cells as devices have them, without the atoms that the pilot found; None: the same."""
    inside: float = 0.0
    """What pairs within one part may add to the first form, from none of it to all."""
    alike: float = 0.0
    """What people who share a value may add beyond that, if the pilot has too few of them in one place."""
    beside: float = 0.0
    """The share of pairs that were not told apart in both columns, where that may hide how they depend."""
    one_part: Vector | None = None
    """The share of pairs that lie in one part or cell, for every two cells of the plane."""
    crowded: Crowded = NOBODY
    """Pairs of the plane that may be ties or not."""
    missed: float = 0.0
    """How many more people than these lie in one place of the plane, as a share: see `pilot_missed`."""
    deviation: float = 0.0
    """The standard deviation of what imagined rounds do not show of the first form's remainder."""
    seen_apart: float = 0.0
    """What a first round leaves open of what a function sees of two columns: see `gain`."""
    uncut: Masses | None = None
    """The shares as they were measured, some below 0, where that is all that was cut."""
    measured: Sequence[Masses] = ()
    """The imagined rounds before they are made distributions, where that is all that is done to them."""
    even: Pilot | None = None
    """The same where cells that noise may have chosen are filled alike, with its own imagined rounds."""
    anyhow: Vector | None = None
    """Of each cell the share of people who may lie anyhow in it, where a tree has too few bits to tell."""
    crowds: Masses | None = None
    """Of each cell the people in crowds of one column, whom a kernel compares: see `pilot_crowds`."""
    room: Sequence[Room | None] = ()
    """Of each column how many of its pairs may be ties."""
    means: tuple[tuple[float, float], ...] = ()
    """Of listed values, what their mean is at least, as `Narrowed.means` has it."""
    narrowed: Sequence[Narrowed] = ()
    """Ends that values could be moved between, where few people far away would decide the value."""

    def within(self, ends: Narrowed) -> Pilot:
        """The pilot of people who were moved between these ends."""

        def inside(masses: Masses) -> Masses:
            return {name: moved(each, *ends.sure) for name, each in masses.items()}

        return replace(self, masses=inside(self.masses), imagined=list(map(inside, self.imagined)))


@dataclass
class PublicNoise:
    """Standard normal numbers that anybody can recompute."""

    coins: Coins
    used: int = 0

    def normals(self, count: int) -> Vector:
        """The next ``count`` standard normals of the public stream."""
        return np.asarray(self.rounds([count], 1)[0][0])

    def rounds(self, counts: Sequence[int], rounds: int) -> list[NDArray[np.float64]]:
        """For every count a row of so many numbers for each round, by Box and Muller's transform.

        The numbers of a round are those that `normals` would give for one count after the other.
        """
        blocks = [-(-count // WORDS_IN_BLOCK) for count in counts]
        words = self.coins.words(Purpose.IMAGINED, 0, self.used, rounds * sum(blocks)).reshape(rounds, -1)
        self.used += rounds * sum(blocks)
        uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        radius, angle = np.sqrt(-2 * np.log(uniform[:, 0::2])), 2 * np.pi * uniform[:, 1::2]
        sides = radius * np.cos(angle), radius * np.sin(angle)
        ends = np.cumsum([0, *blocks]) * (WORDS_IN_BLOCK // 2)
        return [
            np.concatenate([side[:, start:stop] for side in sides], axis=1)[:, :count]
            for count, start, stop in zip(counts, ends, ends[1:], strict=False)
        ]


def by_round(masses: Masses) -> list[Masses]:
    """Shares with a row for each round, round by round."""
    return [dict(zip(masses, rows, strict=True)) for rows in zip(*masses.values(), strict=True)]


def on_simplex(estimates: Vector) -> Vector:
    """The nearest distribution: what is below a common level becomes 0, what is above is lowered by it.

    Of several, a row each.

    >>> on_simplex(np.array([0.7, 0.6, -0.3])).round(2).tolist()
    [0.55, 0.45, 0.0]
    """
    descending = np.sort(estimates)[..., ::-1]
    levels = (np.cumsum(descending, axis=-1) - 1) / np.arange(1, estimates.shape[-1] + 1)
    above = np.argmax((descending > levels)[..., ::-1], axis=-1, keepdims=True)
    level = np.take_along_axis(levels, estimates.shape[-1] - 1 - above, axis=-1)
    nearest: Vector = np.maximum(estimates - level, 0.0)
    return nearest


def adding_up(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Noisy shares less their common excess, since how many people there are is known; some are below 0.

    The nearest distribution would lie nearer to the people, but it spreads them out over empty cells, always
    the same way: an error that adds up over a kernel, while those of independent noise cancel.
    """
    return np.asarray(shares + (1 - shares.sum()) / shares.size)
