"""All protocols on all sets at equal epsilon: the paper's, ours, and the limit of one bit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from dpairs.data.domains import Domain, Integers, Interval
from dpairs.planning import plan
from dpairs.protocols import theory
from dpairs.simulate import simulate_tally
from dpairs.statistics import exact
from dpairs.study import Study

from .. import sources
from ..experiment import Check, Figure, Findings, Picture, Setting, Table
from ..limits import Data, one_bit
from ..runs import Results, Row, Summary
from ..style import BLACK, curve, log_axes, panels
from ..synthetic import PAPERS, classes, people, scored, unit_scores

EPSILONS = (0.5, 1.0, 2.0, 5.0)
ALPHA = 16
SIZE, SMOOTH_SIZE, QUICK_SIZE = 10**6, 200_000, 20_000
"""People (of each class): in the paper's made-up sets, in ours, and in a quick run."""
WAYS = {
    "paper, generic": "the paper's generic protocol",
    "paper, own": "the paper's own protocol for the AUC (tree)",
    "histogram": "ours: histogram",
    "tree": "ours: tree, pruned",
    "projection": "ours: projection",
    "planned": "ours: what the planner takes",
}
SETS = {
    "auc_one": "AUC, auc_one",
    "ithdigit": "AUC, ithdigit",
    "ur": "AUC, ur",
    "normals": "AUC, two normals",
    "hospital": "AUC, Diabetes",
    "ratings": "Kendall, TripAdvisor",
    "plane": "Kendall, normal pairs",
    "incomes": "Gini, incomes",
}
AUC = (*PAPERS, "normals", "hospital")
TENTH, THIRD = ("auc_one", "ithdigit"), ("ur", "hospital", "ratings")
"""Where ours should have at most a tenth, and a third, of the paper's error."""
NEEDS = {"hospital": sources.HOSPITAL, "ratings": sources.RATINGS}
QUICK = ("ur", "hospital", "ratings", "plane", "incomes")
"""Sets of a quick run: those that statistics and domains tell apart."""


def settings(quick: bool) -> list[Setting]:
    """Every set at every epsilon; in a quick run some of them at two."""
    return [
        {
            "data": data,
            "size": QUICK_SIZE if quick else SIZE if data in PAPERS else SMOOTH_SIZE,
            "epsilon": epsilon,
        }
        for data in (QUICK if quick else SETS)
        for epsilon in ((1.0, 2.0) if quick else EPSILONS)
    ]


@cache
def real(data: str, folder: Path) -> Data:
    """Data that are the same in every run."""
    return sources.hospital(folder) if data == "hospital" else sources.ratings(folder)


def drawn(data: str, size: int, seed: int, folder: Path) -> tuple[str, Any, Data]:
    """The statistic, its domain and the people."""
    unit = Interval(0, 1)
    if data in PAPERS:
        return "auc", Integers(0, 2**ALPHA - 1), scored(data, ALPHA, size, seed)
    if data == "normals":
        return "auc", unit, {"score": unit_scores(size, seed), "label": classes(size)}
    if data == "hospital":
        return "auc", unit, real(data, folder)
    if data == "ratings":
        return "kendall_tau", (sources.LEVELS, sources.LEVELS), real(data, folder)
    if data == "plane":
        x, other = people(seed).normal(size=(2, size))
        pair = np.clip([x, 0.5 * x + math.sqrt(0.75) * other], -4, 4)
        return "kendall_tau", (Interval(-4, 4), Interval(-4, 4)), {"x": pair[0], "y": pair[1]}
    values = np.minimum(people(seed).lognormal(0, 0.7, size), 10) / 10
    return "gini_mean_difference", unit, {"value": values}


@cache
def planned(
    statistic: str, domain: Domain | tuple[Domain, ...], epsilon: float, sizes: tuple[int, ...]
) -> Study:
    """What the planner takes when nothing is known of the people but how many they are."""
    strata = ("positive", "negative")
    n = dict(zip(strata, sizes, strict=True)) if len(sizes) == 2 else sizes[0]
    return plan(statistic, domain=domain, epsilon=epsilon, n=n).options[0].study


