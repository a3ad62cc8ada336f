"""Each server defends by itself: against anybody, and against the other one, whatever it sends."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dpairs.aggregator import schema
from dpairs.aggregator.leader import Leader
from dpairs.aggregator.store import Store
from dpairs.collector.database import Database
from dpairs.dap.buckets import sizes, total_checksum
from dpairs.dap.collection import AggregateShareReq, CollectionJobReq
from dpairs.dap.jobs import JobRequest, VerifyResp, read_answer, write_answer
from dpairs.dap.participant import make_report
from dpairs.dap.products import CloseReq, HelperProducts, LeaderProducts, reply_size
from dpairs.dap.reports import Extension, HpkeConfig, Report, ReportError, ReportMetadata
from dpairs.dap.task import Task, analyst_token
from dpairs.dap.verification import Verified, Verifier
from dpairs.errors import BadMessage, DpairsError, Refused
from dpairs.randomness import SeededRandomness, SystemRandomness
from dpairs.vdaf.hpke import derive_key, public_key

from ..collector.servers import VALIDATE, Answer, Caller
from ..dap.test_messages import mutated
from .pair import ANALYST, KIND, SECRET, InThread, People, auc, crowd, new_task, state

MUTATIONS = 10_000 if VALIDATE else 40
LEADER_KEY = derive_key(bytes(range(32)))
URN = "urn:ietf:params:ppm:dap:error:"


class HostileLeader:
    """Has the leader's keys and token, and sends what it likes to an honest helper."""

    def __init__(self, task: Task, helper: InThread) -> None:
        self.task, self.helper = task, helper
        self.token = task.leader_token(SECRET)
        self.verifier = Verifier(task, 0, {3: LEADER_KEY}, task.verify_key(SECRET))
        self.call = Caller(helper.base)
        self.sums: dict = {}

    @property
    def configs(self) -> list[HpkeConfig]:
        return [HpkeConfig(3, public_key(LEADER_KEY)), self.helper.keys.configs[0]]

    def reports(self, people: People) -> list[Report]:
        bits, now = SystemRandomness(), int(time.time())
        return [
            make_report(people.task, self.configs, stratum, cell, now, bits)
            for stratum, cells in people.cells.items()
            for cell in cells
        ]

    def post(self, path: str, body: bytes, kind: str, token: str | None = None, name: str = "") -> Answer:
        where = f"/tasks/{name or self.task.name}/{path}"
        return self.call(
            "POST", where, body=body, kind=KIND + kind, token=self.token if token is None else token
        )

    def job(self, reports: list[Report]) -> bytes:
        return bytes(JobRequest(self.task.batch_id, self.verifier.begin(reports).inits))

    def aggregate(self, reports: list[Report]) -> Verified:
        begun = self.verifier.begin(reports)
        body = bytes(JobRequest(self.task.batch_id, begun.inits))
        answer = self.post("aggregation_jobs", body, "aggregation-job-init-req")
        assert answer.status == 200, answer
        ids = [each.metadata.report_id for each in begun.inits]
        found = self.verifier.finish(begun, read_answer(answer.body, ids))
        for name, bucket in found.buckets.items():
            self.sums[name] = self.sums[name].plus(bucket) if name in self.sums else bucket
        return found

    @property
    def buckets(self) -> dict:
        return {name: self.sums[name] for name in self.task.study.strata}

    def close(self) -> Answer:
        return self.post("products", bytes(CloseReq.of(self.buckets)), "dpairs-close-req")

    def multiply(self) -> None:
        offer = self.close()
        assert offer.status == 200, offer
        reply = LeaderProducts(self.task, self.buckets, bytes(32), offer.body).reply
        assert self.post("products/reply", reply, "dpairs-products-reply").status == 200

    def ask(self, **changes) -> bytes:
        found = AggregateShareReq(
            CollectionJobReq(),
            self.task.batch_id,
            sum(sizes(self.buckets).values()),
            total_checksum(self.buckets),
        )
        return bytes(replace(found, **changes))

    def share(self, body: bytes) -> Answer:
        return self.post("aggregate_shares", body, "aggregate-share-req")


