"""What operators meet: full disks, clocks that leap, half-sent requests, downloads, backups, and settings."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import urllib3
from sqlalchemy import create_engine, text

from dpairs.client import Transport
from dpairs.client.gateway import batch
from dpairs.collector import backup, connections, estimate_history, relay
from dpairs.collector.batches import ARROW
from dpairs.collector.rates import Rates, network
from dpairs.collector.settings import Settings, configured
from dpairs.errors import BadFile, BadParameter, Conflict, TooMany, Unavailable

from .people import Population, histogram, pairwise, report_json
from .servers import (
    ENVIRONMENT,
    PROGRAM,
    STUDIES,
    Caller,
    Process,
    begin,
    collector,
    contents,
    dpairs,
    enrol,
    stored_symbols,
    until,
)


def connected(base: str) -> socket.socket:
    host, _, port = base.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=30)


# ---------------------------------------------------------------- heads of requests


def test_a_head_without_an_end_is_cut_off_and_holds_nobody_up(here):
    """40 MiB of header blocked others for 6 seconds."""
    with connected(here.base) as line:
        line.sendall(b"GET / HTTP/1.1\r\nX: ")
        sent, longest, answer = 0, 0.0, b""
        try:
            while sent < 40 * 2**20:
                sent += line.send(b"a" * 2**16)
                began = time.monotonic()
                assert Caller(here.base)("GET", "/healthz").status == 200
                longest = max(longest, time.monotonic() - began)
        except OSError:
            pass
        with contextlib.suppress(OSError):
            answer = line.recv(4096)
    assert sent <= 8 * 2**20
    assert longest < 1.0
    assert not answer or answer[9:12] == b"431"


def test_a_head_of_many_lines_is_refused_in_the_one_form(here):
    with connected(here.base) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 11_000 + b"\r\n")
        answer = line.recv(65536)
    assert answer[9:12] == b"431"
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "TooLarge"


def test_what_is_no_request_is_refused_in_the_one_form(here):
    with connected(here.base) as line:
        line.sendall(b"GARBAGE\r\n\r\n")
        answer = line.recv(65536)
    assert answer[9:12] == b"400"
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "InvalidInput"


def test_half_sent_requests_are_closed_and_others_are_answered(here, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    lines = [connected(here.base) for _ in range(300)]
    for number, line in enumerate(lines):
        line.sendall(b"GET /healthz HTTP/1.1\r\nHo" if number % 2 else b"")
    began = time.monotonic()
    assert Caller(here.base)("GET", "/healthz").status == 200
    assert time.monotonic() - began < 2
    for line in lines:
        line.settimeout(10)
        answer = line.recv(4096)
        assert not answer or answer[9:12] == b"408"
        line.close()


def test_a_second_request_that_is_half_sent_on_a_kept_connection_is_closed(here, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    with connected(here.base) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert line.recv(65536)[9:12] == b"200"
        line.sendall(b"GET /hea")
        line.settimeout(10)
        assert line.recv(4096)[9:12] == b"408"


def test_too_many_connections_make_room_for_new_ones(here, monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 20)
    lines = [connected(here.base) for _ in range(60)]
    assert Caller(here.base)("GET", "/healthz").status == 200
    for line in lines:
        line.close()


# ---------------------------------------------------------------- readiness, errors, logs


def test_a_full_disk_is_alive_and_not_ready(here, monkeypatch):
    """SQLite is told that its file may not grow: what a full disk is to it."""
    study = histogram()
    begin(here.analyst(), study)
    people = [enrol(Caller(here.base), study.id, n) for n in range(3)]
    call = Caller(here.base)
    path = f"{STUDIES}/{study.id}/reports"
    assert call("GET", "/readyz").status == 200
    writing = here.service.database.transaction

    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(here.service.database, "transaction", full)
    assert call("GET", "/healthz").status == 200
    assert call("GET", "/readyz").error == (503, "Unavailable")
    answer = call("POST", path, report_json(study, people[0], 1), token=people[0]["secret"])
    assert answer.error == (503, "Unavailable")
    assert int(answer.headers["retry-after"]) >= 1
    # What is there can still be read.
    assert here.analyst().tally(study.id).n == 0
    monkeypatch.setattr(here.service.database, "transaction", writing)
    assert call("GET", "/readyz").status == 200
    assert call("POST", path, report_json(study, people[0], 1), token=people[0]["secret"]).status == 200


def test_a_database_that_fails_at_reading_is_one_problem_that_may_be_tried_again(here):
    study = histogram()
    begin(here.analyst(), study)
    engine = create_engine(here.database)
    with engine.begin() as connection:
        connection.execute(text("alter table growth rename to elsewhere"))
    answer = Caller(here.base, here.token)("GET", f"{STUDIES}/{study.id}/progress")
    assert answer.error == (503, "Unavailable")
    assert "retry-after" in answer.headers
    with engine.begin() as connection:
        connection.execute(text("alter table elsewhere rename to growth"))
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


# ---------------------------------------------------------------- one study and others


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


# ---------------------------------------------------------------- clocks and downloads


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
    pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'scale' has it.")
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
    with collector(sqlite, answer_seconds=0.5) as quick:
        study = histogram()
        begin(quick.analyst(), study)
        filled(quick, study, 3000)
        real = __import__("dpairs.collector.export", fromlist=["part"]).part

        def slowly(*arguments: Any) -> Any:
            time.sleep(0.2)  # this is the slow database, not a wait for something
            return real(*arguments)

        monkeypatch.setattr("dpairs.collector.export.part", slowly)
        began = time.monotonic()
        body = quick.analyst().reports(study.id)
        assert time.monotonic() - began > 1.0
        assert body.endswith(b"PAR1")


# ---------------------------------------------------------------- files, addresses, pages


def test_the_database_is_for_its_owner_only(sqlite, tmp_path):
    previous = os.umask(0o022)
    try:
        with collector(sqlite) as made:
            begin(made.analyst(), histogram())
            for name in os.listdir(tmp_path):
                assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600, name
    finally:
        os.umask(previous)


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
    process = Process(database, tmp_path)
    process.start()
    try:
        assert process.said["database"].count("***") == 1
        assert "hidden-words" not in json.dumps(process.said)
    finally:
        process.stop()


def test_an_address_of_the_sixth_version_is_listened_on(sqlite, tmp_path):
    command = [*PROGRAM, "serve", "--json", "--host", "::1", "--port", "0", "--database", sqlite]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT
    ) as child:
        assert child.stdout is not None
        said = json.loads(child.stdout.readline())
        try:
            assert said["address"].startswith("http://[::1]:")
            until(lambda: _answers(said["address"]), "an answer")
        finally:
            child.terminate()


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


def test_no_redirect_believes_the_name_that_a_request_gives(here):
    answer = Caller(here.base)("GET", "/healthz/", Host="evil.example")
    assert answer.status == 404
    assert "location" not in answer.headers


def test_a_study_that_is_begun_again_has_a_history(here):
    study = histogram()
    for _ in range(2):
        begin(here.analyst(), study)
        crowd = Population(study, 12, seed=1)
        crowd.enrol(here.transport())
        crowd.answer(here.transport(), study)
        until(lambda: here.analyst().progress(study.id)["stages"][0]["growth"], "a point of the history", 20)
        here.analyst().delete(study.id)
    assert estimate_history.STEP > 1


def test_a_demonstration_that_is_ended_leaves_nothing_behind(tmp_path):
    command = [*PROGRAM, "demo", "--people", "1000", "--pairs", "2", "--folder", str(tmp_path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    database = tmp_path / "dpairs.sqlite"
    until(lambda: database.exists() or child.poll() is not None, "the demonstration's collector")
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGTERM
    # Its collector lets go of the database.
    with collector(f"sqlite:///{database}"):
        pass


# ---------------------------------------------------------------- backups and settings


def test_a_backup_brings_everything_back_but_the_secrets(running, tmp_path, cluster):
    study = histogram()
    begin(running.analyst(), study)
    crowd = Population(study, 20, seed=1)
    crowd.enrol(running.transport())
    crowd.answer(running.transport(), study)
    file = tmp_path / "backup"
    rows = backup.back_up(running.database, file)
    assert rows["reports"] == rows["people"] == 20
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(BadFile, match="already"):
        backup.back_up(running.database, file)
    late = enrol(Caller(running.base), study.id, 99)
    for database in (f"sqlite:///{tmp_path / 'other.sqlite'}", *_elsewhere(running.database, cluster)):
        assert backup.restore(file, database) == rows
        with pytest.raises(Conflict, match="has studies"):
            backup.restore(file, database)
        with collector(database, running.token) as restored:
            assert restored.analyst().tally(study.id) == crowd.offline(study)
            call = Caller(restored.base)
            # Somebody else gets the index that was given after the backup, and alone can use it.
            newcomer = enrol(call, study.id, 100)
            assert newcomer["index"] == late["index"]
            path = f"{STUDIES}/{study.id}/reports"
            answer = call("POST", path, report_json(study, late, 1), token=late["secret"])
            assert answer.error == (401, "NotAllowed")
            answer = call("POST", path, report_json(study, newcomer, 1), token=newcomer["secret"])
            assert answer.json == {"outcome": "counted"}
            # Who was enrolled before asks again, and is who they were.
            again = call("POST", f"{STUDIES}/{study.id}/people", {"request": crowd.requests[0]}).json
            assert again["index"] == crowd.enrolled[0]["index"]
            assert again["secret"] != crowd.enrolled[0]["secret"]
            begin(restored.analyst(), histogram(7))


def _elsewhere(database: str, cluster) -> list[str]:
    return [] if database.startswith("postgresql") else [cluster.new_database()]


def test_backup_and_restore_are_commands(here, tmp_path):
    begin(here.analyst(), histogram())
    file, other = str(tmp_path / "b"), f"sqlite:///{tmp_path / 'new.sqlite'}"
    done = dpairs("backup", file, "--database", here.database, "--json")
    assert json.loads(done.stdout)["studies"] == 1
    done = dpairs("restore", file, "--database", other)
    assert done.returncode == 0, done.stderr
    assert "1 studies" in done.stdout
    done = dpairs("restore", str(tmp_path / "nothing"), "--database", other)
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no backup")


def test_settings_come_from_options_the_environment_and_a_file(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('rate = 5\nburst = 7\npublic_url = "https://a.example"\nstandby = true\n')
    found = configured({"rate": 1.0, "burst": None}, {"DPAIRS_BURST": "9", "DPAIRS_RATE": "3"}, str(file))
    assert (found.rate, found.burst, found.public_url, found.standby) == (1.0, 9, "https://a.example", True)
    assert configured({}, {}) == Settings()
    for wrong in ("unknown = 1", "rate = 'x'", "burst = 1.5", "=", "public_url = 'ftp://x'"):
        file.write_text(wrong)
        with pytest.raises(BadParameter):
            configured({}, {}, str(file))
    for name, value in (("DPAIRS_PORT", "x"), ("DPAIRS_STANDBY", "perhaps"), ("DPAIRS_PORT", "70000")):
        with pytest.raises(BadParameter):
            configured({}, {name: value})


def test_a_link_that_works_here_only_is_warned_of(sqlite):
    command = [*PROGRAM, "serve", "--port", "0", "--database", sqlite]
    for more, warned in (([], True), (["--public-url", "https://studies.example"], False)):
        child = subprocess.Popen(
            [*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
        )
        lines = iter(child.stdout or [])
        assert any("Ctrl-C" in line for line in lines)
        child.terminate()
        _, said = child.communicate(timeout=60)
        assert ("works on this machine only" in said) == warned
