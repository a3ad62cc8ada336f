"""The zoo: populations that are what they say, values that are exact where a formula is known."""

import csv
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from experiments.zoo import __main__ as command
from experiments.zoo import named, outside
from experiments.zoo.cells import Cell, cells, sample
from experiments.zoo.journal import read, write
from experiments.zoo.measure import Outcome, measure
from experiments.zoo.population import exact
from experiments.zoo.populations import NAMED, POPULATIONS
from experiments.zoo.third import EVERY, THIRD
from experiments.zoo.truths import truths

from ..every import every


def test_the_zoo_is_large_and_its_halves_are_equal():
    assert len(POPULATIONS) >= 40
    first = {name for name, each in POPULATIONS.items() if each.half == "first"}
    assert len(first) == len(POPULATIONS) // 2
    assert first >= NAMED


def test_populations_that_were_written_later_are_in_neither_half():
    assert len(EVERY) == len(POPULATIONS) + len(THIRD)
    assert {each.half for each in THIRD.values()} == {"third"}
    assert {cell.population for cell in cells("third")} == set(THIRD)


FORMULAS = {
    "even/gini_mean_difference": 1 / 3,
    "even/gini_coefficient": 1 / 3,
    "even/variance": 1 / 12,
    "exponential/gini_coefficient": 0.5,
    "exponential/gini_mean_difference": 1.0,
    "pareto-2.5/gini_coefficient": 0.25,
    "three-atoms/gini_mean_difference": 2 * (0.5 * 0.3 * 1 + 0.5 * 0.2 * 100 + 0.3 * 0.2 * 99),
    "even-16/collision_entropy": math.log(16),
    "income-domain-10-wide/gini_coefficient": 2 * stats.norm.cdf(0.7 / math.sqrt(2)) - 1,
    "cauchy/auc:public": 0.5 + math.atan(0.5) / math.pi,
    "ties-92/auc:public": 0.92**2 / 2
    + 0.08 * 0.92 * (stats.norm.cdf(4) + stats.norm.cdf(-2))
    + 0.08**2 * stats.norm.cdf(math.sqrt(2)),
    "correlation-0.99/kendall_tau:a": 2 / math.pi * math.asin(0.99),
    "correlation-0.5/kendall_tau:a": 2 / math.pi * math.asin(0.5),
    "money/kendall_tau:a": 0.07,
    "independent/kendall_tau:a": 0.0,
    "cube/kendall_tau:b": 1.0,
    "five-levels/auc:public": float(
        np.array([0.25, 0.25, 0.2, 0.15, 0.15])
        @ (np.cumsum([0.3, 0.25, 0.2, 0.15, 0.1]) - [0.15, 0.125, 0.1, 0.075, 0.05])
    ),
}


@pytest.mark.parametrize("key", FORMULAS)
def test_values_agree_with_formulas(key):
    assert truths()[key] == pytest.approx(FORMULAS[key], abs=3e-4)


def test_every_statistic_has_a_value():
    wanted = {f"{name}/{each}" for name, of in EVERY.items() for each in of.statistics}
    assert wanted == set(truths())


HEAVY = {
    (name, "variance")
    for name in ("pareto-1.2", "pareto-2.5", "lognormal-2", "pareto-1.8", "claims", "student-2")
}


@every("name", sorted(EVERY))
def test_people_lie_in_their_domain_and_look_like_the_population(name):
    of = EVERY[name]
    people = of.draw(20_000, 5)
    for column, domain in zip(of.columns, of.domains, strict=False):
        assert domain.check(people[column], column).size == 20_000
    for statistic in of.statistics:
        value, truth = exact(statistic, people), truths()[f"{name}/{statistic}"]
        # The variance of a heavy tail is decided by people of whom a sample has none.
        if (name, statistic) not in HEAVY:
            assert value == pytest.approx(truth, rel=0.25, abs=0.03)


def test_the_sample_of_cells_is_always_the_same_and_has_no_cell_twice():
    some = sample("first", 60)
    assert some == sample("first", 100)[:60]
    assert len(set(some)) == 60
    assert set(some) <= set(cells("first"))


