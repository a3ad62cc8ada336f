"""Make every figure and every measured table of the documentation.

    python docs/figures/make_figures.py            # all of them, a few minutes
    python docs/figures/make_figures.py coverage   # only the named ones

Everything is seeded, so a second run gives the same numbers. Pictures are PNG files beside this one;
tables are Markdown in ``.txt`` files that the pages include.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from numpy.typing import NDArray

import dpairs
from dpairs import mechanisms
from dpairs.data.grids import Axis
from dpairs.protocols import theory
from dpairs.statistics.binned import distance
from experiments import sources
from experiments.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SETTINGS, SKY, VERMILION
from experiments.synthetic import people

HERE = Path(__file__).parent

plt.rcParams.update(SETTINGS)


def save(figure: Any, name: str) -> None:
    """Write one picture, without the program's version in it."""
    figure.savefig(HERE / f"{name}.png", dpi=150, transparent=False, metadata={"Software": None})
    plt.close(figure)
    print(f"wrote {name}.png")


def table(name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write one Markdown table; every column after the first is a number."""
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    (HERE / f"{name}.txt").write_text(text, encoding="utf-8")
    print(f"wrote {name}.txt\n{text}")


def data_folder() -> Path:
    """Where the real data are; nowhere in particular if nobody said."""
    return sources.folder(None) or Path()


def at_hand(name: str, file: str) -> bool:
    """Whether a file of real data is there; says so if not."""
    there = not sources.missing((file,), sources.folder(None))
    if not there:
        print(f"{name}: skipped, because {sources.VARIABLE} names no folder with {file}.")
    return there


# ---------------------------------------------------------------- flow


def flow() -> None:
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
    for place, words in ((8.5, "public"), (30.5, "stays on the device"), (70, "anybody may see it")):
        axes.text(place, 3.5, words, ha="center", color=VERMILION, fontsize=9)
    figure.tight_layout(pad=0.3)
    save(figure, "flow")


# ---------------------------------------------------------------- overview


def overview() -> None:
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
    save(figure, "overview")


# ---------------------------------------------------------------- coverage


def coverage() -> None:
    """How often each of the two 95% intervals holds each of the two truths."""
    runs, levels = 2000, 8
    shares = np.arange(levels, 0, -1) / (levels * (levels + 1) / 2)
    kernel = np.abs(np.subtract.outer(np.arange(levels), np.arange(levels)))
    population = float(shares @ kernel @ shares)
    columns, bars = [], []
    for epsilon, n in ((1.0, 2000), (4.0, 2000), (1.0, 20_000)):
        study = dpairs.Study.create(
            "gini_mean_difference", epsilon=epsilon, domain=dpairs.Levels(range(levels)), seed=1
        )
        hits = np.zeros((2, 2))
        errors = np.zeros(2)
        draw = people(2)
        for run in range(runs):
            data = {"value": draw.choice(levels, n, p=shares)}
            estimate = dpairs.simulate(study, data, seed=run)
            truths = (population, dpairs.exact("gini_mean_difference", data))
            errors += estimate.standard_error, estimate.sample_standard_error
            for row, target in enumerate(("population", "sample")):
                low, high = estimate.confidence_interval(target=target)
                hits[row] += [low <= truth <= high for truth in truths]
        shown, mean = hits / runs * 100, errors / runs
        bars.append((epsilon, shown))
        columns.append(
            [f"eps {epsilon:g}, n = {n:,}", *(f"{x:.4f}" for x in mean), *(f"{x:.1f}%" for x in shown.flat)]
        )
    names = [
        "",
        "mean `standard_error`",
        "mean `sample_standard_error`",
        "population interval holds the population's value",
        "population interval holds the sample's value",
        "sample interval holds the population's value",
        "sample interval holds the sample's value",
    ]
    head, *rows = zip(names, *columns, strict=True)
    table("coverage", head, rows)
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.5), sharey=True)
    for panel, (epsilon, shown) in zip(panels, bars[:2], strict=True):
        for truth, (colour, name) in enumerate(((BLUE, "population's value"), (ORANGE, "sample's value"))):
            places = np.arange(2) + (truth - 0.5) * 0.36
            panel.bar(places, shown[:, truth], 0.34, color=colour, label=f"holds the {name}")
            reach = 1.96 * np.sqrt(shown[:, truth] * (100 - shown[:, truth]) / runs)
            panel.errorbar(places, shown[:, truth], reach, fmt="none", color=BLACK, lw=1.2, capsize=3)
        panel.axhline(95, color=VERMILION, ls="--", lw=1.3, label="95%, as asked")
        panel.set_xticks([0, 1], ["target='population'", "target='sample'"])
        panel.set(title=f"epsilon = {epsilon:g}", ylim=(60, 102))
        panel.grid(axis="x", visible=False)
    panels[0].set_ylabel("intervals that hold the value (%)")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="lower center", ncol=3, bbox_to_anchor=(0.5, -0.01)
    )
    figure.suptitle(f"Gini mean difference on 8 levels, n = 2,000, {runs:,} runs", fontsize=10)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    save(figure, "coverage")


# ---------------------------------------------------------------- mechanisms


def subset_selection_variance(k: int, epsilon: float) -> float:
    """The variance a report adds to a count under subset selection with the best subset size.

    Ye and Barg (2018): a subset of size d holds the truth with probability p, another value with q.
    """
    best = math.inf
    for d in range(1, k):
        weight = d * math.exp(epsilon) + k - d
        p = d * math.exp(epsilon) / weight
        q = (d * (d - 1) * math.exp(epsilon) + (k - d) * d) / ((k - 1) * weight)
        best = min(best, (p * (1 - p) / k + (1 - 1 / k) * q * (1 - q)) / (p - q) ** 2)
    return best


def variance_ratio() -> None:
    """The exact variance of a count, over that of subset selection."""
    sizes, colours = (4, 8, 36, 64, 256), (BLACK, ORANGE, GREEN, BLUE, PURPLE)
    epsilons = np.geomspace(0.01, 10, 61)
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.8))
    shown = (0.1, 1.0, 2.0, 4.0)
    rows = []
    for panel, name in zip(panels, ("krr", "projective"), strict=True):
        for k, colour in zip(sizes, colours, strict=True):

            def ratio(epsilon: float, name: str = name, k: int = k) -> float:
                variance = mechanisms.count_variance(mechanisms.mechanism(name, k, epsilon))
                return variance / subset_selection_variance(k, epsilon)

            curve = [ratio(float(epsilon)) for epsilon in epsilons]
            panel.plot(epsilons, curve, color=colour, label=f"k = {k}", lw=1.6)
            rows.append(
                [f"{name}, k = {k}", *(f"{ratio(epsilon):.3f}" for epsilon in shown), f"{max(curve):.3f}"]
            )
        panel.axhline(1.3, color=VERMILION, ls="--", lw=1.2, label="1.3")
        panel.set(xscale="log", xlabel="epsilon (natural log units)", title=name)
    panels[0].set(yscale="log", ylabel="variance of a count / subset selection's")
    panels[0].set_yticks([1, 1.3, 3, 10, 30, 100], ["1", "1.3", "3", "10", "30", "100"])
    panels[0].minorticks_off()
    panels[1].set_ylim(0.98, 1.5)
    panels[1].legend(fontsize=8, ncol=2)
    figure.tight_layout()
    save(figure, "variance_ratio")
    table("variance_ratio", ["mechanism", *(f"eps {e:g}" for e in shown), "largest"], rows)


# ---------------------------------------------------------------- quantization

METHODS = {
    "simple, average": ("simple", "average", BLUE, "o-"),
    "simple, midpoint": ("simple", "midpoint", ORANGE, "s--"),
    "random": ("random", "average", VERMILION, "^-"),
}
SHAPES: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "uniform": lambda draw, n: draw.random(n),
    "lognormal": lambda draw, n: np.minimum(draw.lognormal(0, 1, n), 10) / 10,
    "beta(2, 5)": lambda draw, n: draw.beta(2, 5, n),
    "two atoms at an edge": lambda draw, n: 0.5 + 1e-6 * draw.choice([-1, 1], n),
    "five atoms anywhere": lambda draw, n: draw.choice(draw.random(5), n),
}
BINS = (4, 8, 16, 32)
BINNED_STATISTICS = ("gini_mean_difference", "gini_coefficient", "variance")


def quantization() -> None:
    """The error that rounding makes: without privacy, and beside the privacy noise."""
    n = 200_000
    settings = {"none": (30.0, 100), "eps 1": (1.0, 100)}
    errors: dict[tuple[str, str, str, str, int], list[float]] = {}
    for privacy, (epsilon, runs) in settings.items():
        for k in BINS:
            studies = {
                (name, method): dpairs.Study.create(
                    name,
                    epsilon=epsilon,
                    domain=dpairs.Interval(0, 1),
                    bins=k,
                    rounding=rounding,
                    kernel=kernel,
                    seed=1,
                )
                for name in BINNED_STATISTICS
                for method, (rounding, kernel, *_) in METHODS.items()
            }
            for shape, make in SHAPES.items():
                draw = people(3)
                for run in range(runs):
                    data = {"value": make(draw, n)}
                    counts = {
                        rounding: dpairs.simulate_tally(
                            studies["variance", method], data, seed=10_000 * k + run
                        )
                        .counts("everybody")
                        .array
                        for rounding, method in (("simple", "simple, average"), ("random", "random"))
                    }
                    for name in BINNED_STATISTICS:
                        truth = dpairs.exact(name, data)
                        for method, (rounding, *_) in METHODS.items():
                            protocol = studies[name, method].protocol
                            answer = protocol.estimate({"everybody": counts[rounding]}, "paper")
                            key = (privacy, name, shape, method, k)
                            errors.setdefault(key, []).append(answer.value - truth)
    for name in BINNED_STATISTICS:
        head = ["data: rounding, kernel", *(f"k = {k}" for k in BINS)]
        rows = []
        for shape in SHAPES:
            for method in METHODS:
                bias = [np.abs(errors["none", name, shape, method, k]).mean() for k in BINS]
                total = [root_mean_square(errors["eps 1", name, shape, method, k]) for k in BINS]
                pairs = zip(bias, total, strict=True)
                rows.append([f"{shape}: {method}", *(f"{1000 * a:.2f} / {1000 * b:.2f}" for a, b in pairs)])
        table(f"quantization_{name}", head, rows)
    figure, panels = plt.subplots(2, 5, figsize=(9.4, 4.8), sharex=True, sharey="row")
    name = "gini_mean_difference"
    for column, shape in enumerate(SHAPES):
        for method, (_, _, colour, style) in METHODS.items():
            bias = [np.abs(errors["none", name, shape, method, k]).mean() for k in BINS]
            total = [root_mean_square(errors["eps 1", name, shape, method, k]) for k in BINS]
            for row, values in enumerate((bias, total)):
                panels[row, column].loglog(BINS, values, style, color=colour, ms=4, lw=1.4, label=method)
                panels[row, column].set_xticks(BINS, [str(k) for k in BINS])
                panels[row, column].minorticks_off()
        panels[0, column].set_title(shape, fontsize=9)
        panels[1, column].set_xlabel("cells k")
    for row, label in enumerate(("mean |error|, no privacy", "RMSE at epsilon = 1")):
        panels[row, 0].set_ylabel(label)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="lower center", ncol=3)
    figure.suptitle(f"Gini mean difference of values in [0, 1], n = {n:,}", fontsize=10)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    save(figure, "quantization")


def root_mean_square(errors: list[float]) -> float:
    """The square root of the mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


# ---------------------------------------------------------------- theory


def theory_variance() -> None:
    """The variance of the krr estimate of Gini's mean difference: formula, bound and measurement."""
    n, epsilon, runs = 10_000, 1.0, 200
    sizes = (2, 4, 8, 16, 32, 64)
    rows, columns = [], []
    for k in sizes:
        study = dpairs.Study.create(
            "gini_mean_difference",
            epsilon=epsilon,
            domain=dpairs.Interval(0, 1),
            bins=k,
            mechanism="krr",
            seed=1,
        )
        draw = people(4)
        values = [
            dpairs.simulate(study, {"value": draw.random(n) ** 2}, seed=run).value for run in range(runs)
        ]
        kernel = distance(Axis(dpairs.Interval(0, 1), k), "average").matrix
        cells = np.diff(np.sqrt(np.linspace(0, 1, k + 1)))  # where squares of uniform numbers fall
        exact = theory.krr_variance(n, epsilon, kernel, cells)
        bound = theory.krr_variance_bound(n, k, epsilon)
        near = theory.krr_variance_approximation(n, k, epsilon)
        measured = float(np.var(values, ddof=1))
        columns.append((exact, bound, near, measured))
        rows.append([str(k), *(f"{x:.3g}" for x in (exact, measured, bound, near)), f"{bound / exact:.1f}"])
    table(
        "theory",
        ["k", "exact variance", "measured (200 runs)", "bound", "approximation", "bound / exact"],
        rows,
    )
    exact_, bound_, near_, measured_ = (np.array(column) for column in zip(*columns, strict=True))
    figure, axes = plt.subplots(figsize=(6.4, 3.9))
    axes.loglog(sizes, bound_, "--", color=VERMILION, label="krr_variance_bound")
    axes.loglog(sizes, near_, ":", color=PURPLE, label="krr_variance_approximation")
    axes.loglog(sizes, exact_, "-", color=BLUE, label="krr_variance (exact)")
    # A variance of 200 normal values has a relative standard error of sqrt(2 / 199).
    reach = 1.96 * math.sqrt(2 / (runs - 1)) * measured_
    axes.errorbar(
        sizes, measured_, reach, fmt="o", ms=4, color=BLACK, capsize=3, label="measured, 95% interval"
    )
    axes.set_xticks(sizes, [str(k) for k in sizes])
    axes.minorticks_off()
    axes.set(xlabel="cells k", ylabel="variance of the estimate")
    axes.set_title("krr, Gini mean difference of squared uniforms, n = 10,000, epsilon = 1", fontsize=9.5)
    axes.legend()
    figure.tight_layout()
    save(figure, "theory")


FIGURES: dict[str, Callable[[], None]] = {
    "flow": flow,
    "overview": overview,
    "coverage": coverage,
    "variance_ratio": variance_ratio,
    "quantization": quantization,
    "theory": theory_variance,
}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or FIGURES:
        FIGURES[chosen]()
