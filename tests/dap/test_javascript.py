"""The browser's messages are Python's: reports that verify, results that open to the same numbers."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dpairs
from dpairs.dap.collection import CollectionJobReq, CollectionJobResp
from dpairs.dap.jobs import VerifyResp
from dpairs.dap.products import HelperProducts, LeaderProducts
from dpairs.dap.reports import HpkeConfig, read_report, write_configs
from dpairs.dap.result import open_release, result_share
from dpairs.dap.sealing import seal_result
from dpairs.dap.task import Analyst, Operator, Task, analyst_token
from dpairs.dap.verification import Verifier
from dpairs.errors import InvalidInput
from dpairs.formats.canonical import canonical, digest
from dpairs.protocols.two_servers.goldilocks import MODULUS
from dpairs.protocols.two_servers.protocol import TwoServers
from dpairs.randomness import SeededRandomness, secret_bytes
from dpairs.vdaf.hpke import derive_key, public_key

NODE = shutil.which("node")
SPEAK = Path(__file__).parent / "speak.mjs"
ANALYST, SHARED = bytes(range(32)), bytes(range(64, 96))
SECRETS = [derive_key(bytes([number]) * 32) for number in (1, 2)]
CONFIGS = [HpkeConfig(number, public_key(secret)) for number, secret in enumerate(SECRETS)]
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


def made(study: dpairs.Study, least: int = 4) -> Task:
    one, two = Operator("A", "https://a.example/dap"), Operator("B", "https://b.example")
    return Task(study, "Zufriedenheit, ü", one, two, Analyst.of(ANALYST), least)


def spoken(agreed: Task, **asked: Any) -> Any:
    given = json.dumps({"task": agreed.to_json(), "id": agreed.id.hex(), **asked})
    command = [str(NODE), str(SPEAK)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


SCORES = [("positive", 0.7), ("negative", 0.2), ("positive", 1), ("negative", 0)]
STUDIES: dict[str, Any] = {
    "auc": (
        dpairs.Study.create(
            "auc", protocol="two_servers", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=40, n=2000, seed=1
        ),
        [(group, {"score": score}) for group, score in SCORES],
    ),
    "counts": (
        dpairs.Study.create(
            "kendall_tau",
            protocol="two_servers",
            epsilon=1.5,
            release="counts",
            domain=(dpairs.Levels(range(3)),) * 2,
            seed=1,
        ),
        [
            ("all", {"x": 0, "y": 2}),
            ("all", {"x": 1, "y": 1}),
            ("all", {"x": 2, "y": 0}),
            ("all", {"x": 2, "y": 2}),
        ],
    ),
    **{
        f"tau, {n}": (
            dpairs.Study.create(
                "kendall_tau",
                protocol="two_servers",
                epsilon=1.0,
                domain=(dpairs.Interval(0, 1),) * 2,
                bins=32,
                n=n,
                seed=1,
            ),
            [("all", {"x": number / 5, "y": 1 - number / 9}) for number in range(4)],
        )
        for n in (300, 10_000)
    },
}
"""Of 300 people near pairs make up for nothing, of 10,000 they are measured."""


@pytest.mark.parametrize("name", STUDIES)
def test_reports_of_a_browser_verify_and_its_result_is_pythons(name):
    study, people = STUDIES[name]
    task = made(study)
    strata = study.strata
    asked = [
        {"stratum": group if group in strata else strata[0], "values": values} for group, values in people
    ]
    configs = [write_configs([HpkeConfig(9, b"k", 0x0010), each]).hex() for each in CONFIGS]
    said = spoken(task, people=asked, configs=configs, seconds=int(time.time()))
    assert said["configuration"] == task.configuration.hex()
    assert said["name"] == task.name
    reports = [read_report(bytes.fromhex(each)) for each in said["reports"]]
    leader, helper = (
        Verifier(task, number, {number: SECRETS[number]}, task.verify_key(SHARED)) for number in (0, 1)
    )
    begun = leader.begin(reports)
    found, outbound = helper.answer(begun.inits)
    mine = leader.finish(begun, [VerifyResp(each, outbound[each]) for each in outbound])
    assert mine.valid == found.valid == [each.metadata.report_id for each in reports]

    buckets = [{each: part.buckets[each] for each in strata} for part in (mine, found)]
    products: list[list[int]] = [[], []]
    if study.protocol.forms:
        second = HelperProducts(task, buckets[1], bytes(32))
        first = LeaderProducts(task, buckets[0], bytes(32), second.offer)
        products[1], corrections = second.correct(first.reply)
        products[0] = first.finish(corrections)
    sizes = {each: bucket.people for each, bucket in buckets[0].items()}
    noise = [task.protocol.noise(sizes, SeededRandomness(number)) for number in (3, 4)]
    shares = [result_share(task, buckets[number], products[number], noise[number]) for number in (0, 1)]
    request = CollectionJobReq()
    sealed = [seal_result(task, number, request, shares[number], secret_bytes()) for number in (0, 1)]
    answer = CollectionJobResp(4, 5, 1, sealed[0], sealed[1])
    release = open_release(task, ANALYST, request, answer)
    opened = spoken(task, secret=ANALYST.hex(), result=bytes(answer).hex())
    assert opened["release"] == release.to_json()
    assert opened["token"] == analyst_token(ANALYST)
    if name == "auc":
        assert opened["auc"]["value"] == pytest.approx(release.numbers.totals[0] / 2 / 4)
        assert isinstance(task.protocol, TwoServers)
        spread = task.protocol.budget.variance(task.protocol.queries(sizes)[0][0]) ** 0.5 / 2 / 4
        assert opened["auc"]["noise"] == pytest.approx(spread, rel=1e-3)
    # The cells are those of the values: without the noise, the histogram of these people.
    for group in strata:
        one, two = (held[group].vector for held in buckets)
        members = [each["values"] for each in asked if each["stratum"] == group]
        columns = [[values[key] for values in members] for key in study.statistic.private_columns]
        cells = task.protocol.added(group, task.protocol.measure(group, columns))
        assert [(a + b) % MODULUS for a, b in zip(one, two, strict=True)] == cells.tolist()


def test_a_browser_refuses_other_tasks_keys_and_altered_results():
    study, _ = STUDIES["auc"]
    task, person = made(study), [{"stratum": "positive", "values": {"score": 0.5}}]
    configs, now = [write_configs([each]).hex() for each in CONFIGS], int(time.time())
    other = replace(task, min_batch_size=5)
    assert spoken(other, id=task.id.hex(), people=person, configs=configs, seconds=now)["error"] == "BadFile"
    changed = task.to_json().replace('"min_batch_size":4', '"min_batch_size":3')
    assert "changed" in spoken(task, task=changed, people=person, configs=configs, seconds=now)["message"]
    none = write_configs([HpkeConfig(1, bytes(32), 0x0010)]).hex()
    assert "no key" in spoken(task, people=person, configs=[none, none], seconds=now)["message"]
    sealed = seal_result(task, 0, CollectionJobReq(), bytes(48), secret_bytes())
    answer = bytes(CollectionJobResp(4, 5, 1, sealed, sealed)).hex()
    assert "altered" in spoken(task, secret=ANALYST.hex(), result=answer)["message"]
    outside = [{"stratum": "positive", "values": {"score": 1.5}}]
    assert spoken(task, people=outside, configs=configs, seconds=now)["error"] == "BadValue"


def test_a_browser_refuses_what_python_refuses():
    """One server under two names gets both shares: no page may offer that, whoever hosts it."""
    task = made(STUDIES["auc"][0])
    content = json.loads(task.to_json())
    del content["id"]
    leader, helper = content["leader"], content["helper"]
    bad: list[dict[str, Any]] = [
        {"helper": {**helper, "url": leader["url"]}},
        {"helper": {**helper, "name": leader["name"]}},
        {"helper": {**helper, "url": "http://b.example"}},
        {"helper": {**helper, "url": "https://a.example@b.example"}},
        {"helper": {**helper, "url": "https://b.example/"}},
        {"helper": {**helper, "url": "http://localhost@b.example"}},
        {"helper": {**helper, "name": "B\u202eA"}},
        {"title": ""},
        {"title": "two\nlines"},
        {"title": "x" * 201},
        {"min_batch_size": 3},
    ]
    for changes in ({}, *bad):
        changed = {**content, **changes}
        name = digest(changed)
        words = canonical({**changed, "id": name})
        said = spoken(task, task=words, id=name, people=[], configs=[], seconds=0)
        if changes:
            assert "error" in said, changes
            with pytest.raises(InvalidInput):
                Task.from_json(words)
        else:
            assert said["name"] == task.name
