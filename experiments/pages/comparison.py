"""Of the page that compares dpairs with other tools: accuracy, and two parties."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

from ..exhibits import measured, picture, table
from ..experiment import Table
from ..peers.runs import CASES, MECHANISMS, RUNS, Result
from ..style import BLUE, GREEN, ORANGE, PURPLE
from .benchmarks import benchmark

TITLES = {
    "normals": "AUC, two normals",
    "ur": "AUC, uniform scores of 20 bits",
    "tau": "Kendall's tau, 6 x 6",
}
NAMES = {
    "dpairs": "dpairs",
    "pure-ldp": "pure-LDP",
    "multi-freq-ldpy": "multi-freq-ldpy",
    "opendp": "OpenDP",
}
COLOURS = {"dpairs": BLUE, "pure-ldp": ORANGE, "multi-freq-ldpy": GREEN, "opendp": PURPLE}


def mean_error(result: Result) -> tuple[float, float]:
    """The mean absolute error and its standard error."""
    errors = np.abs(result.errors)
    return float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(errors.size))


def shown(result: Result) -> str:
    """The mean absolute error as a cell of a table, with the bins where they are a choice."""
    mean, error = mean_error(result)
    digits = 4 if mean > 1e-3 else 6
    bins = f" ({result.cells} bins)" if result.cells and result.case != "tau" else ""
    return f"{mean:.{digits}f} ± {error:.{digits}f}{bins}"


def of(package: str, case: str) -> list[Result]:
    """What was measured of one package on one case."""
    kept = [Result(**each) for each in measured("comparison")]
    return [each for each in kept if (each.package, each.case) == (package, case)]


def listed() -> dict[str, list[Result]]:
    """Every way, with its results of all cases."""
    by_way: dict[str, list[Result]] = {}
    for place, name in enumerate(("planned, two rounds", "planned, one round", "histogram, one round")):
        # For tau the plan of one round is the histogram.
        by_way[f"dpairs, {name}"] = [
            ways[min(place, len(ways) - 1)] for ways in (of("dpairs", case) for case in CASES)
        ]
    for package, mechanisms in MECHANISMS.items():
        for name in mechanisms:
            chosen = [next(each for each in of(package, case) if named(each) == name) for case in CASES]
            few = f" ({len(chosen[0].errors)} runs)" * (len(chosen[0].errors) < RUNS)
            by_way[f"{NAMES[package]}, {name}{few}"] = chosen
    return by_way


@table("comparison_accuracy")
def accuracy_table() -> Table:
    """Errors of AUC and tau from the packages' histograms and from our plans, at the same epsilon."""
    return Table("", ["", *TITLES.values()], [[name, *map(shown, found)] for name, found in listed().items()])


@table("comparison_bias")
def bias_table() -> Table:
    rows = [[name, *(f"{np.mean(each.errors):+.4f}" for each in found)] for name, found in listed().items()]
    return Table("", ["", *TITLES.values()], rows)


@picture("comparison_accuracy")
def accuracy() -> Any:
    figure, panels = plt.subplots(1, 3, figsize=(9.2, 3.6))
    for panel, case in zip(panels, CASES, strict=True):
        labels: list[str] = []
        for package in ("multi-freq-ldpy", "pure-ldp", "dpairs"):
            for result in reversed(of(package, case)):
                mean, error = mean_error(result)
                panel.errorbar(
                    mean, len(labels), xerr=error, fmt="o", color=COLOURS[package], ms=4, capsize=2
                )
                labels.append(
                    named(result) if package != "dpairs" else result.way.split(": ")[-1].split(",")[0]
                )
        panel.set_yticks(range(len(labels)), labels)
        panel.set(title=TITLES[case], xlabel="mean absolute error", xlim=(0, None))
        panel.title.set_fontsize(9.5)
    handles = [
        Line2D([], [], marker="o", ls="", ms=4, color=COLOURS[package], label=NAMES[package])
        for package in ("dpairs", "pure-ldp", "multi-freq-ldpy")
    ]
    figure.legend(handles=handles, loc="lower center", ncols=3, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return figure


def named(result: Result) -> str:
    """The mechanism, without the estimator."""
    return result.way.split(",")[0]


WAYS = {
    "central": ("Laplace", "a curator, who sees everybody's values"),
    "RR": ("`make_randomized_response`", "nobody"),
    "bits": ("`make_randomized_response_bitvec`", "nobody"),
}


@table("comparison_opendp")
def opendp() -> Table:
    """OpenDP with a curator and without one, beside our plan of two rounds."""
    rows = []
    for name, (way, who) in WAYS.items():
        found = [[shown(each) for each in of("opendp", case) if named(each) == name] for case in CASES]
        rows.append([f"OpenDP, {way}", who, *(cell[0] if cell else "-" for cell in found)])
    rows.append(["dpairs, planned, two rounds", "nobody", *(shown(of("dpairs", case)[0]) for case in CASES)])
    return Table("", ["", "who is trusted", *TITLES.values()], rows)


# ---------------------------------------------------------------- two parties


@table("comparison_twoparty")
def twoparty() -> Table:
    """Our measured rates beside published ones of other garbling programs, on other machines."""
    rates = {row["name"].split(", 8192")[0]: row["ours"] for row in benchmark()["garbled"]["rows"]}
    here = (
        f"measured here, {benchmark()['garbled']['machine']['processor']}, one core, `benchmarks/garbled.py`"
    )
    there = "published, another machine, not measured here"
    rows = [
        ["dpairs, garbling", f"{rates['garble'] / 1e6:.1f} M/s", "32", "one who follows the protocol", here],
        ["dpairs, evaluating", f"{rates['evaluate'] / 1e6:.1f} M/s", "32", "the same", here],
        *(
            [name, rate, size, against, f"{there} [^{note}]"]
            for name, rate, size, against, note in (
                ("JustGarble, evaluating", "138 M/s, XOR gates counted", "48", "the same", "justgarble"),
                ("mpz, half gates, evaluating", "4.8 M/s", "32", "the same", "mpz"),
                ("emp-ag2pc, both parties", "2.0 to 2.3 M/s", "113", "one who cheats", "ag2pc"),
            )
        ),
    ]
    return Table("", ["", "AND gates", "bytes for each", "secure against", "where"], rows)


@table("comparison_pair")
def pair() -> Table:
    garbled = {row["name"].split(", 8192")[0]: row for row in benchmark()["garbled"]["rows"]}
    gates = sum(
        garbled[name]["ours"] for name in ("x < y, 32 bits, ties tossed", "randomized response, 16 bits")
    )
    rows = []
    for words, name, ands in (
        ("AUC, 32 bits", "auc", str(gates)),
        ("Gini's mean difference, 32 bits", "gini", garbled["gini, all messages"]["note"].split(" ANDs")[0]),
    ):
        seconds, sent = garbled[f"{name}, two processes"]["ours"], garbled[f"{name}, between the two"]["ours"]
        rows.append([words, ands, f"{1e3 * seconds:.1f} ms", f"{sent:,} B"])
    return Table("", ["one pair", "AND gates", "processor time of both", "bytes between the two"], rows)
