"""A leader that sends what it likes, a line that lies to a leader, and an honest leader alone."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import urllib3

from dpairs.aggregator import schema
from dpairs.aggregator.leader import Leader
from dpairs.aggregator.releases import Releases
from dpairs.aggregator.store import Store
from dpairs.collector.database import Database
from dpairs.dap.buckets import sizes, total_checksum
from dpairs.dap.collection import AggregateShareReq, CollectionJobReq
from dpairs.dap.jobs import JobRequest, VerifyResp, read_answer
from dpairs.dap.participant import make_report
from dpairs.dap.products import CloseReq, LeaderProducts
from dpairs.dap.reports import HpkeConfig, Report
from dpairs.dap.task import Task
from dpairs.dap.verification import Verified, Verifier
from dpairs.randomness import SeededRandomness, SystemRandomness
from dpairs.vdaf.hpke import derive_key, public_key

from ..collector.servers import VALIDATE, Answer, Caller
from .pair import KIND, SECRET, InThread, People, crowd

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


class Alone:
    """An honest leader's steps, with nobody at the other end."""

    def __init__(self, task: Task, folder: Path) -> None:
        self.task = task
        self.database = Database(f"sqlite:///{folder}/leader.sqlite", schema.create)
        self.store = Store(self.database, task, 0)
        self.store.accept()
        self.leader = Leader(self.store, [3], SeededRandomness(1), Releases())
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


class Between:
    """Stands where the leader expects the helper: lies to the first requests of each path, then hands on."""

    def __init__(self, here: str, helper: str, lies: list[Callable[[BaseHTTPRequestHandler], None]]) -> None:
        self.told: Counter[str] = Counter()
        pool, told, lock = urllib3.PoolManager(retries=False), self.told, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    told[self.path] += 1
                    number = told[self.path] - 1
                if number < len(lies):
                    self.close_connection = True
                    lies[number](self)
                    return
                names = ("Content-Type", "Authorization")
                answer = pool.request(
                    "POST",
                    helper + self.path,
                    body=body,
                    headers={name: self.headers[name] for name in names},
                )
                say(self, answer.status, answer.data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", int(here.rpartition(":")[2])), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def say(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    """One answer; a leader that hangs up in the middle of it is none the worse."""
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    with contextlib.suppress(OSError):
        handler.wfile.write(body)
