"""Two servers and their people, as the tests run them: in threads, or as processes that can be killed."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

import dpairs
from dpairs.aggregator.app import create_app
from dpairs.aggregator.keys import fresh_keys
from dpairs.aggregator.releases import Releases
from dpairs.aggregator.service import Aggregator
from dpairs.client.transport import Transport
from dpairs.collector.connections import options
from dpairs.collector.settings import Settings
from dpairs.dap.collection import CollectionJobReq, read_collection_resp
from dpairs.dap.participant import make_report
from dpairs.dap.reports import Report, read_configs, read_upload_errors, usable
from dpairs.dap.result import open_release
from dpairs.dap.task import Analyst, Operator, Task, analyst_token
from dpairs.randomness import SeededRandomness, SystemRandomness
from dpairs.release import Release

from ..collector.servers import DEADLINE, first_line, until
from ..ports import free_ports
from ..processes import Child

SECRET, ANALYST = bytes(range(32)), bytes(range(32, 64))
NOISE = (71, 72)
"""Seeds of the two servers' noise."""
LINGER, RETRY = 0.05, 0.2
"""Seconds until a leader verifies a few reports, and until it tries again."""
KIND = "application/ppm-dap;message="


def auc(bins: int = 16, **more: Any) -> dpairs.Study:
    return dpairs.Study.create(
        "auc", protocol="two_servers", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=bins, seed=1, **more
    )


def new_task(
    study: dpairs.Study | None = None, least: int = 10, ports: tuple[int, int] | None = None
) -> Task:
    one, two = ports or free_ports(2)
    return Task(
        study or auc(),
        "Risk score",
        Operator("Clinic", f"http://127.0.0.1:{one}"),
        Operator("University", f"http://127.0.0.1:{two}"),
        Analyst.of(ANALYST),
        least,
    )


@dataclass
class People:
    """Made-up people of a task, and what they would send."""

    task: Task
    data: dict[str, Any]
    cells: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for stratum, columns in self.task.study.statistic.split(self.data):
            measured = self.task.protocol.measure(stratum, columns)
            self.cells[stratum] = self.cells.get(stratum, []) + measured.tolist()

    def reports(
        self, transports: tuple[Transport, Transport] | None = None, configs: Any = None
    ) -> list[Report]:
        found = configs or [
            usable(read_configs(each.bytes("GET", "/hpke_config"))) for each in transports or ()
        ]
        now, bits = int(time.time()), SystemRandomness()
        return [
            make_report(self.task, found, stratum, cell, now, bits)
            for stratum, cells in self.cells.items()
            for cell in cells
        ]

    def ideal(self, seeds: tuple[int, int] = NOISE) -> Release:
        """What a trusted party would release with both servers' noise."""
        protocol = self.task.protocol
        sums = {name: protocol.added(name, np.array(each)) for name, each in self.cells.items()}
        sizes = {name: len(self.cells[name]) for name in self.task.study.strata}
        one, two = (protocol.noise(sizes, SeededRandomness(seed)) for seed in seeds)
        return Release(self.task.study, sizes, protocol.totals(sums).plus(one).plus(two))


def crowd(task: Task, people: int, seed: int = 5) -> People:
    rng = np.random.default_rng(seed)
    label = rng.random(people) < 0.4
    score = np.clip(rng.normal(np.where(label, 0.6, 0.45), 0.15), 0, 1)
    return People(task, {"score": score, "label": label.astype(int)})


def upload(transport: Transport, task: Task, reports: list[Report], at_once: int = 100) -> dict[bytes, str]:
    """Send reports; which were refused, and why."""
    refused: dict[bytes, str] = {}
    for start in range(0, len(reports), at_once):
        body = b"".join(map(bytes, reports[start : start + at_once]))
        answer = transport.bytes("POST", f"/tasks/{task.name}/reports", body, kind=f"{KIND}upload-req")
        refused |= {name: error.name for name, error in read_upload_errors(answer)}
    return refused


