"""Numbers for Prometheus: how many, how fast; nothing about anybody."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from anyio import to_thread
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from .service import Service

BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    def __init__(self, service: Service) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "dpairs_requests", "Requests answered.", ("route", "method", "status"), registry=registry
        )
        self.seconds = Histogram(
            "dpairs_request_seconds", "Time to answer.", ("route",), registry=registry, buckets=BUCKETS
        )
        reports = Counter(
            "dpairs_reports", "Reports received, by what came of them.", ("outcome",), registry=registry
        )
        self.received = {name: reports.labels(name) for name in ("counted", "again", "different")}
        waiting = Gauge("dpairs_waiting_changes", "Changes that wait for the writer.", registry=registry)
        waiting.set_function(lambda: service.writer.waiting)
        commits = Gauge("dpairs_commits", "Transactions committed since the start.", registry=registry)
        commits.set_function(lambda: service.writer.commits)
        studies = Gauge("dpairs_studies", "Studies stored.", registry=registry)
        studies.set_function(lambda: len(service.studies))
        unreadable = Gauge(
            "dpairs_unreadable_studies", "Studies stored that cannot be read.", registry=registry
        )
        unreadable.set_function(lambda: len(service.unreadable))

        self._writing, self._written, self._text = asyncio.Lock(), 0, b""
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        known = self._known.get((route, method, status))
        if known is None:
            known = self.requests.labels(route, method, str(status)), self.seconds.labels(route)
            self._known[route, method, status] = known
        known[0].inc()
        known[1].observe(seconds)

    async def text(self) -> bytes:
        """All numbers, in Prometheus' format: written once for all who ask while others are being written."""
        wanted = self._written + 1
        async with self._writing:
            if self._written < wanted:
                self._written += 1
                self._text = await to_thread.run_sync(generate_latest, self._registry)
        return self._text
