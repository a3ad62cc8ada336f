"""A leader defends by itself: against anybody, and against a helper that sends anything."""

from __future__ import annotations

import random
import time
import zlib
from pathlib import Path

import pytest

from dpairs.aggregator import driver
from dpairs.aggregator.workers import MAX_ANSWER
from dpairs.dap.collection import CollectionJobReq
from dpairs.dap.jobs import VerifyResp, read_answer, write_answer
from dpairs.dap.participant import make_report
from dpairs.dap.products import HelperProducts
from dpairs.dap.reports import HpkeConfig, ReportError
from dpairs.dap.task import Task, analyst_token
from dpairs.errors import BadMessage, DpairsError, Refused
from dpairs.randomness import SystemRandomness
from dpairs.vdaf.hpke import derive_key, public_key

from ..collector.servers import Caller, until
from ..dap.test_messages import mutated
from ..ports import free_port
from .hostile import MUTATIONS, Alone, Between, say
from .pair import ANALYST, KIND, SECRET, InThread, auc, collect, crowd, new_task, state, upload


@pytest.fixture
def task() -> Task:
    return new_task(auc(bins=8), least=20)


@pytest.fixture
def alone(task: Task, tmp_path: Path, ending) -> Alone:
    found = Alone(task, tmp_path)
    ending(found.database.close)
    return found


def test_mutated_messages_of_a_helper_crash_nothing_and_release_nothing(alone, task):
    rng = random.Random(4)
    begun = alone.verifiers[0].begin(alone.reports)
    _, outbound = alone.verifiers[1].answer(begun.inits)
    ids = [each.metadata.report_id for each in begun.inits]
    wire = write_answer([VerifyResp(each, outbound[each]) for each in ids])
    for _ in range(MUTATIONS):
        other = mutated(wire, rng)
        try:
            verified = alone.verifiers[0].finish(begun, read_answer(other, ids))
        except BadMessage:
            continue
        # Only what the leader's own proof holds for is counted.
        assert set(verified.valid) <= set(ids)
        assert other == wire or len(verified.valid) < 30
    sums = alone.verify()
    buckets = {name: sums[name] for name in task.study.strata}
    alone.leader.collect(bytes(CollectionJobReq()))
    alone.leader.close()
    offer = HelperProducts(task, buckets, bytes(32)).offer
    for _ in range(MUTATIONS):
        with pytest.raises(DpairsError):
            alone.leader.reply(mutated(offer, rng)[: len(offer) - 1])
    reply = alone.leader.reply(offer)
    assert alone.leader.reply(offer) == reply
    with pytest.raises(Refused, match="another offer"):
        alone.leader.reply(HelperProducts(task, buckets, SECRET).offer)
    _, corrections = HelperProducts(task, buckets, bytes(32)).correct(reply)
    for _ in range(MUTATIONS):
        with pytest.raises(DpairsError):
            alone.leader.finish(mutated(corrections, rng)[: len(corrections) - 1])
        with pytest.raises(DpairsError):
            alone.leader.release(rng.randbytes(rng.randrange(300)))
    assert alone.store.row().state == "closed"
    with pytest.raises(Refused, match="wrong time"):
        alone.leader.release(bytes(1) + b"\x00\x20" + bytes(32) + b"\x00\x00\x00\x01x")
    assert alone.store.row().result is None


LIES = [
    lambda handler: say(handler, 200, b""),
    lambda handler: say(handler, 200, bytes(MAX_ANSWER + 2**20)),
    lambda handler: say(handler, 200, bytes(40), Content_Length="9" * 30),
    lambda handler: say(handler, 200, zlib.compress(bytes(10**7)), Content_Encoding="deflate"),
    lambda handler: say(handler, 302, b"", Location="http://127.0.0.1:9/"),
    lambda handler: say(handler, 500, b"<traceback>"),
    lambda handler: say(handler, 400, b'{"error": "Unavailable", "message": "\\u0000[bold]\\ud800"}'),
    lambda handler: handler.wfile.write(b"HTTP/1.1 200 " + b"x" * 70_000),
    lambda handler: None,
]


