"""Make every figure and every measured table of the page on the projection protocol.

    python docs/figures/make_projection.py              # all of them, some minutes on two processors
    python docs/figures/make_projection.py auc person   # only the named ones

Everything is seeded: a second run gives the same numbers. ``ratings`` and ``diabetes`` need the files
``tripadvisor_ratings.csv.gz`` and ``diabetic_data.csv.gz`` in the folder that the variable DPAIRS_DATA names.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from make_figures import at_hand, data_folder, root_mean_square, save, table
from make_tree import MILLION
from projection_runs import (
    RUNS,
    UNIT,
    Case,
    Data,
    drawn,
    first_round,
    groups,
    held,
    limited,
    mean_error,
    one_bit,
    shown,
    study_of,
)

import dpairs
from dpairs import mechanisms
from dpairs.mechanisms import BitResponse
from dpairs.mechanisms.scalar import scalar_response
from dpairs.protocols.projection.pilot import Pilot, PublicNoise
from experiments import sources
from experiments.limits import below
from experiments.style import BLACK, BLUE, GREEN, ORANGE, SKY, VERMILION
from experiments.synthetic import classes, people, unit_scores

# ---------------------------------------------------------------- auc

SETS, DEPTHS = ("auc_one", "ur", "ithdigit"), (10, 12, 16, 20)
SETTINGS = ((MILLION, 1.0), (MILLION, 5.0), (100_000, 1.0))


def auc() -> None:
    """Errors on the paper's data for domains of 2^10 to 2^20 values, beside the limit."""
    cases = {
        (data, alpha, size, loss): Case(data, size, loss, alpha=alpha)
        for data in SETS
        for alpha in DEPTHS
        for size, loss in SETTINGS
    }
    large = {key: case for key, case in cases.items() if key[2] == MILLION}
    found = groups("auc", large)
    found |= groups("auc", {key: case for key, case in cases.items() if key not in large}, COVERAGE_RUNS)
    rows, said = [], []
    for data in SETS:
        for alpha in DEPTHS:
            rows.append([f"{data}, $\\alpha$ = {alpha}"])
            said.append([f"{data}, $\\alpha$ = {alpha}"])
            for size, loss in SETTINGS:
                key = data, alpha, size, loss
                rows[-1] += limited(found[key], cases[key])
                reported = float(np.mean([each.sample_standard_error for each in found[key]]))
                said[-1] += [
                    f"{root_mean_square([each.error for each in found[key]]):.5f}",
                    f"{reported:.5f}",
                    str(held(found[key])),
                ]
    words = ["$10^6$, eps 1", "$10^6$, eps 5", "$10^5$, eps 1"]
    head = [cell for each in words for cell in (f"{each}: error", "one bit", "ratio")]
    table("projection_auc", ["data", *head], rows)
    head = [cell for each in words for cell in (f"{each}: RMSE", "reported", "held")]
    table("projection_reported", ["data", *head], said)


# ---------------------------------------------------------------- other statistics

MORE = {
    "Kendall's tau-a, $[-4, 4]^2$": Case("plane", 100_000),
    "Kendall's tau-a, $[-10, 10]^2$": Case("plane", 100_000, width=10.0),
    "Gini mean difference, incomes": Case("incomes", 100_000),
    "VUS, three normals": Case("three normals", 100_000),
}


def more() -> None:
    """Kendall's tau, the Gini mean difference and the volume under the surface of 10^5 people (per class)."""
    found = groups("more", MORE)
    rows = []
    for name, case in MORE.items():
        each = found[name]
        reported = float(np.mean([one.sample_standard_error for one in each]))
        rows.append(
            [
                name,
                f"{np.mean([one.truth for one in each]):.4f}",
                *limited(each, case),
                f"{root_mean_square([one.error for one in each]):.5f}",
                f"{reported:.5f}",
                str(held(each)),
            ]
        )
    head = ["statistic", "exact, on average", "error", "one bit", "ratio", "RMSE", "reported", "held"]
    table("projection_more", head, rows)


COVERAGE_RUNS = 100


