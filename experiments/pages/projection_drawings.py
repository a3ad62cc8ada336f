"""Drawings of the projection protocol: from the pilot to what a person sends."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import dpairs
from dpairs.protocols.projection.pilot import PublicNoise
from dpairs.simulate import simulate_round

from ..exhibits import picture
from ..limits import below
from ..style import BLACK, BLUE, ORANGE, SKY
from ..synthetic import classes, unit_scores
from .projection_runs import UNIT, Data, case, drawn


@picture("projection_person")
def person() -> Any:
    """From the pilot to a person's bit, for an AUC and for a mean difference."""
    number = 100_000
    scored = {"score": unit_scores(number // 2, 1), "label": classes(number // 2)}
    earning = drawn(case("incomes", number), 1)[2]
    figure = plt.figure(figsize=(11.4, 6.4), layout="constrained")
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.1, h_pad=0.06)
    parts: Any = figure.subfigures(2, 1, hspace=0.06)
    upper, lower = parts
    upper.suptitle("AUC: a person of the positive class with the score 0.55", fontsize=10.5, weight="bold")
    _steps(upper, "auc", scored, ("positive", "negative"), 0.55, "score", "negatives at or below")
    lower.suptitle("Gini mean difference: a person with the value 0.30", fontsize=10.5, weight="bold")
    both = ("everybody", "everybody")
    _steps(lower, "gini_mean_difference", earning, both, 0.30, "value", "people at or below")
    return figure


def _steps(
    figure: Any,
    statistic: str,
    data: Data,
    strata: tuple[str, str],
    value: float,
    unit: str,
    words: str,
) -> None:
    """Four panels: the pilot of the person's partners, the function, the probability and the bit."""
    columns = next(iter(data.values()))
    study = dpairs.Study.create(
        statistic, protocol="projection", epsilon=1.0, domain=UNIT, n=columns.size, seed=1
    )
    tally = simulate_round(study, data, 1)
    pilot = pilot_of(tally)
    last: Any = study.next(tally).protocol
    mine, others = strata
    partners = np.sort(columns[data["label"] == 0] if statistic == "auc" else columns)
    grid = np.linspace(0, 1, 400)
    first, second, third, fourth = figure.subplots(1, 4, width_ratios=(1, 1, 1, 0.5))

    reached = np.append(0, np.cumsum(pilot.masses[others]))
    first.plot(pilot.grid.axes[0].edges, reached, color=BLUE, lw=1.6, label="pilot")
    first.plot(grid, below(partners, grid, 1.0), ":", color=BLACK, lw=1.6, label="the people")
    first.set(xlabel=unit, ylabel=f"share of {words}", xlim=(0, 1), ylim=(0, 1.04))
    first.legend(fontsize=8.5, loc="lower right")

    influence, name = last.influences[mine], last.statistic.private_columns
    low, high = last.analysis.ranges[mine]
    extent = high - low
    here = float(influence((np.array([value]),), name)[0])
    at = low + extent * here
    second.plot(grid, low + extent * influence((grid,), name), color=BLUE, lw=1.6)
    _mark(second, value, at, low - 0.05 * extent)
    second.set(xlabel=unit, ylabel="$\\psi$", xlim=(0, 1))
    second.set_ylim(low - 0.05 * extent, high + 0.05 * extent)
    second.text(0.03, 1.0, f"$\\psi$({value:.2f}) = {at:.3f}", transform=second.transAxes, va="bottom")

    floor, boost = last.mechanism.floor / 2**64, last.mechanism.boost / 2**64
    chance = floor + boost * here
    third.plot([0, 1], [floor, floor + boost], color=BLUE, lw=1.6)
    _mark(third, here, chance, 0.0)
    third.set(xlim=(0, 1), ylim=(0, 1), ylabel="probability of the bit 1")
    third.set_xlabel(f"$v = (\\psi - {low:.2f}) / {extent:.2f}$")
    third.text(0.03, 1.0, f"$v$ = {here:.3f}", transform=third.transAxes, va="bottom")

    fourth.bar([0, 1], [1 - chance, chance], color=[SKY, ORANGE], width=0.7)
    for place, height in enumerate((1 - chance, chance)):
        fourth.text(place, height + 0.02, f"{height:.3f}", ha="center", fontsize=8.5)
    fourth.set(xlabel="the bit", ylim=(0, 1), ylabel="probability")
    fourth.set_xticks([0, 1], ["0", "1"])
    fourth.grid(visible=False, axis="x")
    for panel, title in zip(
        (first, second, third, fourth),
        ("1. pilot (public)", "2. function (public)", "3. on the device", "4. sent"),
        strict=True,
    ):
        panel.set_title(title, fontsize=9.5, pad=20)


def _mark(panel: Any, across: float, up: float, bottom: float) -> None:
    """A point with lines to both axes."""
    panel.plot([across, across, 0], [bottom, up, up], color=ORANGE, lw=1.4, ls="--")
    panel.plot([across], [up], "o", color=ORANGE, ms=7)


@picture("projection_plane")
def plane() -> Any:
    """Kendall's tau: the pilot's shares, and the function that people evaluate, over the plane."""
    number = 100_000
    data = drawn(case("plane", number), 1)[2]
    side = dpairs.Interval(-4, 4)
    study = dpairs.Study.create(
        "kendall_tau", protocol="projection", epsilon=1.0, domain=(side, side), n=number, seed=1
    )
    tally = simulate_round(study, data, 1)
    pilot = pilot_of(tally)
    last: Any = study.next(tally).protocol
    x = np.linspace(-4, 4, 241)
    across, up = (each.reshape(-1) for each in np.meshgrid(x, x))
    influence = last.influences["everybody"]
    low, high = last.analysis.ranges["everybody"]
    heights = low + (high - low) * influence((across, up), ("x", "y"))
    places = np.sort(data["x"]), np.sort(data["y"])
    both, *_ = np.histogram2d(data["x"], data["y"], bins=[np.append(-np.inf, x), np.append(-np.inf, x)])
    joint = both.cumsum(axis=0).cumsum(axis=1) / number
    known = 2 * (4 * joint - 2 * below(places[0], x)[:, None] - 2 * below(places[1], x)[None, :] + 1)
    figure, panels = plt.subplots(1, 3, figsize=(11.4, 3.9), sharey=True, layout="constrained")
    cells = [axis.bins for axis in pilot.grid.axes]
    shares = pilot.masses["everybody"].reshape(cells)
    box = (-4.0, 4.0, -4.0, 4.0)
    shade = panels[0].imshow(100 * shares.T, origin="lower", extent=box, cmap="cividis")
    figure.colorbar(shade, ax=panels[0], label="% of people in a cell", shrink=0.85)
    for panel, values in ((panels[1], heights.reshape(x.size, x.size)), (panels[2], known.T)):
        shade = panel.imshow(values, origin="lower", extent=box, cmap="PuOr_r", vmin=-2, vmax=2)
        lines = panel.contour(
            x, x, values, levels=[-1.5, -1, -0.5, 0, 0.5, 1, 1.5], colors="black", linewidths=0.6
        )
        panel.clabel(lines, fontsize=7)
        figure.colorbar(shade, ax=panel, label="$\\psi$", shrink=0.85)
    for panel, title in zip(
        panels, ("the pilot", "its function", "the function if all were known"), strict=True
    ):
        panel.set(xlabel="x", title=title)
        panel.grid(visible=False)
    panels[0].set_ylabel("y")
    share = study.protocol.to_json()["share"]
    figure.suptitle(
        "Kendall's tau-a of 10$^5$ normal pairs with correlation 0.5, epsilon = 1, "
        f"{share} of 64 people in the first round",
        fontsize=10,
    )
    return figure


def pilot_of(tally: dpairs.Tally) -> Any:
    """The pilot that a tree's first round gives."""
    study = tally.study
    protocol: Any = study.protocol
    counts: dict[str, Any] = {stratum: tally.counts(stratum) for stratum in study.strata}
    return protocol.pilot.pilot(counts, PublicNoise(study.coins))