def study_of(
    way: str, statistic: str, domain: Any, data: Data, epsilon: float, seed: int
) -> tuple[Study, str | None]:
    """The study, and the estimator where it is not the default one."""
    number = len(next(iter(data.values())))
    given: dict[str, Any] = {"epsilon": epsilon, "domain": domain, "seed": seed}
    cut = isinstance(domain, (Interval, Integers))
    bins: dict[str, Any] = {"bins": 16} if cut else {}
    if statistic == "kendall_tau" and isinstance(domain[0], Interval):
        bins = {"bins": 6}
    if way == "paper, generic":
        if statistic == "gini_mean_difference":  # a Lipschitz kernel: the paper says how many bins
            bins = {"bins": theory.best_bins(number, epsilon), "kernel": "midpoint"}
        return Study.create(statistic, protocol="histogram", mechanism="krr", **bins, **given), None
    if way == "histogram":
        return Study.create(statistic, protocol="histogram", **bins, **given), None
    if way in ("paper, own", "tree"):
        leaves = {"bins": 2**ALPHA} if isinstance(domain, Interval) else {}
        if way == "tree":
            return Study.create(
                statistic, protocol="tree", answer="several-bits", **leaves, **given
            ), "pruned"
        # The paper splits people evenly over levels, as we do, and draws the row among all rows.
        return Study.create(statistic, protocol="tree", rows="all", **leaves, **given), "paper"
    if way == "projection":
        return Study.create(statistic, protocol="projection", n=number, **given), None
    sizes: tuple[int, ...] = (number,)
    if "label" in data:
        positives = int(np.count_nonzero(data["label"] == 1))
        sizes = (positives, number - positives)
    return replace(planned(statistic, domain, epsilon, sizes), seed=seed), None


def measure(setting: Setting, seed: int, folder: Path) -> list[Row]:
    """One study in every way that fits, of the same people, against their exact value."""
    name, epsilon = str(setting["data"]), float(setting["epsilon"])
    if name in NEEDS and sources.missing((NEEDS[name],), folder):
        return []
    statistic, domain, data = drawn(name, int(setting["size"]), seed, folder)
    # Before rounding to leaves, all positives of ithdigit win.
    truth = 1.0 if name in TENTH else exact(statistic, data)
    limit = one_bit(statistic, domain, data, epsilon)
    rows: list[Row] = []
    for way in WAYS:
        if way in ("paper, own", "tree") and name not in AUC:
            continue
        study, estimator = study_of(way, statistic, domain, data, epsilon, seed)
        value = simulate_tally(study, data, seed=seed).estimate(estimator).raw
        protocol = study.protocol.name
        rows.append({"way": way, "protocol": protocol, "value": value, "truth": truth, "limit": limit})
    return rows


def best_of_paper(results: Results, data: str, epsilon: float) -> tuple[str, Summary]:
    """The better of the paper's two protocols for people who trust nobody, where there are two."""
    ways = [way for way in WAYS if way.startswith("paper")]
    found = [(way, results.where(data=data, epsilon=epsilon, way=way)) for way in ways]
    errors = [(way, each.error) for way, each in found if len(each)]
    return min(errors, key=lambda pair: pair[1].mean)