def coverage() -> None:
    """Many runs with seeds that no other table uses: bias, errors beside what is reported, coverage."""
    cases = {
        "AUC, auc_one, $\\alpha$ = 20": Case("auc_one", 100_000, alpha=20),
        "AUC, ur, $\\alpha$ = 20": Case("ur", 100_000, alpha=20),
        **MORE,
    }
    found = groups("coverage", cases, COVERAGE_RUNS, first=1000)
    rows = []
    for name, each in found.items():
        errors = np.array([one.error for one in each])
        mean = float(errors.mean())
        reported = root_mean_square([one.sample_standard_error for one in each])
        rows.append(
            [
                name,
                f"{mean:+.5f} ± {float(errors.std(ddof=1)) / math.sqrt(errors.size):.5f}",
                f"{mean_error(each)[0]:.5f}",
                f"{root_mean_square(errors):.5f}",
                f"{reported:.5f}",
                f"{100 * held(each) / errors.size:.0f}%",
            ]
        )
    head = ["statistic", "mean of errors", "mean absolute error", "RMSE", "reported", "held"]
    table("projection_coverage", head, rows)


RATING_LOSSES = (0.5, 1.0, 2.0)
WAYS = {
    "`krr`, the paper's": "krr",
    "`histogram`, `projective`": "histogram",
    "`projection`": "projection",
}


def hotel() -> None:
    """Kendall's tau-a of two hotel ratings, against both histograms."""
    if not at_hand("ratings", sources.RATINGS):
        return
    size = sources.ratings(data_folder())["x"].size
    cases = {
        (name, loss): Case("ratings", size, loss, protocol=way)
        for name, way in WAYS.items()
        for loss in RATING_LOSSES
    }
    found = groups("ratings", cases)
    rows = [[name, *(shown(found[name, loss]) for loss in RATING_LOSSES)] for name in WAYS]
    limits = [one_bit(Case("ratings", size, loss)) for loss in RATING_LOSSES]
    rows.append(["one bit, pilot known", *(f"{limit:.4f}" for limit in limits)])
    inside = [f"{held(found['`projection`', loss])} of {RUNS}" for loss in RATING_LOSSES]
    rows.append(["`projection`: intervals that held", *inside])
    table("projection_ratings", ["protocol", *(f"eps {loss:g}" for loss in RATING_LOSSES)], rows)


HOSPITAL_LOSSES = (1.0, 2.0, 5.0)


def diabetes() -> None:
    """The AUC of a readmission score on the hospital data."""
    if not at_hand("diabetes", sources.HOSPITAL):
        return
    size = sources.hospital(data_folder())["score"].size
    ways = {"`tree`": "tree", "`histogram`, 16 bins": "histogram", "`projection`": "projection"}
    cases = {
        (name, loss): Case("hospital", size, loss, protocol=way)
        for name, way in ways.items()
        for loss in HOSPITAL_LOSSES
    }
    found = groups("diabetes", cases)
    rows = [[name, *(shown(found[name, loss]) for loss in HOSPITAL_LOSSES)] for name in ways]
    limits = [one_bit(Case("hospital", size, loss)) for loss in HOSPITAL_LOSSES]
    rows.append(["one bit, pilot known", *(f"{limit:.4f}" for limit in limits)])
    inside = [f"{held(found['`projection`', loss])} of {RUNS}" for loss in HOSPITAL_LOSSES]
    rows.append(["`projection`: intervals that held", *inside])
    table("projection_diabetes", ["protocol", *(f"eps {loss:g}" for loss in HOSPITAL_LOSSES)], rows)


# ---------------------------------------------------------------- against the other protocols

PROTOCOLS = (
    ("histogram", "`histogram`, 16 bins", "histogram, 16 bins", GREEN, "^-"),
    ("tree", "`tree`, $2^{16}$ leaves", "tree, 2$^{16}$ leaves", VERMILION, "s-"),
    ("projection", "`projection`", "projection", BLUE, "o-"),
)
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, MILLION)
LOSSES = (0.5, 1.0, 2.0, 5.0)


