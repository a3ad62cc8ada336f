"""Backups that renew secrets, and settings from everywhere."""

from __future__ import annotations

import json
import signal
import sqlite3
import stat
from pathlib import Path

import pytest

from dpairs.collector import backup
from dpairs.collector.settings import Settings, configured, is_local
from dpairs.errors import BadFile, BadParameter, Conflict

from ..processes import Child, dpairs
from .people import Population, histogram, report_json
from .servers import STUDIES, Caller, begin, collector, enrol, until


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


def test_a_database_of_another_version_is_not_backed_up(here, tmp_path):
    begin(here.analyst(), histogram())
    backup.back_up(here.database, tmp_path / "same")
    older = sqlite3.connect(tmp_path / "same")
    with older:
        older.execute("update alembic_version set version_num = '0001'")
    older.close()
    with pytest.raises(BadFile, match="was made by another version of dpairs: back it up with that one"):
        backup.back_up(f"sqlite:///{tmp_path / 'same'}", tmp_path / "again")
    assert [each.name for each in tmp_path.glob("*again*")] == []


@pytest.mark.parametrize("name", ["a?b", "50%41", "a;b#c", "ü x"])
def test_a_backup_may_have_any_name(here, tmp_path, name):
    file = tmp_path / name
    backup.back_up(here.database, file)
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(("a", "5", "ü", "."))) == [
        name
    ]
    assert backup.restore(file, f"sqlite:///{tmp_path / 'other.sqlite'}")["meta"] == 3


def test_an_empty_file_and_a_database_in_use_are_no_backups(here, tmp_path):
    empty, other = tmp_path / "empty.sqlite", f"sqlite:///{tmp_path / 'other.sqlite'}"
    empty.touch()
    with pytest.raises(BadFile, match="is not a backup of a collector"):
        backup.restore(empty, other)
    with pytest.raises(BadFile, match="use dpairs backup"):
        backup.restore(here.database.removeprefix("sqlite:///"), other)


@pytest.mark.parametrize("address", ["nonsense", "mysql://a/b", "sqlite://[", "postgresql+nothing://a/b"])
def test_a_backup_from_nowhere_is_one_sentence(tmp_path, address):
    done = dpairs("backup", str(tmp_path / "file"), "--database", address)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "address",
    [
        "https://:secret@host",
        "https://user@host",
        "https://host:99999",
        "https://a\nb.example",
        "https://two words",
        "http://<script>",
        "https://host/?",
        "https://host#",
        "https://host/path",
        "https://h\u202e.example",
        "https://-",
        "http://..:80",
        "javascript:alert(1)",
    ],
)
def test_a_public_address_is_plain(address):
    with pytest.raises(BadParameter) as refused:
        Settings(public_url=address)
    assert "secret" not in str(refused.value)
    Settings(public_url="https://studies.example.org:8443/")
    Settings(public_url="http://[2001:db8::1]:80")


def test_no_setting_is_beyond_reason():
    for name in ("message_hours", "answer_seconds", "body_memory", "burst"):
        with pytest.raises(BadParameter, match=name):
            configured({name: 1e300}, {})


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
    for name, value in (
        ("DPAIRS_PORT", "x"),
        ("DPAIRS_STANDBY", "perhaps"),
        ("DPAIRS_PORT", "70000"),
        ("DPAIRS_HOST", ""),
    ):
        with pytest.raises(BadParameter):
            configured({}, {name: value})


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost.", True),
        ("a.localhost", True),
        ("127.0.0.9", True),
        ("0.0.0.0", True),
        ("[::ffff:127.0.0.1]", True),
        ("[0:0:0:0:0:0:0:1]", True),
        ("192.168.1.2", False),
        ("localhost.example", False),
    ],
)
def test_an_address_that_works_here_only_is_known(host, local):
    assert is_local(f"http://{host}:8000") == local


def test_a_link_that_works_here_only_is_warned_of(sqlite, tmp_path):
    for name, more, warned in (
        ("here", [], True),
        ("out", ["--public-url", "https://studies.example"], False),
    ):
        out, err = tmp_path / f"{name}.out", tmp_path / f"{name}.err"
        child = Child(["serve", "--port", "0", "--database", sqlite, *more], tmp_path, out, err)
        until(lambda: "Ctrl-C" in read(out) or not child.alive, "the words of a collector")  # noqa: B023
        child.send_signal(signal.SIGTERM)
        child.wait(60)
        assert ("works on this machine only" in err.read_text()) == warned


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
