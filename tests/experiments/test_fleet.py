"""The simulation of a fleet against what is known without it, and its chain in files against the real tally.

With DPAIRS_VALIDATE=1 a million reports go through the files, otherwise a hundred thousand.
"""

import importlib.util
import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpairs

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
PEOPLE = 10**6 if os.environ.get("DPAIRS_VALIDATE") else 10**5


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FIGURES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


fleet = load("fleet")
# A thousandth of the page's people, and front ends that are as much slower.
SMALL = fleet.Fleet(
    people=10**6,
    front_ends=120,
    serves=2.1,
    refusing=0.85,
    consumes=600,
    counts=1300,
    partitions=4,
    consumer_lives=60,
    outage=(840, 60),
)
CALM = replace(
    SMALL, outage=(0, 0), swing=0.0, lost=0.0, front_end_lives=math.inf, consumer_lives=math.inf, window=1
)


# ---------------------------------------------------------------- nothing is lost, nothing counts twice


@pytest.mark.parametrize(("front_ends", "refusing"), [(60, 0.85), (60, 0.0), (120, 0.85)])
def test_every_accepted_report_is_counted_once(front_ends, refusing):
    seen = fleet.simulate(replace(SMALL, front_ends=front_ends, refusing=refusing), seed=3)
    assert seen.born.sum() == seen.counted + seen.trying[-1]
    assert seen.appended + seen.redone == seen.filed
    assert seen.to_queue.sum() == seen.to_tally.sum() == seen.counted
    assert 0 < seen.elsewhere < seen.repeated
    assert seen.redone < seen.repeated
    # Nobody is in a tally before the queue.
    assert np.all(np.cumsum(seen.to_tally) <= np.cumsum(seen.to_queue))


def test_without_deduplication_reports_count_twice():
    seen = fleet.simulate(replace(SMALL, deduplicates=False), seed=3)
    assert seen.counted == seen.born.sum() - seen.trying[-1] + seen.repeated
    assert seen.counted > seen.born.sum()


def test_without_failures_nothing_is_repeated():
    seen = fleet.simulate(CALM, seed=3)
    assert seen.repeated == seen.redone == seen.trying.max() == 0
    assert seen.counted == seen.born.sum()


def test_a_consumer_writes_again_only_what_it_did_not_mark_as_done():
    seen = fleet.simulate(replace(CALM, consumer_lives=10, replaced=1, window=10), seed=3)
    assert seen.redone == seen.repeated > 0
    # One file in ten is followed by a death. Four standard errors of about 60 such files are half of that.
    assert seen.redone / seen.filed == pytest.approx(1 / 10, rel=0.5)


# ---------------------------------------------------------------- formulas


def batch(rows: int) -> Any:
    return fleet.Batch(0, *(np.array([each]) for each in (0, 0, rows)))


@pytest.mark.parametrize("busy", [0.5, 0.8])
def test_a_partition_has_the_queue_of_pollaczek_and_khinchine(busy):
    """One row a step and Poisson arrivals are M/D/1 seen at the ends of service: rho^2 / 2(1 - rho) wait."""
    rng = np.random.default_rng(5)
    queue, blocks = fleet.Partition(), []
    for _ in range(40):
        lengths = []
        for arrived in rng.poisson(busy, 5000).tolist():
            queue.put(batch(arrived))
            queue.work(1)
            lengths.append(queue.rows)
        blocks.append(np.mean(lengths))
    mean, error = np.mean(blocks), np.std(blocks, ddof=1) / math.sqrt(len(blocks))
    expected = busy**2 / (2 * (1 - busy))
    assert error < 0.05 * expected
    assert abs(mean - expected) < 4 * error
    # The control: service times that vary as waiting times do (M/M/1) would double it.
    assert abs(mean - 2 * expected) > 4 * error


def test_a_queue_fills_and_drains_as_a_tank_does():
    """Consumers are away for an hour at an inflow of lambda, and then do 1.5 lambda."""
    minute = CALM.people * CALM.studies / 1440
    tank = replace(CALM, outage=(600, 1), sites=1, replaced=60, consumes=1.5 * minute / 60 / CALM.partitions)
    seen = fleet.simulate(tank, seed=3)
    assert seen.queued.max() == pytest.approx(60 * minute, rel=0.03)
    empty = 660 + 60 * minute / (0.5 * minute)
    assert np.flatnonzero(seen.queued > 0.02 * minute)[-1] == pytest.approx(empty, abs=8)


def test_front_ends_that_are_always_full_take_what_they_can():
    half = 0.5 * CALM.people * CALM.studies / 86_400
    seen = fleet.simulate(replace(CALM, refusing=0.0, doublings=0, front_ends=10, serves=half / 10), seed=3)
    assert seen.accepted[1:1440].sum() == pytest.approx(half * 60 * 1439, rel=1e-3)
    assert seen.offered[1439] > 2 * seen.accepted[1439]


def test_refusing_is_work_too():
    for offered in (101, 110, 117):
        fits = fleet.taken(offered, 100, 0.85)
        assert fits + 0.85 * (offered - fits) == pytest.approx(100)
    assert fleet.taken(100, 100, 0.85) == 100
    assert fleet.taken(118, 100, 0.85) == 0


def test_the_daily_curve_adds_up_to_all_reports():
    curve = fleet.wanted(SMALL)
    assert sum(fleet.ZONES.values()) == 100
    assert curve.sum() == pytest.approx(SMALL.people * SMALL.studies)
    assert 1.2 < curve.max() / curve.mean() < 1 + SMALL.swing
    assert fleet.wanted(CALM).std() == pytest.approx(0, abs=1e-9 * curve.mean())


def test_a_storm_ends_only_where_refusing_is_cheap():
    """What the page says: too few front ends for the outage, and devices that keep trying."""
    few = replace(SMALL, front_ends=100)
    stormy, cheap = (fleet.simulate(replace(few, refusing=cost), seed=3) for cost in (0.85, 0.0))
    assert stormy.counted < 0.7 * stormy.born.sum()
    assert stormy.accepted[-60:].sum() == 0
    assert cheap.counted > 0.9999 * cheap.born.sum()


# ---------------------------------------------------------------- the same in files, with real reports


def test_the_chain_in_files_is_counted_as_in_memory(tmp_path):
    pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'scale' has it.")
    from dpairs.engines import tally_with_duckdb

    chain = load("chain")
    went = chain.run(tmp_path, PEOPLE, seed=7)
    truth = chain.tally(went.people)
    assert truth.n == PEOPLE
    assert went.repeated > 0.1 * PEOPLE
    found = tally_with_duckdb(chain.STUDY, [f"{tmp_path}/windows/**/*.parquet"])
    assert found.tally == truth
    assert found.reasons == {"counted": PEOPLE, "repeated": went.repeated}
    # Unordered rows, as the front ends wrote them, give the same.
    unordered = tally_with_duckdb(chain.STUDY, [f"{went.front_ends}/**/*.parquet"])
    assert unordered.tally == truth
    assert unordered.reasons["repeated"] == PEOPLE // 100
    # Controls: rows counted as they are, and tallies of single windows, are both wrong.
    assert chain.tally(went.rows).n == PEOPLE + went.repeated
    added = dpairs.Tally(chain.STUDY)
    for place in went.windows:
        added = added + tally_with_duckdb(chain.STUDY, [f"{place}/*.parquet"]).tally
    assert PEOPLE < added.n < PEOPLE * 1.01
