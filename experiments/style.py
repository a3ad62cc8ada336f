"""One look for all pictures: Okabe and Ito's palette, which colour-blind people can tell apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)
MARKS = "os^Dv*P"
SETTINGS: Any = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "savefig.facecolor": "white",
}
# Here and not in a figure of its own: what a picture looks like must not depend on what was drawn before it.
plt.rcParams.update(SETTINGS)


def panels(
    columns: int = 1, rows: int = 1, *, width: float = 4.6, height: float = 3.5, **options: Any
) -> Any:
    """A figure and its panels."""
    return plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), layout="constrained", **options
    )


def curve(
    axes: Any,
    x: Any,
    summaries: Any,
    place: int,
    label: str,
    *,
    bars: str = "deviation",
    dashed: bool = False,
) -> None:
    """One line with bars: the ``deviation`` over runs, or the ``standard_error`` of the mean."""
    line = "--" if dashed else "-"
    axes.errorbar(
        x,
        [each.mean for each in summaries],
        [getattr(each, bars) for each in summaries],
        fmt=MARKS[place % len(MARKS)] + line,
        color=COLOURS[place % len(COLOURS)],
        ms=4.5,
        lw=1.4,
        capsize=2,
        label=label,
    )


def log_axes(axes: Any, x: Any = None, y: Any = None) -> None:
    """Logarithmic axes whose ticks are plain numbers."""
    for name, ticks in (("x", x), ("y", y)):
        if ticks is not None:
            getattr(axes, f"set_{name}scale")("log")
            getattr(axes, f"set_{name}ticks")(list(ticks), [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def save(figure: Any, path: Path) -> None:
    """Write a picture as PNG, with no date and no program's version in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)


def close(figure: Any) -> None:
    plt.close(figure)
