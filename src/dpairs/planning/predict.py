"""The standard error to expect of each protocol, in parts, from closed forms at a shape of the people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..data.grids import Axis, Grid
from ..errors import BadParameter
from ..garbled.noise import Noise
from ..mechanisms import scalar_response
from ..mechanisms.base import Mechanism
from ..protocols import Histogram, Pairwise, Projection, Protocol, Tree
from ..protocols.projection.pilot_tree import PilotTree
from ..protocols.projection.second_round import nominal
from ..protocols.rounds import BLOCK
from ..randomness import WORDS
from .haar import above_zero, descended, linear_variance, plain, rest
from .shapes import Shape

DOUBT = 0.25
WINDOWS = (3, 8, 32)
"""Symbols that a second round is predicted with: a study tries more numbers, which takes 5% off at most."""
CLASSES, PRUNED = 0.07, 1.05
"""Measured constants: see `_poor`; and how much pruning a tree adds to its least-squares error."""
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """The parts of a standard error: independent of each other, so their squares add up."""

    privacy: float
    sampling: float
    second_order: float
    quantization: float

    @property
    def total(self) -> float:
        return math.sqrt(self.privacy**2 + self.sampling**2 + self.second_order**2 + self.quantization**2)

    def to_json(self) -> dict[str, float]:
        return {
            "standard_error": self.total,
            "privacy": self.privacy,
            "sampling": self.sampling,
            "second_order": self.second_order,
            "quantization": self.quantization,
        }


def predict(protocol: Protocol, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    """The error of a protocol when so many people of each stratum look like ``shape``."""
    if isinstance(protocol, Histogram):
        return _histogram(protocol, shape, sizes)
    if isinstance(protocol, Tree):
        return _tree(protocol, shape, sizes)
    if isinstance(protocol, Projection):
        return _projection(protocol, shape, sizes)
    if isinstance(protocol, Pairwise):
        return _pairwise(protocol, shape, sizes)
    raise BadParameter(f"the error of a {protocol.name} study in its last round is on its estimate")


def _parts(shape: Shape, privacy: float, sampling: float, second: float, off: float = 0.0) -> Prediction:
    """From variances in the derivative's unit, and a difference in the statistic's."""
    return Prediction(
        shape.scale * math.sqrt(max(privacy, 0.0)),
        shape.scale * math.sqrt(max(sampling, 0.0)),
        shape.scale * math.sqrt(max(second, 0.0)),
        abs(off),
    )


def _overlap(fine: Axis, coarse: Axis) -> Matrix:
    """The share of each fine bin that lies in each coarse bin."""
    low, high, points = fine.geometry
    at, end, many = coarse.geometry
    if (points == 1).all() and (many == 1).all():
        return np.eye(coarse.bins)
    gap = 0.0 if np.isinf(points[0]) else 1.0
    inner = np.minimum(end[:, None] + gap, high[None, :] + gap) - np.maximum(at[:, None], low[None, :])
    shares: Matrix = np.clip(inner, 0.0, None)
    shares /= shares.sum(axis=0)
    return shares


def onto(shape: Shape, grid: Grid) -> dict[str, Vector]:
    """The shape's shares in other cells."""
    matrix: Matrix = np.ones((1, 1))
    for fine, coarse in zip(shape.grid.axes, grid.axes, strict=True):
        matrix = np.kron(matrix, _overlap(fine, coarse)).astype(np.float64)
    return {name: matrix @ masses for name, masses in shape.masses.items()}