def drawing(results: Results) -> Any:
    """One panel for each set."""
    sets, epsilons = results.values("data"), results.values("epsilon")
    figure, grid = panels(4, -(-len(sets) // 4), width=3.4, height=3.1, sharex=True, squeeze=False)
    for axes in grid.flat[len(sets) :]:
        axes.set_visible(False)
    for axes, data in zip(grid.flat, sets, strict=False):
        part = results.where(data=data)
        for place, (way, words) in enumerate(WAYS.items()):
            if way in part.values("way"):
                found = [part.where(way=way, epsilon=each).error for each in epsilons]
                curve(
                    axes, epsilons, found, place, words, bars="standard_error", dashed=way.startswith("paper")
                )
        limits = [part.where(epsilon=each, way="planned").column("limit").mean() for each in epsilons]
        axes.plot(epsilons, limits, ":", color=BLACK, lw=1.5, label="limit of one bit")
        axes.set_yscale("log")
        log_axes(axes, epsilons)
        axes.set_title(SETS[data], fontsize=9.5)
    for row in grid:
        row[0].set_ylabel("mean absolute error")
    for axes in grid[-1]:
        axes.set_xlabel("epsilon (natural log units)")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=4, fontsize=8.5)
    return figure


def pictures(results: Results) -> Iterator[Picture]:
    most, least = max(results.values("size")), min(results.values("size"))
    yield Picture(
        "beyond",
        partial(drawing, results),
        "Mean absolute error against epsilon; bars are its standard error. The paper's made-up sets have "
        f"{most:,} people in each class, ours {least:,} people (in each class, for the AUC). The dotted line "
        "is what one bit from everybody could reach if the distribution were known; more than one bit can "
        "pass it at large epsilon. The paper's generic protocol is k-ary randomized response: for Gini with "
        "the midpoint kernel and the paper's n^(1/4) sqrt(epsilon) bins; for kernels that are not Lipschitz, "
        "where the paper names no number, with all levels, 16 bins for the AUC and 6 x 6 for Kendall.",
    )


def findings(results: Results) -> Findings:
    """Ours over the paper's at epsilon 1, and everything in one table."""
    checks = []
    for data in results.values("data"):
        share, words = (10, "a tenth") if data in TENTH else (3, "a third")
        if data not in TENTH + THIRD:
            continue
        way, paper = best_of_paper(results, data, 1.0)
        own = "paper, own" if data in AUC else way
        theirs = results.where(data=data, epsilon=1.0, way=own).error
        ours = results.where(data=data, epsilon=1.0, way="planned").error
        checks.append(
            Check(
                f"{SETS[data]}: at epsilon 1 ours has at most {words} of the error of the paper's protocol.",
                f"{ours.mean:.5f} against {theirs.mean:.5f}: {ours.mean / theirs.mean:.3f} times"
                + ("" if own == way else f" (the paper's generic protocol: {paper.mean:.5f})"),
                ours.mean * share <= theirs.mean,
            )
        )
    rows = []
    for data in results.values("data"):
        for epsilon in results.values("epsilon"):
            part = results.where(data=data, epsilon=epsilon)
            cells = [
                f"{part.where(way=way).error.mean:.5f}" if way in part.values("way") else "-" for way in WAYS
            ]
            chosen = str(part.where(way="planned").rows[0]["protocol"])
            limit = f"{part.where(way='planned').column('limit').mean():.5f}"
            rows.append([SETS[data], f"{epsilon:g}", *cells, chosen, limit])
    head = ["set", "epsilon", *WAYS, "the planner took", "limit of one bit"]
    return Findings(
        checks,
        [Table("Mean absolute error", head, rows)],
        [
            "Everybody in this table trusts nobody: people send one report each, or one in one of two "
            "rounds. Computing in pairs trusts a partner to follow the protocol; the experiment "
            "kendall-tripadvisor has it, with the paper's noise and ours. What the planner takes is what "
            "somebody gets who knows nothing about the people but how many they are.",
            "The rows of the paper's tree on Diabetes are the first 20 of the 100 runs that auc-diabetes has "
            f"with 2^{ALPHA} leaves, so the two means differ by chance.",
        ],
    )


EXPERIMENT = Figure(
    name="beyond",
    title="All protocols at equal epsilon",
    paper="Not in the paper: ours.",
    says="Nothing; its protocols are the dashed lines.",
    does="Every protocol and estimator for people who trust nobody, on the paper's sets, its real data and "
    "three smooth populations. The paper's protocols are as it has them, with its errata mended: its tree "
    f"asks about all rows and splits people evenly over levels. Trees have 2^{ALPHA} leaves.",
    settings=settings,
    measure=measure,
    pictures=pictures,
    findings=findings,
    wants=tuple(NEEDS.values()),
)
