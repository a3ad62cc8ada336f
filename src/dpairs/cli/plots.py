"""Pictures that only the command line draws: runs of a simulation, and the distributions of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import MaxNLocator

from ..estimate import Estimate, Explanation
from ..pictures import BLUE, GREY, ORANGE, STYLE, blank, save


def plot_runs(estimates: Sequence[Estimate], truth: float | None, level: float, path: Path) -> None:
    """Each run's estimate and interval, in order of the estimate, beside the exact value."""
    ordered = sorted(estimates, key=lambda each: each.value)
    values = np.array([each.value for each in ordered])
    low, high = np.array([each.confidence_interval(level, "sample") for each in ordered]).T
    with mpl.rc_context(STYLE):
        figure = blank(7, 3.6)
        axes = figure.add_subplot()
        axes.errorbar(
            np.arange(1, len(ordered) + 1),
            values,
            yerr=np.maximum([values - low, high - values], 0.0),
            fmt="o",
            ms=4,
            lw=1,
            color=BLUE,
            label=f"estimate and {level:.0%} interval for this sample",
        )
        if truth is not None:
            axes.axhline(truth, color=ORANGE, lw=1.5, label="exact value")
        axes.set_xlabel("run, in order of the estimate")
        axes.set_ylabel(ordered[0].statistic.replace("_", " "))
        axes.set_title(f"{ordered[0].n:,} people, epsilon {ordered[0].privacy.epsilon_asked:g}", loc="left")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(frameon=False, loc="best")
        save(figure, path)


def plot_distributions(explanation: Explanation, path: Path) -> None:
    """Both classes' estimated cumulative distributions, with the discarded parts shaded."""
    with mpl.rc_context(STYLE):
        figure = blank(7, 3.8)
        axes = figure.add_subplot()
        edges = np.append(explanation.low, explanation.high[-1])
        classes = ((explanation.positive, BLUE, "-"), (explanation.negative, ORANGE, "--"))
        for (shares, colour, line), name in zip(classes, ("positive", "negative"), strict=True):
            steps = np.concatenate(([0.0], np.cumsum(shares)))
            axes.plot(edges, steps, color=colour, ls=line, lw=1.5, label=f"{name} class")
        # Neighbours alternate, so that each part is seen as one.
        unseen = np.flatnonzero(explanation.discarded)
        for place, part in enumerate(unseen):
            axes.axvspan(
                explanation.low[part],
                explanation.high[part],
                color=GREY,
                alpha=0.10 + 0.15 * (place % 2),
                lw=0,
                label="a discarded part: its pairs count one half" if place == 1 else None,
            )
        axes.set_xlabel("score")
        axes.set_ylabel("share at or below the score")
        axes.legend(frameon=False, loc="upper left")
        save(figure, path)
