"""A collector: reports that are on the disk when they are answered

A collector in a process of its own, asked over HTTP by one process with 256 open connections; where there are
two cores, servers have one and the client has the other. It stores in a file of SQLite's and then, where
there is one, in a PostgreSQL with the settings it comes with, which shares the collector's core.

*Single reports, against an empty endpoint*: requests a second for reports that are checked, committed and
counted, against a FastAPI app with one empty endpoint on the same server, asked by the same client with the
same bytes, in turns. Many reports share one commit. The wanted ratio is 0.4.

*The slowest of a hundred*: how long an answer takes at 400 requests a second, in 99 of 100 cases, against the
empty endpoint at the same rate. The wanted ratio is 3 at most. Where the system allows it, client, servers
and database run at real-time priority meanwhile, so that other work of the machine holds up neither endpoint.

*Batches*: reports a second from a gateway, as Arrow streams of 100,000, against 200,000.

*The analyst's page at a million reports*: the median time of an answer for the study's page, which computes
the estimate anew, against 0.2 s. *Memory*: how much the collector holds after the second half of the batches
more than after the first, against 20 MB.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
from load import answers, collector, empty_server, paced, refused, request, undisturbed
from measure import Row
from postgres import postgresql

import dpairs
from dpairs.client import Analyst
from dpairs.client.gateway import batch
from dpairs.randomness import secret_bytes

SINGLE, BATCHED, PAGE, GROWTH, LATE = 0.4, 200_000, 0.2, 20.0, 3.0
"""What is wanted: a ratio, reports a second, seconds, megabytes, a ratio."""
RATE = 400
"""Requests a second at which answers are timed."""
EACH = 100_000
"""Reports in a batch."""
ARROW = "application/vnd.apache.arrow.stream"


def run(quick: bool) -> list[Row]:
    with postgresql() as server:
        return stored(quick) + ([] if server is None else stored(quick, *server, where=", PostgreSQL"))


def stored(quick: bool, database: str | None = None, *processes: int, where: str = "") -> list[Row]:
    """All rows of a collector that stores in this database of these processes, by default in a file."""
    people, rounds, batches = (2_000, 2, 2) if quick else (10_000, 5, 10)
    study = dpairs.Study.create(
        "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=2**14, seed=1
    )
    with tempfile.TemporaryDirectory() as folder, collector(Path(folder), database) as (process, base, token):
        address = place(base)
        analyst = Analyst(base, token)
        analyst.begin(study, "Load")
        ours, theirs = [], []
        late, late_empty = [], []
        with empty_server() as empty:
            for _ in range(rounds):
                sent = list(reports(study, address, people))
                bare = [request("/", each.partition(b"\r\n\r\n")[2], "x" * 60) for each in sent]
                theirs.append(people / answers(empty, bare)[0])
                seconds, found = answers(address, sent)
                assert not refused(found)
                ours.append(people / seconds)
                sent = list(reports(study, address, people // 2))
                bare = [request("/", each.partition(b"\r\n\r\n")[2], "x" * 60) for each in sent]
                with undisturbed(*processes):
                    late_empty.append(slowest(paced(empty, bare, RATE)))
                    late.append(slowest(paced(address, sent, RATE)))
        rate, growth = batched(study, analyst, address, batches, psutil.Process(process.pid))
        looks = [look(analyst, study, address, number) for number in range(5 if quick else 20)]
        single = rounds * (people + people // 2)
        assert analyst.tally(study.id).n == single + 2 * batches * EACH + len(looks)
    reported = single + 2 * batches * EACH
    page = f"a study's page at {reported:,} reports{where}"
    return [
        Row(
            f"single reports, committed{where}",
            "an empty endpoint",
            statistics.median(ours),
            statistics.median(theirs),
            "requests/s",
            SINGLE,
        ),
        Row(
            f"99 of 100 answers at {RATE} requests/s{where}",
            "an empty endpoint",
            statistics.median(late),
            statistics.median(late_empty),
            "s",
            1 / LATE,
        ),
        Row(f"reports in batches, committed{where}", "the limit", rate, BATCHED, "reports/s", 1.0),
        Row(page, "the limit", statistics.median(looks), PAGE, "s", 1.0),
        Row(f"growth of memory over half the batches{where}", "the limit", growth, GROWTH, "MB", 1.0),
    ]


def slowest(took: list[float]) -> float:
    """What 99 of 100 answers took at most."""
    return sorted(took)[int(0.99 * len(took))]


def place(base: str) -> tuple[str, int]:
    host, _, port = base.removeprefix("http://").partition(":")
    return host, int(port)


def reports(study: dpairs.Study, address: tuple[str, int], people: int) -> Iterator[bytes]:
    """Requests of people who are enrolled."""
    path = f"/api/v1/studies/{study.id}"
    wishes = [{"request": secret_bytes(16).hex(), "stratum": "positive"} for _ in range(people)]
    asked = [request(f"{path}/people", json.dumps(wish).encode(), kind="application/json") for wish in wishes]
    for answer in answers(address, asked)[1]:
        given = json.loads(answer.partition(b"\r\n\r\n")[2])
        report = dpairs.Report(study, "positive", given["index"], given["index"] % 2)
        yield request(f"{path}/reports", bytes(report), given["secret"])


def batched(
    study: dpairs.Study, analyst: Analyst, address: tuple[str, int], batches: int, process: psutil.Process
) -> tuple[float, float]:
    """Reports a second of all batches, one after another, and megabytes that the second half adds."""
    strata = dict.fromkeys(study.strata, batches * EACH)
    people = analyst.gateway(study.id, strata)
    path, took, memory = f"/api/v1/studies/{study.id}/batches", 0.0, []
    rng = np.random.default_rng(1)
    for name, given in people.items():
        for number in range(batches):
            indices = given["first"] + number * EACH + np.arange(EACH)
            body = batch(study, indices, rng.integers(0, 2, EACH))
            seconds, found = answers(address, [request(path, body, given["secret"], ARROW)], connections=1)
            assert json.loads(found[0].partition(b"\r\n\r\n")[2])["counted"] == EACH, name
            took += seconds
            memory.append(process.memory_info().rss / 2**20)
    return 2 * batches * EACH / took, max(0.1, memory[-1] - memory[len(memory) // 2])


def look(analyst: Analyst, study: dpairs.Study, address: tuple[str, int], number: int) -> float:
    """Seconds for the study's page after one more report, so that nothing is remembered."""
    (one,) = reports(study, address, 1)
    assert not refused(answers(address, [one], connections=1)[1])
    began = time.perf_counter()
    analyst.progress(study.id)
    return time.perf_counter() - began
