"""What operators meet: failing databases, logs, files, addresses and pages."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import urllib3
from sqlalchemy import create_engine, text
from structlog.testing import capture_logs

from dpairs.client import Transport
from dpairs.collector import estimate_history
from dpairs.collector.rates import Rates, network
from dpairs.collector.watchdog import Watchdog
from dpairs.errors import TooMany, Unavailable

from ..processes import Child
from .people import Population, histogram
from .servers import (
    STUDIES,
    Caller,
    Process,
    begin,
    collector,
    enrol,
    first_line,
    until,
)


def test_a_database_that_fails_at_reading_is_one_problem_that_may_be_tried_again(here):
    study = histogram()
    begin(here.analyst(), study)
    engine = create_engine(here.database)
    with engine.begin() as connection:
        connection.execute(text("alter table estimate_history rename to elsewhere"))
    answer = Caller(here.base, here.token)("GET", f"{STUDIES}/{study.id}/progress")
    assert answer.error == (503, "Unavailable")
    assert "retry-after" in answer.headers
    with engine.begin() as connection:
        connection.execute(text("alter table elsewhere rename to estimate_history"))
    engine.dispose()
    assert Caller(here.base, here.token)("GET", f"{STUDIES}/{study.id}/progress").status == 200


def test_a_mistake_of_ours_is_a_problem_too(here, monkeypatch):
    study = histogram()
    begin(here.analyst(), study)

    def broken(*_: Any) -> None:
        raise ZeroDivisionError("secret words")

    monkeypatch.setattr("dpairs.collector.views.public", broken)
    answer = Caller(here.base)("GET", f"{STUDIES}/{study.id}")
    assert answer.error == (500, "ServiceError")
    assert b"secret words" not in answer.body


def test_a_connection_that_cannot_be_watched_is_logged_without_its_address():
    dog = Watchdog()
    with capture_logs() as logs, dog.watch(object(), 1.0):
        pass
    dog.close()
    assert [(entry["event"], entry["reason"]) for entry in logs] == [
        ("a connection is not watched", "AttributeError")
    ]


def test_logs_name_causes(serve, cluster):
    database = cluster.new_database()
    process = serve(database)
    begin(process.analyst(), histogram())
    engine = create_engine(database)
    with engine.begin() as connection:
        connection.execute(text("alter table people rename to elsewhere"))
    engine.dispose()
    answer = Caller(process.base)("POST", f"{STUDIES}/{histogram().id}/people", {"request": "0" * 32})
    assert answer.error == (503, "Unavailable")
    until(lambda: "does not exist" in process.log.read_text(), "the cause in the log")
    log = process.log.read_text()
    assert "0" * 32 not in log
    assert "<traceback object" not in log


class Answers:
    """A server that gives the answers it is told, once each."""

    def __init__(self, *answers: bytes) -> None:
        self._line = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._line.getsockname()[1]}"
        self.times: list[float] = []
        threading.Thread(target=self._run, args=(answers,), daemon=True).start()

    def _run(self, answers: tuple[bytes, ...]) -> None:
        for answer in answers:
            line, _ = self._line.accept()
            with line:
                line.recv(65536)
                self.times.append(time.monotonic())
                line.sendall(answer)
        self._line.close()


def answer_of(status: int, body: bytes = b"{}", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def test_a_client_waits_as_long_as_it_is_asked_to():
    server = Answers(answer_of(503, Retry_After="1"), answer_of(500), answer_of(200))
    assert Transport(server.base, patience=30).json("GET", "/") == {}
    assert server.times[1] - server.times[0] >= 1.0


def test_a_client_does_not_try_a_failure_for_ever():
    server = Answers(*[answer_of(500)] * 3)
    with pytest.raises(Unavailable):
        Transport(server.base, patience=30).json("GET", "/")
    assert len(server.times) == 3


def test_the_database_is_for_its_owner_only(sqlite, tmp_path):
    previous = os.umask(0o022)
    try:
        with collector(sqlite) as made:
            begin(made.analyst(), histogram())
            for name in os.listdir(tmp_path):
                assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600, name
    finally:
        os.umask(previous)


@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_nothing_is_acknowledged_that_goes_to_a_lost_file(here, tmp_path, how):
    """An old copy moved over the file of a running collector: what was stored then was gone with it."""
    study, call = histogram(), Caller(here.base)
    begin(here.analyst(), study)
    enrol(call, study.id, 1)
    file = Path(here.database.removeprefix("sqlite:///"))
    if how == "replaced":
        shutil.copy(file, tmp_path / "old")
        (tmp_path / "old").replace(file)
    else:
        file.unlink()
    answer = call("POST", f"{STUDIES}/{study.id}/people", {"request": f"{2:032x}"})
    assert answer.error == (503, "Unavailable")
    assert "restart the collector" in answer.json["message"]
    assert call("GET", "/readyz").status == 503


def test_a_link_to_the_database_is_the_same_database(sqlite, tmp_path, monkeypatch):
    monkeypatch.setattr("dpairs.collector.database.PATIENCE", 0.2)
    with collector(sqlite):
        (tmp_path / "link.sqlite").symlink_to(tmp_path / "collector.sqlite")
        with (
            pytest.raises(Unavailable, match="another collector"),
            collector(f"sqlite:///{tmp_path}/link.sqlite"),
        ):
            pass


def test_the_password_is_not_printed(cluster, tmp_path):
    database = cluster.new_database().replace("postgres@", "postgres:hidden-words@")
    database += "&password=hidden-words"
    process = Process(database, tmp_path)
    process.start()
    try:
        assert process.said["database"].count("***") == 1
        assert "hidden-words" not in json.dumps(process.said)
    finally:
        process.stop()


def test_an_address_of_the_sixth_version_is_listened_on(sqlite, tmp_path):
    command = ["serve", "--json", "--host", "::1", "--port", "0", "--database", sqlite]
    out, err = tmp_path / "out", tmp_path / "err"
    child = Child(command, tmp_path, out, err)
    try:
        said = json.loads(first_line(child, out, err))
        assert said["address"].startswith("http://[::1]:")
        until(lambda: _answers(said["address"]), "an answer")
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(60)


def _answers(base: str) -> bool:
    try:
        return Caller(base)("GET", "/healthz").status == 200
    except urllib3.exceptions.HTTPError:
        return False


def test_a_household_of_the_sixth_version_is_one_address():
    assert network("2001:db8:1:2:3:4:5:6") == network("2001:db8:1:2::1") != network("2001:db8:1:3::1")
    rates = Rates(0.001, 5)
    for number in range(5):
        rates.count(f"2001:db8::{number}")
    with pytest.raises(TooMany):
        rates.count("2001:db8::ffff")
    rates.count("2001:db8:0:1::1")


def test_what_a_proxy_names_in_place_of_an_address_takes_no_more_memory():
    """A hundred thousand of them are remembered, and each had up to 60,000 letters."""
    for wide in ("a" * 60_000, "2001:db8::" * 6_000, "fe80::1%" + "a" * 60_000):
        assert len(network(wide)) < 50
    longest = "2001:0db8:0001:0002:0003:0004:198.51.100.7"
    assert network(longest) == "2001:db8:1:2::"


def test_a_person_who_mistypes_an_address_gets_a_page(here):
    call = Caller(here.base)
    answer = call("GET", "/nope", Accept="text/html,application/xhtml+xml")
    assert answer.status == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert b"<h1>" in answer.body
    assert call("GET", "/nope").error == (404, "NotFound")
    assert call("GET", f"{STUDIES}/{'0' * 64}", Accept="text/html").error == (404, "NotFound")


def test_the_head_of_an_answer_can_be_asked_for(here):
    call = Caller(here.base)
    for path in ("/", "/healthz", "/static/style.css"):
        answer = call("HEAD", path)
        assert answer.status == 200
        assert answer.body == b""
        assert int(answer.headers["content-length"]) > 0


@pytest.mark.parametrize("asked", ["bytes=a-b", "bytes=99999999-", "bytes=0-1"])
def test_a_part_of_an_answer_is_the_whole_of_it(here, asked):
    answer = Caller(here.base)("GET", "/static/style.css", Range=asked)
    assert answer.status == 200
    assert len(answer.body) > 1000


def test_no_redirect_believes_the_name_that_a_request_gives(here):
    answer = Caller(here.base)("GET", "/healthz/", Host="evil.example")
    assert answer.status == 404
    assert "location" not in answer.headers


def test_a_study_that_is_begun_again_has_a_history(here, monkeypatch):
    monkeypatch.setattr("dpairs.collector.service.REST", 1)
    study = histogram()
    for _ in range(2):
        begin(here.analyst(), study)
        crowd = Population(study, 12, seed=1)
        crowd.enrol(here.transport())
        crowd.answer(here.transport(), study)
        until(lambda: here.analyst().progress(study.id)["stages"][0]["history"], "a point of the history", 60)
        here.analyst().delete(study.id)
    assert estimate_history.STEP > 1


def test_the_link_that_an_analyst_s_program_gets_works_from_outside(sqlite):
    with collector(sqlite, public_url="https://studies.example.org") as made:
        link = made.analyst().begin(histogram(), "A title")
    assert link == f"https://studies.example.org/take-part/{histogram().id}"


def test_a_demonstration_that_is_ended_leaves_nothing_behind(tmp_path):
    command = ["demo", "--people", "1000", "--pairs", "2", "--folder", str(tmp_path)]
    child = Child(command, tmp_path, tmp_path / "out", tmp_path / "err")
    database = tmp_path / "dpairs.sqlite"
    until(lambda: database.exists() or not child.alive, "the demonstration's collector", 180)
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == 128 + signal.SIGTERM
    # Its collector lets go of the database.
    with collector(f"sqlite:///{database}"):
        pass
