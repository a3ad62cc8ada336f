"""One server: its tasks, its database, its keys, and what runs beside requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import structlog
from anyio import to_thread
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from ..collector.bodies import Budget
from ..collector.database import Database
from ..collector.metrics import BUCKETS
from ..collector.settings import Settings
from ..dap.task import LEADER, ROLES, Task
from ..errors import NotAllowed, NotFound
from ..randomness import Randomness, SystemRandomness
from . import schema
from .driver import Driver
from .helper import Helper
from .intake import Intake
from .keys import ServerKeys
from .leader import Leader
from .releases import Releases
from .store import Store, accepted
from .workers import Recipe, Workers

SKEW = 300
"""Seconds that a person's clock may be ahead."""
log = structlog.get_logger()


class RequestMetrics:
    """Numbers for Prometheus; nothing about anybody."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        names = ("route", "method", "status")
        self._requests = Counter("dpairs_requests", "Requests answered.", names, registry=self._registry)
        self._seconds = Histogram(
            "dpairs_request_seconds", "Time to answer.", ("route",), registry=self._registry, buckets=BUCKETS
        )

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class Aggregator:
    """A leader or a helper, with all tasks that its operator accepted."""

    def __init__(
        self,
        settings: Settings,
        server: int,
        secret: bytes,
        keys: ServerKeys,
        accept: Sequence[Task] = (),
        *,
        workers: int = 1,
        noise: Randomness | None = None,
        releases: Releases | None = None,
    ) -> None:
        self.settings, self.server, self.keys, self._secret = settings, server, keys, secret
        self.budget, self.metrics = Budget(settings.body_memory), RequestMetrics()
        self._noise, self._releases = noise or SystemRandomness(), releases or Releases()
        self.database = Database(settings.database, schema.create)
        self.leaders: dict[str, Leader] = {}
        self.helpers: dict[str, Helper] = {}
        self.recipes: dict[str, Recipe] = {}
        self.drivers: dict[str, Driver] = {}
        self.intake = Intake()
        self._tasks: list[asyncio.Task[None]] = []
        try:
            for task in accept:
                Store(self.database, task, server).accept()
            for task, number in accepted(self.database):
                self._add(task, number)
            self.database.forget()  # of a release after which this server was ended
        except BaseException:
            self.database.close()
            raise
        self.workers = Workers(workers)

    def __repr__(self) -> str:
        return f"Aggregator(role={ROLES[self.server]!r}, tasks={len(self.recipes)})"

    def _add(self, task: Task, number: int) -> None:
        if number != self.server:
            raise NotFound(f"this database belongs to a {ROLES[number]}")
        store = Store(self.database, task, number)
        if number == LEADER:
            self.leaders[task.name] = Leader(store, list(self.keys.secrets), self._noise, self._releases)
        else:
            self.helpers[task.name] = Helper(store, self._noise, self._releases)
        self.recipes[task.name] = Recipe(
            task.to_json(),
            number,
            tuple(self.keys.secrets.items()),
            task.verify_key(self._secret),
            task.leader_token(self._secret),
        )

    @property
    def stores(self) -> dict[str, Store]:
        leading = {name: each.store for name, each in self.leaders.items()}
        return leading | {name: each.store for name, each in self.helpers.items()}

    def leader(self, name: str) -> Leader:
        if name not in self.leaders:
            raise NotFound("there is no such task here")
        return self.leaders[name]

    def helper(self, name: str) -> Helper:
        if name not in self.helpers:
            raise NotFound("there is no such task here")
        return self.helpers[name]

    def check_analyst(self, leader: Leader, token: str | None) -> None:
        if token is None or not leader.store.task.analyst.may(token):
            raise NotAllowed("this needs the token of the task's analyst, as a bearer token")

    def latest(self, task: Task) -> int:
        """The latest time that a report may have."""
        return int(time.time() + SKEW) // task.time_precision

    async def start(self) -> None:
        self.intake.start()
        for name, leader in self.leaders.items():
            self.drivers[name] = Driver(leader, self.recipes[name], self.workers)
            self._tasks.append(asyncio.create_task(self.drivers[name].run()))
        log.info("started", role=ROLES[self.server], tasks=len(self.recipes))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.intake.stop()
        await to_thread.run_sync(self.close)
        log.info("stopped")

    def close(self) -> None:
        self.workers.close()
        self.database.close()
