"""Studies that are being deleted: a restart in the middle, and downloads meanwhile."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import urllib3
from sqlalchemy import create_engine, delete, update
from sqlalchemy.exc import OperationalError

import dpairs
from dpairs.collector import estimate_history, export, lifecycle, schema
from dpairs.collector.live_study import DELETED
from dpairs.errors import NotFound

from .people import Population, histogram, projection
from .servers import STUDIES, Answer, Caller, begin, collector, contents, until


def test_a_collector_starts_whose_deletion_was_cut_off(sqlite):
    """The reports of a first round go first; the second round cannot be understood without them."""
    study = projection()
    with collector(sqlite) as first:
        begin(first.analyst(), study)
        people = Population(study, 60, 1)
        people.enrol(first.transport())
        people.answer(first.transport(), study)
        answer = Caller(first.base, first.token)("POST", f"{STUDIES}/{study.id}/advance", {"seen": "round 1"})
        assert answer.status == 200, answer
    engine = create_engine(sqlite)
    with engine.begin() as connection:
        connection.execute(update(schema.studies).values(state=DELETED))
        connection.execute(delete(schema.reports))
    engine.dispose()
    with collector(sqlite, first.token) as again:
        assert Caller(again.base, again.token)("GET", STUDIES).json == []
        until(lambda: contents(sqlite)["studies"] == [], "the end of the deletion")


def answered(here, study, people: int) -> None:
    begin(here.analyst(), study)
    crowd = Population(study, people, 1)
    crowd.enrol(here.transport())
    crowd.answer(here.transport(), study)


def test_a_download_breaks_off_when_its_study_is_deleted(here, monkeypatch):
    """What was left of the reports was sent as if it were all of them."""
    study = histogram()
    answered(here, study, 40)
    monkeypatch.setattr(export, "PART", 10)
    usual, ask = export.part, Caller(here.base, here.token)
    looks: list[int] = []

    def part(*arguments):
        looks.append(1)
        if len(looks) == 3:
            assert ask("DELETE", f"{STUDIES}/{study.id}").status == 204
        return usual(*arguments)

    monkeypatch.setattr(export, "part", part)
    with pytest.raises(urllib3.exceptions.HTTPError):
        ask("GET", f"{STUDIES}/{study.id}/reports")
    assert len(looks) >= 3


def test_reports_that_come_during_a_download_are_in_one_part_or_none(here, monkeypatch):
    """A part's end was read a second time, after others had come: some rows were skipped, or given twice."""
    study = histogram()
    begin(here.analyst(), study)
    crowd = Population(study, 30, 1)
    line = here.transport()
    crowd.enrol(line, threads=1)
    monkeypatch.setattr(export, "PART", 10)
    usual = export.part
    early = [who for who, given in crowd.enrolled.items() if given["index"] % 2]
    late = [who for who in crowd.enrolled if who not in early]
    for who in early + late:
        given = crowd.enrolled[who]
        crowd.reports[who] = dpairs.Participant(study, given["index"]).report(**crowd.values[who])
    for who in early:
        crowd.send(line, who)

    def part(*arguments):
        found = usual(*arguments)
        if late:
            crowd.send(line, late.pop(0))
        return found

    monkeypatch.setattr(export, "part", part)
    ask = Caller(here.base, here.token)
    place: str | None = "0.-1"
    seen: list[int] = []
    while place is not None:
        answer = ask("GET", f"{STUDIES}/{study.id}/reports?after={place}")
        assert answer.status == 200
        seen += pq.read_table(pa.BufferReader(answer.body)).column("index").to_pylist()
        place = answer.headers.get("x-next")
    assert len(set(seen)) == len(seen)
    assert {crowd.enrolled[who]["index"] for who in early} <= set(seen)


def test_a_deletion_that_the_database_broke_off_goes_on(running, monkeypatch):
    """The analyst was told to try again, and found no study; its rows stayed until the next start."""
    study = histogram()
    answered(running, study, 10)
    usual, failures = lifecycle._purge, [OperationalError("delete", None, Exception("disk full"))]

    def purge(*arguments):
        if failures:
            raise failures.pop()
        return usual(*arguments)

    monkeypatch.setattr(lifecycle, "_purge", purge)
    ask = Caller(running.base, running.token)
    assert ask("DELETE", f"{STUDIES}/{study.id}").error == (503, "Unavailable")
    assert ask("DELETE", f"{STUDIES}/{study.id}").error == (404, "NotFound")
    until(lambda: contents(running.database)["studies"] == [], "the end of the deletion")
    assert contents(running.database)["reports"] == []
    begin(running.analyst(), study)


def test_a_study_that_began_in_the_place_of_another_has_no_point_of_its_chart(here, monkeypatch):
    """SQLite gives the number of a deleted round to the next one, and a point was on its way there."""
    first, second = histogram(1), histogram(2)
    ask = Caller(here.base, here.token)
    usual = estimate_history.measure
    measured: list[int] = []

    def measure(asked):
        point = usual(asked)
        if not measured:
            assert ask("DELETE", f"{STUDIES}/{first.id}").status == 204
            begin(here.analyst(), second)
        measured.append(point.reports)
        return point

    monkeypatch.setattr("dpairs.collector.service.REST", 1)  # not a thousand times what the other study took
    monkeypatch.setattr(estimate_history, "measure", measure)
    answered(here, first, 40)
    until(lambda: measured, "a look at what has grown")
    crowd = Population(second, 1, 2)
    crowd.enrol(here.transport())
    crowd.answer(here.transport(), second)
    progress = f"{STUDIES}/{second.id}/progress"
    history = until(lambda: ask("GET", progress).json["stages"][0]["history"], "a point of its own")
    assert [point[0] for point in history] == [1]


def test_a_study_that_is_being_deleted_cannot_be_closed(here, monkeypatch):
    """Whoever had found it before made a closed study of what was left of it."""
    study = histogram()
    answered(here, study, 10)
    ask, live = Caller(here.base, here.token), here.service.studies[study.id]
    monkeypatch.setattr(lifecycle, "PURGED", 1)
    usual = lifecycle._purge
    late: list[Future[Answer]] = []

    def purge(*arguments):
        if not late:
            here.service.studies[study.id] = live
            late.append(pool.submit(ask, "POST", f"{STUDIES}/{study.id}/close"))
            until(lambda: here.service.writer.waiting, "a request to close it")
            del here.service.studies[study.id]
        return usual(*arguments)

    monkeypatch.setattr(lifecycle, "_purge", purge)
    with ThreadPoolExecutor() as pool:
        assert ask("DELETE", f"{STUDIES}/{study.id}").status == 204
    assert late[0].result().error == (404, "NotFound")
    assert contents(here.database)["studies"] == []


def test_a_deletion_beside_one_that_comes_too_late_is_not_taken_for_late(here):
    """A study is deleted when its own change is committed, which is before anybody is told."""
    studies = [histogram(seed) for seed in (1, 2)]
    for study in studies:
        begin(here.analyst(), study)
    gone, there = (here.service.studies[study.id] for study in studies)
    assert Caller(here.base, here.token)("DELETE", f"{STUDIES}/{gone.id}").status == 204
    both = [lifecycle.End(here.service.studies, live, True) for live in (gone, there)]
    late, done = here.service.writer._commit(lifecycle.end, both)
    assert isinstance(late, NotFound)
    assert done.result is there
