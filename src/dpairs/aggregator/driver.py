"""What the leader does beside requests: reports are verified as they come, a result is made when asked for.

Whatever goes wrong is tried again, from the database: every step is the same the second time.
"""

from __future__ import annotations

import asyncio
from functools import partial

import structlog
from anyio import to_thread

from ..client.transport import Transport
from ..dap.products import corrections_size
from ..errors import DpairsError, InvalidInput, Refused
from .leader import Leader
from .store import CLOSED, CLOSING
from .workers import KIND, MAX_ANSWER, Recipe, Workers, leader_job

JOB = 400
"""Reports of a full job."""
LINGER = 0.5
"""Seconds after which reports that do not fill a job are verified nevertheless."""
RETRY = 1.0
"""Seconds after a failure."""
PATIENCE = 20.0
"""Seconds that the helper is tried for before the job is put off."""
log = structlog.get_logger()


class Driver:
    """Drives one task at the leader."""

    def __init__(self, leader: Leader, recipe: Recipe, workers: Workers) -> None:
        self._leader, self._recipe, self._workers = leader, recipe, workers
        self._woken, self._arrived, self._busy = asyncio.Event(), 0, True
        self._jobs: dict[bytes, asyncio.Task[None]] = {}
        task = leader.store.task
        # The corrections are the longest of its answers.
        self._helper = Transport(task.helper.url, patience=PATIENCE, most=MAX_ANSWER + corrections_size(task))
        self._path = f"/tasks/{task.name}"

    def wake(self, reports: int = 0) -> None:
        """So many reports arrived, or something else did that cannot wait."""
        self._arrived, self._busy = self._arrived + reports, True
        if not reports or self._arrived >= JOB:
            self._woken.set()

    async def run(self) -> None:
        try:
            while True:
                await self._step()
        finally:
            for job in self._jobs.values():
                job.cancel()
            await asyncio.gather(*self._jobs.values(), return_exceptions=True)

    async def _step(self) -> None:
        try:
            async with asyncio.timeout(LINGER):
                await self._woken.wait()
            patient = True
        except TimeoutError:
            patient = False
        self._woken.clear()
        if not self._busy:
            return
        try:
            await self._work(patient)
        except DpairsError as error:
            log.warning("put off", reason=str(error))
            self._busy = True
            await asyncio.sleep(RETRY)
        except Exception:
            log.exception("failed")
            self._busy = True
            await asyncio.sleep(RETRY)

    async def _work(self, patient: bool) -> None:
        row = await to_thread.run_sync(self._leader.store.row)
        least = JOB if patient and row.state != CLOSING else 1
        self._arrived, self._busy = 0, patient
        while await to_thread.run_sync(self._leader.new_job, least, JOB):
            pass
        for name in await to_thread.run_sync(self._leader.open_jobs):
            self._busy = True
            if name not in self._jobs and len(self._jobs) < 2 * self._workers.count:
                self._begin(name)
        if row.state in (CLOSING, CLOSED) and row.failed is None and not self._jobs:
            self._busy = True
            try:
                await self._result(row.state)
            except Refused as error:
                log.warning("no result", reason=str(error), kind=error.kind)
                await to_thread.run_sync(self._leader.fail, error)
            except InvalidInput as error:
                log.error("the helper's answer cannot be used", reason=str(error))
                await to_thread.run_sync(self._leader.fail, Refused(str(error)))

    def _begin(self, name: bytes) -> None:
        task = asyncio.create_task(self._job(name))
        self._jobs[name] = task

        def ended(_: asyncio.Task[None]) -> None:
            del self._jobs[name]
            self.wake()

        task.add_done_callback(ended)

    async def _job(self, name: bytes) -> None:
        try:
            job = await to_thread.run_sync(self._leader.job, name)
            call = partial(self._workers.call, leader_job, self._recipe, job.contents, PATIENCE)
            verified = await to_thread.run_sync(call, abandon_on_cancel=True)
            await to_thread.run_sync(self._leader.commit, name, verified)
        except DpairsError as error:
            log.warning("a job is put off", reason=str(error))
            await asyncio.sleep(RETRY)
        except Exception:
            log.exception("a job failed")
            await asyncio.sleep(RETRY)

    async def _result(self, state: str) -> None:
        """The steps from the last verified report to the result."""
        leader = self._leader
        if state == CLOSING and await to_thread.run_sync(lambda: leader.waiting() > 0):
            return
        body = await to_thread.run_sync(leader.close)
        if not await to_thread.run_sync(lambda: leader.multiplied):
            offer = await self._ask("products", body, "dpairs-close-req")
            reply = await to_thread.run_sync(leader.reply, offer)
            corrections = await self._ask("products/reply", reply, "dpairs-products-reply")
            await to_thread.run_sync(leader.finish, corrections)
        request = await to_thread.run_sync(leader.share_request)
        share = await self._ask("aggregate_shares", request, "aggregate-share-req")
        await to_thread.run_sync(leader.release, share)
        log.info("released", people=await to_thread.run_sync(lambda: leader.store.state().verified))

    async def _ask(self, path: str, body: bytes, kind: str) -> bytes:
        return await to_thread.run_sync(
            lambda: self._helper.bytes(
                "POST", f"{self._path}/{path}", body, self._recipe.token, f"{KIND}{kind}"
            )
        )
