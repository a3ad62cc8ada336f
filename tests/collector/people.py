"""Studies and the people who answer them, without files, so that many fit into a test."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import dpairs
from dpairs.client import Transport
from dpairs.report import Report
from dpairs.study import Study
from dpairs.tally import Tally

from .servers import STUDIES

LEVELS = dpairs.Levels(range(4))


def histogram(seed: int = 1) -> Study:
    return Study.create("gini_mean_difference", protocol="histogram", epsilon=2.0, domain=LEVELS, seed=seed)


def tree(seed: int = 1) -> Study:
    domain = dpairs.Interval(0, 1)
    return Study.create("auc", protocol="tree", epsilon=2.0, domain=domain, bins=64, seed=seed)


def projection(seed: int = 1) -> Study:
    domain = dpairs.Interval(0, 1)
    return Study.create(
        "auc", protocol="projection", epsilon=2.0, domain=domain, bins=8, pilot_fraction=0.4, seed=seed
    )


def pairwise(seed: int = 1, pairs: int = 1) -> Study:
    return Study.create(
        "kendall_tau", protocol="pairwise", epsilon=2.0, domain=(LEVELS, LEVELS), pairs=pairs, seed=seed
    )


class Population:
    """People with values, who enrol and answer with plain requests from several threads."""

    def __init__(self, study: Study, people: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.study = study
        self.requests = [rng.bytes(16).hex() for _ in range(people)]
        self.strata = [str(each) for each in rng.choice(study.statistic.strata, people)]
        names = study.statistic.private_columns
        self.values: list[dict[str, Any]] = [
            {name: float(rng.random()) if name == "score" else int(rng.integers(4)) for name in names}
            for _ in range(people)
        ]
        self.enrolled: dict[int, dict[str, Any]] = {}
        self.reports: dict[int, Report] = {}
        self.acknowledged: dict[int, str] = {}

    def enrol(self, line: Transport, threads: int = 4) -> None:
        def one(who: int) -> None:
            wish: dict[str, Any] = {"request": self.requests[who]}
            if len(self.study.statistic.strata) > 1:
                wish["stratum"] = self.strata[who]
            self.enrolled[who] = line.json("POST", f"{STUDIES}/{self.study.id}/people", wish)

        spread(one, range(len(self.requests)), threads)

    def answer(
        self, line: Transport, study: Study, threads: int = 4, stop: Callable[[], None] | None = None
    ) -> None:
        """Everybody who is asked in this round sends one report, made before it is sent."""
        asked = [who for who, given in self.enrolled.items() if study.asks(given["stratum"], given["index"])]

        def one(who: int) -> None:
            given = self.enrolled[who]
            participant = dpairs.Participant(study, given["index"], given["stratum"])
            self.reports[who] = participant.report(**self.values[who])
            self.send(line, who)
            if stop is not None:
                stop()

        spread(one, asked, threads)

    def send(self, line: Transport, who: int) -> str:
        """Send the report that was made; what came of it."""
        path, body = f"{STUDIES}/{self.study.id}/reports", bytes(self.reports[who])
        outcome: str = json.loads(line.bytes("POST", path, body, self.enrolled[who]["secret"]))["outcome"]
        self.acknowledged[who] = outcome
        return outcome

    def offline(self, study: Study) -> Tally:
        """The tally of the reports that were made for a round, without any collector."""
        return tally_of(study, [each for each in self.reports.values() if each.study == study])


def tally_of(study: Study, reports: Iterable[Report]) -> Tally:
    tally = Tally(study)
    for each in reports:
        tally.add(each)
    return tally


def spread(one: Callable[[Any], None], items: Sequence[Any], threads: int) -> None:
    """Do it for all items; the first error ends it."""
    failed = threading.Event()

    def unless_failed(item: Any) -> None:
        if not failed.is_set():
            try:
                one(item)
            except BaseException:
                failed.set()
                raise

    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(unless_failed, item) for item in items]:
            future.result()


def report_json(study: Study, given: Mapping[str, Any], symbol: int) -> dict[str, Any]:
    """A report as JSON, unchecked."""
    return {"study": study.id, "stratum": given["stratum"], "index": given["index"], "symbol": symbol}
