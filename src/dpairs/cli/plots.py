"""Pictures, in one style, with a palette that colour-blind readers can tell apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..errors import BadFile
from ..estimate import Estimate, Explanation
from ..planning import Plan

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
"""From the palette of Okabe and Ito."""
CURVE_POINTS = 26
"""Plans that a picture of error curves needs: half of them along each axis."""
PLAN_STYLES = ((ORANGE, "s-"), ("#009E73", "^-"), (BLUE, "o-"), ("#CC79A7", "D-"))
STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "figure.dpi": 150,
    "svg.hashsalt": "dpairs",
}


def save(figure: Figure, path: Path) -> None:
    """Write a picture; its kind follows from the file's name."""
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise BadFile(f"the picture {path} cannot be written: {str(error).splitlines()[0]}") from None


def plot_runs(estimates: Sequence[Estimate], truth: float | None, level: float, path: Path) -> None:
    """Each run's estimate and interval, in order of the estimate, beside the exact value."""
    ordered = sorted(estimates, key=lambda each: each.value)
    values = np.array([each.value for each in ordered])
    reach = np.array([each.confidence_interval(level, "sample").high - each.value for each in ordered])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7, 3.6), layout="constrained")
        axes = figure.add_subplot()
        axes.errorbar(
            np.arange(1, len(ordered) + 1),
            values,
            yerr=reach,
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
    """Both classes' estimated cumulative distributions, with the parts that were not looked into shaded."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7, 3.8), layout="constrained")
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


def plot_plan(
    found: Plan, ask: Callable[[float, Any], Plan], path: Path, advance: Callable[[int], None] | None = None
) -> None:
    """Predicted error of every option against the number of people and against epsilon."""

    def asked(loss: float, count: Any) -> Plan:
        if advance is not None:
            advance(1)
        return ask(loss, count)

    best = found.options[0]
    epsilon, sizes = best.study.epsilon, best.sizes
    factors = np.geomspace(0.1, 10, CURVE_POINTS // 2)
    losses = np.geomspace(0.125, 8, CURVE_POINTS // 2)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        total = sum(sizes.values())
        curves = [asked(epsilon, {name: max(2, round(n * f)) for name, n in sizes.items()}) for f in factors]
        _curves(left, total * factors, curves, found)
        left.plot(
            total * factors, [each.sampling for each in curves], ":", color=GREY, label="without privacy"
        )
        left.set(xlabel="people", ylabel="predicted standard error", xscale="log", yscale="log")
        left.set_title(f"epsilon {epsilon:.3g}", loc="left")
        curves = [asked(float(loss), sizes) for loss in losses]
        _curves(right, losses, curves, found)
        right.axhline(found.sampling, ls=":", color=GREY)
        right.set(xlabel="epsilon", xscale="log")
        right.set_xticks([0.125, 0.25, 0.5, 1, 2, 4, 8], ["1/8", "1/4", "1/2", "1", "2", "4", "8"])
        right.minorticks_off()
        right.set_title(f"{total:,} people", loc="left")
        left.legend(frameon=False)
        figure.suptitle(f"{found.statistic.name.replace('_', ' ')}: people like {found.shape}", fontsize=11)
        save(figure, path)


def _curves(axes: Any, places: Any, plans: Sequence[Plan], found: Plan) -> None:
    styles = dict(zip(("histogram", "tree", "projection", "pairwise"), PLAN_STYLES, strict=True))
    for protocol in sorted({each.protocol for each in found.options}):
        colour, mark = styles[protocol]
        errors = [
            next((each.error for each in made.options if each.protocol == protocol), np.nan) for made in plans
        ]
        axes.plot(places, errors, mark, ms=3.5, lw=1.4, color=colour, label=protocol)
