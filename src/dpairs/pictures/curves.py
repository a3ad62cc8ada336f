"""Predicted errors of several ways to run a study, against people and against epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from . import BLUE, GREEN, GREY, ORANGE, PINK, SKY, STYLE, YELLOW, blank

COLOURS = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY)
MARKS = "os^Dvp"


@dataclass(frozen=True)
class Curves:
    """Errors by name at the same places; NaN where there is none. ``bare`` is the error without privacy."""

    places: Sequence[float]
    errors: Mapping[str, Sequence[float]]
    bare: Sequence[float]
    label: str
    title: str


def draw_curves(left: Curves, right: Curves, title: str) -> Figure:
    """Two panels that share their vertical axis."""
    with mpl.rc_context(STYLE):
        figure = blank(9, 3.8)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, curves in zip(panels, (left, right), strict=True):
            _panel(axes, curves)
        panels[0].set_ylabel("predicted standard error")
        lines, names = panels[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False)
        figure.suptitle(title, fontsize=11)
    return figure


def _panel(axes: Axes, curves: Curves) -> None:
    for place, (name, errors) in enumerate(sorted(curves.errors.items())):
        colour, mark = COLOURS[place % len(COLOURS)], MARKS[place % len(MARKS)]
        axes.plot(curves.places, errors, f"{mark}-", ms=3.5, lw=1.4, color=colour, label=name)
    axes.plot(curves.places, curves.bare, ":", color=GREY, label="without privacy")
    axes.set(xlabel=curves.label, xscale="log", yscale="log")
    if curves.places[-1] / curves.places[0] < 100:  # matplotlib would label every minor tick here
        shown = curves.places[::2]
        axes.set_xticks(shown, [f"{place:.3g}" for place in shown])
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title(curves.title, loc="left")
