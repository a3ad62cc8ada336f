"""A helper defends by itself: against anybody, and against a leader that sends anything."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from dpairs.dap.collection import CollectionJobReq
from dpairs.dap.jobs import JobRequest, read_answer
from dpairs.dap.products import CloseReq, LeaderProducts, reply_size
from dpairs.dap.reports import Extension, Report, ReportError, ReportMetadata
from dpairs.dap.task import Task, analyst_token
from dpairs.dap.verification import Verifier

from ..dap.test_messages import mutated
from .hostile import LEADER_KEY, MUTATIONS, URN, HostileLeader, kind_of
from .pair import ANALYST, KIND, SECRET, InThread, auc, crowd, new_task, state


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
    for _ in range(MUTATIONS):
        answer = hostile.post("products/reply", mutated(reply, rng), "dpairs-products-reply")
        assert answer.status in (200, 400)
    assert (
        hostile.post("products/reply", rng.randbytes(reply_size(task)), "dpairs-products-reply").status == 400
    )
    assert state(helper.line, task)["state"] == "closed"