def _histogram(protocol: Histogram, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    masses = onto(shape, protocol.grid)
    forms = protocol.statistic.forms(protocol.grid, protocol.kernel)
    matrices = [form.matrix for form in forms]
    shares = list(masses.values())
    first, second = shares[0], shares[-1]
    values = np.array([first @ matrix @ second for matrix in matrices])
    many = nominal(protocol.statistic)
    finished = protocol.statistic.finish(values, many)
    truth = protocol.statistic.finish(shape.linear.forms, many).value
    kernel = np.tensordot(finished.gradient, np.array(matrices), axes=1)
    decoder, channel = protocol.mechanism.decoder, protocol.mechanism.channel
    reports = decoder @ kernel @ decoder.T
    people = list(sizes.values())
    linear, rest, sampling = _hoeffding(reports, kernel, [(each, each @ channel) for each in shares], people)
    off = finished.value - truth
    if shape.assumed:
        # Where nobody looked, people may lie anyhow within a bin: a quarter of the most that does.
        spreads = [float(first @ form.spread @ second) for form in forms]
        off = max(abs(off), DOUBT * float(np.abs(finished.gradient) @ spreads))
    return Prediction(
        math.sqrt(max(linear - sampling, 0.0)),
        math.sqrt(max(sampling, 0.0)),
        math.sqrt(max(rest, 0.0)),
        abs(off),
    )


def _hoeffding(
    reports: Matrix, kernel: Matrix, shares: list[tuple[Vector, Vector]], people: list[int]
) -> tuple[float, float, float]:
    """First-order, second-order and sampling variance of the U-statistic of decoded reports."""
    if len(people) == 1:
        (masses, symbols), n = shares[0], people[0]
        along, centre = reports @ symbols, float(symbols @ reports @ symbols)
        first = float(symbols @ along**2) - centre**2
        both = float(symbols @ reports**2 @ symbols) - centre**2
        inside = float(masses @ (kernel @ masses) ** 2) - centre**2
        return 4 * first / n, 2 * max(both - 2 * first, 0.0) / n**2, 4 * inside / n
    (h, p), (g, q) = shares
    n, m = people
    rows, columns, centre = reports @ q, p @ reports, float(p @ reports @ q)
    one, two = float(p @ rows**2) - centre**2, float(q @ columns**2) - centre**2
    both = float(p @ reports**2 @ q) - centre**2
    inside = float(h @ (kernel @ g) ** 2 - centre**2) / n + float(g @ (h @ kernel) ** 2 - centre**2) / m
    return one / n + two / m, max(both - one - two, 0.0) / (n * m), inside


def _cells_rest(shape: Shape, covariances: Mapping[str, Matrix]) -> float:
    """The mean square of e'Ae (or e'Be of two strata) for cell estimates made a distribution."""
    kernel = shape.kernel
    (missed, spread), *others = [
        on_simplex(shape.masses[name], covariance) for name, covariance in covariances.items()
    ]
    if others:
        other, its = others[0]
        there, back = kernel @ other, missed @ kernel
        crossed = float(np.sum((kernel @ its) * (spread @ kernel)))
        return crossed + float(back @ its @ back) + float(there @ spread @ there)
    along, towards = kernel @ spread, kernel @ missed
    return 2 * float(np.sum(along * along.T)) + 4 * float(towards @ spread @ towards)


def on_simplex(masses: Vector, covariance: Matrix) -> tuple[Vector, Matrix]:
    """Mean and covariance of the error of cell estimates after what is below a common level became 0.

    The level is where the estimates' means add up to 1; errors of single cells are taken for independent
    but for their sum.
    """
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    low, high = -1.0, 1.0 + 4 * float(deviation.max())
    for _ in range(50):
        level = (low + high) / 2
        mean, variance = above_zero(masses - level, deviation)
        low, high = (level, high) if mean.sum() > 1 else (low, level)
    spread = np.diag(variance) - np.outer(variance, variance) / max(float(variance.sum()), 1e-300)
    # Where nothing is cut off, the covariance is as it was.
    kept = np.sqrt(variance) / deviation
    return mean - masses, np.where(kept.min() > 0.99, covariance, spread)


def _tree(tree: Tree, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    haar = shape.haar
    privacy = sum(
        linear_variance(tree, haar, shape.masses[name], shape.functions[name], people)
        for name, people in sizes.items()
    )
    errors = {name: plain(tree, haar, shape.masses[name], people) for name, people in sizes.items()}
    # People are split across levels, so a level's share of them is a sample of its own.
    return _parts(shape, PRUNED**2 * privacy, shape.sampling(sizes), rest(shape.crossed, errors))


def _projection(protocol: Projection, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    part = protocol.share / BLOCK
    pilots = {name: people * part for name, people in sizes.items()}
    later = {name: people * (1 - part) for name, people in sizes.items()}
    privacy, cells, weights, extents = 0.0, [], [], {}
    for name, values in shape.linear.functions.items():
        low, high = float(values.min()), float(values.max())
        extents[name] = high - low
        cells.append((shape.functions[name] - low) / max(high - low, 1e-300))
        weights.append(shape.masses[name] * (high - low) ** 2 / later[name])
    total = sum(float(each.sum()) for each in weights) or 1.0
    response = scalar_response(
        protocol.epsilon, np.concatenate(cells), np.concatenate(weights) / total, WINDOWS
    )
    for each, weight in zip(cells, weights, strict=True):
        privacy += float(weight @ response.variances(np.clip(each, 0.0, 1.0)))
    sampling = sum(shape.spreads[name] / people for name, people in later.items())
    if isinstance(protocol.pilot, PilotTree):
        tree = protocol.pilot
        if len(pilots) > 2:
            second = _poor(tree, pilots, max(extents.values()))
        else:
            errors = {
                name: descended(tree, shape.haar, shape.masses[name], people)
                for name, people in pilots.items()
            }
            second = rest(shape.crossed, errors)
    else:
        second = _cells_rest(
            shape,
            {
                name: _cells(protocol.pilot.mechanism, shape.masses[name]) / people
                for name, people in pilots.items()
            },
        )
    alone = _alone(protocol, shape, pilots)
    whole = privacy + sampling + second
    if alone is not None:
        shrink = alone / (alone + whole)
        return _parts(shape, privacy * shrink, sampling * shrink, second * shrink)
    return _parts(shape, privacy, sampling, second)


def _poor(tree: PilotTree, pilots: Mapping[str, float], extent: float) -> float:
    """The rest of three classes: 0.07 x^0.6 of the function's range for x = c^2 L / n, as measured."""
    gain = WORDS / (tree.responses[-1].boost * (2**tree.parities - 1))
    noise = gain**2 * tree.depth / min(pilots.values())
    return float((extent * min(CLASSES * noise**0.6, 0.5)) ** 2)


def _alone(protocol: Projection, shape: Shape, pilots: Mapping[str, float]) -> float | None:
    """The variance of the first round's own estimate, where it has one."""
    if not isinstance(protocol.pilot, Histogram):
        return None
    found = _histogram(
        protocol.pilot, shape, {name: max(round(people), 2) for name, people in pilots.items()}
    )
    return (found.privacy**2 + found.sampling**2 + found.second_order**2) / shape.scale**2


def _cells(mechanism: Mechanism, masses: Vector) -> Matrix:
    """The covariance that one report adds to the estimated shares."""
    symbols, decoder = masses @ mechanism.channel, mechanism.decoder
    mean = symbols @ decoder
    covariance: Matrix = (decoder * symbols[:, None]).T @ decoder - np.outer(mean, mean)
    return covariance


def _pairwise(protocol: Pairwise, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    forms = shape.statistic.forms(shape.grid, "average")
    kernel = forms[0].matrix
    shares = list(shape.masses.values())
    first, second = shares[0], shares[-1]
    mean = float(first @ kernel @ second)
    own = float(first @ kernel**2 @ second) - mean**2
    code, noise = protocol.code.kernel, protocol.noise
    levels = np.clip((kernel - float(code.offset)) / float(code.step), 0, code.top)
    places, known = _noise_along(noise, code.top)
    noisy = float(first @ np.interp(levels, places, known) @ second) * float(code.step) ** 2
    # Inside a cell a binary kernel is still 0 or 1, and its average between is not.
    if code.top <= 2:
        scale = float(code.step) * code.top
        own = _jumps(shape, first, second, mean, scale, float(code.offset))
    people = list(sizes.values())
    if len(people) == 1:
        n = people[0]
        pairs = protocol.pairs * n / 2
        sharing = 2 * (protocol.pairs - 1) * shape.spreads[next(iter(sizes))] / 4 / pairs
    else:
        least = min(people)
        pairs = float(protocol.pairs * least)
        # In each round everybody of the smaller class meets somebody else of the larger one.
        sharing = sum(
            (protocol.pairs - 1) * least / sizes[name] * spread / pairs
            for name, spread in shape.spreads.items()
        )
    return _parts(shape, noisy / pairs, own / pairs + sharing, 0.0)


@lru_cache(maxsize=256)
def _noise_along(noise: Noise, top: int) -> tuple[Vector, Vector]:
    """The variance of a pair's noise at some levels; it is alike from both ends."""
    below = sorted({0, top // 8, top // 2})
    known = [noise.variance(level) for level in below]
    places = [*below, *[top - level for level in reversed(below)]]
    found, first = np.unique(np.array(places, dtype=np.float64), return_index=True)
    return found, np.array([*known, *reversed(known)])[first]


def _jumps(shape: Shape, first: Vector, second: Vector, mean: float, extent: float, low: float) -> float:
    """The variance of a kernel that takes its values at the ends and in the middle only."""
    if shape.statistic.name == "kendall_tau":
        # Two people who differ in both columns are concordant or discordant; the others are tied.
        x, y = (1 - np.eye(axis.bins) / axis.geometry[2] for axis in shape.grid.axes)
        return float(first @ np.kron(x, y) @ second) - mean**2
    share = (mean - low) / extent
    return extent**2 * share * (1 - share)
