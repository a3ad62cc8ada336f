"""Volume under the ROC surface: how often one person of each of three ordered classes is in order.

The statistic over triples that the paper's conclusion names. Its kernel joins three people, so it has
no matrix between cells; but its derivative at a rough distribution is a function of one person's value all
the same, and that is all the `projection` protocol needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..data.grids import Axis, Grid
from ..data.tables import Table
from ..errors import BadParameter, BadValue, NotEnoughData
from ..formats.checks import choice
from .base import Form, Statistic
from .binned import equal, greater
from .linear import Linear, Masses
from .vertices import Vertices

LOW, MIDDLE, HIGH = "low", "middle", "high"
CLASSES = (LOW, MIDDLE, HIGH)
ALLOWED = "0, 1 and 2, or 'low', 'middle' and 'high'"
TIES = {"half": (1 / 2, 1 / 6), "zero": (0.0, 0.0)}
"""What two equal scores and three equal scores count."""


def classes(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Which of the three classes each label is."""
    if labels.dtype.kind == "O":
        labels = np.array(labels.tolist())
    names: tuple[Any, ...] = CLASSES if labels.dtype.kind == "U" else (0, 1, 2)
    if labels.dtype.kind not in "Ufiu":
        raise BadValue(f"column 'label' holds {labels.dtype} values; the three classes are {ALLOWED}")
    codes = np.full(labels.size, -1, dtype=np.int64)
    for code, name in enumerate(names):
        codes[labels == name] = code
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        raise BadValue(
            f"column 'label' has the label {labels[bad[0]].item()!r} at row {int(bad[0])}; "
            f"the three classes are {ALLOWED}"
        )
    return codes


@dataclass(frozen=True)
class VUS(Statistic):
    """P(low < middle < high) for the scores of one random person of each class.

    With ``ties="half"`` two equal neighbours count 1/2 and three equal scores 1/6, so that scores
    without meaning give 1/6 whatever their ties; with ``"zero"`` ties count nothing.
    """

    ties: str = "half"
    name: ClassVar[str] = "vus"
    arity: ClassVar[int] = 3
    columns: ClassVar[tuple[str, ...]] = ("score", "label")
    needs: ClassVar[str] = "ordered"

    def __post_init__(self) -> None:
        choice("ties", self.ties, TIES)

    @property
    def private_columns(self) -> tuple[str, ...]:
        """The score; the class is public."""
        return ("score",)

    @property
    def strata(self) -> tuple[str, ...]:
        return CLASSES

    def split(self, table: Table) -> Iterator[tuple[str, tuple[NDArray[Any], ...]]]:
        codes = classes(table["label"])
        for code, name in enumerate(CLASSES):
            yield name, (table["score"][codes == code],)

    def exact(self, table: Table) -> float:
        """The share of triples in order, in O(n log n)."""
        codes = classes(table["label"])
        low, middle, high = (np.sort(table["score"][codes == code]) for code in range(3))
        for name, scores in zip(CLASSES, (low, middle, high), strict=True):
            if scores.size == 0:
                raise NotEnoughData(f"the {name} class is empty, and vus needs people of all three")
        two, three = TIES[self.ties]
        below, reached = (np.searchsorted(low, middle, side=side) for side in ("left", "right"))
        above = high.size - np.searchsorted(high, middle, side="right")
        as_high = high.size - np.searchsorted(high, middle, side="left") - above
        same = (reached - below).astype(np.float64)
        under, over, level = (each.astype(np.float64) for each in (below, above, as_high))
        won = under * over + two * (same * over + under * level) + three * same * level
        return float(won.sum() / low.size / middle.size / high.size)

    def check_grid(self, grid: Grid, kernel: str) -> None:
        """Refuse protocols that need a kernel between two cells."""
        _no_pairs()

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        """There are none: the kernel joins three people."""
        _no_pairs()

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        """There is none: the kernel joins three people."""
        _no_pairs()

    def linearizer(self, grid: Grid) -> VolumeLinearizer:  # type: ignore[override]
        return VolumeLinearizer(grid.axes[0], *TIES[self.ties])


def _no_pairs() -> NoReturn:
    raise BadParameter("vus is a statistic over triples, which only the projection protocol computes")


@dataclass(frozen=True, eq=False)
class VolumeLinearizer:
    """Derivatives of the volume at three distributions on the bins of one axis."""

    axis: Axis
    two: float
    three: float

    @cached_property
    def _at_vertices(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        vertices = Vertices(self.axis)
        return vertices.below, vertices.same

    @cached_property
    def _bins(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """P(x > y) and P(x = y) for x in the row's bin and y in the column's."""
        return greater(self.axis, 0.0, "average").matrix, equal(self.axis, "average").matrix

    def every(self, masses: Sequence[Masses], sizes: Mapping[str, int]) -> list[Linear | None]:
        """As `Linearizer.every`; a volume always has a value."""
        return [self.at(each, sizes) for each in masses]

    def at(self, masses: Masses, sizes: Mapping[str, int]) -> Linear:
        """The volume, and the derivative of each class."""
        low, middle, high = (masses[name] for name in CLASSES)
        (below, same), (over, level) = self._at_vertices, self._bins
        above = 1 - below - same
        tie = self.two
        # For a middle person in each bin: how much of the lows lie below, and of the highs above.
        under, equal_low = over @ low, level @ low
        beyond, equal_high = over.T @ high, level @ high
        functions = {
            LOW: above @ (middle * (beyond + tie * equal_high))
            + same @ (middle * (tie * beyond + self.three * equal_high)),
            MIDDLE: (below @ low) * (above @ high)
            + tie * ((same @ low) * (above @ high) + (below @ low) * (same @ high))
            + self.three * (same @ low) * (same @ high),
            HIGH: below @ (middle * (under + tie * equal_low))
            + same @ (middle * (tie * under + self.three * equal_low)),
        }
        value = self._volume(low, middle, high)
        return Linear(np.array([value]), value, functions)

    def _volume(
        self, low: NDArray[np.float64], middle: NDArray[np.float64], high: NDArray[np.float64]
    ) -> float:
        same = 1 / self.axis.geometry[2]
        # Two, and three, people of one bin: in order, or tied.
        pair = (1 - same) / 2 + self.two * same
        triple = (1 - same) * (1 - 2 * same) / 6 + self.two * same * (1 - same) + self.three * same**2
        before = np.cumsum(low) - low
        after = np.cumsum(high[::-1])[::-1] - high
        inside = before * after + pair * (before * high + low * after) + triple * low * high
        return float(middle @ inside)
