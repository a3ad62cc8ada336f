"""The appendix's figure on the hospital data, by the generic protocol: bins and randomized response."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpairs.data.domains import Interval
from dpairs.statistics import exact

from .. import sources
from ..experiment import Check, Figure, Findings, Picture, Setting
from ..runs import Results, Row
from ..style import BLACK, curve, log_axes, panels
from .auc import MECHANISMS, error_table, generic_rows, mean_error, powers, spoken

EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0)
SIZES = (1, 2, 3, 4, 5, 6, 8)
SMALL = 4
"""2^4 = 16 bins are few."""


def settings(quick: bool) -> list[Setting]:
    """Every number of bins at every epsilon."""
    return [
        {"epsilon": epsilon, "alpha": alpha}
        for epsilon in ((1.0, 5.0) if quick else EPSILONS)
        for alpha in ((2, 4, 8) if quick else SIZES)
    ]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """One study for each mechanism; beside it, the exact AUC of the scores in bins."""
    table = sources.hospital(data)
    rounded = binned(table, 2 ** int(setting["alpha"]))
    rows = generic_rows(Interval(0, 1), setting, table, exact("auc", table), seed)
    return [{**row, "binned": rounded} for row in rows]


def binned(table: dict[str, np.ndarray], bins: int) -> float:
    """The AUC when scores in [0, 1] are told apart by their bin alone; a tie counts 1/2."""
    cell = np.minimum((table["score"] * bins).astype(np.int64), bins - 1)
    return exact("auc", {"score": cell, "label": table["label"]})


def rounding(results: Results, alpha: int) -> float:
    """The error of bins alone, without privacy."""
    row = results.where(alpha=alpha).rows[0]
    return abs(float(row["binned"]) - float(row["truth"]))


def drawing(results: Results) -> Any:
    """The error against the number of bins, and what the bins alone do."""
    figure, row = panels(2, sharey=True)
    epsilons, alphas = results.values("epsilon"), results.values("alpha")
    for axes, (name, words) in zip(row, MECHANISMS.items(), strict=True):
        for place, epsilon in enumerate(epsilons):
            found = [results.where(mechanism=name, alpha=alpha, epsilon=epsilon).error for alpha in alphas]
            curve(axes, alphas, found, place, f"epsilon {epsilon:g}")
        alone = [rounding(results, alpha) for alpha in alphas]
        axes.plot(alphas, alone, ":", color=BLACK, lw=1.6, label="bins alone, exact")
        log_axes(axes, y=(0.0001, 0.001, 0.01, 0.1, 1, 10, 100))
        powers(axes, alphas, "d, bins")
        axes.set_title(words, fontsize=9.5)
    row[0].set_ylabel("mean absolute error of the AUC")
    row[0].legend(fontsize=8.5)
    return figure


def pictures(results: Results) -> Iterator[Picture]:
    yield Picture(
        "auc-diabetes-generic",
        partial(drawing, results),
        "Hospital readmission: 693 positives, 13,085 negatives, by the generic protocol. Mean absolute error "
        "over runs; bars are the standard deviation over runs. The dotted line is the error of rounding "
        "scores to bins, without privacy.",
    )


def findings(results: Results) -> Findings:
    """Are the scores well separated, and do few bins suffice?"""
    epsilons, alphas = results.values("epsilon"), results.values("alpha")
    truth = float(results.rows[0]["truth"])
    few = [alpha for alpha in alphas if alpha <= SMALL]
    best = {
        epsilon: min(
            (mean_error(results, mechanism="krr", epsilon=epsilon, alpha=alpha), alpha) for alpha in few
        )
        for epsilon in epsilons
    }
    coarse = {alpha: rounding(results, alpha) for alpha in few}
    told = ", ".join(
        f"{error:.3f} at epsilon {epsilon:g} (d = {2**alpha})" for epsilon, (error, alpha) in best.items()
    )
    checks = [
        Check(
            "The scores of positives and negatives are well separated: an AUC of 0.8 or more.",
            f"the exact AUC is {truth:.3f}",
            truth >= 0.8,
            "Whether a patient comes back within 30 days is hard to foresee from these columns. Our logistic "
            "regression has all of the usual ones and still confuses more than a quarter of all pairs. The "
            "paper gives neither its features nor its AUC.",
        ),
        Check(
            f"A small domain suffices: with {2**SMALL} bins, rounding alone moves the AUC by less than 0.01.",
            "error of rounding alone: "
            + ", ".join(f"{error:.4f} with {2**alpha}" for alpha, error in coarse.items()),
            coarse[few[-1]] < 0.01,
        ),
        Check(
            f"With at most {2**SMALL} bins the error is small: below 0.05, a tenth of the range of an AUC, "
            "for epsilon 1 or more.",
            f"least mean error: {told}",
            all(error < 0.05 for epsilon, (error, _) in best.items() if epsilon >= 1),
            "Few bins are fine enough, yet 693 positives are few people. With d bins the noise of the "
            "smaller class alone is about 1 / (sqrt(12 * 693) (1 - beta)), with 1 - beta = (e^eps - 1)/(d + "
            "e^eps - 1).",
        ),
    ]
    lines: dict[str, dict[str, str | int | float]] = {
        f"{words}, d = {2**alpha}": {"mechanism": name, "alpha": alpha}
        for name, words in MECHANISMS.items()
        for alpha in alphas
    }
    last = alphas[-1]
    gain = [
        mean_error(results, mechanism="krr", epsilon=epsilon, alpha=last)
        / mean_error(results, mechanism="projective", epsilon=epsilon, alpha=last)
        for epsilon in epsilons
    ]
    remark = (
        f"With {2**last:,} bins the paper's mechanism has {spoken(gain)} times the error of ours. Where "
        "epsilon is large for the number of bins, ours is the paper's, and the numbers are the same."
    )
    return Findings(checks, [error_table(results, lines)], [remark])


EXPERIMENT = Figure(
    name="auc-diabetes-generic",
    title="AUC of a readmission score, generic protocol",
    paper="Appendix, the figure of the generic protocol on the Diabetes data.",
    says="The scores of positives and negatives are well separated, so a small domain is enough, and the "
    "generic protocol has a small error.",
    does="The histogram protocol with k-ary randomized response on d bins of [0, 1], for the same scores as "
    "in auc-diabetes, and with our default mechanism. The error is against the AUC of the scores before they "
    "are put into bins.",
    settings=settings,
    measure=measure,
    pictures=pictures,
    findings=findings,
    needs=(sources.HOSPITAL,),
)