def kind_of(answer: Answer) -> str:
    assert answer.status == 400, answer
    assert answer.json["detail"]
    return str(answer.json["type"]).removeprefix(URN)


@pytest.fixture
def task() -> Task:
    return new_task(auc(bins=8), least=20)


@pytest.fixture
def helper(task: Task, tmp_path: Path, ending) -> InThread:
    server = InThread(task, 1, f"sqlite:///{tmp_path}/helper.sqlite")
    ending(server.stop)
    return server


@pytest.fixture
def hostile(task: Task, helper: InThread) -> HostileLeader:
    return HostileLeader(task, helper)


def test_the_helper_verifies_a_report_once(hostile, helper, task):
    reports = hostile.reports(crowd(task, 30))
    assert len(hostile.aggregate(reports).valid) == 30
    again = hostile.aggregate(reports[:5] + hostile.reports(crowd(task, 1, seed=8)))
    assert len(again.valid) == 1
    assert set(again.refused.values()) == {ReportError.REPORT_REPLAYED}
    assert sum(state(helper.line, task)["verified"].values()) == 31
    # The very same job gets the very same answer, and is not counted again.
    body = hostile.job(reports)
    one, two = (hostile.post("aggregation_jobs", body, "aggregation-job-init-req") for _ in range(2))
    assert one.body == two.body
    assert one.headers["location"] == two.headers["location"]
    assert sum(state(helper.line, task)["verified"].values()) == 31


def test_the_helper_tries_a_refused_report_only_once(hostile, task):
    """A leader that may try again with other messages would learn about the helper's share."""
    (report, *_) = hostile.reports(crowd(task, 3))
    begun = hostile.verifier.begin([report])
    wrong = replace(begun.inits[0], payload=begun.inits[0].payload[:-1] + b"\x00")
    for init, error in (
        (wrong, ReportError.VDAF_VERIFY_ERROR),
        (begun.inits[0], ReportError.REPORT_REPLAYED),
    ):
        body = bytes(JobRequest(task.batch_id, (init,)))
        answer = hostile.post("aggregation_jobs", body, "aggregation-job-init-req")
        assert read_answer(answer.body, [report.metadata.report_id])[0].error == error


def test_reports_of_other_tasks_classes_and_times_are_refused(hostile, helper, task):
    other = replace(task, min_batch_size=task.min_batch_size + 1)
    reports = hostile.reports(crowd(task, 4)) + hostile.reports(crowd(other, 4))
    body = bytes(JobRequest(task.batch_id, hostile.verifier.begin(reports[:4]).inits))
    begun = Verifier(other, 0, {3: LEADER_KEY}, task.verify_key(SECRET)).begin(reports[4:])
    alien = bytes(JobRequest(task.batch_id, begun.inits))

    def errors(wire: bytes, of: list[Report]) -> set:
        answer = hostile.post("aggregation_jobs", wire, "aggregation-job-init-req")
        return {each.error for each in read_answer(answer.body, [each.metadata.report_id for each in of])}

    assert errors(alien, reports[4:]) == {ReportError.HPKE_DECRYPT_ERROR}
    later = [
        replace(each, metadata=replace(each.metadata, time=each.metadata.time + 9))
        for each in hostile.verifier.begin(reports[:4]).inits
    ]
    assert errors(bytes(JobRequest(task.batch_id, tuple(later))), reports[:4]) == {
        ReportError.REPORT_TOO_EARLY
    }
    swapped = [
        replace(each, metadata=ReportMetadata(each.metadata.report_id, each.metadata.time, extensions))
        for each, extensions in zip(
            hostile.verifier.begin(reports[:4]).inits,
            [(), (Extension(0xFF01, b"\x02"),), (Extension(0xFF01, b"\x00\x00"),), (Extension(9, b""),)],
            strict=True,
        )
    ]
    wire = bytes(JobRequest(task.batch_id, tuple(swapped)))
    assert errors(wire, reports[:4]) == {ReportError.INVALID_MESSAGE}
    assert errors(body, reports[:4]) == {ReportError.REPORT_REPLAYED}
    # A leader that changed the file speaks about a task that the helper's operator never saw.
    refused = hostile.post("aggregation_jobs", body, "aggregation-job-init-req", name=other.name)
    assert (refused.status, refused.json["type"]) == (404, URN + "unrecognizedTask")
    assert sum(state(helper.line, task)["verified"].values()) == 0


