"""Simulated studies for the page on the projection protocol, beside the limit of one bit from everybody."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs

from .. import limits
from ..experiment import Experiment, Setting
from ..runs import Row
from ..synthetic import PAPERS, classes, people, scored, unit_scores

UNIT = dpairs.Interval(0, 1)
MILLION = 10**6
Data = dict[str, NDArray[Any]]
DEPTHS = (10, 20)
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, MILLION)
PROTOCOLS = ("histogram", "tree", "projection")
OF_64 = (2, 4, 8, 12, 16, 24, 32, 48)
CORRELATIONS, WIDTHS = (0.5, 0.99), (4.0, 100.0)


def case(data: str, size: int, epsilon: float = 1.0, **more: str | int | float) -> Setting:
    """One setting; ``of_64`` of every 64 people are in the first round, 0 for what the study chooses."""
    usual: Setting = {"alpha": 0, "width": 4.0, "correlation": 0.5, "protocol": "projection", "of_64": 0}
    return {"data": data, "size": size, "epsilon": epsilon, **usual, **more}


def drawn(setting: Setting, seed: int) -> tuple[str, Any, Data]:
    """The statistic, its domain and the people."""
    data, size = str(setting["data"]), int(setting["size"])
    if data in PAPERS:
        alpha = int(setting["alpha"])
        return "auc", dpairs.Integers(0, 2**alpha - 1), scored(data, alpha, size, seed)
    if data == "normals":
        return "auc", UNIT, {"score": unit_scores(size, seed), "label": classes(size)}
    draw = people(seed)
    if data == "plane":
        width, correlation = float(setting["width"]), float(setting["correlation"])
        x, other = draw.normal(size=(2, size))
        side = dpairs.Interval(-width, width)
        pair = np.clip([x, correlation * x + math.sqrt(1 - correlation**2) * other], -width, width)
        return "kendall_tau", (side, side), {"x": pair[0], "y": pair[1]}
    if data == "incomes":
        return "gini_mean_difference", UNIT, {"value": np.minimum(draw.lognormal(0, 0.7, size), 10) / 10}
    if data == "three normals":
        score = np.clip(draw.normal(np.repeat([0.3, 0.5, 0.7], size), 0.15), 0, 1)
        return "vus", UNIT, {"score": score, "label": np.repeat([0, 1, 2], size)}
    raise ValueError(f"there are no data named {data!r}")


def study_of(setting: Setting, statistic: str, domain: Any, number: int, seed: int) -> dpairs.Study:
    """A histogram of an interval has 16 bins; a tree sends the answers that are best for epsilon."""
    fitting: dict[str, dict[str, Any]] = {
        "histogram": {"bins": 16},
        "tree": {"answer": "several-bits"},
        "projection": {"n": number},
    }
    options = fitting[str(setting["protocol"])]
    if setting["of_64"]:
        options["pilot_fraction"] = int(setting["of_64"]) / 64
    return dpairs.Study.create(
        statistic,
        protocol=str(setting["protocol"]),
        epsilon=float(setting["epsilon"]),
        domain=domain,
        seed=seed,
        **options,
    )


def measure(setting: Setting, seed: int, folder: Path) -> list[Row]:
    """One study; a new seed gives new data, new coins and new noise."""
    statistic, domain, data = drawn(setting, seed)
    study = study_of(setting, statistic, domain, len(next(iter(data.values()))), seed)
    estimate = dpairs.simulate_tally(study, data, seed=seed).estimate()
    return [
        {
            "value": estimate.value,
            "truth": dpairs.exact(statistic, data),
            "reported": estimate.sample_standard_error,
            "limit": limits.one_bit(statistic, domain, data, float(setting["epsilon"])),
        }
    ]


def others(quick: bool) -> list[Setting]:
    size = 10_000 if quick else 100_000
    found = [case(data, size, alpha=alpha) for data in PAPERS for alpha in DEPTHS]
    wide = case("plane", size, width=10.0)
    return [*found, case("plane", size), wide, case("incomes", size), case("three normals", size)]


def by_people(quick: bool) -> list[Setting]:
    return [
        case("normals", size, protocol=way) for way in PROTOCOLS for size in SIZES[: 2 if quick else None]
    ]


def shares(quick: bool) -> list[Setting]:
    sets = (("normals", 10_000), ("plane", 20_000))
    return [case(data, size, of_64=part) for data, size in sets for part in (OF_64[:2] if quick else OF_64)]


def strong(quick: bool) -> list[Setting]:
    size = 10_000 if quick else 100_000
    return [
        case("plane", size, width=width, correlation=correlation)
        for correlation in CORRELATIONS
        for width in WIDTHS
    ]


EXPERIMENTS = (
    Experiment("projection", "Projection: errors and intervals", others, measure),
    Experiment("projection-people", "Three protocols by the number of people", by_people, measure),
    Experiment("projection-share", "The share of people in the first round", shares, measure, runs=40),
    Experiment("projection-strong", "Pairs that depend strongly", strong, measure),
)
