"""Made-up people: the paper's three sets of scores, and smooth populations whose truth is known exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

LOW, HIGH, WIDE = 0.4, 0.6, 0.1
"""Centres of the two normals, negatives first, and their standard deviation; scores lie in [0, 1]."""
PAPERS = ("auc_one", "ur", "ithdigit")
"""The paper's three sets of scores."""


def people(seed: int) -> np.random.Generator:
    """A seeded generator of made-up data."""
    return np.random.default_rng(seed)


def scores(name: str, alpha: int, size: int, seed: int) -> NDArray[Any]:
    """Scores of ``size`` positives, then of as many negatives, from 0 to 2^alpha - 1.

    >>> scores("ithdigit", 14, 2, 0).tolist()
    [1, 1, 0, 0]
    """
    whole = np.uint64(2**alpha - 1)
    result = np.zeros(2 * size, dtype=np.uint64)
    if name == "auc_one":
        result[:size] = whole
    elif name == "ithdigit":
        result[:size] = math.floor(1e-4 * 2**alpha)
    elif name == "ur":
        result = people(seed).integers(0, whole, 2 * size, dtype=np.uint64, endpoint=True)
    elif name == "normals":
        result = (unit_scores(size, seed) * 2.0**alpha).astype(np.uint64)
    elif name == "float bits":  # the bits of a positive float64 are in the order of the numbers
        result = unit_scores(size, seed).view(np.uint64)
    else:
        raise ValueError(f"there are no scores named {name!r}")
    return result


def unit_scores(size: int, seed: int) -> NDArray[np.float64]:
    """Two overlapping normals, cut at both ends of [0, 1)."""
    drawn = people(seed).normal(np.repeat([HIGH, LOW], size), WIDE)
    return np.clip(drawn, 0.0, np.nextafter(1.0, 0.0))


def classes(size: int) -> NDArray[np.int64]:
    """The labels that belong to `scores`."""
    return np.repeat(np.array([1, 0]), size)


def scored(name: str, alpha: int, size: int, seed: int) -> dict[str, NDArray[Any]]:
    """People with these scores: the table that a study of the AUC takes."""
    return {"score": scores(name, alpha, size, seed), "label": classes(size)}


def normals_population(alpha: int, size: int) -> tuple[float, float]:
    """The AUC of the two binned normals, and the standard error of a sample's, both exact."""
    edges = np.linspace(0, 1, 2**alpha + 1)
    edges[0], edges[-1] = -np.inf, np.inf
    above, below = (np.diff(ndtr((edges - centre) / WIDE)) for centre in (HIGH, LOW))
    won = np.cumsum(below) - below / 2  # by a positive in each bin
    lost = 1 - (np.cumsum(above) - above / 2)
    value = float(above @ won)
    first = float(above @ won**2) - value**2
    second = float(below @ lost**2) - value**2
    square = float(above @ (np.cumsum(below) - 0.75 * below)) - value**2
    variance = ((size - 1) * (first + second) + square) / size**2
    return value, math.sqrt(variance)