def test_a_changed_class_is_refused(hostile, helper, task):
    reports = hostile.reports(crowd(task, 10))
    moved = [
        replace(each, metadata=replace(each.metadata, extensions=task.extensions("negative")))
        for each in hostile.verifier.begin(reports).inits
        if each.metadata.extensions == task.extensions("positive")
    ]
    answer = hostile.post(
        "aggregation_jobs", bytes(JobRequest(task.batch_id, tuple(moved))), "aggregation-job-init-req"
    )
    found = read_answer(answer.body, [each.metadata.report_id for each in moved])
    assert {each.error for each in found} == {ReportError.HPKE_DECRYPT_ERROR}


def test_the_helper_releases_one_batch_once_and_not_of_too_few(hostile, helper, task):
    hostile.aggregate(hostile.reports(crowd(task, 12)))
    assert kind_of(hostile.close()) == "invalidBatchSize"
    assert kind_of(hostile.share(hostile.ask())) == "invalidBatchSize"
    hostile.aggregate(hostile.reports(crowd(task, 18, seed=6)))
    assert kind_of(hostile.share(hostile.ask())) == "batchInvalid"  # no products yet
    assert kind_of(hostile.share(hostile.ask(batch_id=bytes(32)))) == "batchInvalid"
    assert kind_of(hostile.share(hostile.ask(report_count=29))) == "batchMismatch"
    assert kind_of(hostile.share(hostile.ask(checksum=bytes(32)))) == "batchMismatch"
    other = hostile.job(hostile.reports(crowd(task, 2, seed=7))).replace(task.batch_id, bytes(32))
    answer = hostile.post("aggregation_jobs", other, "aggregation-job-init-req")
    assert kind_of(answer) == "batchInvalid"
    hostile.multiply()
    late = hostile.verifier.begin(hostile.reports(crowd(task, 2, seed=9)))
    ids = [each.metadata.report_id for each in late.inits]
    answer = hostile.post(
        "aggregation_jobs", bytes(JobRequest(task.batch_id, late.inits)), "aggregation-job-init-req"
    )
    assert {each.error for each in read_answer(answer.body, ids)} == {ReportError.BATCH_COLLECTED}
    first = hostile.share(hostile.ask())
    assert first.status == 200
    assert hostile.share(hostile.ask()).body == first.body
    changed = CollectionJobReq(config=b"again")
    assert kind_of(hostile.share(hostile.ask(collection=changed))) == "invalidMessage"
    assert kind_of(hostile.share(hostile.ask(report_count=31))) == "batchOverlap"
    assert kind_of(hostile.close()) == "batchOverlap"
    assert hostile.share(hostile.ask()).body == first.body
    assert state(helper.line, task)["state"] == "released"


def test_the_helper_answers_one_reply_of_one_secret(hostile, task):
    hostile.aggregate(hostile.reports(crowd(task, 30)))
    offer = hostile.close().body
    assert hostile.close().body == offer
    one, two = (LeaderProducts(task, hostile.buckets, secret, offer).reply for secret in (bytes(32), SECRET))
    first = hostile.post("products/reply", one, "dpairs-products-reply")
    assert first.status == 200
    assert hostile.post("products/reply", one, "dpairs-products-reply").body == first.body
    assert kind_of(hostile.post("products/reply", two, "dpairs-products-reply")) == "stepMismatch"


def test_a_reply_that_does_not_hold_ends_its_secret(hostile, task):
    hostile.aggregate(hostile.reports(crowd(task, 30)))
    offer = hostile.close().body
    reply = LeaderProducts(task, hostile.buckets, bytes(32), offer).reply
    bad = reply[:-1] + bytes([reply[-1] ^ 1])
    assert hostile.post("products/reply", bad, "dpairs-products-reply").status == 400
    assert hostile.close().body != offer
    assert hostile.post("products/reply", reply, "dpairs-products-reply").status == 400
    hostile.multiply()


