"""What a server keeps, writes and sends: no value, nothing of the other server's, no sum without noise."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from dpairs.aggregator import helper as helper_module
from dpairs.aggregator import leader as leader_module
from dpairs.client.transport import Transport
from dpairs.dap import sealing

from ..collector.servers import until
from .pair import ANALYST, SECRET, auc, collect, crowd, in_threads, new_task, state, upload

PLANTED = b"a value that must not be here"


def contents(folder: Path) -> bytes:
    """All that is on the disk, and all cells of all tables once more, as they are."""
    found = [path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()]
    for path in sorted(folder.glob("*.sqlite")):
        with sqlite3.connect(path) as connection:
            names = [
                row[0] for row in connection.execute("select name from sqlite_master where type='table'")
            ]
            for name in names:
                for row in connection.execute(f"select * from {name}"):
                    found += [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
        connection.close()
    return b"\n".join(found)


def everything(number: int, folder: Path) -> bytes:
    """One server's part of it."""
    mine = folder / str(number)
    mine.mkdir(exist_ok=True)
    for path in folder.glob(f"{number}.sqlite*"):
        (mine / path.name).write_bytes(path.read_bytes())
    return contents(mine)


class Listening:
    """Every message between people, servers and analyst, and every input share that was opened, by server."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.sent: list[bytes] = []
        self.opened: dict[int, list[bytes]] = {0: [], 1: []}
        self.results: list[bytes] = []
        answer, opened, seal = Transport.answer, sealing.open_share, sealing.seal_result

        def listen(line: Transport, *given, **named):
            found = answer(line, *given, **named)
            self.sent += [each for each in (*given, *named.values(), found[0]) if isinstance(each, bytes)]
            return found

        def keep(task, server, *given):
            plain = opened(task, server, *given)
            self.opened[server].append(plain)
            return plain

        def see(task, server, request, share, material):
            self.results.append(share)
            return seal(task, server, request, share, material)

        patch.setattr(Transport, "answer", listen)
        patch.setattr("dpairs.dap.verification.open_share", keep)
        patch.setattr(leader_module, "seal_result", see)
        patch.setattr(helper_module, "seal_result", see)


def test_servers_keep_and_send_no_value_no_share_of_the_other_and_no_sum(
    tmp_path, monkeypatch, caplog, capfd
):
    task = new_task(auc(bins=32), least=20)
    heard = Listening(monkeypatch)
    caplog.set_level(logging.DEBUG)
    with in_threads(task, tmp_path) as (leader, helper):
        people = crowd(task, 40)
        reports = people.reports((leader.line, helper.line))
        upload(leader.line, task, reports)
        before = [server.service.stores[task.name] for server in (leader, helper)]
        disks = [everything(number, tmp_path) for number in (0, 1)]
        release = collect(leader.line, task)
        kept = [store.sums() for store in before]
        disks = [disks[number] + everything(number, tmp_path) for number in (0, 1)]
    said = b"\n".join(heard.sent)
    written = capfd.readouterr()
    logs = (written.out + written.err + caplog.text).encode()

    assert len(heard.opened[0]) == len(heard.opened[1]) == 40
    secrets = {
        "analyst": [ANALYST, ANALYST.hex().encode()],
        "shared": [SECRET, SECRET.hex().encode(), task.verify_key(SECRET)],
        "leader's key": list(leader.keys.secrets.values()),
        "helper's key": list(helper.keys.secrets.values()),
        "leader's shares": [plain[6:] for plain in heard.opened[0]],
        "helper's shares": [plain[6:] for plain in heard.opened[1]],
        "results": heard.results,
        "values": [repr(float(score)).encode() for score in people.data["score"]],
    }
    sums = {name: task.protocol.added(name, np.array(cells)) for name, cells in people.cells.items()}
    # Counts as they stand in a database, in any way that a vector of them could.
    secrets["sums"] = [
        form for each in sums.values() for form in (each.astype("<u8").tobytes(), str(each.tolist()).encode())
    ]
    secrets["total"] = [task.protocol.totals(sums).totals[0].to_bytes(8, "little")]
    for place, where in (
        ("leader's disk", disks[0]),
        ("helper's disk", disks[1]),
        ("messages", said),
        ("logs", logs),
    ):
        for what, forms in secrets.items():
            for form in forms:
                assert form not in where, f"{what} in the {place}"
    # After the release nothing is left that could be added up with the other server's.
    assert all(set(bucket.shares) == {0} for held in kept for bucket in held.values())
    assert PLANTED not in disks[0] + disks[1]
    assert release.n == 40


def test_nothing_of_reports_and_sums_is_left_on_the_disk_after_the_release(tmp_path):
    """Both disks together, with both keys, would open every answer: not even in a database's log."""
    task = new_task(auc(bins=32), least=20)
    with in_threads(task, tmp_path) as (leader, helper):
        reports = crowd(task, 40).reports((leader.line, helper.line))
        upload(leader.line, task, reports)
        until(lambda: sum(state(leader.line, task)["verified"].values()) == 40, "verified reports")
        held = [server.service.stores[task.name].sums() for server in (leader, helper)]
        disks = [everything(number, tmp_path) for number in (0, 1)]
        # Negative control: before the release they are there.
        assert all(bucket.shares in disks[number] for number in (0, 1) for bucket in held[number].values())
        collect(leader.line, task)
        for number in (0, 1):
            disk = b"".join(path.read_bytes() for path in tmp_path.glob(f"{number}.sqlite*"))
            assert not any(bucket.shares in disk for bucket in held[number].values())
            assert not any(report.leader.payload in disk for report in reports)


def test_a_planted_value_is_found(tmp_path):
    """Negative control: the same look finds what a careless server would keep."""
    task = new_task(auc(bins=32), least=20)
    with in_threads(task, tmp_path) as (leader, _):
        store = leader.service.stores[task.name]
        with store.change() as (connection, _row):
            store.set(connection, failed=PLANTED.decode())
        assert PLANTED in everything(0, tmp_path)
