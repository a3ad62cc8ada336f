"""One study does not hold up others: bounded transactions, downloads in parts, and a clock nobody sets."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import segno
from prometheus_client import generate_latest
from sqlalchemy.exc import TimeoutError as NoConnection

from dpairs.client.gateway import batch
from dpairs.collector import metrics, relay
from dpairs.collector.batches import ARROW
from dpairs.collector.lease import LeaseLost, Renewal, renew
from dpairs.errors import Unavailable

from .people import histogram, pairwise
from .servers import (
    DEADLINE,
    STUDIES,
    Caller,
    begin,
    collector,
    contents,
    enrol,
    stored_symbols,
    until,
)


def filled(running, study, people: int) -> dict[str, Any]:
    """A study with a gateway whose every hundredth report is stored, as a long table is."""
    (given,) = running.analyst().gateway(study.id, {study.strata[0]: people}).values()
    path = f"{STUDIES}/{study.id}/batches"
    for start in range(0, people, 10**5):
        indices = np.arange(start, min(start + 10**5, people)) + given["first"]
        body = batch(study, indices, np.zeros(len(indices), dtype=np.int64))
        answer = Caller(running.base)("POST", path, body=body, kind=ARROW, token=given["secret"])
        assert answer.json["counted"] == len(indices)
    return given


def test_a_wide_batch_reads_no_more_rows_than_it_has(running, monkeypatch):
    """Two rows at both ends of 2 million reports read all of them: 12 seconds for everybody."""
    study = histogram()
    begin(running.analyst(), study)
    given = filled(running, study, 20_000)
    looked: list[int] = []
    real = __import__("dpairs.collector.intake", fromlist=["two_columns"]).two_columns

    def counted(connection, wanted):
        found = real(connection, wanted)
        looked.append(found[0].size)
        return found

    monkeypatch.setattr("dpairs.collector.intake.two_columns", counted)
    body = batch(study, np.array([0, 10_000, 19_999]), np.array([0, 1, 0]))
    answer = Caller(running.base)(
        "POST", f"{STUDIES}/{study.id}/batches", body=body, kind=ARROW, token=given["secret"]
    )
    assert answer.json == {"counted": 0, "again": 2, "different": 1}
    assert looked == [3]


def test_large_batches_and_deletions_are_many_small_transactions(running):
    study, other = histogram(), histogram(2)
    begin(running.analyst(), study)
    begin(running.analyst(), other)
    before = running.service.writer.commits
    (given,) = running.analyst().gateway(study.id, {study.strata[0]: 10**5}).values()
    body = batch(study, np.arange(10**5), np.zeros(10**5, dtype=np.int64))
    path = f"{STUDIES}/{study.id}/batches"
    answer = Caller(running.base)("POST", path, body=body, kind=ARROW, token=given["secret"])
    assert answer.json == {"counted": 10**5, "again": 0, "different": 0}
    assert running.service.writer.commits - before >= 5
    before = running.service.writer.commits
    done, waits = threading.Event(), []

    def others() -> None:
        number = 0
        while not done.is_set():
            began = time.monotonic()
            enrol(Caller(running.base), other.id, number)
            waits.append(time.monotonic() - began)
            number += 1

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(others)
        running.analyst().delete(study.id)
        done.set()
        asking.result()
    assert running.service.writer.commits - before >= 6
    assert max(waits, default=0.0) < 3.0
    assert stored_symbols(running.database) == {}


def test_a_deletion_that_was_cut_off_goes_on_after_a_restart(database, monkeypatch):
    study = histogram()
    with collector(database) as first:
        begin(first.analyst(), study)
        filled(first, study, 3000)
        monkeypatch.setattr(type(first.service), "purge", _not_now)
        first.analyst().delete(study.id)
        assert Caller(first.base)("GET", f"{STUDIES}/{study.id}").error == (404, "NotFound")
        assert len(stored_symbols(database)) == 3000
    monkeypatch.undo()
    with collector(database, first.token) as second:
        until(lambda: contents(database)["studies"] == [], "the rest of the deletion")
        assert stored_symbols(database) == {}
        begin(second.analyst(), study)


async def _not_now(*_: Any) -> None:
    pass


def test_columns_of_batches_are_not_kept(here):
    """57 MB more over a million reports: whole batches waited to be counted."""
    study = histogram()
    begin(here.analyst(), study)
    filled(here, study, 200_000)
    waiting = here.service.studies[study.id].now._waiting
    assert sum(indices.size for _, indices, _ in waiting) < 2**16


def test_a_clock_that_leaps_ahead_expires_no_pair(here, monkeypatch):
    study = pairwise()
    begin(here.analyst(), study)
    call = Caller(here.base)
    people = [enrol(call, study.id, n, key=f"{n:064x}") for n in range(2)]
    here.analyst().advance(study.id)
    pair = call("GET", f"{STUDIES}/{study.id}/pairs", token=people[0]["secret"]).json["pairs"][0]
    sender = next(
        each
        for each in people
        if call("GET", f"{STUDIES}/{study.id}/pairs", token=each["secret"]).json["pairs"][0]["role"]
        == "garbler"
    )
    path = f"{STUDIES}/{study.id}/pairs/{pair['number']}/offer"
    assert call("PUT", path, body=b"sealed", token=sender["secret"]).status == 200
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 15 * 86400)
    settings = here.service.settings
    expiry = relay.Expiry(here.service.lease.clock - int(3600 * settings.message_hours))
    with here.service.database.writing() as connection:
        assert relay.expire(connection, [expiry]) == [0]
        # As long as it is served, it does expire.
        assert relay.expire(connection, [relay.Expiry(here.service.lease.clock + 1)]) == [1]
        connection.rollback()


def test_reports_are_streamed_and_come_in_parts(running, tmp_path, monkeypatch):
    pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")
    from dpairs.engines import tally_with_duckdb

    monkeypatch.setattr("dpairs.collector.export.PART", 700)
    study = histogram()
    begin(running.analyst(), study)
    filled(running, study, 3000)
    analyst = running.analyst()
    whole = tmp_path / "whole.parquet"
    whole.write_bytes(analyst.reports(study.id))
    paths = analyst.save_reports(study.id, tmp_path / "parts")
    assert len(paths) == 5
    for files in ([str(whole)], paths):
        assert tally_with_duckdb(study, files).tally == analyst.tally(study.id)
    # A part that was lost is asked for again, and the others are not.
    os.unlink(paths[2].replace(".parquet", ".next"))
    os.unlink(paths[2])
    kept = os.stat(paths[1]).st_mtime_ns
    assert analyst.save_reports(study.id, tmp_path / "parts") == paths
    assert os.stat(paths[1]).st_mtime_ns == kept
    assert tally_with_duckdb(study, paths).tally == analyst.tally(study.id)


def test_a_slow_download_is_not_cut_off_while_it_goes_on(sqlite, monkeypatch):
    monkeypatch.setattr("dpairs.collector.export.PART", 500)
    study = histogram()
    with collector(sqlite) as first:
        begin(first.analyst(), study)
        filled(first, study, 3000)
    with collector(sqlite, first.token, answer_seconds=0.5) as quick:
        real = __import__("dpairs.collector.export", fromlist=["part"]).part

        def slowly(*arguments: Any) -> Any:
            time.sleep(0.2)  # this is the slow database, not a wait for something
            return real(*arguments)

        monkeypatch.setattr("dpairs.collector.export.part", slowly)
        began = time.monotonic()
        body = quick.analyst().reports(study.id)
        assert time.monotonic() - began > 1.0
        assert body.endswith(b"PAR1")


@pytest.mark.parametrize("error", [Unavailable("it is busy"), NoConnection("all are in use")])
def test_a_database_that_is_busy_is_asked_once_for_all_who_wait(here, monkeypatch, error):
    """Each of 4096 changes would wait by itself, for 30 seconds."""
    askers: list[str] = []

    def busy() -> None:
        # The writer's own thread may renew its lease meanwhile.
        askers.append(threading.current_thread().name)
        raise error

    monkeypatch.setattr(here.service.database, "transaction", busy)
    outcomes = here.service.writer._commit(renew, [Renewal()] * 5)
    assert askers.count(threading.current_thread().name) == 1
    assert [type(each) for each in outcomes] == [Unavailable] * 5


def test_a_commit_in_doubt_of_which_nobody_can_ask_is_read_again(here, monkeypatch):
    """Without commits that follow, nothing would show that memory lacks it."""

    def replaced() -> bool:
        raise Unavailable("the file was replaced")

    monkeypatch.setattr(here.service.lease, "settle", replaced)
    with pytest.raises(LeaseLost, match="in doubt"):
        here.service.writer._settled()


def test_the_picture_of_a_link_is_drawn_once_and_beside_requests(sqlite, monkeypatch):
    """One address could ask for so many of them at once that nobody was answered for six seconds."""
    drawn: list[str] = []
    usual = segno.make

    def make(*arguments, **options):
        drawn.append(threading.current_thread().name)
        return usual(*arguments, **options)

    monkeypatch.setattr(segno, "make", make)
    with collector(sqlite, public_url="https://once.example.org") as here:
        study = begin(here.analyst(), histogram())
        call = Caller(here.base)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: call("GET", f"/take-part/{study}/code.svg"), range(16)))
        assert {answer.status for answer in answers} == {200}
        assert len({answer.body for answer in answers}) == 1
        assert len(drawn) == 1
        assert drawn != [here._thread.name]


def test_the_description_is_written_once_and_beside_requests(here, call, monkeypatch):
    """It was written anew for everybody: 400 who asked at once held all others up for a second."""
    written: list[str] = []
    usual = here.app.openapi

    def describe() -> dict[str, Any]:
        written.append(threading.current_thread().name)
        return usual()

    monkeypatch.setattr(here.app, "openapi", describe)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: call("GET", "/openapi.json"), range(16)))
    assert {answer.status for answer in answers} == {200}
    assert answers[0].json["info"]["title"] == "dpairs collector"
    assert len(written) == 1
    assert written != [here._thread.name]


def test_numbers_are_written_once_for_all_who_wait(here, call, monkeypatch):
    written, first, go_on = list[str](), threading.Event(), threading.Event()

    def write(registry: Any) -> bytes:
        written.append(threading.current_thread().name)
        first.set()
        assert go_on.wait(DEADLINE)
        return generate_latest(registry)

    monkeypatch.setattr(metrics, "generate_latest", write)
    with ThreadPoolExecutor(9) as pool:
        answers = [pool.submit(call, "GET", "/metrics")]
        assert first.wait(DEADLINE)
        answers += [pool.submit(call, "GET", "/metrics") for _ in range(8)]
        until(lambda: len(here.service.metrics._writing._waiters or ()) == 8, "eight who wait")
        go_on.set()
    assert {answer.result().status for answer in answers} == {200}
    assert len(written) == 2  # theirs began after they had asked
    assert here._thread.name not in written
    assert b'route="/metrics"' in call("GET", "/metrics").body