def compare() -> None:
    """Three protocols on two normals: against the number of people, and against epsilon."""
    cases = {(way, size, 1.0): Case("normals", size, protocol=way) for way, *_ in PROTOCOLS for size in SIZES}
    cases |= {
        (way, 100_000, loss): Case("normals", 100_000, loss, protocol=way)
        for way, *_ in PROTOCOLS
        for loss in LOSSES
    }
    found = groups("compare", cases)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0))
    by_size, by_loss = [], []
    for way, name, plain, colour, style in PROTOCOLS:
        for panel, places, keys in (
            (left, SIZES, [(way, size, 1.0) for size in SIZES]),
            (right, LOSSES, [(way, 100_000, loss) for loss in LOSSES]),
        ):
            mean, error = np.array([mean_error(found[key]) for key in keys]).T
            panel.errorbar(
                places, mean, error, fmt=style, color=colour, ms=4.5, lw=1.4, capsize=2, label=plain
            )
        by_size.append([name, *(shown(found[way, size, 1.0]) for size in SIZES)])
        by_loss.append([name, *(shown(found[way, 100_000, loss], 5) for loss in LOSSES)])
    for panel, places, limits, rows in (
        (left, SIZES, [one_bit(Case("normals", size)) for size in SIZES], by_size),
        (right, LOSSES, [one_bit(Case("normals", 100_000, loss)) for loss in LOSSES], by_loss),
    ):
        panel.plot(places, limits, "--", color=BLACK, lw=1.3, label="one bit, pilot known")
        digits = 4 if panel is left else 5
        rows.append(["one bit, pilot known", *(f"{limit:.{digits}f}" for limit in limits)])
        panel.set(xscale="log", yscale="log")
    left.set(xlabel="people in each class", ylabel="mean absolute error of the AUC", title="epsilon = 1")
    right.set(xlabel="epsilon (natural log units)", title="10$^5$ people in each class")
    right.set_xticks(LOSSES, [f"{loss:g}" for loss in LOSSES])
    right.minorticks_off()
    left.legend(fontsize=8.5, loc="lower left")
    figure.suptitle("AUC of two normals on [0, 1], 20 runs; bars: standard error", fontsize=10)
    figure.tight_layout()
    save(figure, "projection_compare")
    table("projection_people", ["protocol", *(f"{size:,}" for size in SIZES)], by_size)
    table("projection_epsilon", ["protocol", *(f"eps {loss:g}" for loss in LOSSES)], by_loss)


# ---------------------------------------------------------------- the first round's share

OF_64 = (2, 4, 8, 12, 16, 24, 32, 48)
SHARE_RUNS = 60
SHARED = {
    "AUC, two normals, $10^4$ in each class": Case("normals", 10_000),
    "Kendall's tau-a, two normals, $2\\cdot 10^4$ people": Case("plane", 20_000),
}


def share() -> None:
    """The error against the first round's share, and what the study chooses."""
    cases = {
        (name, part): replace(case, fraction=part / 64) for name, case in SHARED.items() for part in OF_64
    }
    found = groups("share", cases, SHARE_RUNS)
    measured: list[list[str]] = []
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.7))
    for panel, (name, case) in zip(panels, SHARED.items(), strict=True):
        errors = np.array([root_mean_square([one.error for one in found[name, part]]) for part in OF_64])
        said = [root_mean_square([one.sample_standard_error for one in found[name, part]]) for part in OF_64]
        measured.append([f"{name}: measured", *(f"{error:.4f}" for error in errors)])
        measured.append([f"{name}: reported", *(f"{error:.4f}" for error in said)])
        reach = errors / math.sqrt(2 * SHARE_RUNS)
        places = [part / 64 for part in OF_64]
        panel.errorbar(places, errors, reach, fmt="o", color=BLUE, ms=4.5, capsize=2, label="measured RMSE")
        panel.plot(places, said, "-", color=ORANGE, lw=1.5, label="reported, root mean square")
        statistic, domain, _ = drawn(case)
        number = 2 * case.size if statistic == "auc" else case.size
        chosen = study_of(case, statistic, domain, number).protocol
        panel.axvline(chosen.share / 64, color=BLACK, ls="--", lw=1.2, label="chosen by the study")
        panel.set(xlabel="share of people in the first round", title=name, ylim=(0, None), xlim=(0, 0.8))
    panels[0].set_ylabel("error")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncol=3, fontsize=8.5)
    figure.suptitle(f"epsilon = 1, {SHARE_RUNS} runs; bars: standard error", fontsize=10)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    save(figure, "projection_share")
    table("projection_share", ["root mean square errors", *(f"{part}/64" for part in OF_64)], measured)
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
                study = dpairs.Study.create(
                    statistic, protocol="projection", epsilon=loss, domain=domain, n=number, seed=1
                )
                row.append(str(study.protocol.share))
        rows.append(row)
    head = [f"eps {loss}, $n = 10^{power}$" for loss in (1, 4) for power in (3, 4, 5, 6)]
    table("projection_shares", ["statistic and domain", *head], rows)


# ---------------------------------------------------------------- the second round's file