def test_a_cell_is_measured_and_kept(tmp_path):
    cell = Cell("five-levels", "auc:public", "histogram", 4.0, 2_000)
    outcome = measure(cell, 20)
    assert outcome.refused == 0
    assert outcome.covered >= 0.7
    write(tmp_path / "journal.csv", cell, outcome)
    (kept,) = read(tmp_path / "journal.csv").items()
    assert kept[0] == cell
    assert isinstance(kept[1], Outcome)
    assert kept[1].covered == pytest.approx(outcome.covered)


def test_cells_that_seldom_cover_are_run_again_with_fresh_people(monkeypatch, tmp_path):
    seldom, next_one, often = (
        Cell("five-levels", "auc:public", "histogram", epsilon, 2_000) for epsilon in (2.0, 4.0, 8.0)
    )
    usual = measure(seldom, 3)
    for cell, covered in ((often, 0.93), (next_one, 0.92), (seldom, command.FEW)):
        write(tmp_path / "zoo-second.csv", cell, replace(usual, covered=covered, covered_sample=0.95))
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    for name, number in (("AGAIN", 3), ("WORST", 2), ("OFTEN", 2)):
        monkeypatch.setattr(command, name, number)
    assert command.main(["--half", "second", "--again"]) == 0
    rows = read(tmp_path / "zoo-again.csv")
    assert {cell: row.runs for cell, row in rows.items()} == {seldom: 3, next_one: 2}
    assert rows[seldom].rmse != pytest.approx(usual.rmse)


def test_lines_of_a_table_are_measured_again_in_their_place(monkeypatch, tmp_path):
    small = [cell for cell in sample("first", 200) if cell.n == 2_000]
    chosen = [cell for cell in small if cell.population == "five-levels"][:2]
    usual = measure(chosen[0], 3)
    for cell in chosen:
        write(tmp_path / "zoo-first.csv", cell, usual)
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    asked = ["--statistic", chosen[0].statistic, "--protocol", chosen[0].protocol]
    more = ["--epsilon", str(chosen[0].epsilon), "--n", "2000", "--population", "five-levels"]
    assert command.main([*asked, *more, "--runs", "2", "--renew"]) == 0
    first, second = read(tmp_path / "zoo-first.csv").items()
    assert [first[0], second[0]] == chosen
    assert (first[1].runs, second[1].runs) == (2, 3)


def test_a_few_runs_of_the_named_rows_are_shown_and_not_kept(monkeypatch, capsys, tmp_path):
    few = [cell for cell in named.ROWS if len(cell.of.domains) == 1]
    monkeypatch.setattr(named, "ROWS", {cell: named.ROWS[cell] for cell in few})
    monkeypatch.setattr(named, "STORE", tmp_path / "kept.csv")
    monkeypatch.setattr(named, "studies", lambda cell: [named.own_study(cell)])  # a plan takes half a minute
    assert named.main(["--runs", "2"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == [cell.population for cell in few]
    assert not (tmp_path / "kept.csv").exists()
    monkeypatch.setattr(named, "RUNS", 2)
    assert named.main(["--runs", "2"]) == 0
    kept = (tmp_path / "kept.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in kept] == ["population", *(cell.population for cell in few)]


def test_the_kept_named_rows_are_whole_and_covered():
    with named.STORE.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    kept = [(row["population"], float(row["wanted"])) for row in rows]
    assert list(dict.fromkeys(kept)) == [(cell.population, wanted) for cell, wanted in named.ROWS.items()]
    assert sum(row["study"].startswith("planned") for row in rows) == len(named.ROWS)
    for row in rows:
        assert int(row["runs"]) >= named.RUNS
        assert min(float(row["covered"]), float(row["covered_sample"])) >= 0.9


def test_what_broke_outside_the_zoo_is_measured_and_kept_whole(monkeypatch, capsys, tmp_path):
    with outside.STORE.open(newline="", encoding="utf-8") as lines:
        kept = list(csv.DictReader(lines))
    assert [(row["population"], int(row["n"])) for row in kept] == [
        (case.name, case.n) for case in outside.CASES
    ]
    assert all(int(row["runs"]) >= outside.RUNS for row in kept)
    monkeypatch.setattr(outside, "CASES", [case for case in outside.CASES if case.n <= 2_000])
    monkeypatch.setattr(outside, "STORE", tmp_path / "kept.csv")
    assert outside.main(["--runs", "2"]) == 0
    assert not outside.STORE.exists(), "two runs are shown and not kept"
    assert len(capsys.readouterr().out.splitlines()) == len(outside.CASES)
