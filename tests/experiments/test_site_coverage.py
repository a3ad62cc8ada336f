"""The awkward populations of sites: all of them can be drawn and asked, and a cell is measured."""

import json

import pytest

from dpairs.data.domains import as_domains
from experiments.zoo import site_coverage
from experiments.zoo.sites import CASES


@pytest.mark.parametrize("name", sorted(CASES))
def test_records_lie_in_their_domain_and_every_site_has_some(name):
    case = CASES[name]
    made = case.records(2000, 1)
    site = made.pop("site")
    assert set(site) == set(range(len(case.shares)))
    for column, domain in zip(made, as_domains(case.domain), strict=False):
        assert domain.check(made[column], column).size == site.size


def test_each_case_is_in_one_half_and_a_cell_is_measured(tmp_path, monkeypatch, capsys):
    halves = [set(site_coverage.cases(half)) for half in site_coverage.HALVES]
    assert halves[0] | halves[1] == set(CASES)
    assert not halves[0] & halves[1]
    one = [site_coverage.settings("second")[4 * 6 + 1]]
    assert one[0]["statistic"] == "collision_entropy"
    monkeypatch.setattr(site_coverage, "settings", lambda half: one)
    monkeypatch.setattr(site_coverage, "TOGETHER", 8)
    monkeypatch.setattr(site_coverage, "MANY", 2**16)
    out = tmp_path / "cells.jsonl"
    for _ in range(2):  # the second time everything is there
        assert site_coverage.main(["--half", "second", "--runs", "1", "--out", str(out)]) == 0
    (row,) = map(json.loads, out.read_text().splitlines())
    assert row["studies"] == 8
    # Less than 5 of 8 would be covered with a chance of 10^-4.
    assert row["in_sample"] >= 5
    assert "collision_entropy" in capsys.readouterr().out
