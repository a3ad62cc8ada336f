"""Simulated studies for the page on the projection protocol, and the error that one bit could reach at best.

`make_projection.py` makes tables and figures of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from make_figures import data_folder
from make_tree import run_all
from numpy.typing import NDArray

import dpairs
from dpairs.experiments import sources
from dpairs.experiments.synthetic import PAPERS, classes, people, scores, unit_scores
from dpairs.mechanisms import BitResponse
from dpairs.protocols.projection_bits import BitRound
from dpairs.randomness import SeededRandomness

RUNS = 20
OF_NORMAL = math.sqrt(2 / math.pi)
"""The mean absolute value of a standard normal number."""
UNIT = dpairs.Interval(0, 1)
Vector = NDArray[np.float64]
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
    if not isinstance(last, BitRound):
        return Outcome(*told)
    rest = last.rest.mean, math.sqrt(last.rest.variance)
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
    errors = np.abs([each.error for each in found])
    return float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(errors.size))


def shown(found: Iterable[Outcome], digits: int = 4) -> str:
    """The mean absolute error as a cell of a table."""
    mean, error = mean_error(found)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def held(found: Sequence[Outcome]) -> int:
    """How many 95% intervals for the sample hold the truth."""
    return sum(abs(each.error) <= 1.96 * each.sample_standard_error for each in found)


# ---------------------------------------------------------------- the limit of one bit


def one_bit(case: Case) -> float:
    """The mean absolute error if the distribution were known and everybody sent one bit in the second round.

    The pilot is then the people themselves, so psi is exact and nothing is left of second order.
    """
    statistic, domain, data = drawn(case)
    bit = BitResponse.for_epsilon(case.epsilon)
    variance = 0.0
    for psi, low, high in FUNCTIONS[statistic](domain, data):
        if high > low:
            inside = np.clip((psi - low) / (high - low), 0, 1)
            variance += (high - low) ** 2 * float(bit.variances(inside).mean()) / psi.size
    return OF_NORMAL * math.sqrt(variance)


def _ends(domain: Any) -> NDArray[Any]:
    return np.array([domain.low, domain.high], dtype=np.uint64 if domain.kind == "integers" else np.float64)


def below(ordered: NDArray[Any], values: NDArray[Any], tie: float = 0.5) -> Vector:
    """The share of ``ordered`` below each value; a tie counts ``tie``."""
    less, reached = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return (less + tie * (reached - less)) / ordered.size


Known = list[tuple[Vector, float, float]]
"""For each stratum: psi of every person, and the least and the largest value that psi has anywhere."""


def known_auc(domain: Any, data: Data) -> Known:
    """A positive wins against those below, a negative loses against those above."""
    positive, negative = (np.sort(data["score"][data["label"] == label]) for label in (1, 0))
    ends = _ends(domain)
    low, high = below(negative, ends)
    last, first = 1 - below(positive, ends)
    return [(below(negative, positive), low, high), (1 - below(positive, negative), first, last)]


def known_gini(domain: Any, data: Data) -> Known:
    """Twice the mean distance to all others."""
    ordered = np.sort(data["value"])
    sums, total = np.concatenate(([0.0], np.cumsum(ordered))), float(ordered.sum())

    def distance(values: NDArray[Any]) -> Vector:
        place = np.searchsorted(ordered, values)
        return 2 * (values * (2 * place - ordered.size) + total - 2 * sums[place]) / ordered.size

    psi = distance(ordered)
    return [(psi, float(psi.min()), float(distance(_ends(domain)).max()))]


def known_tau(domain: Any, data: Data) -> Known:
    """Twice the mean concordance with all others; numbers in 512 x 512 cells."""
    sizes, codes = [], []
    for side, name in zip(domain, ("x", "y"), strict=True):
        if side.kind == "levels":
            codes.append(np.searchsorted(np.array(side.values), data[name]))
            sizes.append(side.size)
        else:
            codes.append(np.minimum((data[name] - side.low) / (side.high - side.low) * 512, 511).astype(int))
            sizes.append(512)
    shares = np.zeros(sizes)
    np.add.at(shares, tuple(codes), 1 / codes[0].size)
    signs = [np.sign(np.subtract.outer(np.arange(size), np.arange(size))) for size in sizes]
    psi = 2 * signs[0] @ shares @ signs[1].T
    return [(psi[tuple(codes)], float(psi.min()), float(psi.max()))]


def known_vus(domain: Any, data: Data) -> Known:
    """How often a person of each class completes a triple in order (scores without ties)."""
    low, middle, high = (np.sort(data["score"][data["label"] == label]) for label in (0, 1, 2))
    under, over = below(low, middle), 1 - below(high, middle)
    # Sums over the middle people below (above) a value.
    upto = np.concatenate(([0.0], np.cumsum(under))) / middle.size
    onwards = np.concatenate(([0.0], np.cumsum(over))) / middle.size
    first = onwards[-1] - onwards[np.searchsorted(middle, low)]
    third = upto[np.searchsorted(middle, high)]
    between = under * over
    return [(first, 0.0, onwards[-1]), (between, 0.0, float(between.max())), (third, 0.0, upto[-1])]


FUNCTIONS: dict[str, Callable[[Any, Data], Known]] = {
    "auc": known_auc,
    "gini_mean_difference": known_gini,
    "kendall_tau": known_tau,
    "vus": known_vus,
}


def limited(found: Iterable[Outcome], case: Case) -> list[str]:
    """Cells: the measured error, the limit and their ratio."""
    limit, (mean, error) = one_bit(case), mean_error(found)
    return [f"{mean:.5f} ± {error:.5f}", f"{limit:.5f}", f"{mean / limit:.2f}"]
