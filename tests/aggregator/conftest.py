"""Databases that the servers' tests run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..collector.postgres import Cluster


@pytest.fixture(scope="session")
def clusters() -> Iterator[list[Cluster]]:
    """Two of PostgreSQL, one for each server, started by whoever asks first."""
    found: list[Cluster] = []
    yield found
    for each in found:
        each.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest, tmp_path: Path, clusters: list[Cluster]) -> tuple[str, str]:
    """An empty database for each server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/0.sqlite", f"sqlite:///{tmp_path}/1.sqlite"
    while len(clusters) < 2:
        clusters.append(Cluster())
    one, two = (each.new_database() for each in clusters)
    return one, two


@pytest.fixture
def ending() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Calls what is given to it at the end of a test."""
    calls: list[Callable[[], None]] = []
    yield calls.append
    for call in calls:
        call()
