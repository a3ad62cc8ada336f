"""Uploads: what arrives at about the same time is stored in one transaction."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from anyio import to_thread

from ..dap.reports import Report, ReportError
from ..errors import DpairsError, Unavailable
from .leader import Leader

MOST = 2000
"""Reports in a transaction."""
LONGEST = 10_000
"""Reports that wait for one."""


@dataclass
class _Upload:
    leader: Leader
    reports: list[Report]
    outcome: asyncio.Future[list[ReportError | None]]


class Intake:
    """Stores reports of all tasks; what it says yes to is on the disk."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[_Upload] = asyncio.Queue()
        self._waiting = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def take(self, leader: Leader, reports: list[Report]) -> list[ReportError | None]:
        """Why each report was refused, or None."""
        if self._waiting + len(reports) > LONGEST:
            raise Unavailable("too much is being sent at once; try again in a moment")
        upload = _Upload(leader, reports, asyncio.get_running_loop().create_future())
        self._waiting += len(reports)
        self._queue.put_nowait(upload)
        return await upload.outcome

    async def _run(self) -> None:
        put_off: _Upload | None = None
        while True:
            some = [put_off or await self._queue.get()]
            put_off, count = None, len(some[0].reports)
            while count < MOST and not self._queue.empty():
                following = self._queue.get_nowait()
                if following.leader is not some[0].leader:
                    put_off = following
                    break
                some.append(following)
                count += len(following.reports)
            self._waiting -= count
            await self._store(some)

    async def _store(self, some: list[_Upload]) -> None:
        given = [report for upload in some for report in upload.reports]
        try:
            outcomes = iter(await to_thread.run_sync(some[0].leader.take, given))
        except DpairsError as error:
            for upload in some:
                _settle(upload, error)
            return
        for upload in some:
            _settle(upload, [next(outcomes) for _ in upload.reports])


def _settle(upload: _Upload, outcome: list[ReportError | None] | DpairsError) -> None:
    if upload.outcome.done():  # the request went away
        return
    if isinstance(outcome, DpairsError):
        upload.outcome.set_exception(outcome)
    else:
        upload.outcome.set_result(outcome)
