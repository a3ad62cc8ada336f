"""The appendix's figure on made-up scores, by the generic protocol: bins and randomized response."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpairs.data.domains import Integers

from ..experiment import Check, Figure, Findings, Picture, Setting
from ..runs import Results, Row
from ..style import curve, log_axes, panels
from ..synthetic import PAPERS, people
from .auc import MECHANISMS, MILLION, error_table, generic_rows, made_up, mean_error, powers, spoken
from .generic_counts import estimated_auc, reports, two_points_noise

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES = (2, 4, 6, 8, 10, 12, 14, 16)
BOTH = 10
"""Up to 2^10 bins both mechanisms are run; with more the paper's alone, from counts."""
PARTED = 14
"""From 2^14 bins on, the two scores of ithdigit are in different bins."""


def settings(quick: bool) -> list[Setting]:
    """Every set at every number of bins."""
    return [
        {"data": data, "epsilon": epsilon, "alpha": alpha, "size": 50_000 if quick else MILLION}
        for data in PAPERS
        for epsilon in ((1.0, 4.0) if quick else EPSILONS)
        for alpha in ((2, 6, 8, 12, 14) if quick else SIZES)
    ]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """One study for each mechanism."""
    table, truth = made_up(setting, seed)
    bins, epsilon = 2 ** int(setting["alpha"]), float(setting["epsilon"])
    if bins <= 2**BOTH:
        return generic_rows(Integers(0, bins - 1), setting, table, truth, seed)
    # Not the seed of the scores: ur's are drawn from it.
    draw = people(2**32 + seed)
    score = table["score"].astype(np.int64)
    counts = [np.bincount(score[table["label"] == label], minlength=bins) for label in (1, 0)]
    positive, negative = (reports(each, epsilon, draw) for each in counts)
    value = estimated_auc(positive, negative, epsilon)
    return [{"mechanism": "krr", "value": value, "truth": truth}]


def drawing(results: Results) -> Any:
    """The error against d: solid lines for the paper's mechanism, dashed ones for ours."""
    figure, row = panels(len(PAPERS), width=3.8, height=4.2, sharey=True)
    for data, axes in zip(PAPERS, row, strict=True):
        for name in MECHANISMS:
            found = results.where(data=data, mechanism=name)
            alphas = found.values("alpha")
            for place, epsilon in enumerate(found.values("epsilon")):
                errors = [found.where(alpha=alpha, epsilon=epsilon).error for alpha in alphas]
                label = f"epsilon {epsilon:g}" if name == "krr" else ""
                curve(axes, alphas, errors, place, label, dashed=name != "krr")
        axes.axhline(0.5, color="#777777", lw=1, zorder=0)
        log_axes(axes, y=(0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000))
        axes.set_ylim(bottom=0.00001)  # bars that reach below 0 are cut
        powers(axes, results.values("alpha"), "d, bins")
        axes.set_title(data, fontsize=9.5)
    row[0].set_ylabel("mean absolute error of the AUC")
    row[0].legend(fontsize=8.5, loc="upper left")
    return figure


def pictures(results: Results) -> Iterator[Picture]:
    yield Picture(
        "auc-synthetic-generic",
        partial(drawing, results),
        f"Made-up scores, {int(results.rows[0]['size']):,} people in each class, by the generic protocol: "
        "solid lines with the paper's k-ary randomized response, dashed ones with our projective response "
        f"(up to 2^{BOTH} bins). Mean absolute error over runs; bars are the standard deviation over runs. "
        "The grey line is 0.5, the largest error that the answer 1/2 can have; estimates are not cut to [0, "
        "1].",
    )


