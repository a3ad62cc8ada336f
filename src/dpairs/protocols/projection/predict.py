"""The error to expect of a pilot round and the round that follows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms import OPTIMIZED, ScalarResponse, spaced_response
from ...mechanisms.base import Mechanism
from ...randomness import WORDS
from ...statistics.influence import variance_shares
from ..base import Setting
from ..fitted import CLASSES, CLASSES_POWER
from ..rounds import BLOCK
from ..shape import Prediction, Shape, onto, parts
from ..tree.haar import HaarBasis, apart_of, remainder_square
from ..tree.predict import level_noise
from .pilot_descent import LEAST

if TYPE_CHECKING:
    from ..histogram.protocol import Histogram
    from .first_round import Projection
    from .pilot_tree import PilotTree

WINDOWS = (3, 8, 32)
"""Symbols that a second round is predicted with: a study tries more numbers, which takes 5% off at most."""
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def candidates(setting: Setting) -> Iterator[dict[str, Any]]:
    yield {"n": setting.n}
    if setting.optimized and not setting.numbers:
        yield {"n": setting.n, "mechanism": OPTIMIZED}


def predict(protocol: Projection, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    part = protocol.share / BLOCK
    pilots = {name: people * part for name, people in sizes.items()}
    later = {name: people * (1 - part) for name, people in sizes.items()}
    response, cells, weights, total = expected_response(protocol.epsilon, shape, later)
    privacy = total * float(weights @ response.variances(cells))
    extents = {name: float(np.ptp(values)) for name, values in shape.linear.functions.items()}
    sampling = sum(shape.influence_variances[name] / people for name, people in later.items())
    second = protocol.pilot.predict_remainder(shape, pilots, max(extents.values()))
    alone = protocol.pilot.predict_alone(shape, pilots)
    whole = privacy + sampling + second
    if alone is not None:
        shrink = alone / (alone + whole)
        return parts(shape, privacy * shrink, sampling * shrink, second * shrink)
    return parts(shape, privacy, sampling, second)


def expected_response(
    epsilon: float, shape: Shape, later: Mapping[str, float]
) -> tuple[ScalarResponse, Vector, Vector, float]:
    """The second round's mechanism for this shape, people's numbers in [0, 1], and `variance_shares`."""
    cells, extents = [], {}
    for name, values in shape.linear.functions.items():
        low, high = float(values.min()), float(values.max())
        cells.append(np.clip((shape.functions[name] - low) / max(high - low, 1e-300), 0.0, 1.0))
        extents[name] = high - low
    numbers, (shares, total) = np.concatenate(cells), variance_shares(shape.masses, extents, later)
    # To 12 decimals: for other numbers of people the same shares differ in the 16th.
    known = np.round(shares, 12).tobytes()
    return _response(epsilon, numbers.tobytes(), known), numbers, shares, total


@lru_cache(maxsize=256)
def _response(epsilon: float, numbers: bytes, shares: bytes) -> ScalarResponse:
    """A plan asks again and again for the same: for other numbers of people, and for other first rounds."""
    return spaced_response(epsilon, np.frombuffer(numbers), np.frombuffer(shares), WINDOWS, 0)


def tree_remainder(tree: PilotTree, shape: Shape, pilots: Mapping[str, float], extent: float) -> float:
    """The mean square of the remainder after a tree's pilot."""
    if len(pilots) > 2:
        # Three classes: a share of the function's range, as measured (`fitted.CLASSES`).
        gain = WORDS / (tree.responses[-1].boost * (2**tree.parities - 1))
        noise = gain**2 * tree.depth / min(pilots.values())
        return float((extent * min(CLASSES * noise**CLASSES_POWER, 0.5)) ** 2)
    errors = {
        name: descended(tree, shape.haar, shape.masses[name], people) for name, people in pilots.items()
    }
    return remainder_square(shape.crossed, errors)


def histogram_remainder(pilot: Histogram, shape: Shape, pilots: Mapping[str, float]) -> float:
    """The same after a histogram's."""
    seen = replace(shape, grid=pilot.grid, masses=onto(shape, pilot.grid))
    return _cells_remainder(
        seen,
        {name: _cells(pilot.mechanism, seen.masses[name]) / people for name, people in pilots.items()},
    )


def histogram_alone(pilot: Histogram, shape: Shape, pilots: Mapping[str, float]) -> float:
    """The variance of a histogram's own estimate."""
    own = pilot.predict(shape, {name: max(round(people), 2) for name, people in pilots.items()})
    return (own.privacy**2 + own.sampling**2 + own.second_order**2) / shape.scale**2


