"""Make every figure and every measured table of the page on choosing a protocol.

    python docs/figures/plan_grid.py                    # first: the simulated grid, half an hour
    python docs/figures/make_plan.py                    # then all of these, some minutes
    python docs/figures/make_plan.py decision grid      # only the named ones

Everything is seeded: a second run gives the same numbers. ``ratings`` needs ``tripadvisor_ratings.csv.gz``
in the folder that the variable DPAIRS_DATA names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from make_figures import at_hand, data_folder, save, table
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from plan_grid import Cell, read, summary

import dpairs
from experiments import sources
from experiments.style import BLUE, GREEN, PURPLE, VERMILION
from experiments.synthetic import people

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
RUNS = 200


def _best(found: list[str], allowed: Sequence[str]) -> int:
    return list(COLOURS).index(next(name for name in found if name in allowed))


def _order(statistic: str, domain: Any, epsilon: float, n: int) -> list[str]:
    """The protocols, the best first."""
    plan = dpairs.plan(statistic, domain=domain, epsilon=epsilon, n=n, peers=True)
    return [each.protocol for each in plan.options]


def decision() -> None:
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
    save(figure, "plan_decision")


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


def grid() -> None:
    """Predicted against simulated errors: a picture of all studies, and tables."""
    found = read()
    known = [each for each in found if each.knows == "shape"]
    blind = [each for each in found if each.knows == "nothing"]
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for axes, cells, title in (
        (panels[0], known, "the plan was given the true shape"),
        (panels[1], blind, "nothing was known: the worst of several shapes"),
    ):
        for name, colour in COLOURS.items():
            own = [each for each in cells if each.protocol == name]
            relative = [each.predicted / _scale(each) for each in own]
            axes.plot(
                relative,
                [each.ratio for each in own],
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
    save(figure, "plan_grid")
    _grid_table(known, blind)
    seen = summary(found)
    table(
        "plan_summary",
        ("promise", "in the grid"),
        [
            ("settings (statistic, shape, people, epsilon)", str(seen.settings)),
            ("studies whose error was predicted from the true shape", str(seen.cells)),
            ("of them within 20% of the simulated error", f"{seen.near:.1%}"),
            ("most that a prediction was too small when nothing was known", f"{seen.optimistic:.2f} times"),
            (
                "settings whose recommended study was within 1.25 of the best, shape known",
                f"{seen.chosen:.1%}",
            ),
            ("the same when nothing was known", f"{seen.chosen_blind:.1%}"),
        ],
    )


RANGES = {
    "auc": 1.0,
    "kendall_tau": 2.0,
    "gini_mean_difference": 1.0,
    "variance": 250_000.0,
    "collision_entropy": 2.5,
}


def _scale(cell: Cell) -> float:
    return RANGES[cell.statistic]


def _grid_table(known: list[Cell], blind: list[Cell]) -> None:
    rows = []
    for statistic in RANGES:
        for name in COLOURS:
            studies = [each for each in known if (each.statistic, each.protocol) == (statistic, name)]
            own = [each.ratio for each in studies]
            careful = [each.ratio for each in blind if (each.statistic, each.protocol) == (statistic, name)]
            if not own:
                continue
            near = np.mean([each.near for each in studies])
            rows.append(
                (
                    f"`{statistic}`, {name}",
                    str(len(own)),
                    f"{np.median(own):.2f}",
                    f"{min(own):.2f} to {max(own):.2f}",
                    f"{near:.0%}",
                    f"{min(careful):.2f} to {max(careful):.2f}",
                )
            )
    head = ("simulated over predicted", "studies", "median", "range", "within 20%", "range, nothing known")
    table("plan_grid_table", head, rows)


def _mean_error(study: dpairs.Study, data: dict[str, Any], truth: float) -> float:
    return float(np.mean([abs(dpairs.simulate(study, data, seed=run).value - truth) for run in range(RUNS)]))


MECHANISMS = ("krr", "projective", "optimized")


def ratings() -> None:
    """Mechanisms of one round on the paper's hotel ratings: Kendall's tau of two ratings, 36 cells."""
    if not at_hand("ratings", sources.RATINGS):
        return
    data, levels = sources.ratings(data_folder()), sources.LEVELS
    truth, rows = dpairs.exact("kendall_tau", data), []
    for epsilon in (0.5, 1.0, 2.0, 5.0):
        errors = [
            _mean_error(
                dpairs.Study.create(
                    "kendall_tau", epsilon=epsilon, domain=(levels, levels), mechanism=name, seed=1
                ),
                data,
                truth,
            )
            for name in MECHANISMS
        ]
        rows.append((f"{epsilon:g}", *[f"{each:.4f}" for each in errors], f"{errors[0] / errors[2]:.1f}"))
    table("plan_ratings", ("epsilon", *MECHANISMS, "krr over optimized"), rows)


def auc_cells() -> None:
    """The same for the AUC of 100,000 people in 64 bins."""
    rng = people(6)
    label = rng.integers(0, 2, 100_000)
    data = {"score": np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1), "label": label}
    truth, rows = dpairs.exact("auc", data), []
    for epsilon in (0.5, 1.0, 2.0, 5.0):
        errors = [
            _mean_error(
                dpairs.Study.create("auc", epsilon=epsilon, domain=UNIT, bins=64, mechanism=name, seed=1),
                data,
                truth,
            )
            for name in MECHANISMS
        ]
        rows.append((f"{epsilon:g}", *[f"{each:.4f}" for each in errors], f"{errors[0] / errors[2]:.1f}"))
    table("plan_auc_cells", ("epsilon", *MECHANISMS, "krr over optimized"), rows)


FIGURES: dict[str, Callable[[], None]] = {
    "decision": decision,
    "grid": grid,
    "ratings": ratings,
    "auc_cells": auc_cells,
}


def main(names: list[str]) -> None:
    for name in names or FIGURES:
        FIGURES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
