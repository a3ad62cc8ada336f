"""A statistic seen from a rough distribution: its value there, and a function of one person's value.

For a statistic theta of the distribution h and any other distribution g,

    theta(h) = theta(g) + <psi, h> - <psi, g> + second order in h - g,

where psi is theta's derivative at g: for a form with the symmetric kernel f, psi(x) = 2 E f(x, X) with X
from g; for a form between two strata, psi of one stratum is E f(x, Y) with Y from the other's g; and a
smooth function of forms adds their psi along its gradient. That is all a person needs to know of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..data.grids import Grid
from ..errors import NotEstimable

if TYPE_CHECKING:
    from .base import Statistic

Vector = NDArray[np.float64]
Masses = Mapping[str, Vector]
"""Each stratum's share of people in every cell."""


@dataclass(frozen=True, eq=False)
class Linear:
    """The forms at g, the value in the unit of psi, and psi at the vertices of the cells by stratum.

    With one form the unit is that form's, and `Statistic.finish` comes after; with several it is the
    finished statistic's.
    """

    forms: Vector
    value: float
    functions: dict[str, Vector]


def nominal(statistic: Statistic) -> dict[str, int]:
    """People of each stratum that functions are made for: their number enters only as a common factor."""
    return dict.fromkeys(statistic.strata, 1_000_000)


@dataclass(frozen=True, eq=False)
class Linearizer:
    """Derivatives of a statistic at distributions on the cells of one grid."""

    statistic: Statistic
    grid: Grid

    @cached_property
    def matrices(self) -> list[NDArray[np.float64]]:
        """The kernel's table on the grid's cells, of each form."""
        return [form.matrix for form in self.statistic.forms(self.grid, "average")]

    @cached_property
    def _against(self) -> dict[str, tuple[NDArray[np.float64], ...]]:
        return self.statistic.against(self.grid)

    def at(self, masses: Masses, sizes: Mapping[str, int]) -> Linear:
        """The derivative at ``masses``; ``sizes`` matter only to statistics that count people."""
        first, *others = (masses[stratum] for stratum in self.statistic.strata)
        second = others[0] if others else first
        forms = np.array([first @ matrix @ second for matrix in self.matrices])
        # A person of one stratum meets the other; where there is only one, both sides of a pair.
        partners = [second, first] if others else [2 * first]
        sides = {
            stratum: [matrix @ partner for matrix in self._against[stratum]]
            for stratum, partner in zip(self.statistic.strata, partners, strict=True)
        }
        return self._joined(forms, sides, sizes)

    def forms(self, masses: Sequence[Masses]) -> NDArray[np.float64]:
        """The forms at distributions, or at shares of which some are negative, a row for each."""
        first, second = self._pairs(masses)
        return np.stack([((first @ matrix) * second).sum(axis=1) for matrix in self.matrices], axis=1)

    def _pairs(self, masses: Sequence[Masses]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of each distribution a row for the first person of a pair, and one for the second."""
        first, *others = (np.stack([each[stratum] for each in masses]) for stratum in self.statistic.strata)
        return first, others[0] if others else first

    def every(self, masses: Sequence[Masses], sizes: Mapping[str, int]) -> list[Linear | None]:
        """The same at many distributions together; None at those where the statistic has no value."""
        if not masses:
            return []
        forms, (first, second) = self.forms(masses), self._pairs(masses)
        partners = [second, first] if len(self.statistic.strata) > 1 else [2 * first]
        sides = {
            stratum: [partner @ matrix.T for matrix in self._against[stratum]]
            for stratum, partner in zip(self.statistic.strata, partners, strict=True)
        }
        linears: list[Linear | None] = []
        for place, here in enumerate(forms):
            rows = {stratum: [each[place] for each in whole] for stratum, whole in sides.items()}
            try:
                linears.append(self._joined(here, rows, sizes))
            except NotEstimable:
                linears.append(None)
        return linears

    def _joined(
        self, forms: Vector, sides: Mapping[str, Sequence[Vector]], sizes: Mapping[str, int]
    ) -> Linear:
        """The forms and their functions, finished."""
        value, gradient = float(forms[0]), np.ones(1)
        if forms.size > 1:
            finished = self.statistic.finish(forms, sizes)
            value, gradient = finished.value, finished.gradient
        functions = {
            stratum: np.asarray(sum(weight * side for weight, side in zip(gradient, each, strict=True)))
            for stratum, each in sides.items()
        }
        return Linear(forms, value, functions)
