"""A first round on few cells: a histogram of them, and its own estimate besides the pilot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...data.domains import Integers, Interval
from ...data.grids import Axis, CutAxis, Grid
from ...errors import NotEnoughData, NotEstimable
from ...formats.canonical import agreed
from ...statistics.linear import nominal
from ..base import Answer
from ..counts import DenseCounts
from ..histogram.protocol import Histogram
from ..shape import Shape
from .pilot import REPLICATES, Pilot, PublicNoise, Vector, by_round, on_simplex
from .predict import histogram_alone, histogram_remainder

FEW_PEOPLE = 4
"""Below so many people an estimate has no variance that could be known."""


@dataclass(frozen=True)
class PilotHistogram(Histogram):
    """A histogram that the people of the first round are asked for."""

    def pilot(self, counts: Mapping[str, DenseCounts], noise: PublicNoise) -> Pilot:
        """The pilot of a histogram round: its unbiased cell estimates, made a distribution."""
        mechanism = self.mechanism

        def read(reports: Vector) -> Vector:
            return np.asarray(reports @ mechanism.decoder / reports.sum(axis=-1, keepdims=True))

        def imagine(masses: Vector, people: int, normals: Vector) -> Vector:
            expected = masses @ mechanism.channel
            # Numbers with the means and covariances of a multinomial's shares. Some of rare symbols are below
            # 0, which decoding may: to cut them there would draw every imagined round to the rare ones.
            error = np.sqrt(expected / people) * normals
            return read(expected + error - expected * error.sum(axis=-1, keepdims=True))

        uncut = {stratum: read(each.array.astype(np.float64)) for stratum, each in counts.items()}
        masses = {stratum: on_simplex(each) for stratum, each in uncut.items()}
        normals = noise.rounds([mechanism.symbols] * len(counts), REPLICATES)
        measured = {
            stratum: imagine(masses[stratum], each.people, numbers)
            for (stratum, each), numbers in zip(counts.items(), normals, strict=True)
        }
        # Where cells hold several values, pairs within one were not told apart.
        uneven = 0.0 if self.grid.single else max(float(each @ each) for each in masses.values())
        imagined = {stratum: on_simplex(each) for stratum, each in measured.items()}
        pilot = Pilot(
            cut_cells(self.grid),
            masses,
            by_round(imagined),
            uneven,
            uncut=uncut,
            measured=by_round(measured),
        )
        if self.statistic.needs != "discrete":
            return pilot
        even = {stratum: evened(each, measured[stratum] - each) for stratum, each in masses.items()}
        again = {
            stratum: on_simplex(imagine(even[stratum], each.people, numbers))
            for (stratum, each), numbers in zip(counts.items(), normals, strict=True)
        }
        return replace(pilot, even=replace(pilot, masses=even, imagined=by_round(again)))

    def own_answer(self, counts: Mapping[str, DenseCounts]) -> Answer:
        return self.estimate(counts, self.estimators[0])

    def own_estimate(self, counts: Mapping[str, DenseCounts]) -> tuple[float, float, float] | None:
        """The round's own estimate and its variances, in the unit of the second round's functions.

        One is around the population's value, one around that of the round's people.

        None where cells hold several values: what they hide would be a bias, and the second round has none.
        """
        if not self.grid.single or min(table.people for table in counts.values()) < FEW_PEOPLE:
            return None
        try:
            value, variances = self.in_unit(counts, nominal(self.statistic))
        except (NotEstimable, NotEnoughData):
            return None
        if not (math.isfinite(value) and 0 < variances.population < math.inf and variances.sample < math.inf):
            return None
        return agreed(value), agreed(variances.population), agreed(max(variances.sample, 0.0))

    def predict_remainder(self, shape: Shape, pilots: Mapping[str, float], extent: float) -> float:
        return histogram_remainder(self, shape, pilots)

    def predict_alone(self, shape: Shape, pilots: Mapping[str, float]) -> float | None:
        return histogram_alone(self, shape, pilots) if self.grid.single else None


def evened(masses: Vector, noise: Vector) -> Vector:
    """The same people, but those of cells that may be noise spread evenly over all such cells.

    A cell is sure where it holds more than the largest of as many normal errors does on average at most,
    ``sqrt(2 log k)`` standard deviations.
    """
    sure = masses > np.sqrt(np.mean(noise**2) * 2 * np.log(masses.size))
    if sure.all():
        return masses
    return np.where(sure, masses, masses[~sure].mean())


def cut_cells(grid: Grid) -> Grid:
    """The same cells, between edges that a function can be read between."""
    axes: list[Axis] = []
    for axis in grid.axes:
        if isinstance(axis.domain, Interval):
            low = axis.geometry[0]
            axes.append(CutAxis.at(axis.domain, [*low.tolist(), axis.domain.high]))
        elif isinstance(axis.domain, Integers):
            points = axis.geometry[2]
            starts = np.cumsum(points) - points
            axes.append(CutAxis.at(axis.domain, [*map(int, starts.tolist()), axis.domain.size]))
        else:
            axes.append(axis)
    return Grid(tuple(axes))
