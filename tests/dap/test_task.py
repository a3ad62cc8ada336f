"""The file that both operators accept, and the keys of a server."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import dpairs
from dpairs.aggregator.keys import MOST, ServerKeys, fresh_keys
from dpairs.dap.task import Analyst, Operator, Task, analyst_token
from dpairs.errors import BadFile, BadParameter
from dpairs.vdaf.hpke import public_key

STUDY = dpairs.Study.create(
    "auc", protocol="two_servers", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=8, seed=1
)
ONE, TWO = Operator("A", "https://a.example"), Operator("B", "https://b.example/dap")
TASK = Task(STUDY, "Risk score", ONE, TWO, Analyst.of(bytes(32)), 100)


def test_every_part_of_the_file_is_in_its_id():
    changes: list[dict[str, Any]] = [
        {"title": "Other"},
        {"leader": Operator("C", ONE.url)},
        {"helper": Operator("B", "https://c.example")},
        {"analyst": Analyst.of(bytes(31) + b"\x01")},
        {"min_batch_size": 101},
        {"time_precision": 60},
        {
            "study": dpairs.Study.create(
                "auc", protocol="two_servers", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=9
            )
        },
    ]
    others = [replace(TASK, **change) for change in changes]
    assert len({TASK.id, *(each.id for each in others)}) == len(changes) + 1
    assert len({TASK.batch_id, *(each.batch_id for each in others)}) == len(changes) + 1
    secrets = [
        TASK.verify_key(bytes(32)),
        TASK.verify_key(bytes(31) + b"\x01"),
        others[0].verify_key(bytes(32)),
    ]
    assert len(set(secrets)) == 3
    assert TASK.leader_token(bytes(32)).encode() not in secrets


def test_a_changed_file_is_refused(tmp_path):
    TASK.save(tmp_path / "task.json")
    assert Task.load(tmp_path / "task.json") == TASK
    spec = json.loads(TASK.to_json())

    def refused(words: str, **changes: Any) -> None:
        given = {key: value for key, value in {**spec, **changes}.items() if value is not None}
        with pytest.raises(BadFile, match=words):
            Task.from_json(json.dumps(given))

    refused("was changed", min_batch_size=99)
    refused("was changed", title="Other")
    refused("lacks", title=None)
    refused("no option", more=1)
    refused("not a task", version=2)
    refused("'name' and a 'url'", leader={"name": "A"})
    refused("hexadecimal", analyst={"key": "xx", "token": "00"})
    refused("32 bytes each", analyst={"key": "00", "token": "00"})
    refused("min_batch_size", min_batch_size=1)
    with pytest.raises(BadFile):
        Task.from_json(TASK.to_json()[:-5])


def test_parts_that_do_not_fit_are_refused():
    def refused(words: str, **changes: Any) -> None:
        with pytest.raises(BadParameter, match=words):
            replace(TASK, **changes)

    refused("two servers", helper=ONE)
    refused("two servers", helper=Operator("A", TWO.url))
    refused("min_batch_size", min_batch_size=3)
    refused("one line", title="two\nlines")
    two_rounds = dpairs.Study.create(
        "auc", protocol="two_servers", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=8, rounds=2
    )
    refused("one round", study=two_rounds)
    refused("no servers", study=dpairs.Study.create("auc", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=8))
    for url in (
        "ftp://a",
        "https://a.example/",
        "https://a.example?x",
        "https://user@a.example",
        "a.example",
        "",
    ):
        with pytest.raises(BadParameter, match="address"):
            Operator("A", url)
    with pytest.raises(BadParameter, match="by https"):
        Operator("A", "http://a.example")
    assert Operator("A", "http://127.0.0.1:8000").url


def test_only_the_analysts_secret_gives_the_token():
    assert TASK.analyst.may(analyst_token(bytes(32)))
    for other in ("", "x", analyst_token(bytes(31) + b"\x01"), analyst_token(bytes(32)) + "A"):
        assert not TASK.analyst.may(other)
    assert "token" not in repr(TASK.analyst)


def test_keys_are_rotated_and_old_ones_kept(tmp_path):
    first, file = fresh_keys(), tmp_path / "server.keys"
    second = first.rotated()
    second.save(file)
    assert file.stat().st_mode & 0o077 == 0
    found = ServerKeys.load(file)
    assert found == second
    assert set(first.secrets.items()) < set(found.secrets.items())
    assert [each.id for each in found.configs] == [1]
    assert found.configs[0].public_key == public_key(found.secrets[1])
    many = first
    while len(many.secrets) < MOST:
        many = many.rotated()
    with pytest.raises(BadParameter, match="at most"):
        many.rotated()
    for secret in found.secrets.values():
        assert secret.hex() not in repr(found)
    for bad in ("{}", '{"format":"dpairs-server-keys","version":1,"keys":[]}', "x"):
        file.write_text(bad)
        with pytest.raises(BadFile):
            ServerKeys.load(file)
    twice = json.loads(canonical_keys(first))
    twice["keys"] *= 2
    file.write_text(json.dumps(twice))
    with pytest.raises(BadFile, match="twice"):
        ServerKeys.load(file)


def canonical_keys(keys: ServerKeys) -> str:
    listed = [{"id": name, "secret": secret.hex()} for name, secret in keys.secrets.items()]
    return json.dumps({"format": "dpairs-server-keys", "version": 1, "keys": listed})
