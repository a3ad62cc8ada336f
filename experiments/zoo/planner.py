"""What plans say of the zoo, beside what happens: results/plan-zoo-first.csv and plan-range-first.csv.

    python -m experiments.zoo.planner                 settings that the journal does not have, with like=
    python -m experiments.zoo.planner --half second   of the half that nobody developed on
    python -m experiments.zoo.planner --range         with nothing known: the cells of the zoo's own table

A setting is a population, a statistic, an epsilon and a number of people, in the order of the zoo's sample. A
plan is given another sample of the population, of as many people, and each protocol's best option is
then run with fresh people of the population itself.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import dpairs
from dpairs.errors import BadParameter, NotEnoughData, NotEstimable
from dpairs.planning import Option

from ..exhibits import RESULTS
from .cells import sample
from .journal import read as read_zoo
from .population import options_of
from .populations import POPULATIONS
from .truths import truths

RUNS, MOST, SETTINGS = 100, 20_000, 150
"""Runs of each option, people of a setting at most, and settings."""
OPTIMISTIC, AGAIN = 1.5, 1000
"""A study that misses by so many times what its plan says is measured again, with so many fresh runs."""


NUMBERS = ("formula", "predicted", "told", "measured", "answered")


@dataclass(frozen=True, order=True)
class Setting:
    population: str
    statistic: str
    epsilon: float
    n: int

    def seed(self, what: str) -> int:
        text = "/".join(map(str, astuple(self)))
        return int.from_bytes(sha256(f"dpairs zoo, plans, {text}/{what}".encode()).digest()[:6])

    def ask(self) -> tuple[str, dict[str, Any]]:
        of, (name, options) = POPULATIONS[self.population], options_of(self.statistic)
        sizes: int | dict[str, int] = self.n
        if options.get("labels") == "public":
            positive = max(round(of.positives * self.n), 2)
            sizes = {"positive": positive, "negative": self.n - positive}
        return name, {"domain": of.domain, "epsilon": self.epsilon, "n": sizes, "peers": True, **options}


@dataclass(frozen=True)
class Row:
    """One protocol in one setting: what the plan said of its best option, and what happened."""

    population: str
    statistic: str
    epsilon: float
    n: int
    protocol: str
    rank: int
    parameters: str
    formula: float
    predicted: float
    told: float
    """The share of simulated runs with an answer that the plan has seen."""
    measured: float
    answered: float
    runs: int

    @property
    def setting(self) -> Setting:
        return Setting(self.population, self.statistic, self.epsilon, self.n)

    @property
    def ratio(self) -> float:
        return self.measured / self.predicted


def settings(half: str) -> Iterator[Setting]:
    found: dict[Setting, None] = {}
    for cell in sample(half, 10**6):
        if cell.n <= MOST:
            found[Setting(cell.population, cell.statistic, cell.epsilon, cell.n)] = None
    yield from found


def measured(setting: Setting, option: Option, runs: int, first: int = 0) -> tuple[float, float]:
    """The root mean square error of fresh runs, and the share of them with an answer."""
    of, truth = (
        POPULATIONS[setting.population],
        truths()[f"{setting.population}/{setting.statistic}"],
    )
    off = []
    for run in range(first, first + runs):
        seed = setting.seed(f"{option.protocol}, run {run}")
        try:
            study, people = replace(option.study, seed=seed), of.draw(setting.n, seed)
            estimate = dpairs.simulate(study, people, seed=seed, estimator=option.estimator)
        except (NotEstimable, NotEnoughData):
            continue
        if math.isinf(estimate.standard_error):  # nothing is known, which is no answer to a plan
            continue
        off.append(estimate.value - truth)
    return math.sqrt(float(np.mean(np.square(off)))) if off else math.nan, len(off) / runs


def rows_of(setting: Setting, runs: int, earlier: dict[tuple[Setting, str, str], Row]) -> list[Row]:
    name, asked = setting.ask()
    like = POPULATIONS[setting.population].draw(setting.n, setting.seed("like"))
    try:
        options = dpairs.plan(name, like=like, **asked).options
    except BadParameter as refusal:
        print(setting, refusal, flush=True)
        numbers: dict[str, Any] = dict.fromkeys(NUMBERS, math.nan)
        return [Row(**asdict(setting), **numbers, protocol="none", rank=0, parameters="", runs=0)]
    rows = []
    for rank, option in enumerate(options, start=1):
        simulated = option.rehearsal
        told = math.nan if simulated is None else 1 - simulated.refused / simulated.runs
        given = " ".join(f"{key}={value}" for key, value in option.parameters.items() if key != "n")
        same = earlier.get((setting, option.protocol, given))
        done = runs if same is None else same.runs
        error, answered = measured(setting, option, done) if same is None else (same.measured, same.answered)
        if error > OPTIMISTIC * option.error and done < AGAIN:
            done = AGAIN
            error, answered = measured(setting, option, done, first=AGAIN)
        found = (option.prediction.total, option.error, told, error, answered)
        values: dict[str, Any] = dict(zip(NUMBERS, found, strict=True))
        rows.append(
            Row(
                **asdict(setting),
                **values,
                protocol=option.protocol,
                rank=rank,
                parameters=given,
                runs=done,
            )
        )
    return rows


def read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    kinds = {"str": str, "int": int, "float": float}
    with path.open(newline="", encoding="utf-8") as lines:
        return [
            Row(**{each.name: kinds[str(each.type)](row[each.name]) for each in fields(Row)})
            for row in csv.DictReader(lines)
        ]


def write(path: Path, names: list[str], rows: list[tuple[Any, ...]]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        if new:
            writer.writerow(names)
        writer.writerows([[f"{x:.5g}" if isinstance(x, float) else x for x in row] for row in rows])


def run(half: str, count: int, runs: int, path: Path, earlier: Path | None) -> None:
    """Measure the settings that the journal does not have."""
    known = {row.setting for row in read(path)}
    before = [] if earlier is None else read(earlier)
    same = {(row.setting, row.protocol, row.parameters): row for row in before if row.runs >= runs}
    for setting in list(settings(half))[:count]:
        if setting not in known:
            rows = rows_of(setting, runs, same)
            write(path, [each.name for each in fields(Row)], list(map(astuple, rows)))
            print(*astuple(setting), [f"{row.protocol} {row.ratio:.2f}" for row in rows], flush=True)


def ranges(half: str, path: Path) -> None:
    """The range that a plan states if nothing is known, for each cell that the zoo's table has measured."""
    path.unlink(missing_ok=True)
    head = ["population", "statistic", "protocol", "epsilon", "n", "runs", "least", "greatest", "measured"]
    found = []
    for cell, outcome in read_zoo(RESULTS / f"zoo-{half}.csv").items():
        if 2 * outcome.refused < outcome.runs:
            told = (outcome.runs - outcome.refused, *cell.option().range, outcome.rmse)
            found.append((*astuple(cell), *told))
    write(path, head, found)


def main() -> None:
    words = argparse.ArgumentParser("python -m experiments.zoo.planner")
    words.add_argument("--half", choices=("first", "second"), default="first")
    words.add_argument("--settings", type=int, default=SETTINGS)
    words.add_argument("--runs", type=int, default=RUNS)
    words.add_argument("--earlier", type=Path, help="a journal whose runs of the same studies still hold")
    words.add_argument("--range", action="store_true", help="with nothing known")
    given = words.parse_args()
    if given.range:
        ranges(given.half, RESULTS / f"plan-range-{given.half}.csv")
    else:
        run(given.half, given.settings, given.runs, RESULTS / f"plan-zoo-{given.half}.csv", given.earlier)


if __name__ == "__main__":
    main()
