"""Two processes with two databases; killed at any moment, they lose nothing and release once."""

from __future__ import annotations

import random
import threading
from functools import partial

import pytest
from sqlalchemy import create_engine, select

from dpairs.aggregator import schema
from dpairs.dap.reports import Report

from ..collector.servers import VALIDATE, until
from ..processes import dpairs
from .pair import ANALYST, Process, auc, collect, crowd, new_task, state, upload

PEOPLE, KILLS = (5000, 12) if VALIDATE else (120, 2)
SEED = 11


def rows(database: str, table) -> list:
    engine = create_engine(database)
    try:
        with engine.connect() as connection:
            return list(connection.execute(select(table)))
    finally:
        engine.dispose()


def counted(database: str) -> list[tuple[int, bytes]]:
    return sorted((row.people, bytes(row.checksum)) for row in rows(database, schema.buckets))


def verified(database: str) -> set[bytes]:
    return {bytes(row.id) for row in rows(database, schema.reports) if row.state == 2}


@pytest.mark.parametrize("databases", ["sqlite", "postgresql"] if VALIDATE else ["sqlite"], indirect=True)
def test_two_processes_release_the_ideal_numbers_and_the_analyst_opens_them(tmp_path, databases, ending):
    task = new_task(auc(bins=64), least=100)
    leader, helper = (Process(task, number, databases[number], tmp_path).start() for number in (0, 1))
    ending(leader.stop)
    ending(helper.stop)
    people = crowd(task, PEOPLE)
    assert upload(leader.line, task, people.reports((leader.line, helper.line))) == {}
    found = collect(leader.line, task, 300)
    assert found.to_json() == people.ideal().to_json()
    (tmp_path / "analyst.key").write_text(ANALYST.hex())
    done = dpairs("collect", "task.json", "--key", "analyst.key", "--out", "release.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "University" in done.stdout
    assert (tmp_path / "release.json").read_text().strip() == found.to_json()
    for server in (leader, helper):
        assert sum(state(server.line, task)["verified"].values()) == PEOPLE
    assert counted(databases[0]) == counted(databases[1])


class Sending(threading.Thread):
    """People who send one after the other, whatever happens to the servers."""

    def __init__(self, process: Process, reports: list[Report], at_once: int) -> None:
        super().__init__()
        self._process, self._reports, self._at_once = process, reports, at_once
        self.sent = 0
        self.failed: BaseException | None = None

    def reached(self, moment: int) -> bool:
        return self.failed is not None or self.sent >= moment

    def run(self) -> None:
        try:
            for start in range(0, len(self._reports), self._at_once):
                some = self._reports[start : start + self._at_once]
                assert upload(self._process.line, self._process.task, some, len(some)) == {}
                self.sent += len(some)
        except BaseException as error:
            self.failed = error


@pytest.mark.parametrize("seed", [SEED] if not VALIDATE else [SEED, SEED + 1, SEED + 2])
def test_killed_servers_lose_no_acknowledged_report_and_release_once(tmp_path, databases, ending, seed):
    task, rng = new_task(auc(bins=32), least=PEOPLE // 2), random.Random(seed)
    servers = [Process(task, number, databases[number], tmp_path).start() for number in (0, 1)]
    for server in servers:
        ending(server.stop)
    leader, helper = servers
    people = crowd(task, PEOPLE)
    reports = people.reports((leader.line, helper.line))
    sending = Sending(leader, reports, max(4, PEOPLE // 200))
    sending.start()
    for number in range(KILLS):
        moment = PEOPLE * (number + 1) // (KILLS + 1)
        until(partial(sending.reached, moment), "reports", 300)
        victim = rng.choice(servers)
        victim.kill()
        victim.start()
    sending.join(300)
    assert sending.failed is None

    found = []
    asking = threading.Thread(target=lambda: found.append(collect(leader.line, task, 300)))
    asking.start()
    # During the last jobs, the products and the release.
    for _ in range(KILLS):
        threading.Event().wait(rng.uniform(0.05, 0.6))
        victim = rng.choice(servers)
        victim.kill()
        victim.start()
    asking.join(300)
    assert found, "no result"
    assert found[0].to_json() == people.ideal().to_json()
    assert collect(leader.line, task).to_json() == found[0].to_json()
    sent = {each.metadata.report_id for each in reports}
    assert verified(databases[0]) == verified(databases[1]) == sent
    assert counted(databases[0]) == counted(databases[1])
    for database in databases:
        assert [row.state for row in rows(database, schema.tasks)] == ["released"]
