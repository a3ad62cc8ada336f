"""The error to expect of a study with two servers, and the options worth comparing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers, Interval
from ...data.grids import Grid
from ...statistics.linear import nominal
from ..base import Setting
from ..shape import Prediction, Shape, onto, parts
from .answer import noise_covariance
from .corrected import LARGEST
from .forms import pairs
from .hidden import compared_within, hidden_by, together_within, uneven_within
from .moments import moments

if TYPE_CHECKING:
    from .pilot_round import PilotRound
    from .protocol import TwoServers


def candidates(setting: Setting) -> Iterator[dict[str, Any]]:
    if setting.statistic.arity > 2:
        # No form of two people: only a sum of influence values computes it.
        yield {"rounds": 2, "n": setting.n}
        return
    yield {"n": setting.n}
    yield {"release": "counts", "n": setting.n}
    if not setting.statistic.from_table:
        # Of a kernel that is a table, nobody could price what a pilot's cells hide.
        yield {"rounds": 2, "n": setting.n}


def predict_value(protocol: TwoServers, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    queries, _ = protocol.queries(sizes)
    number = pairs(list(sizes.values()))
    variances = np.array(
        [
            form.unit**2 * protocol.budget.variance(query) / number**2
            for form, query in zip(protocol.own_forms, queries, strict=False)
        ]
    )
    privacy = float(gradient(shape) ** 2 @ variances)
    finer = _finer(shape.grid, protocol.grid)
    binning = sum(
        moments(shape.grid, function, shape.masses[name])[1] * finer**2 / sizes[name]
        for name, function in shape.linear.functions.items()
    )
    several = _several_values(protocol.grid, shape)
    off = math.hypot(shape.scale * math.sqrt(binning), several)
    return parts(shape, privacy, shape.sampling(sizes), 0.0, off, several)


def _several_values(grid: Grid, shape: Shape) -> float:
    """Of equal values: half of what lies between all pairs of a bin being equal and as few as can be.

    See `ties`: that is how far the interval reaches, and people may be at either end of it.
    """
    if shape.statistic.needs != "discrete" or grid.single:
        return 0.0
    values = max(float(axis.geometry[2].max()) for axis in grid.axes)
    ends = [
        shape.statistic.finish(share * shape.linear.forms, nominal(shape.statistic)).value
        for share in (1.0, 1 / values)
    ]
    return abs(ends[0] - ends[1]) / 2


def predict_counts(protocol: TwoServers, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    _, query = protocol.queries(sizes)
    variance = 0.0 if query is None else protocol.budget.variance(query)
    masses = onto(shape, protocol.grid)
    people = [masses[name] * sizes[name] for name in protocol.strata]
    kernels = [form.matrix for form in protocol.statistic.forms(protocol.grid, "average")]
    along = np.tensordot(gradient(shape), np.array(kernels), axes=1)
    noise = noise_covariance(people, [along], variance) / pairs(list(sizes.values())) ** 2
    here = protocol.statistic.linearizer(protocol.grid).at(masses, nominal(protocol.statistic))
    off = shape.scale * (here.value - shape.linear.value)
    return parts(shape, float(noise[0, 0]), shape.sampling(sizes), 0.0, off)


def predict_rounds(protocol: PilotRound, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    pilot = protocol.budget.variance(protocol.query(sizes))
    summed = protocol.budget.variance(protocol.sum_query(sizes))
    privacy = 0.0
    for name, values in shape.linear.functions.items():
        extent = float(values.max() - values.min())
        privacy += extent**2 * summed / (LARGEST * sizes[name]) ** 2
    masses = onto(shape, protocol.grid)
    second = _second_order(protocol, shape, pilot, list(sizes.values()))
    noise = {name: math.sqrt(pilot) / people for name, people in sizes.items()}
    off = hidden_by(protocol.statistic, protocol.grid, masses, [masses], noise)
    bias = off + compared_within(protocol.statistic, protocol.grid, masses, dict.fromkeys(masses, 0.0))
    bias += together_within(protocol.statistic, protocol.grid, masses, shape.linear.value, noise)
    bias += abs(float(gradient(shape)[0])) * uneven_within(protocol.statistic, protocol.grid, masses).most
    return parts(shape, privacy, shape.sampling(sizes), second, shape.scale * off, shape.scale * bias)


def _second_order(protocol: PilotRound, shape: Shape, variance: float, sizes: Sequence[int]) -> float:
    """The variance of (h - g)'A(h - g) for a pilot g with that noise on every count, in psi's unit."""
    if protocol.statistic.arity > 2:
        # Unknown kernel between cells: as large as its range allows for independent noise on all cells.
        return protocol.grid.cells * (variance / min(sizes) ** 2) ** 2
    kernels = np.array([form.matrix for form in protocol.statistic.forms(protocol.grid, "average")])
    along = np.tensordot(gradient(shape), kernels, axes=1)
    both = math.prod(sizes) if len(sizes) > 1 else sizes[0] ** 2 / math.sqrt(2)
    return float((along**2).sum()) * (variance / both) ** 2


def gradient(shape: Shape) -> NDArray[np.float64]:
    """Of the statistic along its forms, in the derivative's unit."""
    if shape.linear.forms.size == 1:
        return np.ones(1)
    return shape.statistic.finish(shape.linear.forms, nominal(shape.statistic)).gradient


def _finer(coarse: Grid, fine: Grid) -> float:
    """The bins of the shape's grid for each bin of the study's, on the axis where that is most."""
    axes = zip(coarse.axes, fine.axes, strict=True)
    return max(
        (few.bins / many.bins for few, many in axes if isinstance(many.domain, (Interval, Integers))),
        default=0.0,
    )