def collect(transport: Transport, task: Task, seconds: float = DEADLINE) -> Release:
    """Ask for the result and open it."""
    request, token = CollectionJobReq(), analyst_token(ANALYST)
    path = f"/tasks/{task.name}/collection_jobs"
    body, headers = transport.answer("POST", path, bytes(request), token, f"{KIND}collection-job-req")
    where = headers["location"].removeprefix(task.leader.url)
    deadline = time.monotonic() + seconds
    while not body:
        assert time.monotonic() < deadline, "no result"
        threading.Event().wait(0.05)
        body = transport.bytes("GET", where, token=token)
    return open_release(task, ANALYST, request, read_collection_resp(body))


def state(transport: Transport, task: Task) -> dict[str, Any]:
    found: dict[str, Any] = transport.json("GET", f"/tasks/{task.name}/state")
    return found


class InThread:
    """One server in a thread of this process."""

    def __init__(
        self,
        task: Task,
        number: int,
        database: str,
        workers: int = 1,
        kept: Path | None = None,
        base: str | None = None,
        **more: Any,
    ) -> None:
        self.task, self.number, self.database = task, number, database
        self.keys = fresh_keys()
        self.service = Aggregator(
            Settings(database=database, rate=0.0, **more),
            number,
            SECRET,
            self.keys,
            [task],
            workers=workers,
            noise=SeededRandomness(NOISE[number]),
            releases=Releases(kept),
        )
        self.base = base or task.operators[number].url
        self._line = socket.create_server(("127.0.0.1", int(self.base.rpartition(":")[2])), backlog=512)
        config = uvicorn.Config(create_app(self.service), timeout_graceful_shutdown=2, **options())
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._line],))
        self._thread.start()
        until(lambda: self._server.started or not self._thread.is_alive(), "the start of a server")
        assert self._server.started
        self.line = Transport(self.base, patience=10.0, timeout=30.0)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(DEADLINE)
        self._line.close()


@contextlib.contextmanager
def in_threads(task: Task, folder: Path, **more: Any) -> Iterator[tuple[InThread, InThread]]:
    """Both servers, on SQLite; ``workers`` are the leader's."""
    leaders = {"workers": more.pop("workers", 1)}
    with contextlib.ExitStack() as stack:
        found = []
        for number in (1, 0):
            kept = folder / f"{number}.released"
            own = more if number else more | leaders
            server = InThread(task, number, f"sqlite:///{folder}/{number}.sqlite", kept=kept, **own)
            stack.callback(server.stop)
            found.append(server)
        yield found[1], found[0]


SEEDED = (
    "from dpairs.aggregator import driver, service; from dpairs.randomness import SeededRandomness; "
    f"driver.LINGER, driver.RETRY = {LINGER}, {RETRY}; "
    "service.SystemRandomness = lambda: SeededRandomness({}); "
)
"""What a server runs first to have noise of a given seed, and to wait for little."""


class Process:
    """One server as a process of its own, which can be killed and started again."""

    def __init__(self, task: Task, number: int, database: str, folder: Path, *more: str) -> None:
        self.task, self.number, self.database, self._folder, self._more = task, number, database, folder, more
        self.role = ("leader", "helper")[number]
        self.base = task.operators[number].url
        self.line = Transport(self.base, patience=DEADLINE, timeout=30.0)
        self._starts = 0
        self._child: Child | None = None
        task.save(folder / "task.json")
        (folder / "secret").write_text(SECRET.hex())

    @property
    def log(self) -> Path:
        return self._folder / f"{self.role}-{self._starts}.log"

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    def start(self, wait: bool = True) -> Process:
        self._starts += 1
        command = ["serve", "--role", self.role, "--json", "--accept", "task.json", "--secret", "secret"]
        command += ["--database", self.database, "--rate", "0", "--workers", "1", *self._more]
        command += ["--port", self.base.rpartition(":")[2]]
        out = self.log.with_suffix(".out")
        before = SEEDED.format(NOISE[self.number])
        self._child = Child(command, self._folder, out, self.log, before=before)
        if wait:
            assert json.loads(first_line(self._child, out, self.log))["role"] == self.role
        return self

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.send_signal(how)
            child.wait(DEADLINE)


def agree(states: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether both servers have verified the same numbers of reports."""
    return bool(states["verified"] == others["verified"])