def _cells_remainder(shape: Shape, covariances: Mapping[str, Matrix]) -> float:
    """The mean square of e'Ae (or e'Be of two strata) for cell estimates made a distribution."""
    kernel = shape.kernel
    (missed, own), *others = [
        on_simplex(shape.masses[name], covariance) for name, covariance in covariances.items()
    ]
    if others:
        other, its = others[0]
        there, back = kernel @ other, missed @ kernel
        crossed = float(np.sum((kernel @ its) * (own @ kernel)))
        return crossed + float(back @ its @ back) + float(there @ own @ there)
    along, towards = kernel @ own, kernel @ missed
    return 2 * float(np.sum(along * along.T)) + 4 * float(towards @ own @ towards)


def on_simplex(masses: Vector, covariance: Matrix) -> tuple[Vector, Matrix]:
    """Mean and covariance of the error of cell estimates after what is below a common level became 0.

    The level is where the estimates' means add up to 1; errors of single cells are taken for independent
    but for their sum.
    """
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    low, high = -1.0, 1.0 + 4 * float(deviation.max())
    for _ in range(50):
        level = (low + high) / 2
        low, high = (level, high) if mean_above_zero(masses - level, deviation).sum() > 1 else (low, level)
    mean, variance = above_zero(masses - level, deviation)
    reduced = np.diag(variance) - np.outer(variance, variance) / max(float(variance.sum()), 1e-300)
    # Where nothing is cut off, the covariance is as it was.
    kept = np.sqrt(variance) / deviation
    return mean - masses, np.where(kept.min() > 0.99, covariance, reduced)


def _cells(mechanism: Mechanism, masses: Vector) -> Matrix:
    """The covariance that one report adds to the estimated shares."""
    symbols, decoder = masses @ mechanism.channel, mechanism.decoder
    mean = symbols @ decoder
    covariance: Matrix = (decoder * symbols[:, None]).T @ decoder - np.outer(mean, mean)
    return covariance


def descended(tree: PilotTree, haar: HaarBasis, masses: Vector, people: float) -> tuple[Vector, Vector]:
    """The same after a descent: clipped where halves would be negative, missed where few people are."""
    from scipy.special import ndtr

    noise = level_noise(tree, people)
    variances, nodes = noise.differences(haar, masses)
    share, apart = masses @ haar.inside, apart_of(haar, masses)
    deep = haar.level >= tree.depth
    level = np.minimum(haar.level, tree.depth - 1)
    deviation = np.sqrt(nodes[level] + noise.chance * share * np.maximum(1 - share, 0.0))
    clear = (share - LEAST * np.sqrt(nodes[level + 1])) / np.maximum(deviation, 1e-12)
    seen = np.where(deep, 0.0, ndtr(clear))
    split = seen.tolist()
    for node, above in enumerate(haar.above.tolist()):
        # A node is split only if the one above it was.
        split[node] = min(split[node], split[above])
    seen = np.array(split)
    mean, variance = _clipped(apart, np.sqrt(np.where(deep | (variances <= 0), 1.0, variances)), share)
    # Within a leaf people count as even: what that does is no error of the pilot's noise.
    missed = np.where(deep, 0.0, seen * mean - apart)
    return missed, seen * variance + seen * (1 - seen) * mean**2


def above_zero(mean: Vector, deviation: Vector) -> tuple[Vector, Vector]:
    """Mean and variance of the positive part of a normal number."""
    from scipy.special import ndtr

    at = mean / deviation
    density = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)
    first = mean_above_zero(mean, deviation)
    second = (mean**2 + deviation**2) * ndtr(at) + mean * deviation * density
    return first, np.maximum(second - first**2, 0.0)


def mean_above_zero(mean: Vector, deviation: Vector) -> Vector:
    from scipy.special import ndtr

    at = mean / deviation
    return np.asarray(mean * ndtr(at) + deviation * (np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)))


def _clipped(mean: Vector, deviation: Vector, most: Vector) -> tuple[Vector, Vector]:
    """Mean and variance of a normal number that is clipped at -most and most."""
    from scipy.special import ndtr

    def density(at: Vector) -> Vector:
        return np.asarray(np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi))

    low, high = (-most - mean) / deviation, (most - mean) / deviation
    inner = ndtr(high) - ndtr(low)
    ends = ndtr(low), ndtr(-high)
    first = most * (ends[1] - ends[0]) + mean * inner + deviation * (density(low) - density(high))
    second = most**2 * (ends[0] + ends[1]) + (mean**2 + deviation**2) * inner
    second += deviation * ((mean - most) * density(low) - (mean + most) * density(high))
    return first, np.maximum(second - first**2, 0.0)
