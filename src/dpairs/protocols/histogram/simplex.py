"""The estimator that uses what every distribution is: shares of cells that are not negative.

Few cells with people among many without them: then most of the noise of the unbiased shares is in cells that
are empty, and moving the shares to the nearest distribution takes it off ("norm-sub" in Wang,
Lopuhaa-Zwakenberg, Li, Skoric and Li, "Locally differentially private frequency estimation with consistency",
NDSS 2020). It also adds a bias that nobody knows. So the unbiased value is moved towards that of the nearest
distribution, and no further than the end of its 95% interval: limited translation (Efron and Morris,
"Limiting the risk of Bayes and empirical Bayes estimators", JASA 1971). The interval stays that of the
unbiased value, and holds the one that was moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import NotEstimable
from .rounding import shares

if TYPE_CHECKING:
    from .protocol import Histogram

Vector = NDArray[np.float64]


def moved(
    protocol: Histogram,
    vectors: Sequence[Vector],
    value: float,
    middle: float,
    far: float,
    sizes: Mapping[str, int],
) -> float:
    """The value moved towards that of the nearest distribution, so ``far`` at most.

    ``value`` is in the middle of what cells leave possible, and so is what it is moved towards: ``middle``
    from the forms' own.
    """
    masses = [shares(protocol, counts) for counts in vectors]
    try:
        nearest = protocol.statistic.finish(plain_forms(protocol, masses, sizes), sizes).value + middle
    except NotEstimable:
        return value
    return float(np.clip(nearest, value - far, value + far))


def plain_forms(protocol: Histogram, masses: Sequence[Vector], sizes: Mapping[str, int]) -> Vector:
    """The forms of so many people with these shares of the cells."""
    values = []
    for form in protocol.forms:
        whole = float(masses[0] @ form.matrix @ masses[-1])
        if len(masses) == 1:
            # Pairs of different people: without everybody's pair with himself.
            people = float(sum(sizes.values()))
            whole = (people * whole - float(masses[0] @ np.diag(form.matrix))) / (people - 1)
        values.append(whole)
    return np.array(values)
