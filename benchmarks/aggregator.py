"""Two servers: leader and helper

*End to end*: reports of 256 cells in a second of processor time, both servers' time together, from each
person's upload over HTTP to the sealed result, on SQLite. Beside it the same reports opened and verified in
one process, without HTTP and without a database; and requests of an endpoint that does nothing.

*Memory*: the larger of the two servers after all reports, beside a fifth of them.

*Cores*: both servers on this machine, not pinned, each with a process for every core: seconds of processor
time in a second, from the first upload to the last verified report, beside as many as there are cores.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from measure import Row

import dpairs
from dpairs.aggregator.keys import fresh_keys
from dpairs.cli.demo_servers import free_ports, server
from dpairs.client.transport import Transport
from dpairs.client.two_servers import collect_result
from dpairs.dap.jobs import JobRequest, VerifyResp, read_answer, read_job, write_answer
from dpairs.dap.participant import make_report
from dpairs.dap.reports import Report, read_report
from dpairs.dap.task import Analyst, Operator, Task
from dpairs.dap.verification import Verifier
from dpairs.randomness import SystemRandomness, secret_bytes

CELLS, BATCH, TOGETHER, THREADS = 256, 400, 100, 16
KIND = "application/ppm-dap;message=upload-req"


def run(quick: bool) -> list[Row]:
    people = 500 if quick else 2500
    return [*_one_core(people), _all_cores(people)]


def _task() -> tuple[Task, bytes]:
    study = dpairs.Study.create(
        "auc", protocol="two_servers", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=CELLS
    )
    one, two = (f"http://127.0.0.1:{port}" for port in free_ports())
    analyst = secret_bytes()
    return Task(study, "Rate", Operator("A", one), Operator("B", two), Analyst.of(analyst), 100), analyst


@contextmanager
def _servers(task: Task, keys: Any, secret: bytes, workers: int = 1) -> Iterator[list[psutil.Process]]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder)
        task.save(place / "task.json")
        (place / "secret").write_text(secret.hex())
        begun = []
        for role, own in zip(("leader", "helper"), keys, strict=True):
            own.save(place / f"{role}.keys")
            begun.append(stack.enter_context(server(role, task, place, workers)))
        for each in begun:
            json.loads(each.stdout.readline() if each.stdout is not None else "")
        yield [psutil.Process(each.pid) for each in begun]


def _one_core(people: int) -> list[Row]:
    task, analyst = _task()
    keys, secret = [fresh_keys(), fresh_keys()], secret_bytes()
    reports = _reports(task, [each.configs[0] for each in keys], people)
    alone = _verified(task, keys, secret, reports)
    with _servers(task, keys, secret) as watched:
        empty = _empty(watched[0], task.leader.url, people)
        before = sum(map(_cpu, watched))
        _upload(task, reports[: people // 5])
        _settled(task, people // 5)
        early = max(each.memory_info().rss for each in watched)
        _upload(task, reports[people // 5 :])
        release = collect_result(task, analyst, 600)
        used = sum(map(_cpu, watched)) - before
        late = max(each.memory_info().rss for each in watched)
    assert release.n == people
    name = f"{people:,} people, {CELLS} cells, one core"
    return [
        Row(f"end to end: {name}", "opened and verified only", people / used, alone, "reports/s"),
        Row(f"end to end: {name}", "requests of an empty endpoint", people / used, empty, "reports/s"),
        Row("memory of a server", "after a fifth of the reports", late / 2**20, early / 2**20, "MB"),
    ]


def _all_cores(people: int) -> Row:
    cores = os.cpu_count() or 1
    task, _ = _task()
    keys, secret = [fresh_keys(), fresh_keys()], secret_bytes()
    reports = _reports(task, [each.configs[0] for each in keys], 4 * people)
    pinned = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if pinned is not None:
        os.sched_setaffinity(0, range(cores))
    try:
        with _servers(task, keys, secret, workers=cores) as watched:
            _upload_at_once(task, reports[:people])
            _settled(task, people)  # every worker has started
            before, began = sum(map(_cpu, watched)), time.monotonic()
            _upload_at_once(task, reports[people:])
            _settled(task, 4 * people)
            busy = (sum(map(_cpu, watched)) - before) / (time.monotonic() - began)
    finally:
        if pinned is not None:
            os.sched_setaffinity(0, pinned)
    name = f"{3 * people:,} people verified with {cores} processes at each server"
    return Row(name, "all cores busy", busy, cores, "processor s/s")


def _reports(task: Task, configs: Any, people: int) -> list[Report]:
    rng, bits, now = np.random.default_rng(1), SystemRandomness(), int(time.time())
    return [
        make_report(task, configs, ("positive", "negative")[number % 2], int(cell), now, bits)
        for number, cell in enumerate(rng.integers(0, CELLS, people))
    ]


def _verified(task: Task, keys: Any, secret: bytes, reports: list[Report]) -> float:
    """Reports in a second that both servers open and verify."""
    leader, helper = (
        Verifier(task, number, each.secrets, task.verify_key(secret)) for number, each in enumerate(keys)
    )
    wires = [bytes(each) for each in reports]

    def batch(some: list[bytes]) -> None:
        begun = leader.begin([read_report(each) for each in some])
        _, inits = read_job(bytes(JobRequest(task.batch_id, begun.inits)), len(some))
        found, outbound = helper.answer(inits)
        ids = [each.metadata.report_id for each in inits]
        answers = read_answer(write_answer([VerifyResp(each, outbound[each]) for each in ids]), ids)
        assert leader.finish(begun, answers).valid == found.valid

    batch(wires[:BATCH])
    began = time.process_time()
    for start in range(0, len(wires), BATCH):
        batch(wires[start : start + BATCH])
    return len(wires) / (time.process_time() - began)


def _cpu(process: psutil.Process) -> float:
    """Seconds of a server and of its processes."""
    used = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return float(sum(each.user + each.system for each in used))


def _empty(process: psutil.Process, base: str, requests: int) -> float:
    line = Transport(base)
    line.bytes("GET", "/healthz")
    before = _cpu(process)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda _: line.bytes("GET", "/healthz"), range(requests)))
    return requests / (_cpu(process) - before)


def _upload(task: Task, reports: list[Report]) -> None:
    line, path = Transport(task.leader.url), f"/tasks/{task.name}/reports"
    with ThreadPoolExecutor(THREADS) as pool:
        answers = pool.map(lambda each: line.bytes("POST", path, bytes(each), kind=KIND), reports)
        assert not any(answers)


def _upload_at_once(task: Task, reports: list[Report]) -> None:
    line, path = Transport(task.leader.url), f"/tasks/{task.name}/reports"
    for start in range(0, len(reports), TOGETHER):
        body = b"".join(map(bytes, reports[start : start + TOGETHER]))
        assert not line.bytes("POST", path, body, kind=KIND)


def _settled(task: Task, people: int) -> None:
    line = Transport(task.helper.url)
    while sum(line.json("GET", f"/tasks/{task.name}/state")["verified"].values()) < people:
        time.sleep(0.05)