def files() -> None:
    """The sizes of both rounds' files for several domains."""
    label = classes(50_000)
    number = label.size
    wide = people(1).integers(0, 2**64 - 1, number, dtype=np.uint64, endpoint=True)
    normal, plane = unit_scores(50_000, 1), drawn(Case("plane", number, rho=0.5))[2]
    ordinal = people(1).integers(0, 6, (2, number))
    near = dpairs.Kernel(
        lambda a, b: (np.abs(a - b) < 0.1).astype(float), range=(0, 1), domain=UNIT, label="within 0.1"
    )
    side = dpairs.Interval(-4, 4)
    rows = []
    for name, statistic, domain, data in (
        *(
            (
                f"`auc`, integers of {bits} bits",
                "auc",
                dpairs.Integers(0, 2**bits - 1),
                {"score": wide >> np.uint64(64 - bits), "label": label},
            )
            for bits in (10, 20, 32, 64)
        ),
        ("`auc`, an interval", "auc", UNIT, {"score": normal, "label": label}),
        ("`vus`, an interval", "vus", UNIT, {"score": normal, "label": np.arange(number) % 3}),
        ("`gini_mean_difference`, an interval", "gini_mean_difference", UNIT, {"value": normal}),
        ("`kendall_tau`, two intervals", "kendall_tau", (side, side), plane),
        (
            "`kendall_tau`, 6 x 6 levels",
            "kendall_tau",
            (dpairs.Levels(range(6)),) * 2,
            {"x": ordinal[0], "y": ordinal[1]},
        ),
        (
            "`collision_entropy`, 1,000 categories",
            "collision_entropy",
            dpairs.Categories(list(range(1000))),
            {"value": people(1).integers(0, 1000, number)},
        ),
        ("a kernel on an interval", near, None, {"value": normal}),
    ):
        study = dpairs.Study.create(
            statistic, protocol="projection", epsilon=1.0, domain=domain, n=number, seed=1
        )
        last = dpairs.simulate_tally(study, data, seed=1).study
        influence = next(iter(last.protocol.influences.values()))
        rows.append(
            [
                name,
                f"{len(study.to_json().encode()):,}",
                f"{influence.grid.cells:,}",
                f"{len(last.to_json().encode()):,}",
            ]
        )
    table("projection_files", ["study", "first round, bytes", "cells", "second round, bytes"], rows)


# ---------------------------------------------------------------- the limits of the interval

RHOS, WIDTHS = (0.5, 0.9, 0.99), (4.0, 10.0, 100.0)


def wide() -> None:
    """Kendall's tau of pairs that depend strongly, in domains that are much too wide."""
    cases = {(rho, width): Case("plane", 100_000, width=width, rho=rho) for rho in RHOS for width in WIDTHS}
    found = groups("wide", cases)
    rows = []
    for (rho, width), each in found.items():
        errors = np.array([one.error for one in each])
        bias, doubt = float(errors.mean()), float(errors.std(ddof=1)) / math.sqrt(errors.size)
        rows.append(
            [
                f"correlation {rho:g}, $[-{width:g}, {width:g}]^2$",
                f"{np.mean([one.truth for one in each]):.3f}",
                f"{bias:+.4f} ± {doubt:.4f}",
                shown(each),
                f"{np.mean([one.sample_standard_error for one in each]):.4f}",
                f"{held(each)} of {RUNS}",
            ]
        )
    head = ["normal pairs, domain", "exact", "mean of errors", "mean absolute error", "reported", "held"]
    table("projection_wide", head, rows)


# ---------------------------------------------------------------- what makes up the standard error


def parts() -> None:
    """The standard error's parts: noise and choice of the second round, and the rest."""
    cases = {
        "AUC, two normals, $10^4$ in each class": Case("normals", 10_000),
        "AUC, two normals, $10^5$ in each class": Case("normals", 100_000),
        "AUC, two normals, $10^6$ in each class": Case("normals", MILLION),
        **MORE,
    }
    found = groups("parts", cases)
    rows = []
    for name, each in found.items():
        rest = root_mean_square([one.rest[1] for one in each])
        whole = root_mean_square([one.sample_standard_error for one in each])
        population = root_mean_square([one.standard_error for one in each])
        second = math.sqrt(max(whole**2 - rest**2, 0.0))
        bias = float(np.mean([one.rest[0] for one in each]))
        row = [name, f"{each[0].share}/64", f"{second:.5f}", f"{rest:.5f}", f"{bias:+.5f}"]
        rows.append([*row, f"{whole:.5f}", f"{population:.5f}"])
    head = ["statistic", "share", "second round", "rest", "added to the value"]
    table("projection_parts", [*head, "together, sample", "together, population"], rows)


# ---------------------------------------------------------------- mechanism


