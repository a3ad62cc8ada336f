"""Of the page on the projection protocol: errors, intervals, shares, files and mechanisms."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import dpairs
from dpairs import mechanisms
from dpairs.mechanisms import BitResponse
from dpairs.mechanisms.scalar import scalar_response, spaced_response

from .. import sources
from ..exhibits import picture, results, table
from ..experiment import Table
from ..runs import Results, Summary
from ..style import BLACK, BLUE, GREEN, ORANGE, VERMILION
from ..synthetic import PAPERS, classes, people, unit_scores
from .projection_runs import (
    CORRELATIONS,
    DEPTHS,
    OF_64,
    PROTOCOLS,
    SIZES,
    UNIT,
    WIDTHS,
    case,
    drawn,
    study_of,
)


def held(found: Results) -> str:
    """How many 95% intervals for the sample hold the truth."""
    inside = np.abs(found.column("value") - found.column("truth")) <= 1.96 * found.column("reported")
    return f"{int(inside.sum())} of {len(found)}"


def limited(found: Results) -> list[str]:
    """Cells: the measured error, the limit and their ratio."""
    error, limit = found.error, float(found.column("limit").mean())
    return [f"{error.mean:.5f} ± {error.standard_error:.5f}", f"{limit:.5f}", f"{error.mean / limit:.2f}"]


def reported(found: Results) -> list[str]:
    """Cells: the root mean square error, the mean standard error, and intervals that held."""
    return [f"{math.sqrt(found.square.mean):.5f}", f"{found.column('reported').mean():.5f}", held(found)]


@table("projection_auc")
def auc() -> Table:
    """The paper's three sets by the size of the domain, 10^5 people in each class."""
    rows = []
    for data in PAPERS:
        for alpha in DEPTHS:
            found = results("projection").where(data=data, alpha=alpha)
            rows.append([f"{data}, $\\alpha$ = {alpha}", *limited(found), *reported(found)])
    return Table("", ["data", "error", "one bit", "ratio", "RMSE", "reported", "held"], rows)


@table("projection_large")
def large() -> Table:
    """The same sets with 10^6 people in each class and 16 bits."""
    rows = []
    for data in PAPERS:
        for epsilon in (1.0, 5.0):
            found = results("beyond").where(data=data, epsilon=epsilon)
            tree = found.where(way="tree").error
            cells = [*limited(found.where(way="projection")), f"{tree.mean:.5f} ± {tree.standard_error:.5f}"]
            rows.append([f"{data}, eps {epsilon:g}", *cells])
    return Table("", ["data", "error", "one bit", "ratio", "`tree`, several bits"], rows)


@table("projection_more")
def more() -> Table:
    """Kendall's tau, the Gini mean difference and the volume under the surface."""
    rows = []
    cases: dict[str, dict[str, str | int | float]] = {
        "Kendall's tau-a, $[-4, 4]^2$": {"data": "plane", "width": 4.0},
        "Kendall's tau-a, $[-10, 10]^2$": {"data": "plane", "width": 10.0},
        "Gini mean difference, incomes": {"data": "incomes"},
        "VUS, three normals": {"data": "three normals"},
    }
    for name, equal in cases.items():
        found = results("projection").where(**equal)
        bias = Summary.of(found.column("value") - found.column("truth"))
        exact = f"{found.column('truth').mean():.4f}"
        rows.append(
            [name, exact, *limited(found), f"{bias.mean:+.5f} ± {bias.standard_error:.5f}", *reported(found)]
        )
    head = ["statistic", "exact, on average", "error", "one bit", "ratio", "mean of errors"]
    return Table("", [*head, "RMSE", "reported", "held"], rows)


@table("projection_wide")
def strong() -> Table:
    """Kendall's tau of pairs that depend strongly, in domains that are much too wide."""
    rows = []
    for correlation in CORRELATIONS:
        for width in WIDTHS:
            runs = results("projection-strong").where(correlation=correlation, width=width)
            bias = Summary.of(runs.column("value") - runs.column("truth"))
            rows.append(
                [
                    f"correlation {correlation:g}, $[-{width:g}, {width:g}]^2$",
                    f"{runs.column('truth').mean():.3f}",
                    f"{bias.mean:+.4f} ± {bias.standard_error:.4f}",
                    str(runs.error),
                    f"{runs.column('reported').mean():.4f}",
                    held(runs),
                ]
            )
    head = ["normal pairs, domain", "exact", "mean of errors", "mean absolute error", "reported", "held"]
    return Table("", head, rows)


