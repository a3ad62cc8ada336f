"""Databases that the servers' tests run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpairs.aggregator import driver

from ..collector.postgres import Cluster
from .pair import LINGER, RETRY


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader in this process verifies what has come and tries again without a pause that people need."""
    monkeypatch.setattr(driver, "LINGER", LINGER)
    monkeypatch.setattr(driver, "RETRY", RETRY)


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """An empty database for each server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/0.sqlite", f"sqlite:///{tmp_path}/1.sqlite"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.new_database(), cluster.new_database("other")


@pytest.fixture
def ending() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Calls what is given to it at the end of a test."""
    calls: list[Callable[[], None]] = []
    yield calls.append
    for call in calls:
        call()
