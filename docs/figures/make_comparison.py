"""Make every table and figure of the page that compares dpairs with other tools.

    python docs/figures/comparison_runs.py                  # first: simulates for half an hour
    python docs/figures/make_comparison.py                  # all of them, two minutes
    python docs/figures/make_comparison.py accuracy opendp  # only the named ones

``accuracy`` and ``opendp`` read comparison_runs.json, ``twoparty`` reads benchmarks/results.json, and
``federated`` simulates, seeded. comparison_install.py makes the table of what installs today.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import Any

import comparison_runs
import matplotlib.pyplot as plt
import numpy as np
from comparison_federated import (
    Clients,
    both_classes,
    local_average,
    many_shifted,
    shifted,
    sorted_by_clients,
    uncalibrated,
)
from comparison_runs import CASES, Result
from make_figures import (
    BLACK,
    BLUE,
    GREEN,
    HERE,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    root_mean_square,
    save,
    table,
)

import dpairs

ROOT = HERE.parents[1]
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


# ---------------------------------------------------------------- accuracy


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
    found = [each for each in comparison_runs.read() if (each.package, each.case) == (package, case)]
    if not found:
        raise SystemExit(f"comparison_runs.json has nothing of {package}: run comparison_runs.py first")
    return found


def accuracy() -> None:
    """Errors of AUC and tau from the packages' histograms and from our plans, at the same epsilon."""
    listed: dict[str, list[Result]] = {}
    for place, name in enumerate(("planned, two rounds", "planned, one round", "histogram, one round")):
        found = [of("dpairs", case) for case in CASES]
        # For tau the plan of one round is the histogram.
        listed[f"dpairs, {name}"] = [ways[min(place, len(ways) - 1)] for ways in found]
    for package, mechanisms in comparison_runs.MECHANISMS.items():
        for name in mechanisms:
            chosen = [next(each for each in of(package, case) if named(each) == name) for case in CASES]
            few = f" ({len(chosen[0].errors)} runs)" * (len(chosen[0].errors) < comparison_runs.RUNS)
            listed[f"{NAMES[package]}, {name}{few}"] = chosen
    head = ["", *TITLES.values()]
    table("comparison_accuracy", head, [[name, *map(shown, found)] for name, found in listed.items()])
    signed = {name: [f"{np.mean(each.errors):+.4f}" for each in found] for name, found in listed.items()}
    table("comparison_bias", head, [[name, *cells] for name, cells in signed.items()])

    figure, panels = plt.subplots(1, 3, figsize=(9.2, 3.6))
    for panel, case in zip(panels, CASES, strict=True):
        labels = []
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
        plt.Line2D([], [], marker="o", ls="", ms=4, color=COLOURS[package], label=NAMES[package])
        for package in ("dpairs", "pure-ldp", "multi-freq-ldpy")
    ]
    figure.legend(handles=handles, loc="lower center", ncols=3, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    save(figure, "comparison_accuracy")


def named(result: Result) -> str:
    """The mechanism, without the estimator."""
    return result.way.split(",")[0]


WAYS = {
    "central": ("Laplace", "a curator, who sees everybody's values"),
    "RR": ("`make_randomized_response`", "nobody"),
    "bits": ("`make_randomized_response_bitvec`", "nobody"),
}


def opendp() -> None:
    """OpenDP with a curator and without one, beside our plan of two rounds."""
    rows = []
    for name, (way, who) in WAYS.items():
        found = [[shown(each) for each in of("opendp", case) if named(each) == name] for case in CASES]
        rows.append([f"OpenDP, {way}", who, *(cell[0] if cell else "-" for cell in found)])
    rows.append(["dpairs, planned, two rounds", "nobody", *(shown(of("dpairs", case)[0]) for case in CASES)])
    table("comparison_opendp", ["", "who is trusted", *TITLES.values()], rows)


# ---------------------------------------------------------------- federated

RECORDS, LOSS, FEDERATED_RUNS = 200_000, 1.0, 10
SPREADS = np.linspace(0, 0.3, 61)


def estimated(label: Any, score: Any, seed: int) -> dpairs.Estimate:
    """Our estimate when every record belongs to a person of its own, who sends one report."""
    data = {"score": np.clip(score, -1, 2), "label": label}
    study = dpairs.Study.create(
        "auc", protocol="projection", epsilon=LOSS, domain=dpairs.Interval(-1, 2), n=RECORDS, seed=seed
    )
    return dpairs.simulate(study, data, seed=seed)


def in_one_run(clients: Clients, seed: int) -> tuple[float, float, float]:
    """The average of local AUCs, the AUC over all pairs and our estimate, of the same records."""
    client, label, score = clients.draw(RECORDS, seed)
    if clients.sizes.size == RECORDS:  # everybody once, which a draw with repetition would not give
        client = np.arange(RECORDS)
    truth = dpairs.exact("auc", {"score": score, "label": label})
    return local_average(client, label, score)[0], truth, estimated(label, score, seed).value


def number(value: float) -> str:
    """Four digits, or that there is none."""
    return "none" if math.isnan(value) else f"{value:.4f}"


def federated() -> None:
    """Averages of local AUCs against the AUC over all pairs: exact, simulated, and our estimate."""
    alone = shifted(RECORDS, 0.1)
    cases: list[tuple[str, Clients]] = [
        ("2 clients, scores tell only the client", sorted_by_clients()),
        ("2 clients, each on a scale of its own", uncalibrated()),
        ("10 clients, offsets spread by 0.1", shifted(10, 0.1)),
        ("100 clients, offsets spread by 0.3", shifted(100, 0.3)),
        (f"{RECORDS:,} clients with one record, offsets spread by 0.1", alone),
    ]
    rows = []
    for name, clients in cases:
        # Alone, no client has a pair; and so many clients are as good as infinitely many.
        known = (math.nan, many_shifted(0.1)) if clients is alone else (clients.average(), clients.overall())
        drawn = [in_one_run(clients, seed) for seed in range(FEDERATED_RUNS)]
        averages, truths, ours = (np.array(column) for column in zip(*drawn, strict=True))
        rows.append(
            [
                name,
                *map(number, (*known, averages.mean(), truths.mean(), ours.mean())),
                number(root_mean_square((ours - truths).tolist())),
            ]
        )
    head = [
        "",
        "average of local AUCs, exact",
        "AUC over all pairs, exact",
        "average, simulated",
        "AUC, simulated",
        "dpairs, epsilon 1",
        "its error",
    ]
    table("comparison_federated", head, rows)

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6))
    left.axhline(shifted(2, 0).average(), color=VERMILION, lw=1.6, label="average of local AUCs")
    for clients, colour, style in ((2, SKY, "-."), (10, GREEN, "--")):
        left.plot(
            SPREADS,
            [shifted(clients, spread).overall() for spread in SPREADS],
            style,
            color=colour,
            label=f"all pairs, {clients} clients",
        )
    left.plot(SPREADS, list(map(many_shifted, SPREADS)), color=BLACK, lw=1.6, label="all pairs, many clients")
    for seed, spread in enumerate((0.0, 0.1, 0.2, 0.3)):
        _, label, score = shifted(1000, spread).draw(RECORDS, 100 + seed)
        found = estimated(label, score, 100 + seed)
        left.errorbar(
            spread,
            found.value,
            1.96 * found.standard_error,
            fmt="o",
            color=BLUE,
            ms=4,
            capsize=2,
            label="dpairs, 1,000 clients, epsilon 1" if seed == 0 else None,
        )
    left.set(xlabel="spread of the clients' offsets, in score", ylabel="AUC", ylim=(0.5, 0.8))
    left.legend(fontsize=8, loc="lower left")
    records = np.arange(1, 101)
    for share, colour, style in ((0.5, BLUE, "-"), (0.1, GREEN, "--"), (0.01, VERMILION, ":")):
        right.plot(records, both_classes(records, share), style, color=colour, label=f"{share:.0%} positives")
    right.set(xscale="log", xlabel="records of a client", ylabel="share of clients with a local AUC")
    right.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    right.minorticks_off()
    right.legend(fontsize=8.5)
    figure.tight_layout()
    save(figure, "comparison_federated")


