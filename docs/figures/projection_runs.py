"""Simulated studies for the page on the projection protocol, and the error that one bit could reach at best.

`make_projection.py` makes tables and figures of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from make_figures import data_folder
from make_tree import run_all
from numpy.typing import NDArray

import dpairs
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.randomness import SeededRandomness
from experiments import limits, sources
from experiments.results import Spread
from experiments.synthetic import PAPERS, classes, people, scores, unit_scores

RUNS = 20
UNIT = dpairs.Interval(0, 1)
Data = dict[str, NDArray[Any]]


# ---------------------------------------------------------------- data


@dataclass(frozen=True)
class Case:
    """One simulated study: what is drawn, of how many people, and how it is asked."""

    data: str
    size: int
    epsilon: float = 1.0
    run: int = 0
    alpha: int = 0
    width: float = 4.0
    rho: float = 0.5
    protocol: str = "projection"
    fraction: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What one study said, and the truth it aimed at."""

    value: float
    truth: float
    standard_error: float
    sample_standard_error: float
    share: int = 0
    symbols: int = 0
    rest: tuple[float, float] = (0.0, 0.0)
    """Mean and standard deviation of the second-order rest, as the second round's file has them."""

    @property
    def error(self) -> float:
        """Against the people who took part."""
        return self.value - self.truth


def drawn(case: Case) -> tuple[str, Any, Data]:
    """The statistic, its domain and the people."""
    if case.data in PAPERS:
        score = scores(case.data, case.alpha, case.size, case.run)
        return "auc", dpairs.Integers(0, 2**case.alpha - 1), {"score": score, "label": classes(case.size)}
    if case.data == "normals":
        return "auc", UNIT, {"score": unit_scores(case.size, case.run), "label": classes(case.size)}
    if case.data == "hospital":
        return "auc", UNIT, sources.hospital(data_folder())
    if case.data == "ratings":
        return "kendall_tau", (sources.LEVELS, sources.LEVELS), sources.ratings(data_folder())
    draw = people(case.run)
    if case.data == "plane":
        x, other = draw.normal(size=(2, case.size))
        y = case.rho * x + math.sqrt(1 - case.rho**2) * other
        side = dpairs.Interval(-case.width, case.width)
        pair = np.clip([x, y], -case.width, case.width)
        return "kendall_tau", (side, side), {"x": pair[0], "y": pair[1]}
    if case.data == "incomes":
        return "gini_mean_difference", UNIT, {"value": np.minimum(draw.lognormal(0, 0.7, case.size), 10) / 10}
    if case.data == "three normals":
        score = np.clip(draw.normal(np.repeat([0.3, 0.5, 0.7], case.size), 0.15), 0, 1)
        return "vus", UNIT, {"score": score, "label": np.repeat([0, 1, 2], case.size)}
    raise ValueError(f"there are no data named {case.data!r}")


# ---------------------------------------------------------------- runs


def study_of(case: Case, statistic: str, domain: Any, number: int) -> dpairs.Study:
    """The study of one case; a histogram of an interval has 16 bins, a tree the answers best for epsilon."""
    options: dict[str, Any] = {}
    if case.protocol == "projection":
        options["n"] = number
        if case.fraction is not None:
            options["pilot_fraction"] = case.fraction
    elif case.protocol == "tree":
        options["answer"] = "several-bits"
    elif domain is UNIT:
        options["bins"] = 16
    elif case.protocol == "krr":
        options["mechanism"] = "krr"
    protocol = "histogram" if case.protocol == "krr" else case.protocol
    return dpairs.Study.create(
        statistic, protocol=protocol, epsilon=case.epsilon, domain=domain, seed=case.run, **options
    )


@cache
def truth_of(statistic: str, data: str) -> float:
    """The exact value of data that are the same in every run."""
    return dpairs.exact(statistic, drawn(Case(data, 0))[2])


def simulated(case: Case) -> Outcome:
    """Run one case; a new seed gives new data (where they are made up), new coins and new noise."""
    statistic, domain, data = drawn(case)
    truth = (
        truth_of(statistic, case.data)
        if case.data in ("ratings", "hospital")
        else dpairs.exact(statistic, data)
    )
    study = study_of(case, statistic, domain, len(next(iter(data.values()))))
    tally = dpairs.simulate_tally(study, data, seed=case.run)
    found = tally.estimate()
    last = tally.study.protocol
    told = found.value, truth, found.standard_error, found.sample_standard_error
    if not isinstance(last, SecondRound) or last.analysis is None:
        return Outcome(*told)
    left = last.analysis.remainder
    rest = left.mean, math.sqrt(left.variance)
    return Outcome(*told, last.earlier_round.share, last.symbols, rest)


def groups(title: str, cases: dict[Any, Case], runs: int = RUNS, first: int = 0) -> dict[Any, list[Outcome]]:
    """The outcomes of all runs of each case; runs are seeds, from ``first`` on."""
    jobs = {key: [replace(case, run=first + run) for run in range(runs)] for key, case in cases.items()}
    run_all(title, [job for each in jobs.values() for job in each], simulated)
    return {key: run_all(title, each, simulated) for key, each in jobs.items()}


def first_round(study: dpairs.Study, data: Data, seed: int) -> dpairs.Tally:
    """The tally of the first round alone."""
    tally, bits = dpairs.Tally(study), SeededRandomness(seed)
    for place, (stratum, columns) in enumerate(study.statistic.split(data)):
        asked = study.protocol.asked(study.coins, place, 0, len(columns[0]))
        first = int(np.argmax(asked))
        values = tuple(column[asked] for column in columns)
        symbols = study.protocol.randomize(study.coins, place, first, values, bits)
        tally.add_symbols(stratum, symbols, first)
    return tally


def mean_error(found: Iterable[Outcome]) -> tuple[float, float]:
    """The mean absolute error against the sample, and its standard error."""
    errors = Spread.of(np.abs([each.error for each in found]))
    return errors.mean, errors.doubt


def shown(found: Iterable[Outcome], digits: int = 4) -> str:
    """The mean absolute error as a cell of a table."""
    mean, error = mean_error(found)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def held(found: Sequence[Outcome]) -> int:
    """How many 95% intervals for the sample hold the truth."""
    return sum(abs(each.error) <= 1.96 * each.sample_standard_error for each in found)


# ---------------------------------------------------------------- the limit of one bit


def one_bit(case: Case) -> float:
    """The mean absolute error if the distribution were known and everybody sent one bit."""
    statistic, domain, data = drawn(case)
    return limits.one_bit(statistic, domain, data, case.epsilon)


def limited(found: Iterable[Outcome], case: Case) -> list[str]:
    """Cells: the measured error, the limit and their ratio."""
    limit, (mean, error) = one_bit(case), mean_error(found)
    return [f"{mean:.5f} ± {error:.5f}", f"{limit:.5f}", f"{mean / limit:.2f}"]