# ---------------------------------------------------------------- by people

LOOKS = {
    "histogram": ("`histogram`, 16 bins", GREEN, "^-"),
    "tree": ("`tree`, $2^{16}$ leaves", VERMILION, "s-"),
    "projection": ("`projection`", BLUE, "o-"),
}


@table("projection_people")
def people_table() -> Table:
    runs = results("projection-people")
    rows = [
        [LOOKS[way][0], *(str(runs.where(protocol=way, size=size).error) for size in SIZES)]
        for way in PROTOCOLS
    ]
    limits = [runs.where(protocol="projection", size=size).column("limit").mean() for size in SIZES]
    rows.append(["one bit, pilot known", *(f"{limit:.4f}" for limit in limits)])
    return Table("", ["protocol", *(f"{size:,}" for size in SIZES)], rows)


@picture("projection_people")
def by_people() -> Any:
    runs = results("projection-people")
    figure, axes = plt.subplots(figsize=(6.4, 4.0))
    for way, (words, colour, style) in LOOKS.items():
        errors = [runs.where(protocol=way, size=size).error for size in SIZES]
        mean, bars = [each.mean for each in errors], [each.standard_error for each in errors]
        label = words.replace("`", "")
        axes.errorbar(SIZES, mean, bars, fmt=style, color=colour, ms=4.5, lw=1.4, capsize=2, label=label)
    limits = [runs.where(protocol="projection", size=size).column("limit").mean() for size in SIZES]
    axes.plot(SIZES, limits, "--", color=BLACK, lw=1.3, label="one bit, pilot known")
    axes.set(
        xscale="log", yscale="log", xlabel="people in each class", ylabel="mean absolute error of the AUC"
    )
    axes.set_title("AUC of two normals on [0, 1], epsilon 1, 20 runs; bars: standard error", fontsize=9.5)
    axes.legend(fontsize=8.5, loc="lower left")
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------- the first round's share

SHARE_RUNS = 40
SHARED = {
    "AUC, two normals, $10^4$ in each class": case("normals", 10_000),
    "Kendall's tau-a, two normals, $2\\cdot 10^4$ people": case("plane", 20_000),
}


def share_errors(data: str) -> tuple[list[float], list[float]]:
    """By share: the root mean square error, and that of the reported standard errors."""
    parts = [results("projection-share").where(data=data, of_64=part) for part in OF_64]
    said = [math.sqrt(float(np.mean(part.column("reported") ** 2))) for part in parts]
    return [math.sqrt(part.square.mean) for part in parts], said


@table("projection_share")
def share_table() -> Table:
    rows = []
    for name, setting in SHARED.items():
        for words, values in zip(("measured", "reported"), share_errors(str(setting["data"])), strict=True):
            rows.append([f"{name}: {words}", *(f"{value:.4f}" for value in values)])
    return Table("", ["root mean square errors", *(f"{part}/64" for part in OF_64)], rows)


@picture("projection_share")
def share() -> Any:
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.7))
    for panel, (name, setting) in zip(panels, SHARED.items(), strict=True):
        errors, said = share_errors(str(setting["data"]))
        places, reach = [part / 64 for part in OF_64], np.array(errors) / math.sqrt(2 * SHARE_RUNS)
        panel.errorbar(places, errors, reach, fmt="o", color=BLUE, ms=4.5, capsize=2, label="measured RMSE")
        panel.plot(places, said, "-", color=ORANGE, lw=1.5, label="reported, root mean square")
        statistic, domain, data = drawn(setting, 0)
        chosen: Any = study_of(setting, statistic, domain, len(next(iter(data.values()))), 0).protocol
        panel.axvline(chosen.share / 64, color=BLACK, ls="--", lw=1.2, label="chosen by the study")
        panel.set(xlabel="share of people in the first round", title=name, ylim=(0, None), xlim=(0, 0.8))
    panels[0].set_ylabel("error")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncol=3, fontsize=8.5)
    figure.suptitle(f"epsilon = 1, {SHARE_RUNS} runs; bars: standard error", fontsize=10)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return figure