def test_a_leader_outlives_answers_that_are_none(tmp_path, ending, monkeypatch):
    """Each step gets each of these answers, then an honest one: the result is the ideal one."""
    monkeypatch.setattr(driver, "RETRY", 0.01)
    monkeypatch.setattr(driver, "LINGER", 0.01)
    task = new_task(auc(bins=8), least=20)
    helper = InThread(task, 1, f"sqlite:///{tmp_path}/helper.sqlite", base=f"http://127.0.0.1:{free_port()}")
    ending(helper.stop)
    between = Between(task.helper.url, helper.base, LIES)
    ending(between.stop)
    leader = InThread(task, 0, f"sqlite:///{tmp_path}/leader.sqlite")
    ending(leader.stop)
    people = crowd(task, 30)
    reports = people.reports(configs=[leader.keys.configs[0], helper.keys.configs[0]])
    assert upload(leader.line, task, reports) == {}
    token, path = analyst_token(ANALYST), f"/tasks/{task.name}/collection_jobs"
    call, looks = Caller(leader.base), list[str]()

    def released() -> bool:
        answer = call(
            "POST", path, body=bytes(CollectionJobReq()), kind=f"{KIND}collection-job-req", token=token
        )
        assert answer.status in (200, 202, 400), answer
        looks.append(state(leader.line, task)["state"])
        return looks[-1] == "released"

    until(released, "a result")
    assert len(looks) > len(LIES)
    assert collect(leader.line, task).to_json() == people.ideal().to_json()
    steps = ("aggregation_jobs", "products", "products/reply", "aggregate_shares")
    assert all(between.told[f"/tasks/{task.name}/{step}"] > len(LIES) for step in steps)


def test_the_leader_alone_refuses_too_few_and_a_second_release(alone, task):
    with pytest.raises(Refused, match="at least 20"):
        alone.leader.collect(bytes(CollectionJobReq()))
    alone.leader.take(alone.reports[:25])
    name = alone.leader.collect(bytes(CollectionJobReq()))
    with pytest.raises(Refused, match="at least 20"):
        alone.leader.close()
    alone.leader.fail(Refused("too few", "invalidBatchSize"))
    assert alone.store.row().state == "open"
    with pytest.raises(Refused, match="too few"):
        alone.leader.collected(name)
    for wire in (b"", bytes(CollectionJobReq(mode=1)), bytes(CollectionJobReq(agg_param=b"x"))):
        with pytest.raises(DpairsError):
            alone.leader.collect(wire)


def test_mutated_uploads_and_collections_crash_nothing(task, tmp_path, ending):
    leader = InThread(task, 0, f"sqlite:///{tmp_path}/leader.sqlite")
    ending(leader.stop)
    bits, rng, call = SystemRandomness(), random.Random(5), Caller(leader.base)
    configs = [leader.keys.configs[0], HpkeConfig(4, public_key(derive_key(bytes(32))))]
    report = bytes(make_report(task, configs, "positive", 3, int(time.time()), bits))
    token, path, kind = analyst_token(ANALYST), f"/tasks/{task.name}", f"{KIND}collection-job-req"
    for _ in range(MUTATIONS):
        body = mutated(report, rng)
        answer = call("POST", f"{path}/reports", body=body, kind=f"{KIND}upload-req")
        assert answer.status in (200, 400)
        wire = mutated(bytes(CollectionJobReq()), rng)
        answer = call("POST", f"{path}/collection_jobs", body=wire, kind=kind, token=token)
        assert answer.status == 400
        name = bytes(rng.randrange(33, 127) for _ in range(rng.randrange(1, 30))).decode().replace("/", "a")
        name = name.replace("#", "b").replace("?", "c").replace("%", "d").replace(".", "e")
        assert call("GET", f"{path}/collection_jobs/{name}", token=token).status == 400
    for wrong in ("none", task.leader_token(SECRET)):
        refused = call("POST", f"{path}/collection_jobs", body=b"", kind=kind, token=wrong)
        assert refused.status == 401
    assert state(leader.line, task)["state"] == "open"
    assert call("POST", f"{path}/aggregation_jobs", body=b"x").status == 404
    early = make_report(task, configs, "positive", 3, int(time.time()) + 10**5, bits)
    stale = make_report(task, [HpkeConfig(99, configs[0].public_key), configs[1]], "positive", 3, 10**9, bits)
    body = bytes(early) + bytes(stale)
    answer = call("POST", f"{path}/reports", body=body, kind=f"{KIND}upload-req")
    assert [answer.body[16], answer.body[33]] == [ReportError.REPORT_TOO_EARLY, ReportError.OUTDATED_CONFIG]
