"""A collector that dies at any moment loses nothing that it acknowledged, and counts nothing twice."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import partial

from dpairs.report import Report
from dpairs.study import Study
from dpairs.tally import Tally

from .people import Population, histogram
from .servers import IN_HASTE, VALIDATE, begin, collector, stored_symbols, until

KILLS, REPORTS = (20, 20_000) if VALIDATE else (2, 160)
"""During reports; one more comes during enrolment."""
SEED = 7
THREADS = 4


def tally_of_table(study: Study, database: str) -> Tally:
    tally = Tally(study)
    for (_, stratum, index), symbol in stored_symbols(database).items():
        tally.add(Report(study, study.strata[stratum], index, symbol))
    return tally


class Meanwhile:
    """Something that runs beside the test, whose error is the test's."""

    def __init__(self, what: Callable[[], None]) -> None:
        self.failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, args=(what,))
        self._thread.start()

    def _run(self, what: Callable[[], None]) -> None:
        try:
            what()
        except BaseException as error:
            self.failed.append(error)

    def end(self) -> None:
        self._thread.join(900)
        assert not self._thread.is_alive()
        assert self.failed == []


def test_every_acknowledged_report_is_counted_once_whenever_the_collector_dies(serve, database, hasty):
    study = histogram()
    process = serve(database, "--log-level", "warning", before=IN_HASTE)
    begin(process.analyst(), study)
    crowd = Population(study, REPORTS, seed=SEED)
    rng = random.Random(SEED)

    people = Meanwhile(lambda: crowd.enrol(process.transport(120.0), THREADS))
    moment = rng.randrange(REPORTS // 4, REPORTS // 2)
    until(lambda: people.failed or len(crowd.enrolled) >= moment, "the first kill", 300)
    process.kill()
    process.start()
    people.end()
    assert sorted(given["index"] for given in crowd.enrolled.values()) == list(range(REPORTS))

    # After how many acknowledged reports it dies: anywhere, while others are under way.
    moments = sorted(rng.sample(range(REPORTS // 20, REPORTS - REPORTS // 20), KILLS))
    people = Meanwhile(lambda: crowd.answer(process.transport(120.0), study, THREADS))

    def due(people: Meanwhile, moment: int) -> bool:
        return bool(people.failed) or len(crowd.acknowledged) >= moment

    for moment in moments:
        until(partial(due, people, moment), "a kill", 300)
        process.kill()
        # What was acknowledged is in the dead collector's table, symbol for symbol.
        known = list(crowd.acknowledged)
        stored = stored_symbols(database)
        for who in known:
            assert stored[1, 0, crowd.reports[who].index] == crowd.reports[who].symbol
        process.start()
    people.end()

    assert len(crowd.acknowledged) == REPORTS
    expected = crowd.offline(study)
    assert process.analyst().tally(study.id) == expected
    assert tally_of_table(study, database) == expected
    assert expected.n == REPORTS
    # Some were stored by a collector that died before it could say so: they were sent again, and known.
    again = sum(outcome == "again" for outcome in crowd.acknowledged.values())
    print(f"{KILLS} kills, {REPORTS} reports, {again} of them acknowledged by a later collector")
    # Once more from the tables, and once more from the people.
    process.kill()
    with collector(database, process.token) as another:
        for who in rng.sample(range(REPORTS), 20):
            assert crowd.send(another.transport(), who) == "again"
        assert another.analyst().tally(study.id) == expected