def mechanism() -> None:
    """The average variance of a number sent with one bit or in a window, against epsilon."""
    losses = np.geomspace(0.25, 8, 31)
    even = np.linspace(0, 1, 101)
    ends = (np.arange(101) % 2).astype(np.float64)
    spread = {
        "spread evenly": (even, BLUE, "o"),
        "all in the middle": (np.full(101, 0.5), GREEN, "^"),
        "all at the two ends": (ends, VERMILION, "s"),
    }
    weights = np.full(101, 1 / 101)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.9))
    rows = {loss: [f"{loss:g}"] for loss in (0.5, 1.0, 2.0, 3.0, 5.0, 8.0)}
    for name, (values, colour, mark) in spread.items():
        ratios = []
        for loss in losses:
            bit = BitResponse.for_epsilon(loss)
            chosen = scalar_response(float(loss), values, weights)
            ratios.append(float(weights @ chosen.variances(values)) / float(weights @ bit.variances(values)))
        right.plot(losses, ratios, f"{mark}-", color=colour, ms=3.5, lw=1.3, label=name)
        for loss, row in rows.items():
            bit, chosen = BitResponse.for_epsilon(loss), scalar_response(loss, values, weights)
            variance = float(weights @ chosen.variances(values))
            row += [
                f"{float(weights @ bit.variances(values)):.4f}",
                f"{variance:.4f}",
                str(chosen.symbols),
            ]
    one = [float(weights @ BitResponse.for_epsilon(loss).variances(even)) for loss in losses]
    best = [
        min(
            float(weights @ window.variances(even))
            for symbols in (8, 16, 32, 64)
            for width in range(1, symbols // 2 + 1)
            if (window := mechanisms.WindowResponse.for_epsilon(symbols, width, float(loss)))
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
    save(figure, "projection_mechanism")
    head = ["epsilon"]
    for name in spread:
        head += [f"{name}: one bit", "chosen", "symbols"]
    table("projection_mechanism", head, rows.values())


# ---------------------------------------------------------------- what a person sends


def person() -> None:
    """From the pilot to a person's bit, for an AUC and for a mean difference."""
    number = 100_000
    scored = {"score": unit_scores(number // 2, 1), "label": classes(number // 2)}
    earning = drawn(Case("incomes", number, run=1))[2]
    figure = plt.figure(figsize=(11.4, 6.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.06)
    upper, lower = figure.subfigures(2, 1, hspace=0.06)
    upper.suptitle("AUC: a person of the positive class with the score 0.55", fontsize=10.5, weight="bold")
    _steps(upper, "auc", scored, ("positive", "negative"), 0.55, "score", "negatives at or below")
    lower.suptitle("Gini mean difference: a person with the value 0.30", fontsize=10.5, weight="bold")
    both = ("everybody", "everybody")
    _steps(lower, "gini_mean_difference", earning, both, 0.30, "value", "people at or below")
    save(figure, "projection_person")


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
    tally = first_round(study, data, 1)
    pilot, last = pilot_of(tally), study.next(tally).protocol
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


def plane() -> None:
    """Kendall's tau: the pilot's shares, and the function that people evaluate, over the plane."""
    number = 100_000
    data = drawn(Case("plane", number, run=1))[2]
    side = dpairs.Interval(-4, 4)
    study = dpairs.Study.create(
        "kendall_tau", protocol="projection", epsilon=1.0, domain=(side, side), n=number, seed=1
    )
    tally = first_round(study, data, 1)
    pilot, last = pilot_of(tally), study.next(tally).protocol
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
    figure.suptitle(
        "Kendall's tau-a of 10$^5$ normal pairs with correlation 0.5, epsilon = 1, "
        f"{study.protocol.share} of 64 people in the first round",
        fontsize=10,
    )
    save(figure, "projection_plane")


def pilot_of(tally: dpairs.Tally) -> Pilot:
    """The pilot that a tree's first round gives."""
    study = tally.study
    counts: dict[str, Any] = {stratum: tally.counts(stratum) for stratum in study.strata}
    return study.protocol.pilot.pilot(counts, PublicNoise(study.coins))


TABLES: dict[str, Callable[[], None]] = {
    "person": person,
    "plane": plane,
    "mechanism": mechanism,
    "auc": auc,
    "coverage": coverage,
    "more": more,
    "ratings": hotel,
    "diabetes": diabetes,
    "compare": compare,
    "share": share,
    "files": files,
    "wide": wide,
    "parts": parts,
}

if __name__ == "__main__":
    # Two processes of one thread each; they read this when they import numpy.
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    for chosen in sys.argv[1:] or TABLES:
        TABLES[chosen]()
