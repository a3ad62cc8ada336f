"""Intervals side by side: an estimate, and what there would be without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.figure import Figure

from . import BLUE, GREY, ORANGE, STYLE, blank


@dataclass(frozen=True)
class Bar:
    """A value with its interval, and what it is called."""

    name: str
    value: float
    low: float
    high: float


def draw_intervals(bars: Sequence[Bar], axis: str, title: str) -> Figure:
    """One line for each bar, the first on top."""
    with mpl.rc_context(STYLE):
        figure = blank(6.4, 0.9 + 0.45 * len(bars))
        axes = figure.add_subplot()
        for place, (bar, colour) in enumerate(zip(bars, (BLUE, ORANGE, GREY), strict=False)):
            reach = [[bar.value - bar.low], [bar.high - bar.value]]
            axes.errorbar([bar.value], [-place], xerr=reach, fmt="o", ms=6, lw=2, capsize=4, color=colour)
        axes.set_yticks([-place for place in range(len(bars))], [bar.name for bar in bars])
        axes.set_ylim(-len(bars) + 0.4, 0.6)
        axes.set_xlabel(axis)
        axes.set_title(title, loc="left")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", alpha=0.3)
    return figure
