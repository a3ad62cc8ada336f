"""Databases and collectors for the tests of this folder."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from dpairs.collector.database import POSTGRESQL, Database
from dpairs.collector.lease import Lease

from .people import histogram
from .postgres import Cluster
from .servers import CLOCKS, HASTE, Caller, InThread, Process, begin, collector, enrol
from .two import Two


@pytest.fixture(scope="session", autouse=True)
def _plain_logs() -> None:
    """Tracebacks as text: drawn with all their values they take half a minute."""
    plain = structlog.processors.KeyValueRenderer()
    structlog.configure(processors=[structlog.processors.format_exc_info, plain])


@pytest.fixture
def server(cluster: Cluster) -> Iterator[Cluster]:
    """The same, for a test that stops and freezes it."""
    yield cluster
    cluster.heal()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> str:
    """The address of an empty database, of both kinds in turn."""
    if request.param == "postgresql":
        return request.getfixturevalue("cluster").new_database()
    return f"sqlite:///{tmp_path / 'collector.sqlite'}"


@pytest.fixture
def opened(cluster: Cluster) -> Iterator[Database]:
    """An empty PostgreSQL database."""
    with contextlib.closing(Database(cluster.new_database())) as made:
        yield made


@pytest.fixture
def lease(opened) -> Lease:
    made = Lease(opened, "mine")
    assert made.take()
    return made


@pytest.fixture
def sqlite(tmp_path) -> str:
    """The address of an empty SQLite database."""
    return f"sqlite:///{tmp_path / 'collector.sqlite'}"


@pytest.fixture
def running(database) -> Iterator[InThread]:
    """A collector on either database."""
    with collector(database) as made:
        yield made


@pytest.fixture
def here(sqlite) -> Iterator[InThread]:
    """A collector on SQLite."""
    with collector(sqlite) as made:
        yield made


@pytest.fixture
def call(here) -> Caller:
    """Anybody's requests to it."""
    return Caller(here.base)


@pytest.fixture
def ask(here) -> Caller:
    """The analyst's requests to it."""
    return Caller(here.base, here.token)


@pytest.fixture
def hasty(monkeypatch) -> None:
    """Collectors in this process give up and take over sooner."""
    for clock in CLOCKS:
        module, _, name = clock.partition(".")
        whose = importlib.import_module(f"dpairs.collector.{module}")
        monkeypatch.setattr(whose, name, getattr(whose, name) * HASTE)
    monkeypatch.setitem(POSTGRESQL, "connect_timeout", 2)


@pytest.fixture
def serve(tmp_path) -> Iterator[Callable[..., Process]]:
    """Makes `dpairs serve` processes, and ends those that are left."""
    made: list[Process] = []

    def make(database: str, *options: str, before: str = "") -> Process:
        folder = tmp_path / f"serve{len(made)}"
        folder.mkdir(parents=True)
        made.append(Process(database, Path(folder), *options, before=before))
        return made[-1].start()

    yield make
    for each in made:
        each.kill()


@pytest.fixture
def study(here):
    """A study that it has begun."""
    study = histogram()
    begin(here.analyst(), study)
    return study


@pytest.fixture
def me(call, study) -> dict[str, Any]:
    """Somebody who is enrolled in it."""
    return enrol(call, study.id, 1)


@pytest.fixture
def gateway(here, study) -> dict[str, Any]:
    """A gateway for ten people of it."""
    (given,) = here.analyst().gateway(study.id, {study.strata[0]: 10}).values()
    return given


@pytest.fixture
def two(running, tmp_path) -> Two:
    """Two people of a study of pairs."""
    return Two(running, tmp_path)
