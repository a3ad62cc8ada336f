"""Studies that are being deleted: a restart in the middle, and downloads meanwhile."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import urllib3
from sqlalchemy import create_engine, delete, update

import dpairs
from dpairs.collector import export, schema
from dpairs.collector.live_study import DELETED

from .people import Population, histogram, projection
from .servers import STUDIES, Caller, begin, collector, contents, until


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
