"""Area under the ROC curve: how often a positive scores above a negative."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain, Levels
from ..data.grids import Axis, Grid
from ..data.tables import Table
from ..errors import NotEstimable
from ..formats.checks import choice
from ..garbled.encoding import FixedPoint
from ..garbled.kernels import LessThan, PairKernel
from .base import EVERYBODY, Finished, Form, Statistic
from .binned import greater, product, several
from .labels import NEGATIVE, POSITIVE, need_both, positives
from .separable import Separable, Steps, flat, on_diagonal
from .vertices import Vertices

TIES = {"half": 0.5, "zero": 0.0}
LABELS = Levels((0, 1))
"""A private label: negative, positive."""


def pairs_won(positive: NDArray[Any], negative: NDArray[Any], tie: float) -> float:
    """How many (positive, negative) pairs the positive wins; a tie counts ``tie``. O(n log n)."""
    above = np.sort(positive)
    below = np.sort(negative)
    won = int(np.searchsorted(below, above, side="left").sum())
    reached = int(np.searchsorted(below, above, side="right").sum())
    return won + tie * (reached - won)


@dataclass(frozen=True)
class AUC(Statistic):
    """The probability that a random positive scores above a random negative.

    A tie counts one half (``ties="half"``) or nothing (``ties="zero"``, as in the paper). With
    ``labels="public"`` the class of each person is known and only the score is protected; with
    ``labels="private"`` the label is protected together with the score.
    """

    ties: str = "half"
    labels: str = "public"
    name: ClassVar[str] = "auc"
    columns: ClassVar[tuple[str, ...]] = ("score", "label")
    needs: ClassVar[str] = "ordered"

    def __post_init__(self) -> None:
        choice("ties", self.ties, TIES)
        choice("labels", self.labels, ("public", "private"))

    @property
    def form_count(self) -> int:
        """The pairs won; with private labels also the pairs there are."""
        return 1 if self.labels == "public" else 2

    @property
    def private_columns(self) -> tuple[str, ...]:
        """The score, and the label when it is private."""
        return ("score",) if self.labels == "public" else self.columns

    @property
    def domain_columns(self) -> tuple[str, ...]:
        """Only the score has a domain to give; a label has two values."""
        return ("score",)

    @property
    def strata(self) -> tuple[str, ...]:
        """The two classes when they are public."""
        return (POSITIVE, NEGATIVE) if self.labels == "public" else (EVERYBODY,)

    @property
    def order_ties(self) -> str | None:
        return self.ties if self.labels == "public" and not self.counts_people else None

    @property
    def ties_apart(self) -> bool:
        return self.ties == "zero"

    def pair_kernel(self, codes: tuple[FixedPoint, ...]) -> PairKernel | None:
        if self.order_ties is not None:
            return LessThan(max(code.largest for code in codes), self.order_ties)
        return super().pair_kernel(codes)

    def grid(self, axes: tuple[Axis, ...]) -> Grid:
        """Score bins; with private labels, each split in two by the label."""
        return Grid(axes if self.labels == "public" else (*axes, Axis(LABELS, 2)))

    def cell_domains(self, domains: tuple[Domain, ...]) -> tuple[Domain, ...]:
        """The score's, and a private label's two classes."""
        return domains if self.labels == "public" else (*domains, LABELS)

    def split(self, table: Table) -> Iterator[tuple[str, tuple[NDArray[Any], ...]]]:
        """People by public class, or everybody with the label as a private column."""
        positive = positives(table["label"])
        if self.labels == "private":
            yield EVERYBODY, (table["score"], positive.astype(np.int64))
        else:
            yield POSITIVE, (table["score"][positive],)
            yield NEGATIVE, (table["score"][~positive],)

    def exact(self, table: Table) -> float:
        """The AUC of all scores, in O(n log n)."""
        won, pairs = self.won(table)
        return won / pairs

    def won(self, table: Table) -> tuple[float, int]:
        """How many pairs the positives win, exactly, and how many there are."""
        positive = positives(table["label"])
        above, below = table["score"][positive], table["score"][~positive]
        need_both(above.size, below.size)
        return pairs_won(above, below, TIES[self.ties]), above.size * below.size

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        """One bilinear form when labels are public; else the pairs won and the pairs there are."""
        wins = greater(grid.axes[0], TIES[self.ties], kernel)
        if self.labels == "public":
            return (wins,)
        negative_positive = np.array([[0.0, 1.0], [0.0, 0.0]])
        # Half of each order, so that a mean over ordered pairs counts each unordered pair once.
        both = (negative_positive + negative_positive.T) / 2
        won = product(wins.matrix.T, negative_positive) / 2
        uncertain = product(wins.uncertainty, both)
        there_are = product(np.ones_like(wins.matrix), both)
        return Form(won + won.T, uncertain), Form(there_are, np.zeros_like(there_are))

    def separable(self, grid: Grid) -> tuple[Separable, ...] | None:
        """Wins in halves, unless equal values in wide bins of integers are told apart."""
        axis = grid.axes[0]
        same = 1 / axis.geometry[2]
        doubled = (1 - same) + 2 * same * TIES[self.ties]
        if not np.array_equal(doubled, np.rint(doubled)):
            return None
        wins = Steps(2, 0, doubled.astype(np.int64))
        if self.labels == "public":
            return (Separable(((wins,),), 0, 2, 0.5),)
        # Label 0 in the row and 1 in the column, and the other way round.
        no, every = np.zeros(2, dtype=np.int64), flat(axis.bins, 1)
        lost, won = Steps(0, 1, no), Steps(1, 0, no)
        return (
            Separable(((wins.transposed, lost), (wins, won)), 0, 2, 0.25),
            Separable(((every, lost), (every, won)), 0, 1, 0.5),
        )

    def within(self, grid: Grid) -> Separable:
        """Half of a win where both are in one bin of several values."""
        together = on_diagonal(several(grid.axes[0]).astype(np.int64))
        if self.labels == "public":
            return Separable(((together,),), 0, 1, 0.5)
        no = np.zeros(2, dtype=np.int64)
        return Separable(((together, Steps(0, 1, no)), (together, Steps(1, 0, no))), 0, 1, 0.25)

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        """A positive wins against what lies below it, a negative loses against what lies above."""
        vertices, tie = Vertices(grid.axes[0]), TIES[self.ties]
        if self.labels == "public":
            return {POSITIVE: (vertices.greater(tie),), NEGATIVE: (vertices.less(tie),)}
        # Rows by label of the person at the vertex, columns by the other's: half of each order.
        positive = np.array([[0.0, 0.0], [0.5, 0.0]])
        won = product(vertices.greater(tie), positive) + product(vertices.less(tie), positive.T)
        there_are = product(np.ones_like(vertices.below), positive + positive.T)
        return {EVERYBODY: (won, there_are)}

    def finish(self, forms: NDArray[np.float64], sizes: Mapping[str, int]) -> Finished:
        """The form itself, or pairs won over pairs there are."""
        if self.labels == "public":
            return super().finish(forms, sizes)
        won, there_are = map(float, forms)
        if there_are <= 0:
            raise NotEstimable(
                f"the estimated share of pairs with one person of each class is {there_are:.3g}: "
                f"too few people for this epsilon, or one class is nearly empty"
            )
        value = won / there_are
        return Finished(value, np.array([1.0, -value]) / there_are)

    def divisors(self, forms: NDArray[np.float64]) -> dict[str, tuple[float, int]]:
        """The share of pairs with one person of each class, when labels are private."""
        if self.labels == "public":
            return {}
        return {"the share of pairs with one person of each class": (float(forms[1]), 1)}
