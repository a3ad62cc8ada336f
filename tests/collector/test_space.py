"""Disks that are full: nothing is lost or counted twice, a collector says so, and goes on by itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sqlalchemy import create_engine, text

from dpairs.collector import writer

from .people import Population, histogram
from .sending import send
from .servers import STUDIES, Caller, InThread, begin, enrol


@contextlib.contextmanager
def full(running: InThread) -> Iterator[None]:
    """No new page for what people send, while rows may still change: the databases' own errors."""
    if running.database.startswith("sqlite"):
        with running.service.database.engine.connect() as connection:  # of those that it uses, the only one
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        yield
        with running.service.database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=1073741823")
        return
    engine = create_engine(running.database)
    with engine.begin() as connection:
        connection.execute(
            text(
                "create function no_space() returns trigger language plpgsql as "
                "$$ begin raise exception 'no space' using errcode = '53100'; end $$"
            )
        )
        connection.execute(
            text("create trigger no_space before insert on reports for each row execute function no_space()")
        )
    yield
    with engine.begin() as connection:
        connection.execute(text("drop trigger no_space on reports"))
    engine.dispose()


def test_a_disk_on_which_only_small_changes_fit_is_alive_and_not_ready(running):
    """A row that changes in its place needs no space: the test of a write passed where no report did."""
    study, call, stratum = histogram(), Caller(running.base), histogram().strata[0]
    begin(running.analyst(), study)
    mine = running.analyst().gateway(study.id, {stratum: 20_000})[stratum]
    rows = [
        f'{{"study":"{study.id}","stratum":"{stratum}","index":{n},"symbol":{n % 4}}}' for n in range(20_000)
    ]
    batch = {"body": "\n".join(rows).encode(), "kind": "application/x-ndjson", "token": mine["secret"]}
    path = f"{STUDIES}/{study.id}/batches"
    assert call("GET", "/readyz").status == 200
    with full(running):
        answer = call("POST", path, **batch)
        assert answer.error == (503, "Unavailable")
        assert int(answer.headers["retry-after"]) >= 1
        assert call("GET", "/healthz").status == 200
        assert call("GET", "/readyz").error == (503, "Unavailable")
        assert running.analyst().tally(study.id).n == 0  # what is there can still be read
    assert call("POST", path, **batch).json == {"counted": 20_000, "again": 0, "different": 0}
    assert call("GET", "/readyz").status == 200
    assert running.analyst().tally(study.id).n == 20_000


def test_a_single_report_that_finds_no_space_is_kept_by_its_sender(running, monkeypatch):
    study, call = histogram(), Caller(running.base)
    begin(running.analyst(), study)
    crowd = Population(study, 5, seed=1)
    crowd.enrol(running.transport())
    given = enrol(call, study.id, 99)
    if running.database.startswith("sqlite"):

        def no_space() -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(running.service.database, "transaction", no_space)
            assert send(call, study, given).error == (503, "Unavailable")
            assert call("GET", "/readyz").error == (503, "Unavailable")
    else:
        with full(running):
            assert send(call, study, given).error == (503, "Unavailable")
            assert call("GET", "/readyz").error == (503, "Unavailable")
    # Nobody is sent here meanwhile, so after a while it is tried again.
    with monkeypatch.context() as later:
        later.setattr(writer, "FULL", 0.0)
        assert call("GET", "/readyz").status == 200
    crowd.answer(running.transport(), study)
    assert send(call, study, given).json == {"outcome": "counted"}
    assert call("GET", "/readyz").status == 200
    assert running.analyst().tally(study.id).n == 6
