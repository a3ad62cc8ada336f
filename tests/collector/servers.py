"""What the collector's tests share: collectors as processes and in a thread, and looks into a database."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import urllib3
import uvicorn
from sqlalchemy import create_engine, select

from dpairs.client import Analyst, Transport
from dpairs.collector import Service, Settings, create_app, schema
from dpairs.collector.connections import options
from dpairs.collector.database import Database
from dpairs.study import Study

from .. import hasty as hasty
from ..ports import free_port
from ..processes import Child

STUDIES = "/api/v1/studies"
VALIDATE = os.environ.get("DPAIRS_VALIDATE") == "1"
DEADLINE = 60.0
HASTE = 1.0 if VALIDATE else 0.35
"""By what the clocks of failover are multiplied: the short run waits for a third of the time."""
CLOCKS: tuple[str, ...] = ("lease.TERM", "writer.RENEW", "writer.RETRY", "watchdog.LOOK")
CLOCKS += ("database.STUCK", "database.PING", "database.PATIENCE")
IN_HASTE = "from importlib import import_module; " + "".join(
    "import_module('dpairs.collector.{}').{} *= {}; ".format(*clock.split("."), HASTE) for clock in CLOCKS
)
"""What a collector's process runs first to have such clocks."""


def until(condition: Callable[[], Any], what: str, seconds: float = DEADLINE, pause: float = 0.01) -> Any:
    """Poll until the condition holds."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {seconds:g} seconds")
        time.sleep(pause)


def first_line(child: Child, out: Path, err: Path) -> str:
    """What a process prints first, once it has."""

    def printed() -> bool:
        return out.exists() and "\n" in out.read_text()

    until(lambda: printed() or not child.alive, "the first line of a process")
    assert printed(), err.read_text()
    return out.read_text().splitlines()[0]


class Process:
    """`dpairs serve` as a process, on a port that stays the same over restarts."""

    def __init__(self, database: str, folder: Path, *options: str, before: str = "") -> None:
        self.database, self._folder, self._options, self._before = database, folder, options, before
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.token = ""
        self._starts = 0
        self._child: Child | None = None

    def start(self) -> Process:
        """Start, read the line it prints, and wait until it is ready; a standby, until it lives."""
        self._starts += 1
        command = ["serve", "--json", "--port", str(self.port)]
        command += ["--database", self.database, "--rate", "0", *self._options]
        out = self._folder / f"serve-{self._starts}.out"
        self._child = child = Child(command, self._folder, out, self.log, before=self._before)
        self.said: dict[str, Any] = json.loads(first_line(child, out, self.log))
        assert self.said["address"] == self.base
        self.token = self.said["token"] or self.token
        until(self._healthy, "a healthy collector")
        return self

    @property
    def log(self) -> Path:
        """What the latest start wrote to stderr."""
        return self._folder / f"serve-{self._starts}.log"

    def _healthy(self) -> bool:
        with contextlib.suppress(urllib3.exceptions.HTTPError), urllib3.PoolManager() as pool:
            path = "healthz" if "--standby" in self._options else "readyz"
            answer = pool.request("GET", f"{self.base}/{path}", retries=False, timeout=5.0)
            return answer.status == 200 and answer.json()["status"] == "ok"
        return False

    def kill(self) -> None:
        """As a power cut ends it."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """As an operator ends it; its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        child, self._child = self._child, None
        if child is None:
            return 0
        child.send_signal(how)
        return child.wait(DEADLINE)

    def transport(self, patience: float = DEADLINE) -> Transport:
        return Transport(self.base, patience=patience, timeout=30.0)

    def analyst(self) -> Analyst:
        return Analyst(self.base, self.token, transport=self.transport())


@functools.cache
def _tables() -> bytes:
    """A collector's file of SQLite without a row: copied, it takes a fifth of the time of all migrations."""
    with tempfile.TemporaryDirectory() as folder:
        Database(f"sqlite:///{folder}/empty").close()
        return Path(folder, "empty").read_bytes()


