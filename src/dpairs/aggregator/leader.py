"""The leader: it takes reports, verifies them with the helper, and hands the sealed result to the analyst.

It believes nothing that the helper says: a report counts if the leader's own proof holds, the batch is closed
once, one offer is answered, and one share of its own is sealed, of at least as many people as the task says.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, insert, select, update

from ..dap import products
from ..dap.buckets import sizes, total_checksum
from ..dap.collection import (
    LEADER_SELECTED,
    AggregateShareReq,
    CollectionJobReq,
    CollectionJobResp,
    read_aggregate_share,
    read_collection,
)
from ..dap.participant import plausible
from ..dap.products import CloseReq, LeaderProducts, check_offer, corrections_size
from ..dap.reports import Report, ReportError
from ..dap.result import enough, result_share
from ..dap.sealing import ANALYST_CONFIG, seal_result
from ..dap.task import LEADER
from ..dap.verification import Verified
from ..errors import BadMessage, Refused
from ..formats.checks import exact_size
from ..randomness import Randomness, secret_bytes
from .helper import JOB_ID, Answered, resource
from .releases import Releases
from .schema import jobs, reports
from .store import CLOSED, CLOSING, IN_JOB, OPEN, REFUSED, RELEASED, VERIFIED, WAITING, Store


@dataclass(frozen=True)
class Job:
    """Reports that are verified together."""

    id: bytes
    contents: list[bytes]


class Leader:
    """One task at the leader."""

    def __init__(self, store: Store, configs: Sequence[int], noise: Randomness, releases: Releases) -> None:
        self.store, self._configs, self._noise = store, frozenset(configs), noise
        self._releases = releases

    def __repr__(self) -> str:
        return f"Leader({self.store!r})"

    # ------------------------------------------------------------ upload

    def check(self, report: Report, latest: int) -> ReportError | None:
        """What can be said about a report before it is stored."""
        if not plausible(self.store.task, report):
            return ReportError.INVALID_MESSAGE
        if report.leader.config_id not in self._configs:
            return ReportError.OUTDATED_CONFIG
        return ReportError.REPORT_TOO_EARLY if report.metadata.time > latest else None

    def take(self, given: Sequence[Report]) -> list[ReportError | None]:
        """Store reports: each once, and the same one again without a word."""
        store, outcomes, rows = self.store, list[ReportError | None](), dict[bytes, dict[str, Any]]()
        with store.change() as (connection, row):
            known = store.known([each.metadata.report_id for each in given], connection)
            for report in given:
                name, content = report.metadata.report_id, bytes(report)
                digest = hashlib.sha256(content).digest()[:16]
                before = rows[name]["digest"] if name in rows else getattr(known.get(name), "digest", None)
                if before is not None:
                    same = hmac.compare_digest(bytes(before), digest)
                    outcomes.append(None if same else ReportError.REPORT_REPLAYED)
                elif row.state != OPEN:
                    outcomes.append(ReportError.BATCH_COLLECTED)
                else:
                    fresh = {"task": store.task.id, "id": name, "state": WAITING, "job": None}
                    rows[name] = {**fresh, "digest": digest, "content": content}
                    outcomes.append(None)
            if rows:
                connection.execute(insert(reports), list(rows.values()))
                store.set(connection, received=row.received + len(rows))
        return outcomes

    # ------------------------------------------------------------ aggregation

    def new_job(self, least: int, most: int) -> bool:
        """Put waiting reports into a job, if there are at least so many."""
        store = self.store
        with store.change() as (connection, _):
            waiting = (reports.c.task == store.task.id, reports.c.state == WAITING)
            ids = connection.execute(select(reports.c.id).where(*waiting).limit(most)).scalars().all()
            if len(ids) < max(least, 1):
                return False
            name = secret_bytes(JOB_ID)
            connection.execute(insert(jobs), {"task": store.task.id, "id": name, "done": False})
            chosen = (reports.c.task == store.task.id, reports.c.id.in_(ids))
            connection.execute(update(reports).where(*chosen).values(state=IN_JOB, job=name))
        return True

    def open_jobs(self) -> list[bytes]:
        """The jobs that are not done."""
        with self.store.look() as connection:
            mine = (jobs.c.task == self.store.task.id, jobs.c.done.is_(False))
            return [bytes(each) for each in connection.execute(select(jobs.c.id).where(*mine)).scalars()]

    def job(self, name: bytes) -> Job:
        """A job's reports, always in the same order: its request is the same whenever it is made."""
        with self.store.look() as connection:
            mine = (reports.c.task == self.store.task.id, reports.c.job == name, reports.c.state == IN_JOB)
            wanted = select(reports.c.content).where(*mine).order_by(reports.c.id)
            return Job(name, [bytes(each) for each in connection.execute(wanted).scalars()])

    def commit(self, name: bytes, verified: Verified) -> None:
        """Count what both servers found valid."""
        store = self.store
        with store.change() as (connection, _):
            mine = (jobs.c.task == store.task.id, jobs.c.id == name, jobs.c.done.is_(False))
            if not connection.execute(update(jobs).where(*mine).values(done=True)).rowcount:
                return
            ours = (reports.c.task == store.task.id, reports.c.job == name)
            connection.execute(update(reports).where(*ours).values(state=VERIFIED, content=None))
            store.mark(connection, list(verified.refused), REFUSED)
            store.add(connection, verified.buckets)
            store.count_refused(connection, verified.refused.values())

    def waiting(self, connection: Connection | None = None) -> int:
        """Reports that are not verified yet."""
        if connection is None:
            with self.store.look() as opened:
                return self.waiting(opened)
        mine = (reports.c.task == self.store.task.id, reports.c.state.in_((WAITING, IN_JOB)))
        return int(connection.execute(select(func.count()).select_from(reports).where(*mine)).scalar_one())

    # ------------------------------------------------------------ collection

    def collect(self, body: bytes) -> bytes:
        """Begin to make the result; the id of the collection, which is the same for the same request."""
        request = read_collection(body)
        if request.mode != LEADER_SELECTED:
            raise Refused("this task's batches are selected by the leader", "invalidMessage")
        if request.agg_param:
            raise Refused("this VDAF has no aggregation parameter", "invalidAggregationParameter")
        if request.extensions:
            raise Refused("a collection has no extensions here", "unsupportedExtension")
        if request != CollectionJobReq():
            raise Refused("a query of this batch mode has no parameters", "invalidMessage")
        store = self.store
        with store.change() as (connection, row):
            if row.state == OPEN:
                held = sum(sizes(store.sums(connection)).values())
                if held + self.waiting(connection) < store.task.min_batch_size:
                    raise self._too_few()
                store.set(connection, state=CLOSING, request=body, failed=None)
            elif row.failed is not None:
                store.set(connection, failed=None)
        return resource(body)

    def collected(self, name: bytes) -> Answered | None:
        """The result, if it is there; None while it is made."""
        row = self.store.row()
        if row.failed is not None:
            kind, _, words = row.failed.partition(": ")
            raise Refused(words, kind)
        if row.request is None or resource(bytes(row.request)) != name:
            raise Refused("there is no such collection", "invalidMessage")
        if row.state != RELEASED:
            return None
        self._releases.add(self.store.task.id)
        return Answered(name, bytes(row.result))

    def _too_few(self) -> Refused:
        least = self.store.task.min_batch_size
        return Refused(f"a result is of at least {least} people, two of each class", "invalidBatchSize")

    def fail(self, error: Refused) -> None:
        """Say why there is no result; too few people may still come."""
        # The helper may have chosen these words: a database does not take every string.
        words = "".join(each if each.isprintable() else "?" for each in f"{error.kind}: {error}"[:300])
        with self.store.change() as (connection, row):
            if row.state in (CLOSING, CLOSED):
                self.store.set(connection, failed=words)
                if error.kind == "invalidBatchSize" and row.state == CLOSING:
                    self.store.set(connection, state=OPEN)

    def close(self) -> bytes:
        """Close the batch here, and say which reports it has."""
        store = self.store
        with store.change() as (connection, row):
            self._releases.check(store.task.id)
            if row.state == CLOSED:
                return bytes(row.close)
            held = store.sums(connection)
            if not enough(store.task, sizes(held)):
                raise self._too_few()
            body = bytes(CloseReq.of(held))
            store.set(connection, state=CLOSED, close=body, secret=secret_bytes())
        return body

    def reply(self, offer: bytes) -> bytes:
        """Answer the helper's offer, which is the only one that is ever answered."""
        store = self.store
        check_offer(offer)
        with store.change() as (connection, row):
            if row.state != CLOSED:
                raise Refused("this offer comes at the wrong time", "stepMismatch")
            if row.heard is not None and not hmac.compare_digest(bytes(row.heard), offer):
                raise Refused("the helper made another offer before", "stepMismatch")
            # Before anything is said: two answers of one secret would give the sums away.
            store.set(connection, heard=offer)
            secret, held = bytes(row.secret), store.sums(connection)
        return LeaderProducts(store.task, held, secret, offer).reply

    def finish(self, corrections: bytes) -> None:
        """Keep this server's shares of the products."""
        store = self.store
        exact_size(corrections, corrections_size(store.task), "the corrections of a multiplication")
        with store.change() as (connection, row):
            if row.state != CLOSED or row.heard is None:
                raise Refused("these corrections come at the wrong time", "stepMismatch")
            task = LeaderProducts(store.task, store.sums(connection), bytes(row.secret), bytes(row.heard))
            shares = task.finish(corrections)
            store.set(connection, products=np.array(shares, dtype="<u8").tobytes())

    @property
    def multiplied(self) -> bool:
        """Whether the products are there, where the result needs any."""
        return not products.needed(self.store.task) or self.store.row().products is not None

    def share_request(self) -> bytes:
        """What is asked of the helper."""
        task, row, held = self.store.task, self.store.row(), self.store.sums()
        if row.state != CLOSED:
            raise Refused("the batch is not closed yet", "stepMismatch")
        collection = read_collection(bytes(row.request))
        count = sum(sizes(held).values())
        return bytes(AggregateShareReq(collection, task.batch_id, count, total_checksum(held)))

    def release(self, helpers: bytes) -> None:
        """Seal this server's share, once, beside the helper's."""
        store, task = self.store, self.store.task
        sealed = read_aggregate_share(helpers)
        with store.change() as (connection, row):
            if row.state == RELEASED:
                return
            if row.state != CLOSED or (products.needed(task) and row.products is None):
                raise Refused("this share of the result comes at the wrong time", "stepMismatch")
            self._releases.check(task.id)
            held = store.sums(connection)
            shares = np.frombuffer(row.products or b"", dtype="<u8").tolist()
            request = read_collection(bytes(row.request))
            mine = result_share(task, held, shares, task.protocol.noise(sizes(held), self._noise))
            if sealed.config_id != ANALYST_CONFIG or len(sealed.enc + sealed.payload) != len(mine) + 48:
                raise BadMessage("the helper's share of the result has another size than the leader's")
            own = seal_result(task, LEADER, request, mine, secret_bytes())
            first = min(bucket.first for bucket in held.values())
            last = max(bucket.last for bucket in held.values())
            answer = CollectionJobResp(sum(sizes(held).values()), first, last - first + 1, own, sealed)
            store.erase(connection, bytes(answer))
        store.forget()
