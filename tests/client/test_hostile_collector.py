"""A collector that serves any bytes gets no more out of a device than the person's limit allows, exactly.

With DPAIRS_VALIDATE=1 ten thousand studies, second rounds and pair lists are served, otherwise some hundreds.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dpairs import Participant, Study
from dpairs.client import Device, Transport, join
from dpairs.errors import DpairsError
from dpairs.report import Report

from .dishonest import BASE, Dishonest, link_to
from .hostility import SECRETS, Served, Table, base_studies, pmf, session, within
from .test_pairs import PlaysPartners, attempt, own_pairs, tau

SERVED = 10_000 if os.environ.get("DPAIRS_VALIDATE") == "1" else 300
SECRET = 2


def serve(served: Served) -> Dishonest:
    def answer(method: str, path: str, body: bytes | None) -> Any:
        if path.endswith("/people"):
            return {"index": served.index, "stratum": served.stratum, "secret": "s"}
        if path.endswith("/rounds/1"):
            return served.first
        if path.endswith("/reports"):
            return {"outcome": "counted"}
        return b'{"state":"open","title":"","promise":"","study":' + served.now + b"}"

    return Dishonest(answer)


def studies_in(served: Served) -> list[Study]:
    found = []
    for text in (served.now, served.first):
        try:
            found.append(Study.from_json(text))
        except DpairsError:
            continue
    return found


def table_of(wire: bytes, served: Served) -> Table:
    """What the report that was sent reveals, by the study that it names."""
    study = next(each for each in studies_in(served) if bytes.fromhex(each.id)[:8] == wire[1:9])
    report = Report.from_bytes(wire, study)
    return [pmf(study, report.stratum, report.index, secret) for secret in SECRETS]


def play(rng: random.Random, home: Path) -> tuple[float, float, list[Table], int]:
    """One session: the person's limit, what was revealed, and how often something was served."""
    limit, delta, offers = session(rng)
    device = Device(home)
    sent: dict[bytes, Table] = {}
    for served in offers:
        line = serve(served)
        try:
            join(
                link_to(served.link),
                {served.column: SECRET},
                device=device,
                transport=line,
                limit=limit,
                limit_delta=delta,
                max_delta=delta,
            )
        except DpairsError as error:
            assert "\n" not in str(error)  # noqa: PT017 - an error is allowed, and then it is one sentence
        for wire in line.reports:
            sent.setdefault(wire, table_of(wire, served))  # the very same report again reveals nothing more
    return limit, delta, list(sent.values()), len(offers)


def test_no_session_reveals_more_than_the_person_s_limit(tmp_path):
    rng = random.Random(20)
    served = answered = several = beyond = sessions = 0
    while served < SERVED:
        limit, delta, tables, offers = play(rng, tmp_path / str(sessions))
        assert within(tables, limit, delta), (sessions, limit, delta)
        served, sessions, answered = served + offers, sessions + 1, answered + len(tables)
        several += len(tables) > 1
        # The same answers do not keep a fifth of the limit: the check can fail.
        beyond += not within(tables, limit / 5, 0.0)
    assert answered > sessions / 5
    assert several > sessions / 20
    assert beyond > sessions / 20


def test_the_check_notices_a_device_without_limits():
    """The negative control: two answers of epsilon 2.5 do not pass for 2.4, nor for (2.4, 0.01)."""
    loud = [each for each in base_studies() if each.epsilon == 2.5 and each.protocol.name == "histogram"][:2]
    tables = []
    for study in loud:
        report = Participant(study, 0, study.strata[0]).report(**{study.statistic.private_columns[0]: SECRET})
        tables.append([pmf(study, report.stratum, 0, secret) for secret in SECRETS])
    assert len(tables) == 2
    assert not within(tables, 2.4, 0.0)
    assert not within(tables, 2.4, 0.01)
    assert within(tables, 5.0, 0.0)
    assert within(tables[:1], 2.5, 0.0)


def test_pair_lists_of_any_kind_get_no_more_than_the_agreed_pairs(tmp_path):
    """The loss is the derived one: at most P pairs are completed, of epsilon / P each."""
    rng = random.Random(21)
    for number in range(max(4, SERVED // 60)):
        pairs = rng.choice([1, 1, 2, 3])
        study = tau(pairs, seed=rng.randrange(5))
        index = rng.randrange(6)
        line = PlaysPartners(study, index, "everybody")
        device = Device(tmp_path / str(number))
        for _ in range(rng.randrange(2, 7)):
            rows: dict[int, dict[str, Any]] = {}
            for _ in range(rng.randrange(1, 4)):
                sizes = {"everybody": rng.choice([index + 1, index + 2, 30, 31, 64, 200])}
                try:
                    mine = own_pairs(study, sizes, rng.choice([index, index, index, 0]))
                except DpairsError:
                    continue
                for pair in mine:
                    rows[pair[0]] = line.row(sizes, *pair)
            keep = rng.sample(list(rows.values()), rng.randrange(len(rows) + 1))
            if rng.random() < 0.3:
                keep = [{**row, rng.choice(["role", "partner", "key", "state"]): "evaluator"} for row in keep]
            line.listed = keep
            attempt(line, {"x": 1, "y": 2}, device)
        assert len(line.completed) <= pairs


# ---------------------------------------------------------------- redirects


@pytest.fixture
def redirecting() -> Iterator[tuple[str, list[str]]]:
    """A server that sends everybody elsewhere, and what was asked of it."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            seen.append(f"{self.command} {self.path}")
            self.send_response([301, 302, 303, 307, 308][len(seen) % 5])
            self.send_header("Location", f"/elsewhere{self.path}")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = do_PUT = answer  # noqa: N815

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    thread.join()
    server.server_close()


def test_no_redirect_is_followed(redirecting, tmp_path):
    base, seen = redirecting
    study = base_studies()[0]
    for _ in range(10):
        with pytest.raises(DpairsError):
            join(
                link_to(study.id).replace(BASE, base),
                {"value": SECRET},
                device=Device(tmp_path),
                transport=Transport(base, patience=0.0),
            )
    assert len(seen) == 10
    assert not any("elsewhere" in each for each in seen)
