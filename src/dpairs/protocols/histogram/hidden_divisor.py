"""What is said of a ratio whose divisor noise hides, where reports still show that there is one.

A Gini coefficient divides by a mean, and of a domain that is far too wide noise makes that mean anything. But
the coefficient is not defined only if everybody is in one cell, and that is known much better: if they all
are in cell c, the number of reports that speak against c, of which decoding makes a share of c below 1, is
binomial with a chance that the mechanism knows. If there are more, the value exists; it is only not known.
It is said to be that of the distribution nearest to the reports, and the interval is the whole range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...estimate import Manipulation, Quantization
from ...statistics.base import CERTAIN
from ...statistics.fixed_length import below
from ..base import Answer
from .rounding import amounts, shares

if TYPE_CHECKING:
    from .protocol import Histogram

CAVEAT = (
    "Noise hides what this value is divided by, though that is not 0. So the interval is the whole range of "
    "the statistic: a narrower domain, one with a scale, more people or a larger epsilon would help."
)
NOT_DEFINED = (
    "the reports leave it possible that everybody has 0, of which {} is not defined: more people, a larger "
    "epsilon, a narrower domain or one with a scale would help"
)
Vector = NDArray[np.float64]


def surely_defined(protocol: Histogram, vectors: Sequence[Vector]) -> bool | None:
    """Whether reports show that not everybody is where the value is not defined; None where nobody knows.

    If everybody is, this says so wrongly in one of a thousand studies at most.
    """
    cells = protocol.statistic.undefined_at(protocol.grid)
    if cells is None:
        return None
    return all(_somebody_elsewhere(protocol, int(cell), vectors[0]) for cell in cells)


def _somebody_elsewhere(protocol: Histogram, cell: int, counts: Vector) -> bool:
    from scipy.stats import binom  # not needed by those who take part

    against = protocol.mechanism.decoder[:, cell] < 1
    chance = float(protocol.mechanism.channel[cell] @ against)
    return float(binom.sf(counts @ against - 1, counts.sum(), chance)) <= below(-CERTAIN)


def unknown(protocol: Histogram, vectors: Sequence[Vector], sizes: Mapping[str, int]) -> Answer:
    """The value of the nearest distribution, which may be anything."""
    forms = _forms(protocol, vectors)
    value = protocol.statistic.finish(forms, sizes).value
    return Answer(
        value,
        math.inf,
        math.inf,
        Quantization(None, None, None),
        protocol.statistic.details(forms, sizes, lambda _: math.inf),
        caveats=(CAVEAT,),
    )


def anywhere(
    protocol: Histogram, vectors: Sequence[Vector], sizes: Mapping[str, int], people: int
) -> Manipulation:
    """What liars can do to such a value: nothing is known."""
    low, high = protocol.statistic.bounds(protocol.domains, sizes)
    value = min(max(unknown(protocol, vectors, sizes).value, low), high)
    return Manipulation(people, people, value - low, high - value, False, math.inf)


def _forms(protocol: Histogram, vectors: Sequence[Vector]) -> Vector:
    masses = shares(protocol, vectors[0])
    return np.array(amounts([form.matrix for form in protocol.forms], masses))