# ---------------------------------------------------------------- two parties


def twoparty() -> None:
    """Our measured rates beside published ones of other garbling programs, on other machines."""
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    measured = {
        row["name"].split(", 8192")[0]: row["ours"] for row in results["benchmarks"]["garbled"]["rows"]
    }
    here = f"measured here, {results['machine']['processor']}, one core, `benchmarks/garbled.py`"
    there = "published, another machine, not measured here"
    rows = [
        [
            "dpairs, garbling",
            f"{measured['garble'] / 1e6:.1f} M/s",
            "32",
            "one who follows the protocol",
            here,
        ],
        ["dpairs, evaluating", f"{measured['evaluate'] / 1e6:.1f} M/s", "32", "the same", here],
        *(
            [name, rate, size, against, f"{there} [^{note}]"]
            for name, rate, size, against, note in (
                ("JustGarble, evaluating", "138 M/s, XOR gates counted", "48", "the same", "justgarble"),
                ("mpz, half gates, evaluating", "4.8 M/s", "32", "the same", "mpz"),
                ("emp-ag2pc, both parties", "2.0 to 2.3 M/s", "113", "one who cheats", "ag2pc"),
            )
        ),
    ]
    table("comparison_twoparty", ["", "AND gates", "bytes for each", "secure against", "where"], rows)
    pair = [
        [
            "AUC, 32 bits",
            f"{measured['x < y, 32 bits, ties tossed'] + measured['randomized response, 16 bits']}",
            f"{1e3 * measured['auc, two processes']:.1f} ms",
            f"{measured['auc, between the two']:,} B",
        ],
        [
            "Gini's mean difference, 32 bits",
            ands(results, "gini, all messages"),
            f"{1e3 * measured['gini, two processes']:.1f} ms",
            f"{measured['gini, between the two']:,} B",
        ],
    ]
    head = ["one pair", "AND gates", "processor time of both", "bytes between the two"]
    table("comparison_pair", head, pair)


def ands(results: dict[str, Any], name: str) -> str:
    """The AND gates that a row's note tells."""
    notes = [row["note"] for row in results["benchmarks"]["garbled"]["rows"] if row["name"] == name]
    return notes[0].split(" ANDs")[0]


TABLES: dict[str, Callable[[], None]] = {
    "accuracy": accuracy,
    "opendp": opendp,
    "federated": federated,
    "twoparty": twoparty,
}

if __name__ == "__main__":
    for each in sys.argv[1:] or TABLES:
        TABLES[each]()
