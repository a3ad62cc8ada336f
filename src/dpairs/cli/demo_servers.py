"""The demonstration's first part: 400 people, two servers here, and an AUC that only the analyst opens."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.domains import Interval
from ..errors import Unavailable
from ..planning import plan
from .show import progress

if TYPE_CHECKING:
    from ..dap.task import Task

PEOPLE = 400
THREADS = 4


def two_servers(
    rows: list[dict[str, Any]], strata: list[str], truth: float, epsilon: float
) -> dict[str, Any]:
    """The AUC of everybody's score, computed by two servers that have shares of it only."""
    from ..client.device import Membership
    from ..client.two_servers import collect_result, get_task, link_of, send
    from ..dap.task import Analyst, Operator, Task
    from ..randomness import secret_bytes

    began = time.monotonic()
    sizes = {name: strata.count(name) for name in ("positive", "negative")}
    option = plan("auc", domain=Interval(0, 1), epsilon=epsilon, n=sizes, trust="two_servers").options[0]
    secret = secret_bytes()
    operators = [
        Operator(name, f"http://127.0.0.1:{port}")
        for name, port in zip(("A clinic", "A university"), free_ports(), strict=True)
    ]
    task = Task(option.study, "Risk score", operators[0], operators[1], Analyst.of(secret), 100)
    with tempfile.TemporaryDirectory() as folder, _servers(task, Path(folder)):
        offered = get_task(link_of(task))

        def take_part(number: int) -> str:
            # Made-up people keep no device and no ledger.
            me = Membership(None, task.id.hex())
            return send(offered, me, rows[number], strata[number], lambda study, answer: None).state

        with ThreadPoolExecutor(THREADS) as pool, progress(f"{len(rows)} people", len(rows)) as advance:
            for _ in pool.map(take_part, range(len(rows))):
                advance(1)
        release = collect_result(task, secret)
    estimate = release.estimate()
    low, high = estimate.confidence_interval(0.95)
    return {
        "statistic": estimate.statistic,
        "protocol": estimate.protocol,
        "who": f"{len(rows):,} people, two servers",
        "took_part": release.n,
        "truth": truth,
        "estimate": estimate.value,
        "interval_95": [low, high],
        "standard_error": estimate.standard_error,
        "predicted_error": option.error,
        "epsilon": estimate.privacy.epsilon,
        "seconds": round(time.monotonic() - began, 1),
    }


def free_ports() -> tuple[int, int]:
    """Two ports that nobody listens on: a task's file names them before the servers start."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        return one.getsockname()[1], two.getsockname()[1]


@contextmanager
def _servers(task: Task, folder: Path) -> Iterator[None]:
    """Leader and helper in processes of their own, with a database and keys each."""
    from ..servers.keys import write_key

    task.save(folder / "task.json")
    write_key(folder / "secret")
    with ExitStack() as stack:
        started = [stack.enter_context(server(role, task, folder)) for role in ("leader", "helper")]
        for process in started:
            said = process.stdout.readline() if process.stdout is not None else ""
            if not said or "address" not in json.loads(said):
                raise Unavailable("a server did not start; what it printed says why")
        yield


@contextmanager
def server(role: str, task: Task, folder: Path, workers: int = 1) -> Iterator[subprocess.Popen[str]]:
    """A leader or a helper as a process, whose first line of output says that it is ready."""
    port = (task.leader if role == "leader" else task.helper).url.rpartition(":")[2]
    command = [sys.executable, "-m", "dpairs", "serve", "--role", role, "--port", port, "--json"]
    command += ["--accept", "task.json", "--secret", "secret", "--workers", str(workers)]
    command += ["--rate", "0", "--log-level", "error"]
    # Its own session, so that Ctrl-C reaches us first.
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=folder
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