@table("projection_shares")
def shares() -> Table:
    rows = []
    for name, statistic, domain in (
        ("`auc`, integers of 20 bits", "auc", dpairs.Integers(0, 2**20 - 1)),
        ("`auc`, an interval", "auc", UNIT),
        ("`kendall_tau`, two intervals", "kendall_tau", (UNIT, UNIT)),
        ("`kendall_tau`, 6 x 6 levels", "kendall_tau", (sources.LEVELS, sources.LEVELS)),
        ("`gini_mean_difference`, an interval", "gini_mean_difference", UNIT),
        ("`collision_entropy`, 16 categories", "collision_entropy", dpairs.Categories(list(range(16)))),
    ):
        row = [name]
        for loss in (1.0, 4.0):
            for number in (10**3, 10**4, 10**5, 10**6):
                protocol: Any = dpairs.Study.create(
                    statistic, protocol="projection", epsilon=loss, domain=domain, n=number, seed=1
                ).protocol
                row.append(str(protocol.share))
        rows.append(row)
    head = [f"eps {loss}, $n = 10^{power}$" for loss in (1, 4) for power in (3, 4, 5, 6)]
    return Table("", ["statistic and domain", *head], rows)


# ---------------------------------------------------------------- the second round's file


@table("projection_files")
def files() -> Table:
    """The bytes of both rounds' files for several domains."""
    number = 40_000
    label = classes(number // 2)
    wide = people(1).integers(0, 2**64 - 1, number, dtype=np.uint64, endpoint=True)
    normal, ordinal = unit_scores(number // 2, 1), people(1).integers(0, 6, (2, number))
    side, plane = dpairs.Interval(-4, 4), drawn(case("plane", number), 0)[2]
    cases: list[tuple[str, Any, Any, Any]] = [
        (
            f"`auc`, integers of {bits} bits",
            "auc",
            dpairs.Integers(0, 2**bits - 1),
            {"score": wide >> np.uint64(64 - bits), "label": label},
        )
        for bits in (10, 20, 32, 64)
    ]
    levels = dpairs.Levels(range(6))
    names = dpairs.Categories(list(range(1000)))
    cases += [
        ("`auc`, an interval", "auc", UNIT, {"score": normal, "label": label}),
        ("`vus`, an interval", "vus", UNIT, {"score": normal, "label": np.arange(number) % 3}),
        ("`gini_mean_difference`, an interval", "gini_mean_difference", UNIT, {"value": normal}),
        ("`kendall_tau`, two intervals", "kendall_tau", (side, side), plane),
        ("`kendall_tau`, 6 x 6 levels", "kendall_tau", (levels, levels), {"x": ordinal[0], "y": ordinal[1]}),
        (
            "`collision_entropy`, 1,000 categories",
            "collision_entropy",
            names,
            {"value": wide % np.uint64(1000)},
        ),
    ]
    rows = []
    for name, statistic, domain, data in cases:
        study = dpairs.Study.create(
            statistic, protocol="projection", epsilon=1.0, domain=domain, n=number, seed=1
        )
        last = dpairs.simulate_tally(study, data, seed=1).study
        rows.append([name, *(f"{len(each.to_json().encode()):,}" for each in (study, last))])
    return Table("", ["study", "first round, bytes", "second round, bytes"], rows)


# ---------------------------------------------------------------- mechanism

EVEN = np.linspace(0, 1, 101)
WEIGHTS = np.full(101, 1 / 101)
SPREAD = {
    "spread evenly": (EVEN, BLUE, "o"),
    "all in the middle": (np.full(101, 0.5), GREEN, "^"),
    "all at the two ends": ((np.arange(101) % 2).astype(np.float64), VERMILION, "s"),
}


def bit_variance(loss: float, values: Any) -> float:
    return float(WEIGHTS @ BitResponse.for_epsilon(loss).variances(values))


@cache
def chosen_variance(loss: float, name: str) -> tuple[float, int]:
    """Of what a second round takes: the average variance, and its symbols."""
    values = SPREAD[name][0]
    chosen = spaced_response(loss, values, WEIGHTS)
    return float(WEIGHTS @ chosen.variances(values)), chosen.symbols


@table("projection_mechanism")
def mechanism_table() -> Table:
    rows = []
    for loss in (0.5, 1.0, 2.0, 3.0, 5.0, 8.0):
        rows.append([f"{loss:g}"])
        for name, (values, *_) in SPREAD.items():
            variance, symbols = chosen_variance(loss, name)
            rows[-1] += [f"{bit_variance(loss, values):.4f}", f"{variance:.4f}", str(symbols)]
    head = [cell for name in SPREAD for cell in (f"{name}: one bit", "chosen", "symbols")]
    return Table("", ["epsilon", *head], rows)


def quantiles() -> Any:
    """Normal people."""
    from scipy.special import ndtri

    return ndtri((np.arange(101) + 0.5) / 101)


def below(values: Any) -> Any:
    """The share of the other class's normal people below each value."""
    from scipy.special import ndtr

    return ndtr(values)


def unit(values: Any) -> Any:
    return (values - values.min()) / np.ptp(values)


UNEVEN = {
    "AUC of normals": lambda: unit(below(quantiles() + 4 / 3)),
    "mean distances of normals": lambda: unit(np.abs(np.subtract.outer(quantiles(), quantiles())).mean(0)),
    "nine tenths at 0": lambda: np.maximum(np.linspace(-9, 1, 101), 0.0) ** 2,
}
"""Numbers that people send, 101 of them."""


@table("projection_spacing")
def spacing_table() -> Table:
    """Average variance of what is chosen over that of the best even window or bit, and the worst person's."""
    rows = []
    for loss in (1.0, 2.0, 4.0, 8.0):
        rows.append([f"{loss:g}"])
        for values in (make() for make in UNEVEN.values()):
            even, chosen = (choose(loss, values, WEIGHTS) for choose in (scalar_response, spaced_response))
            means = [float(WEIGHTS @ each.variances(values)) for each in (chosen, even)]
            worst = [float(each.variances(EVEN).max()) for each in (chosen, even)]
            knots = len(getattr(chosen, "knots", ()))
            rows[-1] += [f"{means[0] / means[1]:.2f}", str(knots), f"{worst[0] / worst[1]:.2f}"]
    head = [cell for name in UNEVEN for cell in (f"{name}: variance", "knots", "worst number's")]
    return Table("", ["epsilon", *head], rows)


@picture("projection_mechanism")
def mechanism() -> Any:
    """The average variance of a number sent with one bit or in a window, against epsilon."""
    losses = np.geomspace(0.25, 8, 31)
    even = EVEN
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.9))
    for name, (values, colour, mark) in SPREAD.items():
        ratios = [
            chosen_variance(float(loss), name)[0] / bit_variance(float(loss), values) for loss in losses
        ]
        right.plot(losses, ratios, f"{mark}-", color=colour, ms=3.5, lw=1.3, label=name)
    one = [bit_variance(float(loss), even) for loss in losses]
    best = [
        min(
            float(WEIGHTS @ window.variances(even))
            for symbols in (8, 16, 32, 64)
            for width in range(1, symbols // 2 + 1)
            for window in [mechanisms.WindowResponse.for_epsilon(symbols, width, float(loss))]
        )
        for loss in losses
    ]
    left.plot(losses, one, "s-", color=VERMILION, ms=3.5, lw=1.3, label="one bit")
    left.plot(losses, best, "o-", color=BLUE, ms=3.5, lw=1.3, label="best window of up to 64 symbols")
    left.axhline(
        float(np.var(even)), color=BLACK, ls="--", lw=1.2, label="variance of the numbers themselves"
    )
    left.set(xscale="log", yscale="log", xlabel="epsilon (natural log units)", title="numbers spread evenly")
    left.set_ylabel("average variance of a decoded report")
    right.axhline(1.0, color=BLACK, lw=1.0, ls=":")
    right.set(xscale="log", xlabel="epsilon (natural log units)", ylim=(0, 1.08))
    right.set(title="what the study chooses", ylabel="average variance over that of one bit")
    for panel in (left, right):
        panel.set_xticks([0.25, 0.5, 1, 2, 4, 8], ["0.25", "0.5", "1", "2", "4", "8"])
        panel.minorticks_off()
    left.legend(fontsize=8.5, loc="lower left")
    right.legend(fontsize=8.5, loc="lower left", title="numbers in [0, 1]")
    figure.tight_layout()
    return figure
