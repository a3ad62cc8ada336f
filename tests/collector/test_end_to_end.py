"""Whole studies over HTTP: the estimate is that of the same symbols offline, to the last digit."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpairs.client import Device, Transport, join
from dpairs.garbled.session import PairDecoder
from dpairs.report import Report
from dpairs.study import Study
from dpairs.tally import Tally

from .people import Population, histogram, pairwise, projection, spread, tally_of, tree
from .servers import VALIDATE, begin, contents

PEOPLE = 20_000 if VALIDATE else 120
PAIRS = 200 if VALIDATE else 8


def same(process: Any, study: str, offline: Tally, number: int | None = None) -> None:
    """The collector's tally and estimate are those of the clients' own reports."""
    analyst, line, token = process.analyst(), process.transport(), process.token
    query = "" if number is None else f"?round={number}"
    body = line.bytes("GET", f"/api/v1/studies/{study}/tally{query}", token=token)
    assert body.decode() == offline.to_json()
    if number is None:
        expected = offline.estimate()
        found = analyst.estimate_json(study)
        assert analyst.estimate(study) == expected
        assert found["value"] == expected.value
        assert found["standard_error"] == expected.standard_error
        assert found == json.loads(json.dumps(expected.to_json()))
        table = line.bytes("GET", f"/api/v1/studies/{study}/estimate?format=csv", token=token).decode()
        names, row = (each.split(",") for each in table.splitlines())
        assert float(dict(zip(names, row, strict=True))["value"]) == expected.value
        assert analyst.progress(study)["estimate"] == found


@pytest.mark.parametrize("make", [histogram, tree], ids=["histogram", "tree"])
def test_one_round(serve, sqlite, make):
    study = make()
    process = serve(sqlite)
    begin(process.analyst(), study)
    crowd = Population(study, PEOPLE, seed=1)
    crowd.enrol(process.transport())
    crowd.answer(process.transport(), study)
    assert set(crowd.acknowledged.values()) == {"counted"}
    offline = crowd.offline(study)
    assert offline.n == PEOPLE
    same(process, study.id, offline)
    # One symbol more, and the tallies differ.
    who = next(iter(crowd.reports.values()))
    offline.add(who)
    assert process.analyst().tally(study.id) != offline


def test_two_rounds(serve, database):
    study = projection()
    process = serve(database)
    analyst = process.analyst()
    begin(analyst, study, people=PEOPLE)
    crowd = Population(study, PEOPLE, seed=2)
    crowd.enrol(process.transport())
    crowd.answer(process.transport(), study)
    same(process, study.id, crowd.offline(study), number=1)  # a pilot, and no answer of its own
    analyst.advance(study.id)
    second = study.next(crowd.offline(study))
    crowd.answer(process.transport(), second)
    assert crowd.offline(study).n + crowd.offline(second).n == PEOPLE
    same(process, study.id, crowd.offline(second))
    same(process, study.id, crowd.offline(study), number=1)
    analyst.close(study.id)
    same(process, study.id, crowd.offline(second))


class Recording(Transport):
    """Keeps what the pairs send to the collector."""

    def __init__(self, base: str) -> None:
        super().__init__(base)
        self.sent: dict[tuple[int, str], bytes] = {}
        self._lock = threading.Lock()

    def bytes(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        token: str | None = None,
        kind: str = "application/octet-stream",
    ) -> bytes:
        answer = super().bytes(method, path, body, token, kind)
        if method == "PUT" and body is not None:
            *_, number, what = path.split("/")
            with self._lock:
                assert self.sent.setdefault((int(number), what), body) == body
        return answer

    def symbol(self, study: Study, pairs: Any, number: int) -> int:
        """What a pair computed, decoded here."""
        collector = PairDecoder(study.protocol.function, pairs.pair(study.id, number, 1))  # type: ignore[attr-defined]
        return collector.decode(self.sent[number, "table"], self.sent[number, "labels"])


def test_real_pairs_through_the_relay(serve, database, tmp_path):
    study = pairwise()
    process = serve(database)
    analyst = process.analyst()
    link = analyst.begin(study, "Pairs")
    line = Recording(process.base)
    rng = np.random.default_rng(3)
    people = 2 * PAIRS
    values = [{"x": int(x), "y": int(y)} for x, y in rng.integers(0, 4, (people, 2))]
    devices = [Device(tmp_path / "devices" / str(who)) for who in range(people)]

    def turn(who: int) -> None:
        states[who] = join(link, values[who], device=devices[who], transport=line).state

    states: dict[int, str] = {}
    spread(turn, range(people), 4)
    assert set(states.values()) == {"waiting"}
    assert analyst.advance(study.id) == "pairing"
    for _ in range(4):  # offer, choice, circuit and table, labels: nobody has to be there at once
        spread(turn, [who for who in range(people) if states[who] != "done"], 4)
    assert set(states.values()) == {"done"}
    pairs = study.protocol.match(study.coins, {study.statistic.strata[0]: people})  # type: ignore[attr-defined]
    assert len(pairs) == PAIRS
    reports = [
        Report(study, study.strata[0], number, line.symbol(study, pairs, number))
        for number in pairs.numbers.tolist()
    ]
    same(process, study.id, tally_of(study, reports))
    progress = analyst.progress(study.id)["pairs"]
    assert (progress["pairs"], progress["done"]) == (PAIRS, PAIRS)
    assert contents(database)["messages"] == []
    assert Path(tmp_path / "devices").exists()
