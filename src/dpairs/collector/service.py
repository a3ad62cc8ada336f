"""The collector itself: the database, the writer, the studies in memory, and what runs beside requests."""

from __future__ import annotations

import asyncio
import hmac
import os
import platform
import time
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakValueDictionary

import structlog
from anyio import to_thread
from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from ..errors import BadParameter, DpairsError, NotAllowed, NotFound, Unavailable
from ..randomness import secret_bytes
from . import database, estimate_history, intake, lifecycle, relay, schema
from .bodies import Budget
from .database import Database, cause
from .lease import STANDBY, Lease
from .live_study import CLOSED, LiveStudy
from .loading import Unreadable, half_deleted, load
from .metrics import Metrics
from .settings import Settings
from .tokens import Secrets, hashed, new_token, renew_epoch
from .writer import Writer

LOOK = 1.0
"""Seconds between looks at what has grown."""
REST, LONGEST = 1000, 30.0
"""Work beside requests rests so many times as long as it took, so that few requests meet it; at most so many
seconds."""
CLEAN = 600.0
"""Seconds between looks at what has expired."""
log = structlog.get_logger()


class Service:
    """Everything that the routes work on."""

    def __init__(self, settings: Settings, new_analyst: bool = False) -> None:
        """Open the database and count what is in it.

        ``token`` is the analyst's new token: at the first start, or when a new one is asked for.
        """
        if new_analyst and settings.standby:
            raise BadParameter("a standby makes no new token, for nobody would see it")
        self.settings = settings
        self.database = Database(settings.database)
        self.token: str | None = None
        self._new_analyst = new_analyst
        self.secrets, self._analyst = Secrets(b"", ""), b""
        self.studies: dict[str, LiveStudy] = {}
        self.unreadable: dict[str, Unreadable] = {}
        self._deleted: list[str] = []
        """Studies whose rows are still to go."""
        self.lease = Lease(self.database, f"{platform.node()[:100]} process {os.getpid()}")
        self.writer = Writer(
            self.database,
            self.lease,
            self._load,
            self._drop,
            {intake.take: intake.take_at_once},
            intake.AT_ONCE,
        )
        self.budget = Budget(settings.body_memory)
        self.metrics = Metrics(self)
        self._arrivals: WeakValueDictionary[tuple[str, int, int], asyncio.Event] = WeakValueDictionary()
        """By study, pair and kind of message, while somebody waits for it."""
        self._tasks: list[asyncio.Task[None]] = []
        self.planning = asyncio.Semaphore(1)
        self.exporting = asyncio.Semaphore(2)
        self.drawing = asyncio.Semaphore(1)
        try:
            if not self.database.is_sqlite:
                with self.database.statements():
                    pass  # the writer's connection is there before the pool has taken all that are allowed
            self._wait_for_lease()
        except SQLAlchemyError as error:
            self.database.close()
            raise Unavailable(f"the database cannot be used: {cause(error)}") from None
        except BaseException:
            self.database.close()
            raise
        self.writer.start()

    def _wait_for_lease(self) -> None:
        """Begin to serve; or as a standby, if another collector does and this one may wait for it."""
        deadline = time.monotonic() + database.PATIENCE
        while not self.writer.take_over():
            if self.settings.standby:
                log.info("standing by")
                return
            if time.monotonic() > deadline:
                raise Unavailable(
                    "another collector uses this database: one process serves one database, others stand by"
                )
            time.sleep(0.1)

    def _load(self) -> None:
        """Read everything that is kept in memory: by the writer's thread, after taking over."""
        began = time.monotonic()
        with self.lease.alone:
            with self.database.writing() as connection:
                self.lease.renew(connection)
                key, epoch, self._analyst = self._keys(connection)
            self.lease.committed(began)
            self.lease.set_back = False
        self.secrets = Secrets(key, epoch)
        with self.database.reading(long=True) as connection:
            loaded, self._deleted = load(connection), half_deleted(connection)
        self.studies.clear()
        self.studies.update(loaded.studies)
        self.unreadable = loaded.unreadable

    def _drop(self) -> None:
        """Forget what is in memory: another collector changes what it stands for."""
        for live in self.studies.values():
            live.retired = True
        self.studies.clear()
        self.unreadable = {}

    def _keys(self, connection: Connection) -> tuple[bytes, str, bytes]:
        """The key of participants' secrets, the database's epoch and the hash of the analyst's token."""
        known = {row.name: row.value for row in connection.execute(select(schema.meta))}
        if "key" not in known:
            known["key"] = secret_bytes()
            connection.execute(insert(schema.meta), {"name": "key", "value": known["key"]})
            known["epoch"] = renew_epoch(connection)
        elif self.lease.set_back:
            log.error(
                "the database is older than what was stored here: all secrets are void, as after a restore"
            )
            known["epoch"] = renew_epoch(connection)
        if self._new_analyst or "analyst" not in known:
            self.token = new_token()
            known["analyst"] = hashed(self.token)
            connection.execute(delete(schema.meta).where(schema.meta.c.name == "analyst"))
            connection.execute(insert(schema.meta), {"name": "analyst", "value": known["analyst"]})
            self._new_analyst = False
        return known["key"], known.get("epoch", b"").hex(), known["analyst"]

    def check(self) -> None:
        """Refuse to answer for a database that another collector may serve by now."""
        if not self.lease.valid:
            raise Unavailable("the database does not answer now; try again" if self.lease.held else STANDBY)

    def find(self, study: str) -> LiveStudy:
        """A study by its id."""
        self.check()
        live = self.studies.get(study)
        if live is None and study in self.unreadable:
            raise Unavailable("this study cannot be read here, so nothing of it is changed")
        if live is None:
            raise NotFound("there is no such study here")
        return live

    def check_analyst(self, token: str | None) -> None:
        """Refuse anybody but the analyst."""
        self.check()
        if token is None:
            raise NotAllowed("this needs the analyst's token, as a bearer token")
        if not hmac.compare_digest(hashed(token), self._analyst):
            raise NotAllowed("this is not the analyst's token")

    async def start(self) -> None:
        self.writer.serve(asyncio.get_running_loop())
        beside = (
            (self._grow, LOOK),
            (self._finish_deletions, LOOK),
            (self._clean, CLEAN),
            (self._give_up, 0.25),
        )
        self._tasks = [asyncio.create_task(self._repeat(work, pause)) for work, pause in beside]
        log.info("started", studies=len(self.studies))

    async def stop(self) -> None:
        """Finish: what was accepted is committed."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await to_thread.run_sync(self.close)
        self.writer.serve(None)
        log.info("stopped")

    def close(self) -> None:
        """Commit what waits and close the database."""
        self.writer.close()
        self.database.close()

    def arrival(self, study: str, pair: int, kind: int) -> asyncio.Event:
        """Set when this message of a pair arrives."""
        return self._arrivals.setdefault((study, pair, kind), asyncio.Event())

    def announce(self, study: str, pair: int, kind: int) -> None:
        """Wake those who wait for this message, and nobody else: each of them looks for it."""
        arrived = self._arrivals.pop((study, pair, kind), None)
        if arrived is not None:
            arrived.set()

    async def purge(self, study: str) -> None:
        """Delete the rows of a deleted study, some at a time, so that others are not held up."""
        try:
            while await self.writer.do(lifecycle.purge, lifecycle.Purge(study)):
                pass
        except DpairsError:
            self._deleted.append(study)  # whoever asked for it cannot ask again: the study is not found
            raise

    async def _repeat(self, work: Callable[[], Coroutine[Any, Any, None]], pause: float) -> None:
        while True:
            began = time.monotonic()
            try:
                await work()
            except DpairsError as error:
                if self.lease.valid:
                    log.warning("put off", work=work.__name__.strip("_"), reason=str(error))
            except SQLAlchemyError as error:
                log.error("put off", work=work.__name__.strip("_"), reason=cause(error))
            except Exception:
                log.exception("failed", work=work.__name__.strip("_"))
            await asyncio.sleep(max(pause, min(LONGEST, REST * (time.monotonic() - began))))

    async def _give_up(self) -> None:
        if not self.lease.valid:
            self.writer.give_up()

    async def _grow(self) -> None:
        for live in list(self.studies.values()):
            asked = live.now
            if (live.state != CLOSED or asked.charted == 0) and estimate_history.due(asked):
                point = await to_thread.run_sync(estimate_history.measure, asked)
                await self.writer.do(estimate_history.keep, estimate_history.Grown(live, point))
                asked.charted = point.reports

    async def _finish_deletions(self) -> None:
        while self.lease.valid and self._deleted:
            await self.purge(self._deleted.pop())

    async def _clean(self) -> None:
        if not self.lease.valid:
            return
        before = self.lease.clock - int(3600 * self.settings.message_hours)
        expiry = relay.Expiry(before, tuple(self.unreadable))
        while expired := await self.writer.do(relay.expire, expiry):
            log.info("pairs expired", pairs=expired)
