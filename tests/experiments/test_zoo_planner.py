"""Plans of the zoo: what is kept holds what the page says, and can be made again."""

import math

import pytest

from experiments.pages.plan_zoo import CHOSEN, kept, near, outside, ranges, regrets, share
from experiments.zoo.planner import AGAIN, OPTIMISTIC, RUNS, Setting, measured, read, rows_of, run, settings


def test_kept_plans_keep_their_promises():
    rows = kept("first")
    assert share(near(row.measured, row.predicted) for row in rows) >= 0.85
    assert share(near(row.measured, row.formula) for row in rows) < 0.85, "formulas alone would do"
    assert share(each <= CHOSEN for each in regrets(rows).values()) >= 0.9
    assert max(row.ratio for row in rows if row.runs) <= OPTIMISTIC
    assert {row.runs for row in rows} <= {0, RUNS, AGAIN}


def test_a_plan_that_misses_by_chance_is_measured_again(monkeypatch):
    errors = iter([(9.0, 1.0), (1.0, 1.0)])
    asked: list[tuple[int, int]] = []

    def fake(setting, option, runs, first=0):
        asked.append((runs, first))
        return next(errors) if len(asked) < 3 else (0.0, 1.0)

    monkeypatch.setattr("experiments.zoo.planner.measured", fake)
    first, *_ = rows_of(Setting("five-levels", "auc:public", 2.0, 200), 3, {})
    assert asked[:2] == [(3, 0), (AGAIN, AGAIN)]
    assert (first.runs, first.measured) == (AGAIN, 1.0)


def test_kept_settings_are_the_first_of_the_sample():
    path = list(settings("first"))
    found = {row.setting for row in kept("first")}
    assert found <= set(path[: len(found) + 5])


def test_ranges_with_nothing_known_hold():
    every = ranges("first")
    assert len(every) >= 100
    assert share(outside(row) == 1 for row in every) >= 0.9


def test_a_setting_is_planned_run_and_not_run_again(tmp_path, monkeypatch):
    small = Setting("five-levels", "auc:public", 2.0, 200)
    rows = rows_of(small, 3, {})
    assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
    assert all(math.isfinite(row.ratio) and row.answered == 1 for row in rows)
    again = rows_of(small, 3, {(small, row.protocol, row.parameters): row for row in rows})
    assert again == rows
    monkeypatch.setattr("experiments.zoo.planner.settings", lambda half: [small])
    monkeypatch.setattr("experiments.zoo.planner.rows_of", lambda *_: rows)
    run("first", 1, 3, tmp_path / "journal.csv", None)
    kept_rows = read(tmp_path / "journal.csv")
    assert [row.protocol for row in kept_rows] == [row.protocol for row in rows]
    assert kept_rows[0].ratio == pytest.approx(rows[0].ratio, rel=1e-3)
    monkeypatch.setattr("experiments.zoo.planner.rows_of", lambda *_: pytest.fail("it was run again"))
    run("first", 1, 3, tmp_path / "journal.csv", None)


def test_fresh_runs_are_always_the_same():
    import dpairs

    small = Setting("five-levels", "auc:public", 2.0, 200)
    name, asked = small.ask()
    option = dpairs.plan(name, **{**asked, "protocol": "histogram"}).options[0]
    assert measured(small, option, 3) == measured(small, option, 3)
