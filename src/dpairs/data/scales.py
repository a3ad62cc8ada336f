"""Edges that space an interval's values by their logarithm: made once, stored in the study, compared with.

A device finds the edges around a value and how far between them it lies: comparisons, differences and a
quotient, which every processor rounds alike. Nobody who answers calls a logarithm.
"""

from __future__ import annotations

import math
from itertools import pairwise

from ..errors import BadParameter
from ..formats.canonical import agreed
from ..formats.checks import choice

SCALES = ("log", "asinh")
PIECES = 64
"""Between neighbouring edges values are spaced evenly: of ten octaves, each has six pieces."""
EVEN = 2.0**-16
"""Of an ``asinh`` scale, values nearer to 0 than this share of the farther end are spaced evenly: what 16
bits of the interval itself could not tell apart from 0."""


def scale_edges(low: float, high: float, scale: str) -> tuple[float, ...]:
    """The edges between ``low`` and ``high`` of PIECES pieces, equal by the scale, to nine digits.

    ``log``: the logarithm of values above 0. ``asinh``: the function of that name of x / u, with
    u = EVEN max(|low|, |high|), which is even around 0 and a logarithm far from it on either side.

    >>> [round(edge, 3) for edge in scale_edges(1, 16, "log")[15::16]]
    [2.0, 4.0, 8.0]
    """
    choice("scale", scale, SCALES)
    if scale == "log":
        if low <= 0:
            raise BadParameter(
                f"scale='log' needs an Interval above 0, not one that begins at {low!r}: take scale='asinh'"
            )
        first, last = math.log(low), math.log(high)
        edges = [math.exp(first + (last - first) * place / PIECES) for place in range(1, PIECES)]
    else:
        unit = max(abs(low), abs(high)) * EVEN
        first, last = math.asinh(low / unit), math.asinh(high / unit)
        edges = [unit * math.sinh(first + (last - first) * place / PIECES) for place in range(1, PIECES)]
    inner = tuple(map(agreed, edges))
    if any(not before < after for before, after in pairwise((low, *inner, high))):
        raise BadParameter(f"an Interval from {low!r} to {high!r} is too narrow for scale={scale!r}")
    return inner
