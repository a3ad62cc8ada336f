"""Exact values, without privacy

`dpairs.exact` against what people use today for the same number: `roc_auc_score` of scikit-learn,
`mannwhitneyu` and `kendalltau` of scipy, and the textbook formula for Gini's mean difference on sorted
values in plain numpy. Each on 10^6 values, continuous ones and ones with many ties (ten or so different
ones). The results must agree to a relative 1e-12, or the row fails.

What the comparisons do not do alike:

- `roc_auc_score` builds the whole ROC curve and checks its input more thoroughly than we do.
- `mannwhitneyu` also gives a p-value. `dpairs.exact` gives only U, so there is a second row for
  `dpairs.exact_details`, which gives z and p too.
- `dpairs.exact("kendall_tau")` counts discordant pairs by calling scipy's `kendalltau`. Its rows show
  what our checks and the count of ties cost on top, and that it agrees with scipy is no surprise; a
  further row compares it with a direct sum over all pairs of 2,000 people.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from measure import Row, difference, seconds
from scipy import stats
from sklearn.metrics import roc_auc_score

import dpairs

WANTED = 1 / 1.5


def run(quick: bool) -> list[Row]:
    n, repeats = (10**5, 3) if quick else (10**6, 5)
    rng = np.random.default_rng(1)
    rows = []
    kinds: dict[str, Callable[[int], Any]] = {
        "continuous": rng.standard_normal,
        "many ties": lambda n: rng.integers(0, 10, n),
    }
    for kind, make in kinds.items():
        values, noise = make(n), make(n)
        labels = (rng.random(n) < 0.3).astype(np.int64)
        # Mann-Whitney without an effect: with one, both p-values would be 0 and agree for nothing.
        rows += [
            auc(f"AUC, {kind}", values + labels, labels, repeats),
            *mann_whitney(f"Mann-Whitney, {kind}", values, labels, repeats),
            *kendall(kind, values, values + noise, repeats),
            gini(f"Gini mean difference, {kind}", values, repeats),
        ]
    x, noise = rng.integers(0, 10, (2, 2000))
    return [*rows, kendall_by_hand("Kendall's tau-a, 2,000 pairs, many ties", x, x + noise)]


def auc(name, score, label, repeats) -> Row:
    data = {"score": score, "label": label}
    apart = difference(dpairs.exact("auc", data), roc_auc_score(label, score))
    times = seconds(
        repeats, ours=lambda: dpairs.exact("auc", data), theirs=lambda: roc_auc_score(label, score)
    )
    return Row(
        name,
        "scikit-learn roc_auc_score",
        times["ours"],
        times["theirs"],
        "s",
        wanted=WANTED,
        difference=apart,
    )


def mann_whitney(name, score, label, repeats) -> list[Row]:
    data = {"score": score, "label": label}
    positive = label == 1

    def theirs():
        return stats.mannwhitneyu(score[positive], score[~positive], method="asymptotic")

    times = seconds(
        repeats,
        ours=lambda: dpairs.exact("mann_whitney", data),
        details=lambda: dpairs.exact_details("mann_whitney", data),
        theirs=theirs,
    )
    answer, details = theirs(), dpairs.exact_details("mann_whitney", data)
    u = difference(dpairs.exact("mann_whitney", data), answer.statistic)
    p = difference(details["p_value"], answer.pvalue)
    against = "scipy mannwhitneyu"
    return [
        Row(name, against, times["ours"], times["theirs"], "s", WANTED, u, "ours without a p-value"),
        Row(f"{name}, with p", against, times["details"], times["theirs"], "s", WANTED, p),
    ]


def kendall(kind, x, y, repeats) -> list[Row]:
    data = {"x": x, "y": y}

    def ours(variant):
        return dpairs.exact("kendall_tau", data, variant=variant)

    apart = difference(ours("b"), stats.kendalltau(x, y).statistic)
    times = seconds(repeats, a=lambda: ours("a"), b=lambda: ours("b"), theirs=lambda: stats.kendalltau(x, y))
    against, theirs = "scipy kendalltau", times["theirs"]
    ties = "ours calls scipy's, and counts ties"
    return [
        Row(
            f"Kendall's tau-b, {kind}", against, times["b"], theirs, "s", WANTED, apart, "ours calls scipy's"
        ),
        Row(f"Kendall's tau-a, {kind}", f"{against} (tau-b)", times["a"], theirs, "s", WANTED, note=ties),
    ]


def kendall_by_hand(name, x, y) -> Row:
    def ours():
        return dpairs.exact("kendall_tau", {"x": x, "y": y})

    def theirs():
        n = len(x)
        signs = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
        return float(signs.sum()) / (n * (n - 1))

    times = seconds(3, ours=ours, theirs=theirs)
    return Row(
        name,
        "numpy, sum over all pairs",
        times["ours"],
        times["theirs"],
        "s",
        difference=difference(ours(), theirs()),
    )


def gini(name, values, repeats) -> Row:
    data = {"value": values}

    def theirs():
        n = len(values)
        ordered = np.sort(values)
        return 2 * float(np.sum((2 * np.arange(1, n + 1) - n - 1) * ordered)) / (n * (n - 1))

    def ours():
        return dpairs.exact("gini_mean_difference", data)

    times = seconds(repeats, ours=ours, theirs=theirs)
    apart = difference(ours(), theirs())
    return Row(
        name, "numpy, sorted values", times["ours"], times["theirs"], "s", wanted=WANTED, difference=apart
    )
