"""Enrolment, rounds, batches, deletion and restarts, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from anyio import to_thread

import dpairs
from dpairs.client import Device, Gateway, Link
from dpairs.client.gateway import batch
from dpairs.collector import Service, Settings, lifecycle
from dpairs.collector.routes import analysts
from dpairs.engines import open_files, tally_with_duckdb
from dpairs.errors import BadParameter, Closed, Conflict, NotAllowed, NotEnoughData, NotFound

from .people import Population, histogram, pairwise, projection, report_json, tally_of, tree
from .servers import STUDIES, Caller, begin, collector, contents, enrol, stored_symbols, unchanged


def answered(running, study: dpairs.Study, number: int, seed: int) -> Population:
    """A study that has begun, and that everybody who is asked in its first round has answered."""
    begin(running.analyst(), study)
    crowd = Population(study, number, seed=seed)
    crowd.enrol(running.transport())
    crowd.answer(running.transport(), study)
    return crowd


def by_gateway(
    running, study: dpairs.Study, folder: Path
) -> tuple[Gateway, dict[str, np.ndarray], dict[str, int]]:
    """A gateway of a study that has begun, 300 people of it, and how many there are of each class."""
    analyst = running.analyst()
    link = Link.parse(analyst.begin(study, "By a gateway"))
    rng = np.random.default_rng(5)
    data = {"id": np.arange(300), "score": rng.random(300), "label": rng.integers(0, 2, 300)}
    sizes = {"positive": int(data["label"].sum()), "negative": int(300 - data["label"].sum())}
    given = analyst.gateway(study.id, sizes)
    return Gateway(link, given, device=Device(folder / "g"), transport=running.transport()), data, sizes


def test_indices_are_given_in_order_and_the_same_request_gets_the_same_one(running):
    study = begin(running.analyst(), tree())
    call = Caller(running.base)
    given = [enrol(call, study, n, stratum=["positive", "negative"][n % 2]) for n in range(6)]
    assert [each["index"] for each in given] == [0, 0, 1, 1, 2, 2]
    with unchanged(running.database):
        again = [enrol(call, study, n, stratum=["positive", "negative"][n % 2]) for n in range(6)]
    assert again == given
    assert len({each["secret"] for each in given}) == 6


def test_concurrent_identical_enrolments_and_reports_count_once(running):
    study = histogram()
    begin(running.analyst(), study)
    call = Caller(running.base)
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda _: enrol(call, study.id, 7), range(24)))
    assert given == [given[0]] * 24
    body = report_json(study, given[0], 1)
    path = f"{STUDIES}/{study.id}/reports"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: call("POST", path, body, token=given[0]["secret"]), range(24)))
    assert {each.status for each in answers} == {200}
    assert sorted(each.json["outcome"] for each in answers) == ["again"] * 23 + ["counted"]
    assert running.analyst().tally(study.id).n == 1
    assert len(contents(running.database)["people"]) == 1


def test_of_two_different_reports_at_once_one_is_counted(running):
    study = histogram()
    begin(running.analyst(), study)
    call = Caller(running.base)
    people = [enrol(call, study.id, n) for n in range(20)]
    path = f"{STUDIES}/{study.id}/reports"

    def send(task):
        given, symbol = task
        return call("POST", path, report_json(study, given, symbol), token=given["secret"])

    tasks = [(given, symbol) for given in people for symbol in (0, 3)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, tasks))
    counted = {
        task[0]["index"]: task[1] for task, each in zip(tasks, answers, strict=True) if each.status == 200
    }
    assert sorted(each.status for each in answers) == [200] * 20 + [409] * 20
    assert stored_symbols(running.database) == {(1, 0, index): symbol for index, symbol in counted.items()}


def test_a_restarted_collector_counts_what_was_stored(database):
    study = tree()
    with collector(database) as first:
        crowd = answered(first, study, 60, seed=1)
        before = first.analyst().tally(study.id)
    with collector(database, first.token) as second:
        analyst = second.analyst()
        assert analyst.tally(study.id) == before == crowd.offline(study)
        assert crowd.send(second.transport(), 5) == "again"
        late = enrol(Caller(second.base), study.id, 10**6, stratum="positive")
        assert late["index"] == crowd.strata.count("positive")
        assert second.service.token is None


def test_exported_reports_give_the_same_tally(running, tmp_path):
    pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")
    study = projection()
    crowd = answered(running, study, 120, seed=2)
    analyst, line = running.analyst(), running.transport()
    analyst.advance(study.id)
    second = study.next(crowd.offline(study))
    crowd.answer(line, second)
    for number, asked in ((1, study), (2, second)):
        path = tmp_path / f"{number}.parquet"
        path.write_bytes(analyst.reports(study.id, number))
        found = tally_with_duckdb(asked, [str(path)])
        assert found.tally == analyst.tally(study.id, number)
        assert found.reasons == {"counted": found.tally.n}


def test_reports_are_exported_as_cells_where_a_study_has_them(running, tmp_path):
    pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")
    study = tree()
    answered(running, study, 60, seed=2)
    analyst = running.analyst()
    for form in ("reports", "cells"):
        path = tmp_path / f"{form}.parquet"
        path.write_bytes(analyst.reports(study.id, cells=form == "cells"))
        opened = open_files([str(path)], study)
        assert bool(opened.cells) == (form == "cells")
        found = tally_with_duckdb(study, opened, recompute=True)
        assert found.tally == analyst.tally(study.id)
        assert found.reasons == {"counted": 60}
    other = projection()
    begin(analyst, other)
    with pytest.raises(BadParameter, match="cannot be told by one cell"):
        analyst.reports(other.id, cells=True)


def test_a_gateway_writes_the_reports_that_it_would_send(running, tmp_path):
    pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")
    study = tree()
    analyst = running.analyst()
    gateway, data, sizes = by_gateway(running, study, tmp_path)
    assert gateway.write(data, tmp_path / "a.parquet") == sizes
    assert gateway.write(data, tmp_path / "b.parquet", cells=True) == sizes
    assert analyst.tally(study.id).n == 0
    gateway.report(data)
    for name in ("a", "b"):
        found = tally_with_duckdb(study, [f"{tmp_path}/{name}.parquet"], recompute=True)
        assert found.tally == analyst.tally(study.id)
        assert found.reasons == {"counted": 300}


def test_a_new_token_ends_the_old_one(database):
    with collector(database) as first:
        old = first.token
    service = Service(Settings(database=database), new_analyst=True)
    assert service.token not in (None, old)
    with pytest.raises(NotAllowed):
        service.check_analyst(old)
    service.check_analyst(service.token)
    service.close()


def test_two_rounds_ask_everybody_once_and_late_people_in_the_second(running):
    study = projection()
    analyst, line = running.analyst(), running.transport()
    begin(analyst, study)
    crowd = Population(study, 120, seed=2)
    crowd.enrol(line)
    asked = {who for who, given in crowd.enrolled.items() if given["asked_now"]}
    crowd.answer(line, study)
    assert set(crowd.reports) == asked
    assert 0 < len(asked) < 120
    assert analyst.advance(study.id) == "round 2"
    second = study.next(crowd.offline(study))
    assert analyst.tally(study.id).study == second
    assert analyst.tally(study.id, 1) == crowd.offline(study)
    # Those who come now are asked now.
    late = [enrol(Caller(running.base), study.id, 10**6 + n, stratum="positive") for n in range(5)]
    assert all(each["asked_now"] and second.asks("positive", each["index"]) for each in late)
    crowd.answer(line, second)
    assert len(crowd.reports) == 120
    assert analyst.tally(study.id) == crowd.offline(second)
    assert analyst.estimate_json(study.id) == json.loads(
        json.dumps(crowd.offline(second).estimate().to_json())
    )
    # Sent again, a report of the first round is known, and a new one comes too late.
    assert crowd.send(line, min(asked)) == "again"
    with pytest.raises(Closed):
        analyst.advance(study.id)


def test_a_second_click_takes_no_second_step(running):
    study = projection()
    answered(running, study, 60, seed=3)
    ask = Caller(running.base, running.token)
    path = f"{STUDIES}/{study.id}/advance"
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: ask("POST", path, {"seen": "round 1"}), range(6)))
    assert sorted(each.status for each in answers) == [200] + [409] * 5
    assert len(contents(running.database)["rounds"]) == 2


def test_a_step_that_is_taken_while_it_is_prepared_is_not_taken_again(here, monkeypatch):
    """It was prepared from whatever round was asked by then, and refused as what makes no sense."""
    study = projection()
    answered(here, study, 60, seed=3)
    live, usual = here.service.studies[study.id], to_thread.run_sync

    async def late(work, *arguments):
        if work is analysts._prepare and len(live.rounds) == 1:
            await here.service.writer.do(lifecycle.advance, lifecycle.Step(live, "round 1", None))
        return await usual(work, *arguments)

    monkeypatch.setattr(to_thread, "run_sync", late)
    answer = Caller(here.base, here.token)("POST", f"{STUDIES}/{study.id}/advance", {"seen": "round 1"})
    assert answer.error == (409, "Conflict")
    assert len(live.rounds) == 2


def test_nobody_advances_without_a_pilot_or_a_partner(running):
    analyst = running.analyst()
    two, pairs = projection(), pairwise()
    for study in (two, pairs):
        begin(analyst, study)
        with unchanged(running.database), pytest.raises(NotEnoughData):
            analyst.advance(study.id)
    assert {each["step"] for each in analyst.studies()} == {"round 1", "enrolment"}


def test_a_gateway_s_batches_count_once_in_both_rounds(running, tmp_path):
    study = projection()
    analyst = running.analyst()
    gateway, data, sizes = by_gateway(running, study, tmp_path)
    first = gateway.report(data)
    assert 0 < first["counted"] < 300
    assert gateway.report(data) == {"counted": 0, "again": first["counted"], "different": 0}
    analyst.advance(study.id)
    second = gateway.report(data)
    assert first["counted"] + second["counted"] == 300
    stored = stored_symbols(running.database)
    for number in (1, 2):
        tally = analyst.tally(study.id, number)
        asked = tally.study
        reports = [
            dpairs.Report(asked, asked.strata[stratum], index, symbol)
            for (of, stratum, index), symbol in stored.items()
            if of == number
        ]
        assert tally == tally_of(asked, reports)
    assert analyst.progress(study.id)["enrolled"] == sizes


def test_a_batch_that_contradicts_itself_counts_what_is_new(running):
    study = histogram()
    analyst = running.analyst()
    link = Link.parse(analyst.begin(study, "By a gateway"))
    (name,) = study.strata
    gateway = Gateway(link, analyst.gateway(study.id, {name: 100}), transport=running.transport())
    indices = np.arange(50)
    assert gateway.send(study, name, indices, np.zeros(50, dtype=np.int64))["counted"] == 50
    symbols = np.zeros(100, dtype=np.int64)
    symbols[:10] = 1
    outcome = gateway.send(study, name, np.arange(100)[::-1], symbols[::-1])
    assert outcome == {"counted": 50, "again": 40, "different": 10}
    assert set(stored_symbols(running.database).values()) == {0}
    assert analyst.tally(study.id).n == 100
    assert len(batch(study, indices, symbols[:50])) > 0


def test_a_deleted_study_leaves_nothing_and_may_come_again(running):
    studies = [histogram(), pairwise()]
    analyst, call = running.analyst(), Caller(running.base)
    before = contents(running.database)
    for study in studies:
        begin(analyst, study, enrolment="invited")
        codes = analyst.invite(study.id, 3)
        key = {"key": "ab" * 32} if study is studies[1] else {}
        for n, code in enumerate(codes):
            given = enrol(call, study.id, n, code=code, **key)
        if study is studies[0]:
            path = f"{STUDIES}/{study.id}/reports"
            assert call("POST", path, report_json(study, given, 1), token=given["secret"]).status == 200
    analyst.advance(studies[1].id)
    for study in studies:
        analyst.delete(study.id)
        with pytest.raises(NotFound):
            analyst.progress(study.id)
    assert contents(running.database) == before
    begin(analyst, studies[0])
    assert analyst.tally(studies[0].id).n == 0
    with pytest.raises(Conflict):
        begin(analyst, studies[0])


def test_an_invitation_made_while_its_study_is_deleted_is_refused(running):
    """Both wait for the writer at once; whichever is first, nothing is left and nobody fails."""
    ask = Caller(running.base, running.token)
    for seed in range(5):
        study = begin(running.analyst(), histogram(seed + 10))
        path = f"{STUDIES}/{study}"
        tasks = [("DELETE", path, None)] + [("POST", f"{path}/invitations", {"count": 1})] * 7
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda task: ask(*task), tasks))
        assert {each.status for each in answers} <= {201, 204, 404, 409}
    assert contents(running.database)["invitations"] == []
    assert contents(running.database)["studies"] == []
