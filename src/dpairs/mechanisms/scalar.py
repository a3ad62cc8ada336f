"""Which mechanism sends a bounded number best: one bit, or a window among several symbols, even or spaced."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .bit import BitResponse
from .spacing import POLISHED, spaced_window
from .window import WindowResponse

ScalarResponse: TypeAlias = "BitResponse | WindowResponse"
WORTH = 0.9
"""More than one bit is sent only where it takes at least a tenth off the variance."""
CANDIDATES = (3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of symbols that are tried: 64 are within 1% of any larger number up to epsilon 8."""
WORTH_SPACING = 0.95
"""Knots are written into a study only where they take at least a twentieth off the variance."""
MOST_SPACED = 32
"""Spaced windows need fewer symbols."""


def scalar_response(
    epsilon: float,
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    candidates: tuple[int, ...] = CANDIDATES,
) -> ScalarResponse:
    """The mechanism of least average variance for numbers in [0, 1] that occur with these weights.

    >>> even = np.linspace(0, 1, 101), np.full(101, 1 / 101)
    >>> scalar_response(0.5, *even).symbols, scalar_response(5.0, *even).symbols
    (2, 32)
    """
    bit = BitResponse.for_epsilon(epsilon)
    best: ScalarResponse = bit
    least = WORTH * float(weights @ bit.variances(values))
    for window in _windows(epsilon, candidates):
        variance = float(weights @ window.variances(values))
        if variance < least:
            best, least = window, variance
    return best


def spaced_response(
    epsilon: float,
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    candidates: tuple[int, ...] = CANDIDATES,
    polished: int = POLISHED,
) -> ScalarResponse:
    """The same, or a window whose knots follow the numbers where that is `WORTH_SPACING`.

    >>> small, weights = np.linspace(0, 1, 101) ** 4, np.full(101, 1 / 101)
    >>> even, spaced = (choose(4.0, small, weights) for choose in (scalar_response, spaced_response))
    >>> bool(spaced.variances(small).mean() < 0.85 * even.variances(small).mean())
    True
    """
    plain = scalar_response(epsilon, values, weights, candidates)
    few = tuple(symbols for symbols in candidates if symbols <= MOST_SPACED)
    # A function that is the same for everybody has no weights.
    spaced = spaced_window(values, weights, _windows(epsilon, few), polished) if weights.any() else None
    if spaced is None:
        return plain
    bit = BitResponse.for_epsilon(epsilon)
    variance, best, most = (float(weights @ each.variances(values)) for each in (spaced, plain, bit))
    return spaced if variance < min(WORTH_SPACING * best, WORTH * most) else plain


def _windows(epsilon: float, candidates: tuple[int, ...]) -> Iterator[WindowResponse]:
    for symbols in candidates:
        for width in range(1, symbols):
            window = _window(symbols, width, epsilon)
            if window is not None:
                yield window


@lru_cache(maxsize=1024)
def _window(symbols: int, width: int, epsilon: float) -> WindowResponse | None:
    # A window of more than half of the symbols says less than a smaller one, and so does one far from
    # the best share 1 / (1 + e^(eps/2)) of the continuous mechanism.
    share = 1 / (1 + float(np.exp(min(epsilon, 60.0) / 2)))
    if abs(width - share * symbols) > 1.5 + share * symbols / 2:
        return None
    return WindowResponse.for_epsilon(symbols, width, epsilon)
