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

from ...data.domains import Interval
from ...estimate import Manipulation, Quantization
from ...statistics.base import CERTAIN, ErrorOf
from ...statistics.fixed_length import below
from ..base import Answer
from ..manipulation import of_forms, span
from .rounding import amounts, shares

if TYPE_CHECKING:
    from .protocol import Histogram

Vector = NDArray[np.float64]


def caveat(protocol: Histogram) -> str:
    """Why the interval says nothing."""
    return (
        "Noise hides what this value is divided by, though that is not 0. So the interval is the whole range "
        f"of the statistic: {_advice(protocol)}."
    )


def not_defined(protocol: Histogram) -> str:
    """Why there is no value."""
    return (
        f"the reports leave it possible that everybody has 0, of which {protocol.statistic.name} is not "
        f"defined: {_advice(protocol)}"
    )


def _advice(protocol: Histogram) -> str:
    plain = any(isinstance(domain, Interval) and not domain.scaled for domain in protocol.domains)
    scale = " one with a scale," if plain else ""
    return f"a narrower domain,{scale} more people or a larger epsilon would help"


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
        caveats=(caveat(protocol),),
    )


def lost_by_lies(protocol: Histogram, vectors: Sequence[Vector], error: ErrorOf, people: int) -> bool:
    """Whether noise hides the divisor, or does once so many people lie: then the value may be anything.

    A divisor here is the mean of one number z of each report, and to replace k of n reports adds at most
    k / n times the square of the range of z to their variance.
    """
    counts = vectors[0]
    forms = [form.matrix for form in protocol.forms]
    values = np.array([protocol.average(matrix).mean([counts]) for matrix in forms])
    for divisor, place in protocol.statistic.divisors(values).values():
        average = protocol.average(forms[place])
        down = of_forms(average, vectors, people)[0].down
        extent = span(protocol.mechanism.decoder @ np.diag(forms[place]))
        noise = error(np.eye(len(forms))[place])
        deviation = math.hypot(noise, math.sqrt(people) * extent / float(counts.sum()))
        if divisor - down <= CERTAIN * deviation:
            return True
    return False


def anywhere(protocol: Histogram, value: float, sizes: Mapping[str, int], people: int) -> Manipulation:
    """What liars can do to such a value, which may lie outside the range: anything within that."""
    low, high = protocol.statistic.bounds(protocol.domains, sizes)
    return Manipulation(people, people, max(value - low, 0.0), max(high - value, 0.0), False, math.inf)


def _forms(protocol: Histogram, vectors: Sequence[Vector]) -> Vector:
    masses = shares(protocol, vectors[0])
    return np.array(amounts([form.matrix for form in protocol.forms], masses))
