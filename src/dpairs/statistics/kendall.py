"""Kendall's rank correlation: concordant minus discordant pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain, Levels
from ..data.grids import Axis, Grid
from ..data.tables import Table
from ..errors import NotEnoughData, NotEstimable
from ..formats.checks import choice
from ..garbled.encoding import FixedPoint
from ..garbled.kernels import Concordance, PairKernel
from .base import EVERYBODY, ErrorOf, Finished, Form, Statistic, need_two
from .binned import equal, order, product, several
from .separable import Near, Separable, Steps, flat, on_diagonal
from .vertices import Vertices

UNTIED = 0.01
"""Of pairs in a column, at least: if all may be equal, tau-b may be anything."""
NEAR = 2
"""Bins apart up to which pairs stand in for those that a bin hides."""
HIDDEN = 3 * NEAR * (NEAR + 1)
"""Pairs d <= NEAR bins apart get the weight 1 + 1 / HIDDEN: see `KendallTau.separable`."""
ORDER = (3, 3, 1, -3)
"""Weights of pairs 1 to 4 bins apart, in eighths: see `KendallTau.order`."""
FINE = 32
"""Bins of an axis from which on that many are near each other."""


def tied_pairs(values: NDArray[Any]) -> int:
    """How many unordered pairs have equal values."""
    ordered = np.sort(values)
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True])))
    runs = np.diff(starts)
    return int((runs * (runs - 1) // 2).sum())


@dataclass(frozen=True)
class KendallTau(Statistic):
    """How far two columns rank people alike, from -1 to 1.

    ``variant="a"`` (the paper's): the mean of sign(x - x') sign(y - y'), ties counting 0.
    ``variant="b"``: that over sqrt((1 - P(x = x')) (1 - P(y = y'))).
    """

    variant: str = "a"
    name: ClassVar[str] = "kendall_tau"
    columns: ClassVar[tuple[str, ...]] = ("x", "y")
    needs: ClassVar[str] = "ordered"

    def __post_init__(self) -> None:
        choice("variant", self.variant, ("a", "b"))

    @property
    def form_count(self) -> int:
        """Concordance; for tau-b also two shares of ties."""
        return 1 if self.variant == "a" else 3

    def pair_kernel(self, codes: tuple[FixedPoint, ...]) -> PairKernel | None:
        if self.variant == "a":
            return Concordance(max(code.largest for code in codes))
        return super().pair_kernel(codes)

    def kernel_variance(
        self,
        grid: Grid,
        masses: tuple[NDArray[np.float64], NDArray[np.float64]],
        mean: float,
        low: float,
        extent: float,
    ) -> float:
        """Two people who differ in both columns are concordant or discordant; the others are tied."""
        x, y = (1 - np.eye(axis.bins) / axis.geometry[2] for axis in grid.axes)
        return float(masses[0] @ np.kron(x, y) @ masses[1]) - mean**2

    def exact(self, table: Table) -> float:
        """Kendall's tau of all pairs, in O(n log n) by scipy's count of discordant pairs."""
        x, y = table["x"], table["y"]
        need_two(x.size)
        constant = [name for name in self.columns if table[name].min() == table[name].max()]
        if constant and self.variant == "b":
            raise NotEnoughData(f"tau-b is not defined when column {constant[0]!r} is constant")
        if constant:
            return 0.0
        # Imported here: scipy.stats is heavy, and a participant's device never computes this.
        from scipy.stats import kendalltau

        tau_b = float(kendalltau(x, y, variant="b").statistic)
        if self.variant == "b":
            return tau_b
        # Concordant minus discordant is a whole number, so rounding removes the square roots' error.
        pairs = x.size * (x.size - 1) // 2
        excess = tau_b * math.sqrt(pairs - tied_pairs(x)) * math.sqrt(pairs - tied_pairs(y))
        return (round(excess) if pairs < 2**50 else excess) / pairs

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        """Concordance; for tau-b also the two shares of tied pairs."""
        x, y = grid.axes
        concordance = product(order(x), order(y))
        # The sign is uncertain where some axis has both in one wide bin and no axis has a certain tie.
        tie_x, tie_y = np.eye(x.bins, dtype=bool), np.eye(y.bins, dtype=bool)
        wide_x, wide_y = np.diag(several(x)), np.diag(several(y))
        certain = product(~tie_x | wide_x, ~tie_y | wide_y)
        uncertain = (product(wide_x, np.ones_like(tie_y)) | product(np.ones_like(tie_x), wide_y)) & certain
        forms = [Form(concordance, uncertain.astype(np.float64))]
        if self.variant == "b":
            same_x, same_y = equal(x, kernel), equal(y, kernel)
            all_x, all_y = np.ones((x.bins, x.bins)), np.ones((y.bins, y.bins))
            forms.append(Form(product(same_x.matrix, all_y), product(same_x.uncertainty, all_y)))
            forms.append(Form(product(all_x, same_y.matrix), product(all_x, same_y.uncertainty)))
        return tuple(forms)

    def separable(self, grid: Grid) -> tuple[Separable, ...] | None:
        """Signs, and for tau-b the pairs in one bin of a column: see `same_bin`.

        People in one bin of a line are not tied, and the sign of their difference is lost. If the mean sign
        in the other column of two people who are t apart is c t for small t, bins of width w lose
        the integral of c t (1 - t/w) up to w, c w^2 / 6, and pairs that are d bins apart hold c d w^2: so
        1 / (3 m (m + 1)) of those up to m bins apart makes up for it. A pair near in both columns
        counts as near in one, so that no pair weighs more than 1 + 1 / HIDDEN.
        """
        return self._separable(grid, [self.makes_up(axis) for axis in grid.axes])

    def plain(self, grid: Grid) -> tuple[Separable, ...] | None:
        return self._separable(grid, [False for _ in grid.axes])

    def _separable(self, grid: Grid, cut: Sequence[bool]) -> tuple[Separable, ...]:
        sizes = [axis.bins for axis in grid.axes]
        signs = tuple(Steps(1, -1, np.zeros(bins, dtype=np.int64)) for bins in sizes)
        if any(cut):
            near = [Near(int(wide), NEAR, bins) for wide, bins in zip(cut, sizes, strict=True)]
            whole = Steps(HIDDEN, -HIDDEN, signs[0].diagonal)
            less = Near(-near[0].weight, NEAR, sizes[0])
            terms = ((whole, signs[1]), (near[0], signs[1]), (signs[0], near[1]), (less, near[1]))
            forms = [Separable(terms, -HIDDEN - 1, HIDDEN + 1, 1 / HIDDEN)]
        else:
            forms = [Separable((signs,), -1, 1, 1.0)]
        if self.variant == "b":
            tied = [on_diagonal(np.ones(bins, dtype=np.int64)) for bins in sizes]
            forms.append(Separable(((tied[0], flat(sizes[1], 1)),), 0, 1, 1.0))
            forms.append(Separable(((flat(sizes[0], 1), tied[1]),), 0, 1, 1.0))
        return tuple(forms)

    def makes_up(self, axis: Axis) -> bool:
        return axis.bins >= FINE and bool(np.isinf(axis.geometry[2]).all())

    def within(self, grid: Grid) -> Separable | None:
        """A whole sign where both are in one bin of several values, of either column; tau-b counts these.

        None beside a column of levels, which tell no density across their cells.
        """
        if self.variant == "b" or any(isinstance(axis.domain, Levels) for axis in grid.axes):
            return None
        x, y = (on_diagonal(several(axis).astype(np.int64)) for axis in grid.axes)
        every = [flat(axis.bins, 1) for axis in grid.axes]
        terms = ((x, every[1]), (every[0], y), (on_diagonal(-x.diagonal), y))
        return Separable(terms, 0, 1, 1.0)

    def order(self, grid: Grid) -> Separable | None:
        """How much more tau is than `separable` has it, if a line tells how the nearest pairs go together.

        Let a + b d be the mean sign of pairs that are d bins apart, of which there are twice as many as in
        one bin. With weights v_d of sum 1/2 and a sum of d v_d of 0 these pairs tell a, however steep the
        line is; among such weights up to 4 bins apart, these have the least size, and so the least noise.
        Pairs in one bin hold a + b/3, of which `separable` makes up for b/3 and a share of a. A pair counts
        by the column in which it is nearer: those in one bin of both are no more than those of either.
        """
        hiding = [bool(several(axis).any()) for axis in grid.axes]
        if not any(hiding) or not all(
            self.makes_up(axis) for axis, hides in zip(grid.axes, hiding, strict=True) if hides
        ):
            return None
        x, y = (Steps(1, -1, np.zeros(axis.bins, dtype=np.int64)) for axis in grid.axes)
        terms: list[tuple[Steps | Near, ...]] = []
        for reach, (here, further) in enumerate(zip(ORDER, (*ORDER[1:], 0), strict=True), start=1):
            weight = here - further
            if not weight:
                continue
            near = [
                Near(weight * hides, reach, axis.bins) for hides, axis in zip(hiding, grid.axes, strict=True)
            ]
            once = Near(-int(hiding[0]), reach, grid.axes[0].bins)
            terms += [(near[0], y), (x, near[1]), (once, near[1])]
        made_up = 2 * NEAR / HIDDEN
        return Separable(tuple(terms), min(ORDER), max(ORDER), (1 - made_up) / 8)

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        """Concordance; for tau-b also the two shares of tied pairs."""
        x, y = map(Vertices, grid.axes)
        matrices = [product(x.order(), y.order())]
        if self.variant == "b":
            matrices.append(product(x.same, np.ones_like(y.same)))
            matrices.append(product(np.ones_like(x.same), y.same))
        return {EVERYBODY: tuple(matrices)}

    def finish(self, forms: NDArray[np.float64], sizes: Mapping[str, int]) -> Finished:
        """tau-a, or tau-a over the geometric mean of the shares of untied pairs."""
        if self.variant == "a":
            return super().finish(forms, sizes)
        tau_a, untied_x, untied_y = float(forms[0]), 1 - float(forms[1]), 1 - float(forms[2])
        if untied_x <= 0 or untied_y <= 0:
            column, share = ("x", untied_x) if untied_x <= 0 else ("y", untied_y)
            raise NotEstimable(
                f"the estimated share of pairs untied in {column!r} is {share:.3g}: "
                f"too few people for this epsilon, or the column is nearly constant"
            )
        value = tau_a / math.sqrt(untied_x * untied_y)
        gradient = [1 / math.sqrt(untied_x * untied_y), value / (2 * untied_x), value / (2 * untied_y)]
        return Finished(value, np.array(gradient))

    @property
    def same_bin(self) -> dict[int, int]:
        return {} if self.variant == "a" else {1: 0, 2: 1}

    def tied(self, equal: Sequence[float]) -> float:
        """The divisor of tau-b is smaller by the root of what is untied in either column."""
        if self.variant == "a":
            return 0.0
        untied = math.prod(max(1 - share, UNTIED) for share in equal)
        return 1 / math.sqrt(untied) - 1

    def divisors(self, forms: NDArray[np.float64]) -> dict[str, tuple[float, int]]:
        """The shares of untied pairs."""
        if self.variant == "a":
            return {}
        return {
            f"the share of pairs untied in {name!r}": (1 - float(forms[place]), place)
            for place, name in ((1, "x"), (2, "y"))
        }

    def details(
        self, forms: NDArray[np.float64], sizes: Mapping[str, int], error: ErrorOf
    ) -> dict[str, float]:
        """With tau-b, also tau-a and the shares of tied pairs."""
        if self.variant == "a":
            return {}
        return {"tau_a": float(forms[0]), "ties_x": float(forms[1]), "ties_y": float(forms[2])}

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        return (-1.0, 1.0)
