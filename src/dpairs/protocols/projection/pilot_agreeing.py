"""People who share a value within a cell that a first round did not split: how many pairs may agree.

A kernel that asks for equality alone has the sum of all values' squared shares. A cell of w values and share
m has between m^2 / w of it, if people lie evenly, and m^2, if they all have one value. The pilot takes the
former, and no answer of the second round tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .pilot import Masses
from .winsorize import SURE

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Agreeing:
    """Pairs that a pilot takes for different and that may agree, as shares of all pairs."""

    pairs: float = 0.0
    """Pairs of people in one cell of several values."""
    more: float = 0.0
    """How many more than these may agree, if the pilot has too few people where a value is shared."""

    @classmethod
    def of(cls, edges: Vector, masses: Masses, rounds: Sequence[Masses], binned: bool) -> Agreeing:
        """From cells between leaves, and the same of imagined rounds; leaves hold several values if binned.

        How many pairs lie within cells is measured by imagined rounds. But people who share a value may lie
        in a cell that has too few of them in the pilot. Of all T people in cells of several values nobody
        agrees with more than M, the share of the fullest such cell, so T M bounds the pairs. T is taken with
        one standard error more than was measured, and M, the largest of many, with as many as are sure.
        """
        widths = np.diff(edges)
        differ = np.ones(widths.size) if binned else 1 - 1 / widths
        several = differ > 0
        if not several.any():
            return NOBODY_AGREES
        ((stratum, shares),) = masses.items()
        here, there = shares[several], np.array([each[stratum] for each in rounds])[:, several]
        pairs = float(np.mean(there**2 @ differ[several]))
        people = float(here.sum()) + float(np.std(there.sum(axis=1), ddof=1))
        company = float(np.max(here + SURE * np.std(there, axis=0, ddof=1)))
        return cls(pairs, max(min(people, 1.0) * min(company, 1.0) - pairs, 0.0))


NOBODY_AGREES = Agreeing()