def findings(results: Results) -> Findings:
    """The paper's statements on its generic protocol."""
    paper = results.where(mechanism="krr")
    epsilons, alphas = paper.values("epsilon"), paper.values("alpha")
    size = int(paper.rows[0]["size"])

    def error(data: str, epsilon: float, alpha: int) -> float:
        return mean_error(paper, data=data, epsilon=epsilon, alpha=alpha)

    least = {
        epsilon: min((error("ithdigit", epsilon, alpha), alpha) for alpha in alphas) for epsilon in epsilons
    }
    small = [alpha for alpha in alphas if alpha <= 4]
    few, many = next(alpha for alpha in alphas if alpha >= 6), 12
    slopes = [
        math.log(error(data, epsilon, many) / error(data, epsilon, few)) / math.log(2.0 ** (many - few))
        for data in ("auc_one", "ur")
        for epsilon in epsilons
    ]
    good = [
        min(error(data, epsilon, alpha) for alpha in small)
        for data in ("auc_one", "ur")
        for epsilon in epsilons
    ]
    both = results.where(mechanism="projective").values("alpha")[-1]
    gain = [
        mean_error(results, data=data, epsilon=epsilon, alpha=both, mechanism="krr")
        / mean_error(results, data=data, epsilon=epsilon, alpha=both, mechanism="projective")
        for data in ("auc_one", "ur")
        for epsilon in epsilons
    ]

    def told(chosen: list[float]) -> str:
        parts = (f"{least[each][0]:.2g} with 2^{least[each][1]} bins at epsilon {each:g}" for each in chosen)
        return "least mean error over d: " + ", ".join(parts)

    usual, large = [each for each in epsilons if each <= 2], [each for each in epsilons if each > 2]
    checks = [
        Check(
            f"The generic protocol fails on ithdigit at every d (epsilon up to {usual[-1]:g}): its error is "
            "above 0.25.",
            told(usual),
            all(least[each][0] > 0.25 for each in usual),
        ),
        Check(
            f"The generic protocol fails on ithdigit at every d (epsilon {large[-1]:g}): its error is above "
            "0.25.",
            told(large),
            all(least[each][0] > 0.25 for each in large),
            f"With 2^{PARTED} bins the two scores are apart. There most of the noise cancels: a redrawn bin "
            "is almost always above both scores, whoever it comes from. What is left has a standard "
            f"deviation of about {two_points_noise(size, 2**PARTED, large[-1]):.2g} at epsilon {large[-1]:g} "
            f"(but {two_points_noise(size, 2**PARTED, usual[-1]):.2g} at epsilon {usual[-1]:g}), for "
            f"{size:,} people in each class. The paper does not say up to which epsilon its statement is "
            "meant.",
        ),
        Check(
            "It scales very poorly with d: the error grows faster than the square root of d.",
            f"from 2^{few} to 2^{many} bins on auc_one and ur the error grows as d to the {spoken(slopes)}",
            min(slopes) > 0.5,
        ),
        Check(
            "On auc_one and ur few bins suffice: with 16 or fewer the error is below 0.01.",
            f"least mean errors of {spoken(good, 5)}",
            max(good) < 0.01,
        ),
        Check(
            f"Ours: with 2^{both} bins our mechanism has less error than the paper's on auc_one and ur.",
            f"{spoken(gain)} times less",
            min(gain) > 1,
            "At a large epsilon the two mechanisms are nearly the same, and on auc_one the noise of krr "
            "cancels as it does on ithdigit. Single ratios of mean errors are uncertain, too.",
        ),
    ]
    lines: dict[str, dict[str, str | int | float]] = {
        f"{data}, {words}, d = 2^{alpha}": {"data": data, "mechanism": name, "alpha": alpha}
        for data in PAPERS
        for name, words in MECHANISMS.items()
        for alpha in results.where(data=data, mechanism=name).values("alpha")
    }
    return Findings(checks, [error_table(results, lines)])


EXPERIMENT = Figure(
    name="auc-synthetic-generic",
    title="AUC of made-up scores, generic protocol",
    paper="Appendix, the second figure on synthetic data.",
    says="The generic protocol scales very poorly with d. auc_one and ur lose little in few bins, so it does "
    "well there; on ithdigit it has a very large error throughout: with few bins everybody is in the same "
    "one, and with many the noise is too much.",
    does="The histogram protocol with k-ary randomized response on d bins, 10^6 people in each class, and "
    f"the same with our default mechanism up to 2^{BOTH} bins. With more bins, which dpairs hardly takes, "
    "the paper's estimate is computed from counts of reports.",
    settings=settings,
    measure=measure,
    pictures=pictures,
    findings=findings,
)
