"""Measured errors beside every bound of the paper, and every erratum's printed value beside the true one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from .. import sources
from ..experiment import Check, Figure, Findings, Picture, Setting, Table
from ..runs import Results, Row, Summary
from ..style import BLACK, BLUE, GREEN, VERMILION, panels
from . import bounds_histogram, bounds_pairs, bounds_tree, errata_statements
from .bound_case import Case
from .errata import ERRATA, LIMIT

CASES = (*bounds_histogram.CASES, *bounds_tree.CASES, *bounds_pairs.CASES)
TIGHT = 0.5
"""A bound is called tight if the error comes to at least so much of it."""
QUICK = ("krr, even data", "smooth data", "pairs, P = 1")
SLOW = (2, 3, 10)
"""Errata that a quick run leaves out."""


def settings(quick: bool) -> list[Setting]:
    """Every bound and every erratum."""
    bounds = [case.name for case in CASES if not quick or case.name in QUICK]
    numbers = [each.number for each in ERRATA if not quick or each.number not in SLOW]
    return [{"case": name} for name in (*bounds, *(f"erratum {number}" for number in numbers))]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """One run of a case: the mean over its repetitions, what is printed, and what is right."""
    name = str(setting["case"])
    for case in CASES:
        if case.name == name:
            return [
                {"place": each.place, "measured": each.found, "printed": each.bound, "right": each.exact}
                for each in case.run(seed)
            ]
    erratum = next(each for each in ERRATA if name == f"erratum {each.number}")
    if erratum.needs and sources.missing((erratum.needs,), data):
        return []  # without the data the others are still worth a run
    found = erratum.run(seed, data)
    return [{"place": 0, "measured": found.measured, "printed": found.printed, "right": found.right}]


def worst(part: Results) -> tuple[Summary, float, float]:
    """Of a bound for several levels, the level with the largest mean: measured, bound and exact value."""
    found = {place: Summary.of(part.where(place=place).column("measured")) for place in part.values("place")}
    place = max(found, key=lambda each: found[each].mean)
    return found[place], float(part.column("printed")[0]), float(part.column("right")[0])


def shown(results: Results) -> list[tuple[Case, Summary, float, float]]:
    """The bounds that were run."""
    names = set(results.values("case"))
    return [(case, *worst(results.where(case=case.name))) for case in CASES if case.name in names]


def drawing(results: Results) -> Any:
    """How much of each bound is used; and where each measured value lies between corrected and printed."""
    figure, (left, right) = panels(2, width=5.6, height=5.6, gridspec_kw={"width_ratios": [1.25, 1]})
    bounds = shown(results)
    colours = {3: BLUE, 4: GREEN, 5: VERMILION}
    for place, (case, summary, bound, _) in enumerate(bounds):
        left.errorbar(
            summary.mean / bound,
            place,
            xerr=summary.standard_error / bound,
            fmt="o",
            ms=5,
            capsize=2,
            color=colours[case.section],
        )
    left.axvline(1, color=BLACK, lw=1.1, ls="--")
    left.set(xscale="log", xlabel="measured / bound", title="sections 3 (blue), 4 (green) and 5 (red)")
    left.set_xticks((0.00001, 0.001, 0.1, 1), ("0.00001", "0.001", "0.1", "1"))
    left.minorticks_off()
    left.set_yticks(range(len(bounds)), [case.name for case, *_ in bounds])
    left.invert_yaxis()
    values = [each for each in errata_statements.rows(results) if not each[0].limit]
    for place, (_, summary, printed, true) in enumerate(values):
        width = printed - true
        right.errorbar(
            (summary.mean - true) / width,
            place,
            xerr=summary.standard_error / abs(width),
            fmt="D",
            ms=5,
            capsize=2,
            color=BLUE,
        )
    right.axvline(0, color=GREEN, lw=1.4)
    right.axvline(1, color=VERMILION, lw=1.4, ls="--")
    right.set(xlim=(-0.35, 1.35), xlabel="0: corrected value, 1: printed value", title="errata")
    right.set_yticks(range(len(values)), [f"{each.number}. {each.about}" for each, *_ in values])
    right.invert_yaxis()
    return figure


def pictures(results: Results) -> Iterator[Picture]:
    yield Picture(
        "bounds",
        partial(drawing, results),
        "Left: the measured mean squared error (or number of nodes) over its bound. Right: the measured "
        "value, with the corrected one at 0 and the printed one at 1. Bars are the standard error of the "
        "mean over runs. Erratum 6 is about an upper bound and is in the table.",
    )


def verdict(case: Case, ratio: float) -> str:
    """How much of a bound is used, in a word."""
    return case.kind if case.kind != "bound" else "tight" if ratio >= TIGHT else "loose"


def findings(results: Results) -> Findings:
    """Bounds hold, equalities hold, and errata are what they are said to be."""
    bounds = shown(results)
    ratios = {case.name: summary.mean / bound for case, summary, bound, _ in bounds}
    # In standard errors; where nothing is random, a last digit may differ.
    above = {
        case.name: (summary.mean - bound) / (summary.standard_error + 1e-9 * bound)
        for case, summary, bound, _ in bounds
    }

    def of(kind: str) -> list[str]:
        return [case.name for case, *_ in bounds if case.kind == kind]

    tight = [case.words for case, *_ in bounds if verdict(case, ratios[case.name]) == "tight"]
    limits = [ratios[name] for name in of("bound")]
    broken = [f"{name} ({ratios[name]:.2f} times)" for name in of("bound") if above[name] > LIMIT]
    off = [f"{name} ({above[name]:+.1f})" for name in of("equal") if abs(above[name]) > LIMIT]
    checks = [
        Check(
            "No error is above its bound (as corrected).",
            f"{len(limits)} bounds; measured over bound between {min(limits):.2g} and {max(limits):.2g}; "
            f"at least {TIGHT:g}: {'; '.join(tight) or 'none'}",
            not broken,
            ", ".join(broken),
        ),
        Check(
            "Where the paper gives the error itself, it is that (with errata 3 to 5).",
            "measured over theorem: " + ", ".join(f"{name}: {ratios[name]:.3f}" for name in of("equal")),
            not off,
            f"More than {LIMIT:g} standard errors away: {', '.join(off)}",
        ),
        *_order([(summary, bound) for case, summary, bound, _ in bounds if case.kind == "order"]),
        *_quite_tight([ratios[case.name] for case, *_ in bounds if case is bounds_tree.HARD]),
        *errata_statements.checks(results),
    ]
    lines = [
        [
            case.words,
            str(case.section),
            errata_statements.short(summary),
            f"{exact:.3g}" if exact else "",
            f"{bound:.3g}",
            f"{ratios[case.name]:.3g}",
            verdict(case, ratios[case.name]),
        ]
        for case, summary, bound, exact in bounds
    ]
    table = Table(
        "Mean squared errors (or nodes of the worst level) and their bounds, ± the standard error over runs",
        ["statement", "section", "measured", "exact formula", "bound", "measured / bound", ""],
        lines,
    )
    remarks = [
        "Worst data shows that a bound cannot be lowered; ordinary data shows what one gets. The bounds of "
        "the tree are computed with C = c^2 (erratum 3) and the paper's own choice of a.",
    ]
    return Findings(checks, [table, errata_statements.table(results)], remarks)


def _order(measured: list[tuple[Summary, float]]) -> list[Check]:
    """The corollary has no constant, but what is left of it must not grow with n."""
    if len(measured) < 2:
        return []
    first, last = (
        Summary(each.mean / order, 0.0, each.standard_error / order)
        for each, order in (measured[0], measured[-1])
    )
    return [
        Check(
            "With the best number of bins the mean squared error is of the order of L / (sqrt(n) epsilon).",
            f"measured over that: {first.mean:.4f} for 10,000 people, {last.mean:.4f} for 1,000,000",
            last.mean - first.mean <= LIMIT * (first.standard_error**2 + last.standard_error**2) ** 0.5,
        )
    ]


def _quite_tight(ratios: list[float]) -> list[Check]:
    """The paper's words on the tree's bound, where the run has the case."""
    return [
        Check(
            "The tree's bound is quite tight (within a factor of ten on its hardest data).",
            f"measured over bound: {ratio:.2f} for the mean square, {ratio**0.5:.2f} for its root",
            ratio >= 0.1,
            "The proof adds up worst cases over nodes and levels that do not come together.",
        )
        for ratio in ratios
    ]


EXPERIMENT = Figure(
    name="bounds",
    title="Bounds and errata",
    paper="The theorems and lemmas of sections 3, 4 and 5.",
    says="Each protocol has a bound on its mean squared error; that of the tree is said to be quite tight. "
    "For pairs the error itself is given.",
    does="Each bound beside simulations, on ordinary data and where possible on the worst; and for each of "
    "the eleven errata the printed value and the corrected one beside a measured one. Trees split people "
    "evenly over levels, ask about all rows and are measured around the population. Errata 9 and 10 need "
    "the real data and are left out without them.",
    settings=settings,
    measure=measure,
    pictures=pictures,
    findings=findings,
    wants=(sources.HOSPITAL, sources.RATINGS),
)
