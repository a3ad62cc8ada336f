"""Of the page on choosing a protocol: who has the least predicted error, and predictions against runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

import dpairs

from ..exhibits import picture, results, table
from ..experiment import Table
from ..style import BLUE, GREEN, PURPLE, VERMILION
from . import plan_grid
from .plan_grid import near, ratio

COLOURS = {"histogram": VERMILION, "tree": GREEN, "projection": BLUE, "pairwise": PURPLE}
MARKS = {"histogram": "s", "tree": "^", "projection": "o", "pairwise": "D"}
SIX = dpairs.Levels(range(6))
UNIT = dpairs.Interval(0, 1)
STATISTICS: dict[str, tuple[str, Any]] = {
    "AUC": ("auc", UNIT),
    "Kendall's tau, 6 x 6": ("kendall_tau", (SIX, SIX)),
    "Gini mean difference": ("gini_mean_difference", UNIT),
    "variance": ("variance", dpairs.Integers(0, 1000)),
    "collision entropy, 12": ("collision_entropy", dpairs.Categories(list(range(12)))),
}
ALLOWED: dict[str, tuple[str, ...]] = {
    "one round": ("histogram", "tree"),
    "two rounds": ("histogram", "tree", "projection"),
    "two rounds,\nor pairs": ("histogram", "tree", "projection", "pairwise"),
}
PEOPLE = np.geomspace(1e3, 1e7, 17)
LOSSES = np.geomspace(0.125, 8, 13)


def _best(found: list[str], allowed: Sequence[str]) -> int:
    return list(COLOURS).index(next(name for name in found if name in allowed))


def _order(statistic: str, domain: Any, epsilon: float, n: int) -> list[str]:
    """The protocols, the best first."""
    plan = dpairs.plan(statistic, domain=domain, epsilon=epsilon, n=n, peers=True)
    return [each.protocol for each in plan.options]


@picture("plan_decision")
def decision() -> Any:
    """Which protocol has the smallest predicted error, over people and epsilon, when nothing is known."""
    figure, panels = plt.subplots(
        len(ALLOWED), len(STATISTICS), figsize=(11, 6.2), sharex=True, sharey=True, layout="constrained"
    )
    for column, (title, (statistic, domain)) in enumerate(STATISTICS.items()):
        plans = [[_order(statistic, domain, float(loss), round(n)) for n in PEOPLE] for loss in LOSSES]
        for row, allowed in enumerate(ALLOWED.values()):
            axes = panels[row, column]
            winners = [[_best(each, allowed) for each in line] for line in plans]
            axes.pcolormesh(
                PEOPLE,
                LOSSES,
                winners,
                cmap=ListedColormap(list(COLOURS.values())),
                vmin=-0.5,
                vmax=3.5,
                alpha=0.85,
            )
            _letters(axes, np.array(winners))
            axes.set(xscale="log", yscale="log")
            axes.set_yticks([0.125, 0.5, 2, 8], ["1/8", "1/2", "2", "8"])
            axes.minorticks_off()
            if row == 0:
                axes.set_title(title, fontsize=10)
            if row == len(ALLOWED) - 1:
                axes.set_xlabel("people")
    for row, words in enumerate(ALLOWED):
        panels[row, 0].set_ylabel(f"{words}\n\nepsilon", fontsize=10)
    patches = [
        Patch(color=colour, alpha=0.85, label=f"{name[0].upper()}: {name}")
        for name, colour in COLOURS.items()
    ]
    patches[3].set_label("2: pairwise")
    figure.legend(handles=patches, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _letters(axes: Any, winners: Any) -> None:
    """One letter in the middle of each protocol's part, for those who see no colours."""
    for place, letter in enumerate("HTP2"):
        rows, columns = np.nonzero(winners == place)
        if rows.size >= 12:
            middle = np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2)
            axes.text(
                PEOPLE[columns[middle]],
                LOSSES[rows[middle]],
                letter,
                ha="center",
                va="center",
                weight="bold",
                color="white",
            )


RANGES = {
    "auc": 1.0,
    "kendall_tau": 2.0,
    "gini_mean_difference": 1.0,
    "variance": 250_000.0,
    "collision_entropy": 2.5,
}


@picture("plan_grid")
def grid() -> Any:
    """Predicted against simulated errors of all studies."""
    studies = results("plan-grid")
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for axes, knows, title in (
        (panels[0], "shape", "the plan was given the true shape"),
        (panels[1], "nothing", "nothing was known: the worst of several shapes"),
    ):
        for name, colour in COLOURS.items():
            own = studies.where(knows=knows, protocol=name)
            relative = [float(row["predicted"]) / RANGES[str(row["statistic"])] for row in own]
            axes.plot(
                relative,
                list(map(ratio, own)),
                MARKS[name],
                color=colour,
                ms=4.5,
                alpha=0.75,
                mew=0,
                label=name,
            )
        axes.axhline(1, color="black", lw=0.8)
        axes.set(xscale="log", yscale="log", xlabel="predicted standard error, over the statistic's range")
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_yticks([0.2, 0.5, 0.8, 1, 1.25, 1.5], ["0.2", "0.5", "0.8", "1", "1.25", "1.5"])
        axes.minorticks_off()
    panels[0].axhspan(1 / 1.2, 1 / 0.8, color="grey", alpha=0.15, lw=0)
    panels[1].axhline(1.5, color="grey", ls="--", lw=1)
    panels[0].set_ylabel("simulated over predicted")
    panels[0].legend(frameon=False, loc="lower left", ncols=2)
    return figure


@table("plan_summary")
def promises() -> Table:
    seen = plan_grid.summary(results("plan-grid"))
    rows = [
        ("settings (statistic, shape, people, epsilon)", str(seen.settings)),
        ("studies whose error was predicted from the true shape", str(seen.cells)),
        ("of them within 20% of the simulated error", f"{seen.near:.1%}"),
        ("most that a prediction was too small when nothing was known", f"{seen.optimistic:.2f} times"),
        ("settings whose recommended study was within 1.25 of the best, shape known", f"{seen.chosen:.1%}"),
        ("the same when nothing was known", f"{seen.chosen_blind:.1%}"),
    ]
    return Table("", ("promise", "in the grid"), rows)


@table("plan_grid_table")
def by_protocol() -> Table:
    found, rows = results("plan-grid"), []
    for statistic in RANGES:
        for name in COLOURS:
            known, blind = (
                found.where(statistic=statistic, protocol=name, knows=what) for what in ("shape", "nothing")
            )
            own, careful = list(map(ratio, known)), list(map(ratio, blind))
            if own:
                rows.append(
                    (
                        f"`{statistic}`, {name}",
                        str(len(own)),
                        f"{np.median(own):.2f}",
                        f"{min(own):.2f} to {max(own):.2f}",
                        f"{np.mean(list(map(near, known))):.0%}",
                        f"{min(careful):.2f} to {max(careful):.2f}",
                    )
                )
    head = ("simulated over predicted", "studies", "median", "range", "within 20%", "range, nothing known")
    return Table("", head, rows)


@table("plan_held_out")
def held_out() -> Table:
    """For each shape: how often predictions were near, and how far off the worst was."""
    rows = [
        (
            str(row["statistic"]),
            str(row["shape"]),
            f"{row['near']} of {row['studies']}",
            f"{row['worst']:.2f} times",
            f"{row['worst_blind']:.2f} times",
        )
        for row in results("plan-held-out")
    ]
    head = (
        "statistic",
        "shape",
        "within 20%, shape known",
        "most too small",
        "nothing known: most too small",
    )
    return Table("", head, rows)
