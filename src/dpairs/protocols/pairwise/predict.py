"""The error to expect of pairs: the kernel's variance, people who are in several pairs, and the noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...garbled.noise import Noise
from ..base import Setting
from ..shape import Prediction, Shape, parts

if TYPE_CHECKING:
    from .protocol import Pairwise

PARTNERS = (1, 2, 4, 8, 16)
Vector = NDArray[np.float64]


def candidates(setting: Setting) -> Iterator[dict[str, Any]]:
    for partners in PARTNERS:
        yield {"pairs": partners}


def predict(protocol: Pairwise, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
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
        own = shape.statistic.kernel_variance(shape.grid, (first, second), mean, float(code.offset), scale)
    people = list(sizes.values())
    if len(people) == 1:
        n = people[0]
        pairs = protocol.pairs * n / 2
        sharing = 2 * (protocol.pairs - 1) * shape.influence_variances[next(iter(sizes))] / 4 / pairs
    else:
        least = min(people)
        pairs = float(protocol.pairs * least)
        # In each pairing everybody of the smaller class meets somebody else of the larger one.
        sharing = sum(
            (protocol.pairs - 1) * least / sizes[name] * variance / pairs
            for name, variance in shape.influence_variances.items()
        )
    return parts(shape, noisy / pairs, own / pairs + sharing, 0.0)


@lru_cache(maxsize=256)
def _noise_along(noise: Noise, top: int) -> tuple[Vector, Vector]:
    """The variance of a pair's noise at some levels; it is alike from both ends."""
    below = sorted({0, top // 8, top // 2})
    known = [noise.variance(level) for level in below]
    places = [*below, *[top - level for level in reversed(below)]]
    distinct, first = np.unique(np.array(places, dtype=np.float64), return_index=True)
    return distinct, np.array([*known, *reversed(known)])[first]
