"""Many requests to one server: connections that are kept open, each with one request at a time."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import cast

import psutil

EMPTY = """
import sys, socket, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/")
async def empty():
    return {}
line = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(line.getsockname()[1], flush=True)
config = uvicorn.Config(app, access_log=False, log_config=None, server_header=False)
uvicorn.Server(config).run(sockets=[line])
"""


@contextmanager
def empty_server() -> Iterator[tuple[str, int]]:
    """A FastAPI app with one empty endpoint, on the settings of a collector."""
    process = subprocess.Popen([sys.executable, "-c", EMPTY], stdout=subprocess.PIPE, text=True)
    other_core(process.pid)
    try:
        assert process.stdout is not None
        yield ("127.0.0.1", int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait()


@contextmanager
def collector(folder: Path, database: str | None = None) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A collector in a process of its own: the process, its address and the analyst's token."""
    command = [sys.executable, "-m", "dpairs", "serve", "--port", "0", "--rate", "0", "--json"]
    command += ["--log-level", "warning", "--database", database or f"sqlite:///{folder}/bench.sqlite"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    other_core(process.pid)
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        wait_for(said["address"])
        yield process, said["address"], said["token"]
    finally:
        process.terminate()
        process.wait()


def other_core(process: int) -> None:
    """Let a server run beside its client, not in turns with it: the benchmarks have the last core."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        with suppress(OSError):
            os.sched_setaffinity(process, {0})


@contextmanager
def undisturbed(*others: int) -> Iterator[None]:
    """Let nothing else on this machine hold up our processes and these, where the system allows that.

    What one answer in a hundred takes is else mostly when the machine did something of its own.
    """
    roots = [psutil.Process(), *map(psutil.Process, others)]
    processes = [*roots, *(child for root in roots for child in root.children(recursive=True))]
    threads = [thread.id for process in processes for thread in process.threads()]
    allowed = hasattr(os, "sched_setscheduler")
    try:
        if allowed:
            _schedule(threads, os.SCHED_FIFO, 1)
        yield
    finally:
        if allowed:
            _schedule(threads, os.SCHED_OTHER, 0)


def _schedule(threads: Sequence[int], policy: int, priority: int) -> None:
    for thread in threads:
        with suppress(OSError):
            os.sched_setscheduler(thread, policy, os.sched_param(priority))


def wait_for(address: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            urllib.request.urlopen(f"{address}/healthz").read()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def request(path: str, body: bytes, token: str = "", kind: str = "application/octet-stream") -> bytes:
    """A POST, as it goes over the line."""
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
    ]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class _Line(asyncio.Protocol):
    """One connection: sends the next request when the answer to the last one is complete."""

    def __init__(self, left: Iterator[bytes], done: asyncio.Future[None], answers: list[bytes]) -> None:
        self._left, self._done, self._answers = left, done, answers
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._next()

    def _next(self) -> None:
        following = next(self._left, None)
        if following is None:
            self._transport.close()
            if not self._done.done():
                self._done.set_result(None)
        else:
            self._transport.write(following)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._buffer[:end].lower()
        place = head.index(b"content-length:") + 15
        size = int(head[place:].split(b"\r\n", 1)[0])
        if len(self._buffer) < end + 4 + size:
            return
        self._answers.append(self._buffer[: end + 4 + size])
        self._buffer = b""
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("the server closed the connection"))


def answers(
    address: tuple[str, int], requests: Sequence[bytes], connections: int = 256
) -> tuple[float, list[bytes]]:
    """Send all requests over so many connections; seconds taken, and the answers in order of arrival."""
    import uvloop

    received: list[bytes] = []

    async def run() -> float:
        loop, left = asyncio.get_running_loop(), iter(requests)
        done = [loop.create_future() for _ in range(connections)]
        began = time.perf_counter()
        for each in done:
            await loop.create_connection(partial(_Line, left, each, received), *address)
        await asyncio.gather(*done)
        return time.perf_counter() - began

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run()), received


def paced(
    address: tuple[str, int], requests: Sequence[bytes], rate: float, connections: int = 64
) -> list[float]:
    """Send so many requests a second, whatever the answers take; the seconds that each answer took.

    Time is counted from when a request was due, so a server that stalls is charged for those that wait; by
    a clock of nanoseconds, for that of the loop has only milliseconds.
    """
    import uvloop

    took: list[float] = []

    async def one(
        lines: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]], body: bytes
    ) -> None:
        due = time.perf_counter()
        reader, writer = await lines.get()
        writer.write(body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200"), head
        await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0]))
        took.append(time.perf_counter() - due)
        lines.put_nowait((reader, writer))

    async def run() -> None:
        lines: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        for _ in range(connections):
            lines.put_nowait(await asyncio.open_connection(*address))
        loop, tasks = asyncio.get_running_loop(), []
        began = loop.time()
        for number, body in enumerate(requests):
            await asyncio.sleep(max(0.0, began + number / rate - loop.time()))
            tasks.append(asyncio.create_task(one(lines, body)))
        await asyncio.gather(*tasks)

    # A client that stops to look for garbage would charge the server for it.
    gc.collect()
    gc.disable()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run())
    finally:
        gc.enable()
    return took


def refused(found: Sequence[bytes]) -> list[bytes]:
    """Answers that are none of success."""
    return [each for each in found if not each.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201"))]
