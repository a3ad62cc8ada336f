"""Of the page on sites: errors and intervals with one site's noise for all its records, beside theory.

Site s holds a share of all records that was drawn once from a Dirichlet(1), and its scores are shifted by an
offset of about 0.05, as wide as scores are within a site. The sites are these; their records are drawn anew.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

import dpairs
from dpairs.protocols.sides import by_sites

from ..exhibits import picture, results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row
from ..style import BLACK, BLUE, GREEN, SKY, VERMILION
from .federated import local_average

SHARES = [
    0.0074,
    0.0134,
    0.0055,
    0.037,
    0.1069,
    0.2779,
    0.0309,
    0.0187,
    0.0091,
    0.0242,
    0.0209,
    0.0109,
    0.0042,
    0.0122,
    0.0113,
    0.1041,
    0.1539,
    0.0236,
    0.0812,
    0.0467,
]
"""Drawn once from a Dirichlet(1)."""
OFFSETS = [
    0.0665,
    0.0161,
    -0.0592,
    -0.0104,
    -0.018,
    -0.0125,
    0.0288,
    -0.065,
    0.0473,
    -0.0575,
    -0.0105,
    0.0433,
    0.0321,
    -0.0356,
    0.0874,
    0.0172,
    -0.0488,
    0.0011,
    -0.0426,
    0.0206,
]
"""Drawn once from a normal distribution of standard deviation 0.05."""
WIDE, APART, POSITIVES = 0.05, 0.05, 0.3
"""How wide scores are within a site, how far apart its classes, and how many records are positive."""
UNIT, MIDDLE = dpairs.Interval(0, 1), dpairs.Interval(0.2, 0.8)
"""All that scores can be, and where nearly all of these lie: two columns have few cells for each."""
SITES, RECORDS = (5, 20, 80), (10_000, 100_000, 1_000_000)
OTHERS = 40
"""Runs of what is only in the picture, and of ways that are shown for comparison."""
LEFT_OUT = "left out"
"""Marks later runs of what is measured in the first ones only."""
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "auc": ("auc", {"domain": UNIT}),
    "tau": ("kendall_tau", {"domain": (MIDDLE, MIDDLE)}),
    "gini": ("gini_mean_difference", {"domain": UNIT}),
}
WAYS: dict[str, dict[str, Any]] = {
    "two rounds": {},
    "one round": {"rounds": 1},
    "hidden sizes": {"hide_sizes": True},
    "a person with 5 records": {"unit": "person", "max_records_per_person": 5},
    "through two servers": {"protocol": "two_servers", "answered_by": "sites"},
}
Data = dict[str, NDArray[Any]]


def shares(sites: int) -> NDArray[np.float64]:
    """The committed shares, each split evenly or merged for another number of sites."""
    given = np.array(SHARES)
    if sites < given.size:
        return np.asarray(given.reshape(sites, -1).sum(axis=1) / given.sum())
    return np.repeat(given, sites // given.size) / (given.sum() * (sites // given.size))


def offsets(sites: int) -> NDArray[np.float64]:
    given = np.array(OFFSETS)
    return given[:: given.size // sites] if sites < given.size else np.repeat(given, sites // given.size)


def settings(quick: bool) -> list[Setting]:
    every: list[Setting] = [
        {"case": case, "sites": 20, "records": 10_000 if quick else 100_000} for case in CASES
    ]
    grid: list[Setting] = [
        {"case": "auc", "sites": sites, "records": records}
        for sites in SITES
        for records in RECORDS
        if (sites, records) != (20, 100_000)
    ]
    return every if quick else [*every, *grid]


def _sizes(sites: int, records: int) -> NDArray[np.int64]:
    return np.maximum(np.rint(shares(sites) * records).astype(np.int64), 1)


def people(case: str, sites: int, records: int, seed: int) -> Data:
    rng = np.random.default_rng([seed, sites, records, list(CASES).index(case)])
    site = np.repeat(np.arange(sites), _sizes(sites, records))
    shift = offsets(sites)[site]
    first = rng.normal(size=site.size)
    if case == "tau":
        second = 0.5 * first + math.sqrt(0.75) * rng.normal(size=site.size)
        x, y = (_unit(shift, each).clip(MIDDLE.low, MIDDLE.high) for each in (first, second))
        return {"x": x, "y": y, "site": site}
    if case == "gini":
        return {"value": _unit(shift, first), "site": site}
    label = (rng.random(site.size) < POSITIVES).astype(np.int64)
    return {"score": _unit(shift + APART * label, first), "label": label, "site": site}


def _unit(centre: NDArray[np.float64], width: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((0.5 + centre + WIDE * width).clip(0, 1))


@cache
def population(case: str, sites: int, records: int) -> float:
    """The statistic of the sites' distributions, with as many records of each site as there are."""
    weights = _sizes(sites, records) / _sizes(sites, records).sum()
    apart = np.subtract.outer(offsets(sites), offsets(sites))
    deviation = WIDE * math.sqrt(2)
    if case == "auc":
        wins = ndtr((apart + APART) / deviation)
    elif case == "gini":
        wins = deviation * math.sqrt(2 / math.pi) * np.exp(-(apart**2) / (2 * deviation**2)) + apart * (
            1 - 2 * ndtr(-apart / deviation)
        )
    else:
        from scipy.stats import multivariate_normal  # which takes a second

        both = multivariate_normal(cov=[[1, 0.5], [0.5, 1]])
        z = apart / deviation
        wins = 4 * both.cdf(np.stack([z, z], axis=-1)) - 4 * ndtr(z) + 1
    return float(weights @ wins @ weights)


