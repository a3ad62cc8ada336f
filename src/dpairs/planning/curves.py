"""The picture of a plan: errors of every option with other numbers of people, and with other epsilons."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..pictures.curves import Curves, draw_curves
from .options import Option, Question
from .solve import without_privacy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 13
"""Places along each axis."""


def plan_curves(
    ask: Question, best: Option, title: str, progress: Callable[[int], None] | None = None
) -> Figure:
    """Errors around the best option: a tenth to ten times its people, epsilon 1/8 to 8."""
    epsilon, sizes = best.study.epsilon, best.sizes
    factors, losses = np.geomspace(0.1, 10, POINTS).tolist(), np.geomspace(0.125, 8, POINTS).tolist()
    scaled = [{name: max(2, round(n * factor)) for name, n in sizes.items()} for factor in factors]
    total = sum(sizes.values())
    people = _errors(ask, [(epsilon, each) for each in scaled], progress)
    privacy = _errors(ask, [(loss, sizes) for loss in losses], progress)
    return draw_curves(
        Curves(
            [total * factor for factor in factors],
            people,
            [without_privacy(ask, each) for each in scaled],
            "people",
            f"epsilon {epsilon:.3g}",
        ),
        Curves(losses, privacy, [without_privacy(ask, sizes)] * POINTS, "epsilon", f"{total:,} people"),
        title,
    )


def _errors(
    ask: Question, points: Sequence[tuple[float, Mapping[str, int]]], progress: Callable[[int], None] | None
) -> dict[str, list[float]]:
    errors: dict[str, list[float]] = {}
    for place, (epsilon, sizes) in enumerate(points):
        for option in ask.options(epsilon, sizes)[0]:
            errors.setdefault(option.protocol, [math.nan] * len(points))[place] = option.error
        if progress is not None:
            progress(1)
    return errors