PATHS = {
    "aggregation_jobs": "aggregation-job-init-req",
    "products": "dpairs-close-req",
    "products/reply": "dpairs-products-reply",
    "aggregate_shares": "aggregate-share-req",
}


def test_only_the_leader_is_answered(hostile, helper, task):
    wrong = ("", "x", analyst_token(ANALYST), task.leader_token(bytes(32)), "ü")
    for path, kind in PATHS.items():
        for token in wrong[:-1]:
            assert hostile.post(path, b"", kind, token=token or "none").status == 401
        answer = hostile.call("POST", f"/tasks/{task.name}/{path}", body=b"", kind=KIND + kind)
        assert answer.status == 401
        assert hostile.post(path, b"", "other").status == 400
    assert hostile.call("GET", f"/tasks/{task.name}/aggregation_jobs/abc").status == 401


def test_mutated_messages_of_a_leader_crash_nothing_and_release_nothing(hostile, helper, task):
    hostile.aggregate(hostile.reports(crowd(task, 30)))
    rng = random.Random(3)
    good = {
        "aggregation_jobs": hostile.job(hostile.reports(crowd(task, 2, seed=6))),
        "products": bytes(CloseReq.of(hostile.buckets)),
        "aggregate_shares": hostile.ask(),
    }
    statuses = set()
    for path, body in good.items():
        for _ in range(MUTATIONS):
            wire = mutated(good[rng.choice(list(good))] if rng.random() < 0.1 else body, rng)
            if wire != body or path == "aggregation_jobs":
                statuses.add(hostile.post(path, wire, PATHS[path]).status)
    assert statuses <= {200, 400}
    assert state(helper.line, task)["state"] == "open"
    # What was counted meanwhile is no longer what this leader knows, so it cannot even close the batch.
    sums = helper.service.helpers[task.name].store.sums()
    offer = hostile.post("products", bytes(CloseReq.of(sums)), "dpairs-close-req").body
    reply = LeaderProducts(task, hostile.buckets, bytes(32), offer).reply
    for _ in range(MUTATIONS // 4):
        answer = hostile.post("products/reply", mutated(reply, rng), "dpairs-products-reply")
        assert answer.status in (200, 400)
    assert (
        hostile.post("products/reply", rng.randbytes(reply_size(task)), "dpairs-products-reply").status == 400
    )
    assert state(helper.line, task)["state"] == "closed"


# ------------------------------------------------------------ a hostile helper


class Alone:
    """An honest leader's steps, with nobody at the other end."""

    def __init__(self, task: Task, folder: Path) -> None:
        self.task = task
        self.database = Database(f"sqlite:///{folder}/leader.sqlite", schema.create)
        self.store = Store(self.database, task, 0)
        self.store.accept()
        self.leader = Leader(self.store, [3], SeededRandomness(1))
        keys = [HpkeConfig(3, public_key(LEADER_KEY)), HpkeConfig(4, public_key(derive_key(bytes(32))))]
        self.verifiers = [
            Verifier(task, 0, {3: LEADER_KEY}, task.verify_key(SECRET)),
            Verifier(task, 1, {4: derive_key(bytes(32))}, task.verify_key(SECRET)),
        ]
        bits, now = SystemRandomness(), int(time.time())
        self.reports = [
            make_report(task, keys, stratum, cell, now, bits)
            for stratum, cells in crowd(task, 30).cells.items()
            for cell in cells
        ]

    def verify(self) -> dict:
        assert self.leader.take(self.reports) == [None] * 30
        assert self.leader.new_job(1, 100)
        (name,) = self.leader.open_jobs()
        begun = self.verifiers[0].begin(self.reports)
        found, outbound = self.verifiers[1].answer(begun.inits)
        answers = [VerifyResp(each, outbound[each]) for each in outbound]
        self.leader.commit(name, self.verifiers[0].finish(begun, answers))
        return found.buckets


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
    for _ in range(min(MUTATIONS, 200)):
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
