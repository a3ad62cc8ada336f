"""Forms from noisy counts of cells, without the noise's bias, and the covariance of their noise.

Where a class's size is known, the counts are moved alike so that they add up to it: their noise is then Pe
with P = I - 11'/k, and what the counts' total knew already no longer counts as noise. Where it is hidden, a
form is a ratio of noisy sums; of first order its noise is that of the kernel A - theta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import NotEstimable
from ...statistics.base import TWO_SIDED
from ...statistics.fixed_length import fieller
from ..two_servers.answer import no_less

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoisyClass:
    """One class's counts of all sites together, and the noise of each: its variance and fourth cumulant."""

    counts: Vector
    variance: float
    cumulant: float
    size: int | None
    """None where it is hidden."""

    @property
    def people(self) -> Vector:
        """The counts, with their known total."""
        if self.size is None:
            return self.counts
        moved: Vector = self.counts + (self.size - self.counts.sum()) / self.counts.size
        return moved


def forms_of(classes: Sequence[NoisyClass], kernels: Sequence[Matrix]) -> tuple[Vector, Matrix]:
    """The means of the kernels over pairs of records, and the covariance of their noise."""
    totals = np.array([_total(classes, kernel) for kernel in kernels])
    pairs = _total(classes, np.ones_like(kernels[0]))
    if not pairs > 0:
        raise NotEstimable(
            "the noise leaves no pairs of records: more records or a larger epsilon are needed"
        )
    forms = totals / pairs
    hidden = any(each.size is None for each in classes)
    moved = [
        _projected(kernel - form if hidden else kernel, classes)
        for kernel, form in zip(kernels, forms, strict=True)
    ]
    return forms, _covariance(
        classes, [kernel - form * hidden for kernel, form in zip(kernels, forms, strict=True)], moved
    ) / pairs**2


def _projected(kernel: Matrix, classes: Sequence[NoisyClass]) -> Matrix:
    """P A Q for the noise Pe of the rows' class and Qf of the columns'."""
    first, second = classes[0], classes[-1]
    rows = kernel if first.size is None else kernel - kernel.mean(axis=0)
    return rows if second.size is None else rows - rows.mean(axis=1, keepdims=True)


def _total(classes: Sequence[NoisyClass], kernel: Matrix) -> float:
    """The kernel summed over pairs: E (h + u)'A(h + u) = h'Ah + v tr(PAP) for noise of variance v."""
    if len(classes) == 2:
        first, second = (each.people for each in classes)
        return float(first @ kernel @ second)
    (only,) = classes
    diagonal = np.diagonal(kernel)
    noise = only.variance * float(np.trace(_projected(kernel, classes)))
    return float(only.people @ kernel @ only.people - noise - diagonal @ only.people)


def _covariance(classes: Sequence[NoisyClass], kernels: Sequence[Matrix], moved: Sequence[Matrix]) -> Matrix:
    """The covariance of `_total` for several kernels; what noise adds to its own first order is taken off.

    One class: v w'w + 2 v^2 <PAP, PBP> + c diag(PAP)'diag(PBP) with w = P(2 Ah - diag A) and the fourth
    cumulant c. Two: v (PAb)'(PBb) + v' (QA'a)'(QB'a) + v v' <PAQ, PBQ>.
    """
    alike = np.array([[float((one * other).sum()) for other in moved] for one in moved])
    if len(classes) == 2:
        first, second = classes
        right = np.array([_centred(kernel @ second.people, first) for kernel in kernels])
        left = np.array([_centred(first.people @ kernel, second) for kernel in kernels])
        both = first.variance * second.variance * alike
        covariance = first.variance * right @ right.T + second.variance * left @ left.T - 2 * both
        return no_less(covariance) + both
    (only,) = classes
    along = np.array([_centred(2 * kernel @ only.people - np.diagonal(kernel), only) for kernel in kernels])
    diagonals = np.array([np.diagonal(each) for each in moved])
    covariance = only.variance * (along @ along.T - 4 * only.variance * alike)
    return np.asarray(
        no_less(covariance) + 2 * only.variance**2 * alike + only.cumulant * diagonals @ diagonals.T
    )


def _centred(values: Vector, of: NoisyClass) -> Vector:
    return values if of.size is None else values - values.mean()


def hidden_slack(classes: Sequence[NoisyClass]) -> float:
    """How much longer Fieller's interval of a form is than its first order says, where sizes are hidden.

    A size of one class divides twice.
    """
    hidden = (each for each in classes if each.size is None)
    twice = TWO_SIDED * 2 / len(classes)
    return fieller(
        twice * math.sqrt(each.counts.size * each.variance) / abs(float(each.counts.sum())) for each in hidden
    )


def laplace_cumulant(scale: float) -> float:
    """The fourth cumulant of discrete Laplace noise: v (1 + 3 v) of its variance v = 2 q / (1 - q)^2.

    E x^4 = 2 q (1 + 10 q + q^2) / (1 - q)^4 = v (1 + 6 v), less 3 v^2.

    >>> round(laplace_cumulant(1000.0) / 1000.0**4)
    12
    """
    from ...mechanisms.central import laplace_variance

    variance = laplace_variance(scale)
    return variance * (1 + 3 * variance)


def sizes_of(classes: Mapping[str, NoisyClass]) -> dict[str, int]:
    """The records of each class: known, or by their noisy counts, which say at least 0."""
    return {
        name: max(round(float(each.counts.sum())), 0) if each.size is None else each.size
        for name, each in classes.items()
    }
