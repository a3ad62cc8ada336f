"""What stands beside the keys outlives a database that is set back; a hostile helper's words stop nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpairs.aggregator.releases import Releases
from dpairs.dap.products import CloseReq, HelperProducts, LeaderProducts
from dpairs.errors import BadFile, Refused

from ..collector.servers import until
from .hostile import Alone, HostileLeader, kind_of
from .pair import SECRET, InThread, auc, collect, crowd, in_threads, new_task, state, upload


def test_a_helper_that_is_set_back_answers_one_reply_of_its_secret(tmp_path, ending):
    """All zeros in one reply and all ones in another: both answers together give the helper's sums away."""
    task, place = new_task(auc(bins=8), least=20), tmp_path / "helper.sqlite"

    def started() -> InThread:
        return InThread(task, 1, f"sqlite:///{place}", kept=tmp_path / "helper.released")

    helper = started()
    try:
        hostile = HostileLeader(task, helper)
        hostile.aggregate(hostile.reports(crowd(task, 30)))
        offer = hostile.close().body
    finally:
        helper.stop()
    copy = place.read_bytes()  # the nightly one, while a leader takes its time with its reply
    one, two = (LeaderProducts(task, hostile.buckets, secret, offer).reply for secret in (bytes(32), SECRET))
    helper = started()
    try:
        assert hostile.post("products/reply", one, "dpairs-products-reply").status == 200
    finally:
        helper.stop()
    place.write_bytes(copy)
    helper = started()
    ending(helper.stop)
    assert hostile.close().body == offer
    assert kind_of(hostile.post("products/reply", two, "dpairs-products-reply")) == "stepMismatch"
    # The same one again says nothing new, so the study is not lost.
    assert hostile.post("products/reply", one, "dpairs-products-reply").status == 200


def test_a_leader_that_is_set_back_answers_another_offer_with_other_bits(tmp_path, ending):
    task = new_task(auc(bins=8), least=20)
    alone = Alone(task, tmp_path)
    ending(alone.database.close)
    sums = alone.verify()
    buckets = {name: sums[name] for name in task.study.strata}
    one, two = (HelperProducts(task, buckets, secret).offer for secret in (bytes(32), SECRET))
    first, second, again = (
        LeaderProducts(task, buckets, bytes(32), offer).reply for offer in (one, two, one)
    )
    assert first == again
    assert first[:32] != second[:32]  # the point that all seeds follow from
    assert bytes(CloseReq.of(buckets))


def test_servers_that_share_a_file_lose_no_release(tmp_path: Path):
    place = tmp_path / "helper.keys.released"
    first, second = Releases(place), Releases(place)
    tasks = [bytes([number]) * 32 for number in range(3)]
    first.add(tasks[0])
    second.add(tasks[1])
    second.once(tasks[2], b"reply")
    for known in (first, second, Releases(place)):
        for task in tasks[:2]:
            with pytest.raises(Refused, match="released before"):
                known.check(task)
        known.check(bytes(32)[:31])
        known.once(tasks[2], b"reply")
        with pytest.raises(Refused, match="another reply"):
            known.once(tasks[2], b"other")
    assert place.stat().st_mode & 0o077 == 0
    place.write_text("no id\n")
    with pytest.raises(BadFile, match="not ids"):
        Releases(place)


def test_words_of_a_hostile_helper_do_not_stop_the_leader(tmp_path, monkeypatch):
    """Words that no database takes; the leader goes on as soon as the helper does."""
    task = new_task(auc(bins=8), least=20)
    people = crowd(task, 30)
    with in_threads(task, tmp_path) as (leader, helper):
        assert upload(leader.line, task, people.reports((leader.line, helper.line))) == {}

        def refuse(body: bytes) -> bytes:
            raise Refused("\ud800 \x00 no", "batch\ud800")

        with monkeypatch.context() as patch:
            patch.setattr(helper.service.helpers[task.name], "close", refuse)
            with pytest.raises(Refused, match="no"):
                collect(leader.line, task, 20.0)
        until(lambda: state(leader.line, task)["failed"] is not None, "the reason why there is no result")
        assert collect(leader.line, task).to_json() == people.ideal().to_json()