class InThread:
    """A collector in this process, with settings that the command line does not have."""

    def __init__(self, database: str, **settings: Any) -> None:
        file = Path(database.removeprefix("sqlite:///"))
        if database.startswith("sqlite:///") and file.parent.is_dir() and not os.path.lexists(file):
            file.write_bytes(_tables())
        self.service = Service(Settings(**{"database": database, "rate": 0.0, **settings}))
        self.database = database
        self.token = self.service.token or ""
        self._line = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.base = f"http://127.0.0.1:{self._line.getsockname()[1]}"
        self.app = create_app(self.service)
        config = uvicorn.Config(self.app, timeout_graceful_shutdown=2, **options())
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._line],))
        self._thread.start()
        until(lambda: self._server.started or not self._thread.is_alive(), "the start of the collector")
        assert self._server.started

    @property
    def connections(self) -> set[Any]:
        """Those that are open."""
        return set(self._server.server_state.connections)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(DEADLINE)
        self._line.close()

    def transport(self, patience: float = 10.0) -> Transport:
        return Transport(self.base, patience=patience, timeout=30.0)

    def analyst(self) -> Analyst:
        return Analyst(self.base, self.token, transport=self.transport())


@contextlib.contextmanager
def collector(database: str, token: str = "", **settings: Any) -> Iterator[InThread]:
    """A collector in this process, for a while; a restarted one is given the token it had."""
    running = InThread(database, **settings)
    running.token = running.token or token
    try:
        yield running
    finally:
        running.stop()


class Caller:
    """Plain requests, once each, whatever comes back."""

    def __init__(self, base: str, token: str | None = None) -> None:
        self.base, self._token = base, token
        self._pool = urllib3.PoolManager(retries=False, timeout=30.0, maxsize=8)

    def __call__(
        self,
        method: str,
        path: str,
        content: Any = None,
        *,
        token: str | None = None,
        body: bytes | None = None,
        kind: str | None = None,
        **headers: str,
    ) -> Answer:
        if content is not None:
            body, kind = json.dumps(content).encode(), kind or "application/json"
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if kind is not None:
            sent["Content-Type"] = kind
        if token is not None or self._token is not None:
            sent["Authorization"] = f"Bearer {token if token is not None else self._token}"
        answer = self._pool.request(method, self.base + path, body=body, headers=sent, redirect=False)
        return Answer(answer.status, answer.data, dict(answer.headers.items()))


class Answer:
    """A status, a body, and headers with names in small letters."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.status, self.body = status, body
        self.headers = {name.lower(): value for name, value in headers.items()}

    def __repr__(self) -> str:
        return f"{self.status} {self.body[:300]!r}"

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str]:
        """The status and the kind of a refusal, which has one sentence."""
        said = self.json
        assert set(said) == {"error", "message"}
        assert said["message"]
        assert "\n" not in said["message"]
        assert "Traceback" not in said["message"]
        return self.status, said["error"]


def contents(database: str) -> dict[str, list[Any]]:
    """All rows of all tables, but for the history of estimates and the lease, which clocks write."""
    engine = create_engine(database)
    try:
        with engine.connect() as connection:
            return {
                table.name: sorted(map(repr, connection.execute(select(table))))
                for table in schema.metadata.sorted_tables
                if table not in (schema.estimate_history, schema.lease)
            }
    finally:
        engine.dispose()


@contextlib.contextmanager
def unchanged(database: str) -> Iterator[None]:
    """Whatever happens inside leaves no trace in the database."""
    before = contents(database)
    yield
    assert contents(database) == before


def stored_symbols(database: str) -> dict[tuple[int, int, int], int]:
    """Every stored report: (round's number, stratum, index) and its symbol."""
    engine = create_engine(database)
    reports, rounds = schema.reports, schema.rounds
    wanted = select(rounds.c.number, reports.c.stratum, reports.c.index, reports.c.symbol).join_from(
        reports, rounds, reports.c.round == rounds.c.serial
    )
    try:
        with engine.connect() as connection:
            return {(row[0], row[1], row[2]): row[3] for row in connection.execute(wanted)}
    finally:
        engine.dispose()


def begin(analyst: Analyst, study: Study, **options: Any) -> str:
    """Begin a study; its id."""
    analyst.begin(study, "A title", **options)
    return study.id


def enrol(call: Caller, study: str, request: int, **wish: Any) -> Any:
    """Enrol somebody who must be taken."""
    answer = call("POST", f"{STUDIES}/{study}/people", {"request": f"{request:032x}", **wish})
    assert answer.status == 201, answer
    return answer.json
