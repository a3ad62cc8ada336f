"""What the experiments on the AUC share: one study's rows, tables of errors, and axes of powers of 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpairs.data.domains import Domain
from dpairs.simulate import simulate_tally
from dpairs.statistics import exact
from dpairs.study import Study

from .. import synthetic
from ..experiment import Setting, Table
from ..runs import Results, Row

ESTIMATORS = {"paper": "the paper's protocol", "pruned": "ours (pruned)"}
"""Of the tree protocol: each has reports of its own, since the paper asks about other rows than we do."""
ROWS = {"paper": "all", "pruned": "others"}
"""The rows of the Hadamard matrix that people are asked about; the first says nothing of anybody."""
MECHANISMS = {"krr": "the paper's (krr)", "projective": "ours (projective)"}
"""Of the generic protocol: one report of each person by either."""
MILLION = 10**6
"""People in each class of the paper's made-up data."""


def made_up(setting: Setting, seed: int) -> tuple[dict[str, Any], float]:
    """People of one of the paper's three sets, and their AUC before rounding.

    Both sets of two points are perfectly separated, so the truth is 1 however the scores are rounded.
    """
    name = str(setting["data"])
    people = synthetic.scored(name, int(setting["alpha"]), int(setting["size"]), seed)
    return people, exact("auc", people) if name == "ur" else 1.0


def tree_rows(
    domain: Domain, setting: Setting, data: Mapping[str, Any], truth: float, seed: int, **options: Any
) -> list[Row]:
    """Two studies by the tree protocol, the paper's and ours."""
    measured: list[Row] = []
    for name, rows in ROWS.items():
        study = Study.create(
            "auc",
            protocol="tree",
            epsilon=float(setting["epsilon"]),
            domain=domain,
            options={"bins": 2 ** int(setting["alpha"]), "rows": rows, **options},
            seed=seed,
        )
        value = simulate_tally(study, data, seed=seed).estimate(name).raw
        measured.append({"estimator": name, "value": value, "truth": truth})
    return measured


def generic_rows(
    domain: Domain, setting: Setting, data: Mapping[str, Any], truth: float, seed: int
) -> list[Row]:
    """Two studies by the generic protocol, one for each mechanism."""
    measured: list[Row] = []
    for name in MECHANISMS:
        study = Study.create(
            "auc",
            protocol="histogram",
            epsilon=float(setting["epsilon"]),
            domain=domain,
            options={"bins": 2 ** int(setting["alpha"]), "mechanism": name},
            seed=seed,
        )
        value = simulate_tally(study, data, seed=seed).estimate().raw
        measured.append({"mechanism": name, "value": value, "truth": truth})
    return measured


def mean_error(results: Results, **equal: str | int | float) -> float:
    """The mean absolute error of the rows with these values."""
    return results.where(**equal).error.mean


def error_table(results: Results, lines: Mapping[str, Mapping[str, str | int | float]]) -> Table:
    """A row of errors for each line, given its words and what its rows have; a column for each epsilon."""
    epsilons = results.values("epsilon")
    rows = [
        [words, *(str(results.where(**equal, epsilon=each).error) for each in epsilons)]
        for words, equal in lines.items()
    ]
    head = ["", *(f"epsilon {each:g}" for each in epsilons)]
    return Table("Mean absolute error ± its standard error", head, rows)


def powers(axes: Any, alphas: Sequence[int], words: str) -> None:
    """An axis of exponents whose ticks say 2^alpha."""
    axes.set_xticks(alphas, [f"$2^{{{alpha}}}$" for alpha in alphas])
    axes.set_xlabel(words)


def spoken(values: Sequence[float], digits: int = 1) -> str:
    """The least and the largest of some numbers, in words."""
    least, most = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return least if least == most else f"{least} to {most}"
