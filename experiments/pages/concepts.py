"""Of the first pages: the flow of a study, three statistics against epsilon, and what intervals hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import dpairs

from ..exhibits import picture, results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row
from ..style import BLACK, BLUE, GREEN, ORANGE, SKY, VERMILION
from ..synthetic import people


@picture("flow")
def flow() -> Any:
    """The stages of a study, and who holds what."""
    figure, axes = plt.subplots(figsize=(9.2, 2.6))
    axes.set(xlim=(0, 100), ylim=(0, 26))
    axes.axis("off")
    boxes = [
        (1, 15, "Study", "public\nparameters", SKY),
        (22, 17, "value", "the person's\ndevice", ORANGE),
        (45, 15, "symbol", "a report:\none integer", GREEN),
        (66, 13, "counts", "a tally:\nadds up", GREEN),
        (85, 14, "Estimate", "value, error,\nclaim", BLUE),
    ]
    for left, width, title, below, colour in boxes:
        box = FancyBboxPatch(
            (left, 8), width, 11, boxstyle="round,pad=0.2,rounding_size=1.2", ec=colour, fc="white", lw=2
        )
        axes.add_patch(box)
        axes.text(left + width / 2, 16.2, title, ha="center", va="center", weight="bold")
        axes.text(left + width / 2, 11.4, below, ha="center", va="center", fontsize=8)
    arrows = [(16.4, 21.6, "agree"), (39.4, 44.6, "randomize"), (60.4, 65.6, "count"), (79.4, 84.6, "decode")]
    for start, end, word in arrows:
        axes.add_patch(
            FancyArrowPatch((start, 13.5), (end, 13.5), arrowstyle="-|>", mutation_scale=12, color=BLACK)
        )
        axes.text((start + end) / 2, 20.4, word, ha="center", va="bottom", fontsize=8.5)
    for place in (19, 42):
        axes.plot([place, place], [1.5, 19.5], color=VERMILION, ls="--", lw=1.5)
    for middle, words in ((8.5, "public"), (30.5, "stays on the device"), (70.0, "anybody may see it")):
        axes.text(middle, 3.5, words, ha="center", color=VERMILION, fontsize=9)
    figure.tight_layout(pad=0.3)
    return figure


@picture("overview")
def overview() -> Any:
    """Three statistics of the same 50,000 people at five epsilons, five runs each."""
    draw, n = people(1), 50_000
    label = draw.integers(0, 2, n)
    score = np.clip(draw.normal(0.4 + 0.2 * label, 0.15), 0, 1)
    salary = draw.integers(0, 6, n)
    happy = np.clip(salary + draw.integers(-3, 4, n), 0, 5)
    income = np.minimum(draw.lognormal(0, 0.8, n), 10)
    cases: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
        (
            "auc",
            "AUC, 16 bins",
            {"domain": dpairs.Interval(0, 1), "bins": 16},
            {"score": score, "label": label},
        ),
        (
            "kendall_tau",
            "Kendall's tau-a, 6 x 6 levels",
            {"domain": (dpairs.Levels(range(6)),) * 2},
            {"x": salary, "y": happy},
        ),
        (
            "gini_coefficient",
            "Gini coefficient, 16 bins",
            {"domain": dpairs.Interval(0, 10), "bins": 16},
            {"value": income},
        ),
    ]
    epsilons = [0.5, 1.0, 2.0, 4.0, 8.0]
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.4))
    for panel, (name, title, options, data) in zip(panels, cases, strict=True):
        truth = dpairs.exact(name, data)
        panel.axhline(truth, color=VERMILION, lw=1.4, ls="--", label="exact, without privacy")
        for epsilon in epsilons:
            study = dpairs.Study.create(name, epsilon=epsilon, seed=1, **options)
            for run in range(5):
                estimate = dpairs.simulate(study, data, seed=run)
                low, high = estimate.confidence_interval(target="sample")
                panel.errorbar(
                    epsilon * 1.07 ** (run - 2),
                    estimate.value,
                    [[estimate.value - low], [high - estimate.value]],
                    fmt="o",
                    ms=3,
                    lw=1.2,
                    color=BLUE,
                    label="private, 95% interval" if (epsilon, run) == (0.5, 0) else None,
                )
        panel.set_xscale("log", base=2)
        panel.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        panel.set(title=title, xlabel="epsilon (natural log units)")
    panels[0].set_ylabel("value")
    panels[0].legend(loc="lower right", fontsize=8)
    figure.suptitle("50,000 people, one symbol each; five runs at each epsilon", fontsize=10)
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------- coverage

REPEATS, LEVELS = 2000, 8
TARGETS = ("population", "sample")


def settings(quick: bool) -> list[Setting]:
    """Few people at a small and a large epsilon, and many."""
    sizes = ((1.0, 2000), (4.0, 2000), (1.0, 20_000))
    return [{"epsilon": epsilon, "people": n, "repeats": 50 if quick else REPEATS} for epsilon, n in sizes]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """How often each of the two 95% intervals holds each of the two truths."""
    shares = np.arange(LEVELS, 0, -1) / (LEVELS * (LEVELS + 1) / 2)
    kernel = np.abs(np.subtract.outer(np.arange(LEVELS), np.arange(LEVELS)))
    population, repeats = float(shares @ kernel @ shares), int(setting["repeats"])
    study = dpairs.Study.create(
        "gini_mean_difference",
        protocol="histogram",
        epsilon=float(setting["epsilon"]),
        domain=dpairs.Levels(range(LEVELS)),
        seed=1,
    )
    hits, errors, draw = np.zeros((2, 2)), np.zeros(2), people(2 + seed)
    for run in range(repeats):
        values = {"value": draw.choice(LEVELS, int(setting["people"]), p=shares)}
        estimate = dpairs.simulate(study, values, seed=repeats * seed + run)
        truths = (population, dpairs.exact("gini_mean_difference", values))
        errors += estimate.standard_error, estimate.sample_standard_error
        for row, target in enumerate(TARGETS):
            low, high = estimate.confidence_interval(target=target)
            hits[row] += [low <= truth <= high for truth in truths]
    return [
        {"interval": target, "error": error, "population": held[0], "sample": held[1]}
        for target, error, held in zip(
            TARGETS, (errors / repeats).tolist(), (hits / repeats).tolist(), strict=True
        )
    ]


EXPERIMENT = Experiment("coverage", "What two intervals hold", settings, measure, runs=1)


@table("coverage")
def coverage_table() -> Table:
    runs = results("coverage")
    head = [
        "",
        "mean `standard_error`",
        "mean `sample_standard_error`",
        *(f"{target} interval holds the {truth}'s value" for target in TARGETS for truth in TARGETS),
    ]
    rows = []
    for epsilon, n in dict.fromkeys((row["epsilon"], row["people"]) for row in runs):
        both = [runs.where(epsilon=epsilon, people=n, interval=target).rows[0] for target in TARGETS]
        held = [f"{100 * float(row[truth]):.1f}%" for row in both for truth in TARGETS]
        rows.append([f"eps {epsilon:g}, n = {n:,}", *(f"{row['error']:.4f}" for row in both), *held])
    columns = list(zip(head, *rows, strict=True))
    return Table("", columns[0], columns[1:])


@picture("coverage")
def coverage() -> Any:
    found = results("coverage").where(people=2000)
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.5), sharey=True)
    for panel, epsilon in zip(panels, found.values("epsilon"), strict=True):
        for place, (colour, truth) in enumerate(zip((BLUE, ORANGE), TARGETS, strict=True)):
            shown = 100 * found.where(epsilon=epsilon).column(truth)
            places = np.arange(2) + (place - 0.5) * 0.36
            panel.bar(places, shown, 0.34, color=colour, label=f"holds the {truth}'s value")
            reach = 1.96 * np.sqrt(shown * (100 - shown) / REPEATS)
            panel.errorbar(places, shown, reach, fmt="none", color=BLACK, lw=1.2, capsize=3)
        panel.axhline(95, color=VERMILION, ls="--", lw=1.3, label="95%, as asked")
        panel.set_xticks([0, 1], ["target='population'", "target='sample'"])
        panel.set(title=f"epsilon = {epsilon:g}", ylim=(60, 102))
        panel.grid(axis="x", visible=False)
    panels[0].set_ylabel("intervals that hold the value (%)")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="lower center", ncol=3, bbox_to_anchor=(0.5, -0.01)
    )
    figure.suptitle(f"Gini mean difference on 8 levels, n = 2,000, {REPEATS:,} runs", fontsize=10)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return figure