@cache
def _study(case: str, sites: int, records: int, way: str) -> dpairs.Study:
    statistic, options = CASES[case]
    given = {"protocol": "sites", **WAYS[way]}
    if given["protocol"] == "sites":
        given["sites"] = sites
    return dpairs.Study.create(statistic, epsilon=1.0, n=records, seed=0, **options, **given)


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    case, sites, records = str(setting["case"]), int(setting["sites"]), int(setting["records"])
    central = (sites, records) == (20, 100_000)
    if not central and seed >= OTHERS:
        return [{"way": LEFT_OUT, "truth": 0.0, "value": 0.0, "noise": 0.0, "in_pop": 0, "in_sample": 0}]
    made = people(case, sites, records, seed)
    alone = {name: values for name, values in made.items() if name != "site"}
    truth = dpairs.exact(CASES[case][0], alone)
    rows: list[Row] = []
    for way in WAYS if case == "auc" and central else ("two rounds",):
        if way.startswith("a person") and seed >= OTHERS:
            continue
        given = {**made, "person": np.arange(made["site"].size)} if way.startswith("a person") else made
        estimate = dpairs.simulate(_study(case, sites, records, way), given, seed=seed)
        low, high = estimate.confidence_interval()
        least, most = estimate.confidence_interval(target="sample")
        rows.append(
            {
                "way": way,
                "truth": truth,
                "value": estimate.value,
                "noise": estimate.sample_standard_error,
                "in_pop": int(low <= population(case, sites, records) <= high),
                "in_sample": int(least <= truth <= most),
            }
        )
    if case == "auc" and central and seed < OTHERS:
        study = _projection(records)
        for way, value in (
            ("projection", dpairs.simulate(study, alone, seed=seed).value),
            ("average of local AUCs", local_average(made["site"], made["label"], made["score"])[0]),
        ):
            row: Row = {"way": way, "truth": truth, "value": value, "noise": 0.0}
            rows.append({**row, "in_pop": 0, "in_sample": 0})
    return rows


@cache
def _projection(records: int) -> dpairs.Study:
    return dpairs.Study.create("auc", protocol="projection", epsilon=1.0, domain=UNIT, n=records, seed=0)


EXPERIMENT = Experiment("sites", "Sites that hold many records", settings, measure, runs=200)


@table("sites_errors")
def errors() -> Table:
    """Errors and coverage with 20 sites and 100,000 records."""
    runs, rows = results("sites").where(sites=20, records=100_000), []
    for case in runs.values("case"):
        for way in runs.where(case=case).values("way"):
            if way == LEFT_OUT:
                continue
            part = runs.where(case=case, way=way)
            known = way in WAYS
            rows.append(
                [
                    case,
                    way,
                    f"{np.sqrt(np.mean((part.column('value') - part.column('truth')) ** 2)):.2g}",
                    f"{part.column('noise').mean():.2g}" if known else "-",
                    f"{part.column('in_pop').mean():.1%}" if known else "-",
                    f"{part.column('in_sample').mean():.1%}" if known else "-",
                    str(len(part)),
                ]
            )
    head = ("statistic", "way", "error", "error it states", "covers population", "covers sample", "runs")
    return Table("20 sites, 100,000 records, epsilon 1; errors are root mean squares", head, rows)


def theory(sites: int, records: int) -> float:
    """The standard error of two rounds' sums alone: sqrt(sites v) of each class over its records."""
    study = _study("auc", sites, records, "two rounds")
    protocol: Any = by_sites(study)
    noise = sites * protocol.budget.variance(protocol.sum_query, draws=1) / (2**16 - 1) ** 2
    return math.sqrt(noise * (1 / (POSITIVES * records) ** 2 + 1 / ((1 - POSITIVES) * records) ** 2))


@picture("sites_errors")
def drawn() -> Any:
    """Errors against records for several numbers of sites, beside theory."""
    figure, axes = plt.subplots(figsize=(7, 4.5))
    runs = results("sites").where(case="auc", way="two rounds")
    for sites, colour in zip(SITES, (BLUE, GREEN, VERMILION), strict=True):
        part = runs.where(sites=sites)
        records = sorted(part.values("records"))
        errors = [
            float(np.sqrt(np.mean((each.column("value") - each.column("truth")) ** 2)))
            for each in (part.where(records=count) for count in records)
        ]
        axes.loglog(records, errors, "o", color=colour, label=f"{sites} sites")
        axes.loglog(records, [theory(sites, count) for count in records], "-", color=colour, lw=1)
    chosen = [runs.where(sites=20, records=count).column("truth").std(ddof=1) for count in RECORDS]
    axes.loglog(RECORDS, chosen, ":", color=BLACK, label="choice of records, 20 sites")
    axes.loglog([], [], "-", color=SKY, lw=1, label="theory: noise of the sums")
    axes.set(xlabel="records at all sites", ylabel="root mean square error of the AUC")
    axes.legend(fontsize=9)
    return figure
