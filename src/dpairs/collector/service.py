"""The collector itself: the database, the writer, the studies in memory, and what runs beside requests."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import time

import structlog
from anyio import to_thread
from sqlalchemy import delete, insert, select

from ..errors import NotAllowed, NotFound
from ..randomness import secret_bytes
from . import estimate_history, relay, schema
from .database import Database
from .live_study import CLOSED, LiveStudy, load
from .metrics import Metrics
from .settings import Settings
from .tokens import Secrets, hashed, new_token
from .writer import Writer

LOOK = 1.0
"""Seconds between looks at what has grown."""
CLEAN = 600.0
"""Seconds between looks at what has expired."""
log = structlog.get_logger()


class Service:
    """Everything that the routes work on."""

    def __init__(self, settings: Settings, new_analyst: bool = False) -> None:
        """Open the database and count what is in it.

        ``token`` is the analyst's new token: at the first start, or when a new one is asked for.
        """
        self.settings = settings
        self.database = Database(settings.database)
        self.token: str | None = None
        try:
            key, self._analyst = self._keys(new_analyst)
            self.secrets = Secrets(key)
            with self.database.reading() as connection:
                self.studies: dict[str, LiveStudy] = load(connection)
        except BaseException:
            self.database.close()
            raise
        self.writer = Writer(self.database.engine)
        self.metrics = Metrics(self)
        self.arrived = asyncio.Event()
        """Set, and replaced, whenever a message of a pair arrives."""
        self._tasks: list[asyncio.Task[None]] = []
        self.planning = asyncio.Semaphore(1)

    def _keys(self, new_analyst: bool) -> tuple[bytes, bytes]:
        """The key of participants' secrets and the hash of the analyst's token; made at the first start."""
        with self.database.engine.begin() as connection:
            known = {row.name: row.value for row in connection.execute(select(schema.meta))}
            if "key" not in known:
                known["key"] = secret_bytes()
                connection.execute(insert(schema.meta), {"name": "key", "value": known["key"]})
            if new_analyst or "analyst" not in known:
                self.token = new_token()
                known["analyst"] = hashed(self.token)
                connection.execute(delete(schema.meta).where(schema.meta.c.name == "analyst"))
                connection.execute(insert(schema.meta), {"name": "analyst", "value": known["analyst"]})
        return known["key"], known["analyst"]

    def find(self, study: str) -> LiveStudy:
        """A study by its id."""
        live = self.studies.get(study)
        if live is None:
            raise NotFound("there is no such study here")
        return live

    def check_analyst(self, token: str | None) -> None:
        """Refuse whoever is not the analyst."""
        if token is None:
            raise NotAllowed("this needs the analyst's token, as a bearer token")
        if not hmac.compare_digest(hashed(token), self._analyst):
            raise NotAllowed("this is not the analyst's token")

    async def start(self) -> None:
        """Begin what runs beside requests."""
        self._tasks = [asyncio.create_task(self._grow()), asyncio.create_task(self._clean())]
        log.info("started", studies=len(self.studies))

    async def stop(self) -> None:
        """Finish: what was accepted is committed."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await to_thread.run_sync(self.close)
        log.info("stopped")

    def close(self) -> None:
        """Commit what waits and let go of the database."""
        self.writer.close()
        self.database.close()

    def announce(self) -> None:
        """Wake whoever waits for a message."""
        self.arrived.set()
        self.arrived = asyncio.Event()

    async def _grow(self) -> None:
        last: dict[int, int] = {}
        while True:
            for live in list(self.studies.values()):
                asked = live.now
                if live.state == CLOSED and asked.serial in last:
                    continue
                if estimate_history.due(asked, last.get(asked.serial, 0)):
                    with contextlib.suppress(Exception):
                        point = await to_thread.run_sync(estimate_history.measure, asked)
                        await self.writer.do(estimate_history.keep, point)
                        last[asked.serial] = point.reports
            await asyncio.sleep(LOOK)

    async def _clean(self) -> None:
        while True:
            cutoff = int(time.time() - 3600 * self.settings.message_hours)
            with contextlib.suppress(Exception):
                expired = await self.writer.do(relay.expire, cutoff)
                if expired:
                    log.info("pairs expired", pairs=expired)
            await asyncio.sleep(CLEAN)
