"""How often intervals of sites cover on awkward populations, half of which were held aside.

    python -m experiments.zoo.site_coverage --half first --runs 4 --out first.jsonl

A run is 25 studies of every cell. What ended is kept in the file, and the same command goes on from there.
Then it prints all cells, those that cover least first, with the interval's width over the errors' own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import dpairs
from dpairs.errors import NotEnoughData, NotEstimable

from ..runner import whole_lines
from ..runs import Row
from .population import exact, options_of
from .sites import CASES

HALVES = ("first", "second")
TOGETHER = 25
"""Studies in a run of a cell."""
MANY = 2**19
"""Records whose statistic is taken for the population's."""
WAYS = ((0.5, 2, 0), (4.0, 2, 0), (0.5, 1, 0), (4.0, 1, 0), (1.0, 2, 0), (1.0, 2, 1))
"""Epsilon, rounds, and whether sizes are hidden."""


@cache
def cases(half: str) -> tuple[str, ...]:
    """The names of a half, as a seed chose them."""
    order = np.random.default_rng(23).permutation(len(CASES))
    names = [list(CASES)[place] for place in order]
    return tuple(sorted(names[::2] if half == "first" else names[1::2]))


def settings(half: str) -> list[Row]:
    """Every case in every way; where two statistics are asked of it, each in half of the ways."""
    return [
        {
            "half": half,
            "case": name,
            "statistic": CASES[name].statistics[0 if (rounds == 1) == (epsilon == 0.5) else -1],
            "epsilon": epsilon,
            "rounds": rounds,
            "hidden": hidden,
        }
        for name in cases(half)
        for epsilon, rounds, hidden in WAYS
    ]


@cache
def population(case: str, statistic: str) -> float:
    """The statistic of many records."""
    made = CASES[case].records(MANY, 0)
    return exact(statistic, {name: values for name, values in made.items() if name != "site"})


@cache
def _study(case: str, statistic: str, epsilon: float, rounds: int, hidden: bool) -> dpairs.Study:
    of, (name, options) = CASES[case], options_of(statistic)
    given: dict[str, Any] = {
        "domain": of.domain,
        "n": of.n,
        "sites": len(of.shares),
        "rounds": rounds,
        **options,
    }
    return dpairs.Study.create(name, protocol="sites", epsilon=epsilon, hide_sizes=hidden, seed=0, **given)


def measure(setting: Row, seed: int) -> Row:
    """Studies of the same sites, each with records and noise of its own."""
    case, statistic = str(setting["case"]), str(setting["statistic"])
    hidden = bool(setting["hidden"])
    study = _study(case, statistic, float(setting["epsilon"]), int(setting["rounds"]), hidden)
    truth, answered = population(case, statistic), []
    for run in range(seed * TOGETHER, (seed + 1) * TOGETHER):
        made = CASES[case].records(CASES[case].n, crc32(f"{case}/{run}".encode()))
        try:
            estimate = dpairs.simulate(study, made, seed=run)
        except (NotEstimable, NotEnoughData):
            continue
        own = exact(statistic, {name: values for name, values in made.items() if name != "site"})
        low, high = estimate.confidence_interval()
        least, most = estimate.confidence_interval(target="sample")
        answered.append(
            (low <= truth <= high, least <= own <= most, estimate.value - own, (most - least) / 2)
        )
    row = dict.fromkeys(("in_pop", "in_sample", "error", "width"), 0.0)
    if answered:
        in_pop, in_sample, off, width = np.array(answered, dtype=float).T
        row = {
            "in_pop": float(in_pop.sum()),
            "in_sample": float(in_sample.sum()),
            "error": float(np.sqrt((off**2).mean())),
            "width": float(np.median(width)),
        }
    return {"studies": len(answered), "refused": TOGETHER - len(answered), **row}


def lines(rows: list[Row]) -> list[str]:
    """Every cell, by the lower of its two coverages."""
    cells: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        words = [str(row[name]) for name in ("case", "statistic", "epsilon", "rounds", "hidden")]
        cells[" | ".join(words)].append(row)
    ranked = []
    for name, runs in cells.items():
        made = sum(float(row["studies"]) for row in runs)
        if not made:
            ranked.append((2.0, f"no answer | | | {name}"))
            continue
        whole, own = (sum(float(row[target]) for row in runs) / made for target in ("in_pop", "in_sample"))
        error = float(np.sqrt(np.mean([float(row["error"]) ** 2 for row in runs if row["studies"]])))
        width = float(np.mean([float(row["width"]) for row in runs if row["studies"]]))
        ratio = width / (1.96 * error) if error else float("inf")
        ranked.append((min(whole, own), f"{whole:.0%} | {own:.0%} | {ratio:.2f} | {name}"))
    head = "covers population | covers sample | width | case | statistic | epsilon | rounds | hidden"
    return [head, *(words for _, words in sorted(ranked))]


def main(arguments: list[str] | None = None) -> int:
    words = argparse.ArgumentParser("python -m experiments.zoo.site_coverage")
    words.add_argument("--half", choices=HALVES, default="first")
    words.add_argument("--runs", type=int, default=4)
    words.add_argument("--out", type=Path, required=True)
    given = words.parse_args(arguments)
    rows: list[Row] = [json.loads(line) for line in whole_lines(given.out)]
    done = {(json.dumps(settings_of(row)), row["run"]) for row in rows}
    with given.out.open("a", encoding="utf-8") as file:
        for run in range(given.runs):
            for setting in settings(given.half):
                if (json.dumps(setting), run) not in done:
                    rows.append({**setting, "run": run, **measure(setting, run)})
                    file.write(json.dumps(rows[-1]) + "\n")
                    file.flush()
    print("\n".join(lines(rows)))
    return 0


def settings_of(row: Row) -> Row:
    return {name: row[name] for name in ("half", "case", "statistic", "epsilon", "rounds", "hidden")}


if __name__ == "__main__":
    sys.exit(main())
