"""The Mann-Whitney (Wilcoxon rank-sum) test: U of the positive class, z and a two-sided p-value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain
from ..data.tables import Table
from ..formats.checks import choice
from .auc import AUC
from .base import ErrorOf, Finished
from .labels import NEGATIVE, POSITIVE, positives


@dataclass(frozen=True)
class MannWhitney(AUC):
    """U = AUC times the number of (positive, negative) pairs.

    An estimate's ``details`` carry z and p for "both classes have the same distribution", from the
    estimate's own standard error, so that the private noise is inside the test. A tie always counts one
    half: under the hypothesis, U is then half of all pairs.
    """

    name: ClassVar[str] = "mann_whitney"
    counts_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse ties that count otherwise."""
        super().__post_init__()
        choice("ties of mann_whitney", self.ties, ("half",))

    def exact(self, table: Table) -> float:
        """U of the positive class: the same number as ``scipy.stats.mannwhitneyu``."""
        return self.won(table)[0]

    def exact_details(self, table: Table) -> dict[str, float]:
        """Z with the tie correction and a continuity correction of 1/2, and the two-sided p."""
        positive = positives(table["label"])
        n1 = int(positive.sum())
        n2 = positive.size - n1
        n = n1 + n2
        u = self.exact(table)
        _, counts = np.unique(table["score"], return_counts=True)
        tied = float((counts.astype(np.float64) ** 3 - counts).sum())
        deviation = math.sqrt(n1 * n2 / 12 * (n + 1 - tied / (n * (n - 1))))
        excess = u - n1 * n2 / 2
        z = math.copysign(max(abs(excess) - 0.5, 0.0), excess) / deviation if deviation > 0 else 0.0
        return {"auc": u / (n1 * n2), "z": z, "p_value": two_sided(z)}

    def finish(self, forms: NDArray[np.float64], sizes: Mapping[str, int]) -> Finished:
        """The number of pairs won."""
        # With private labels the number of pairs is an estimate too; the form is the share of pairs won.
        pairs = self._pairs(sizes)
        return Finished(float(forms[0]) * pairs, np.eye(len(forms))[0] * pairs)

    def _pairs(self, sizes: Mapping[str, int]) -> float:
        if self.labels == "public":
            return float(sizes[POSITIVE]) * float(sizes[NEGATIVE])
        n = sum(sizes.values())
        return float(n) * (n - 1)

    def details(
        self, forms: NDArray[np.float64], sizes: Mapping[str, int], error: ErrorOf
    ) -> dict[str, float]:
        """AUC, and z and p of the test that it is 1/2."""
        auc = super().finish(forms, sizes)
        excess, scale = auc.value - 0.5, error(auc.gradient)
        z = excess / scale if scale > 0 else math.copysign(math.inf, excess) if excess else 0.0
        return {"auc": auc.value, "z": z, "p_value": two_sided(z)}

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        """0 to any number of pairs."""
        return (0.0, math.inf)

    def bounds(self, domains: tuple[Domain, ...], sizes: Mapping[str, int]) -> tuple[float, float]:
        """0 to the number of pairs: most of them when private classes are of one size."""
        people = sum(sizes.values())
        return (0.0, self._pairs(sizes) if self.labels == "public" else people**2 / 4)


def two_sided(z: float) -> float:
    """P(|Z| >= |z|) for a standard normal Z.

    >>> round(two_sided(1.959963984540054), 12)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2))


def one_sided(z: float) -> float:
    """P(Z >= z) for a standard normal Z.

    >>> one_sided(0.0)
    0.5
    """
    return math.erfc(z / math.sqrt(2)) / 2
