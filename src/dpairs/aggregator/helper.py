"""The helper: it answers the leader, and believes nothing that it says.

Whatever the leader sends, a report is verified once and counted once, the batch is closed once, and one share
of one result is sealed, of at least as many people as the task says.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sqlalchemy import insert, select

from ..dap import products
from ..dap.buckets import sizes, total_checksum
from ..dap.collection import LEADER_SELECTED, CollectionJobReq, read_aggregate_share_req
from ..dap.jobs import LEADER_SELECTED_BATCH_ID, VerifyInit, VerifyResp, read_job, write_answer
from ..dap.products import CloseReq, HelperProducts, read_close, reply_size
from ..dap.reports import ReportError
from ..dap.result import enough, result_share
from ..dap.sealing import seal_result
from ..dap.task import HELPER
from ..dap.verification import Verified
from ..errors import BadMessage, Refused
from ..formats.checks import exact_size
from ..randomness import Randomness, secret_bytes
from .releases import Releases
from .schema import jobs, reports
from .store import CLOSED, OPEN, REFUSED, RELEASED, VERIFIED, Store

MOST_IN_JOB = 5000
JOB_ID = 16
Verify = Callable[[list[VerifyInit]], tuple[Verified, dict[bytes, bytes]]]


@dataclass(frozen=True)
class Answered:
    """A resource of DAP: its id, and what it says."""

    id: bytes
    body: bytes


def resource(content: bytes) -> bytes:
    """The id of a resource, which follows from the request: the same request again finds it."""
    return hashlib.sha256(b"dpairs resource" + content).digest()[:JOB_ID]


class Helper:
    """One task at the helper."""

    def __init__(self, store: Store, noise: Randomness, releases: Releases) -> None:
        self.store, self._noise, self._releases = store, noise, releases

    def __repr__(self) -> str:
        return f"Helper({self.store!r})"

    # ------------------------------------------------------------ aggregation

    def read(self, body: bytes) -> list[VerifyInit]:
        """The reports of an aggregation job, if all of its head is as agreed."""
        head, inits = read_job(body, MOST_IN_JOB)
        kinds = [each.kind for each in head.extensions]
        if any(kind != LEADER_SELECTED_BATCH_ID for kind in kinds):
            raise Refused("an aggregation job has one extension, the id of its batch", "unsupportedExtension")
        if not kinds or head.key_id != 0:
            raise Refused("an aggregation job names its batch and the key 0", "invalidMessage")
        if head.agg_param:
            raise Refused("this VDAF has no aggregation parameter", "invalidAggregationParameter")
        if head.extensions[0].data != self.store.task.batch_id:
            raise Refused("this task has one batch, and this is another one", "batchInvalid")
        return list(inits)

    def aggregate(self, body: bytes, latest: int, verify: Verify) -> Answered:
        """Verify the reports of a job, count those that are valid, and answer; ``latest``: the time now."""
        store, name = self.store, resource(body)
        inits = self.read(body)
        ids = [each.metadata.report_id for each in inits]
        while True:
            before = self.answered(name)
            if before is not None:
                return before
            early = {each.metadata.report_id for each in inits if each.metadata.time > latest}
            errors = dict.fromkeys(early, ReportError.REPORT_TOO_EARLY)
            errors |= dict.fromkeys(store.known(ids), ReportError.REPORT_REPLAYED)
            if store.row().state != OPEN:
                errors = dict.fromkeys(ids, ReportError.BATCH_COLLECTED)
            fresh = [each for each in inits if each.metadata.report_id not in errors]
            verified, outbound = verify(fresh) if fresh else (Verified({}, [], {}), {})
            answer = self._commit(name, ids, errors, verified, outbound)
            if answer is not None:
                return answer

    def _commit(
        self,
        name: bytes,
        ids: list[bytes],
        errors: dict[bytes, ReportError],
        verified: Verified,
        outbound: dict[bytes, bytes],
    ) -> Answered | None:
        """Keep what was found; None if another job was faster with one of these reports."""
        store, processed = self.store, [*verified.valid, *verified.refused]
        with store.change() as (connection, row):
            mine = (jobs.c.task == store.task.id, jobs.c.id == name)
            if connection.execute(select(jobs.c.id).where(*mine)).one_or_none() is not None:
                return None
            if (processed and row.state != OPEN) or store.known(processed, connection):
                return None
            answers = [
                VerifyResp(each, outbound[each])
                if each in outbound
                else VerifyResp(each, error=errors.get(each) or verified.refused[each])
                for each in ids
            ]
            body = write_answer(answers)
            rows = [
                {"task": store.task.id, "id": each, "state": state}
                for some, state in ((verified.valid, VERIFIED), (verified.refused, REFUSED))
                for each in some
            ]
            if rows:
                connection.execute(insert(reports), rows)
            store.add(connection, verified.buckets)
            store.count_refused(connection, [*errors.values(), *verified.refused.values()])
            store.set(connection, received=row.received + len(ids))
            job = {"task": store.task.id, "id": name, "done": True, "answer": body}
            connection.execute(insert(jobs), job)
        return Answered(name, body)

    def answered(self, name: bytes) -> Answered | None:
        """What a job was answered before."""
        store = self.store
        with store.look() as connection:
            mine = (jobs.c.task == store.task.id, jobs.c.id == name)
            row = connection.execute(select(jobs.c.answer).where(*mine)).one_or_none()
        return None if row is None else Answered(name, bytes(row.answer))

    # ------------------------------------------------------------ inner products

    def close(self, body: bytes) -> bytes:
        """Close the batch and offer transfers; the same offer to the same request."""
        store, request = self.store, read_close(body, self.store.task)
        if not products.needed(store.task):
            raise Refused("this task's result needs no products: ask for the aggregate share", "batchInvalid")
        with store.change() as (connection, row):
            if row.state == RELEASED:
                raise Refused("this batch was released", "batchOverlap")
            if row.state == CLOSED and not hmac.compare_digest(bytes(row.close), body):
                raise Refused("this batch was closed with other reports", "batchOverlap")
            self._releases.check(store.task.id)
            held = store.sums(connection)
            if row.state == OPEN:
                self._check_batch(sizes(held))
                if request != CloseReq.of(held):
                    raise Refused("the helper has verified other reports than the leader", "batchMismatch")
                secret = secret_bytes()
                store.set(connection, state=CLOSED, close=body, secret=secret)
            else:
                secret = bytes(row.secret)
        return HelperProducts(store.task, held, secret).offer

    def correct(self, reply: bytes) -> bytes:
        """Answer the leader's reply, which is the only one that is ever answered."""
        store = self.store
        exact_size(reply, reply_size(store.task), "a reply of the transfers")
        heard = hashlib.sha256(reply).digest()
        with store.change() as (connection, row):
            if row.state != CLOSED or row.secret is None:
                raise Refused("there is no offer that this reply could answer", "stepMismatch")
            if row.heard is not None and not hmac.compare_digest(bytes(row.heard), heard):
                raise Refused("another reply was answered before", "stepMismatch")
            # Before anything is said: two answers of one secret would give it away, and with it the sums.
            # A database that is set back has forgotten the first one, so it stands beside the keys too.
            secret, held = bytes(row.secret), store.sums(connection)
            self._releases.once(hashlib.sha256(b"dpairs exchange" + secret).digest(), heard)
            store.set(connection, heard=heard)
        try:
            shares, corrections = HelperProducts(store.task, held, secret).correct(reply)
        except BadMessage:
            # The next offer is of another secret, about which a failure told nothing.
            with store.change() as (connection, row):
                if row.state == CLOSED and row.products is None and bytes(row.secret) == secret:
                    store.set(connection, secret=secret_bytes(), heard=None)
            raise
        with store.change() as (connection, row):
            if row.state == CLOSED:
                store.set(connection, products=np.array(shares, dtype="<u8").tobytes())
        return corrections

    # ------------------------------------------------------------ the result

    def share(self, body: bytes) -> Answered:
        """This server's share of the result, sealed for the analyst: drawn once, and the same ever after."""
        store, task = self.store, self.store.task
        request = read_aggregate_share_req(body)
        if request.mode != LEADER_SELECTED or request.collection.mode != LEADER_SELECTED:
            raise Refused("this task's batches are selected by the leader", "invalidMessage")
        if request.collection.extensions:
            raise Refused("a collection has no extensions here", "unsupportedExtension")
        if request.collection != CollectionJobReq():
            raise Refused("a collection of this task has no parameters", "invalidMessage")
        if request.batch_id != task.batch_id:
            raise Refused("this task has one batch, and this is another one", "batchInvalid")
        name = resource(body)
        with store.change() as (connection, row):
            if row.state == RELEASED:
                if not hmac.compare_digest(bytes(row.request), body):
                    raise Refused("this batch was released before", "batchOverlap")
                self._releases.add(task.id)
                return Answered(name, bytes(row.result))
            self._releases.check(task.id)
            held = store.sums(connection)
            self._check_batch(sizes(held))
            if (request.report_count, request.checksum) != (
                sum(sizes(held).values()),
                total_checksum(held),
            ):
                raise Refused("the helper has verified other reports than the leader", "batchMismatch")
            if products.needed(task) and row.products is None:
                raise Refused("the products of this batch are not computed yet", "batchInvalid")
            shares = np.frombuffer(row.products or b"", dtype="<u8").tolist()
            noise = task.protocol.noise(sizes(held), self._noise)
            share = result_share(task, held, shares, noise)
            sealed = bytes(seal_result(task, HELPER, request.collection, share, secret_bytes()))
            store.set(connection, request=body)
            store.erase(connection, sealed)
        store.forget()
        self._releases.add(task.id)
        return Answered(name, sealed)

    def _check_batch(self, people: dict[str, int]) -> None:
        if not enough(self.store.task, people):
            least = self.store.task.min_batch_size
            raise Refused(
                f"a result needs at least {least} people, and two of each class", "invalidBatchSize"
            )
