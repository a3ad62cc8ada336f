"""Verified shares: Prio3

*Verification*: both servers' work on a batch, one core: both first steps, the decision, both second steps and
both sums. Beside it npm's `@divviup/prio3` 0.8.0 in the same run (an older draft; its sums are proven in
Field128, and its helper starts from shares that are expanded already, which ours is not spared).

*Growth*: ten times the reports at once, and ten batches after one another in a fresh process.

*Start*: from the import to the end of the first batch, with the compiled code that is kept on disk, against a
start that compiles.

*One person*: sharding without a compiler.

*Bytes of a report*: public share and both input shares, `one_hot` against the draft's `Prio3Histogram`, both
with their best chunk length; the note has the chance that a given invalid report is accepted.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from typing import Any

from environment import HERE
from measure import Row, seconds
from memory import own_peak

PEER = "@divviup/prio3"
PEER_VERSION = "0.8.0"
CONTEXT, KEY = b"benchmark", bytes(range(32))
DISTINCT = 50
"""Reports that are really different; a batch repeats them."""


def run(quick: bool) -> list[Row]:
    reports, repeats = (500, 3) if quick else (2000, 7)
    theirs = peers(5 if quick else 20)
    return [
        *verification(reports, repeats, theirs),
        *growth(reports // 10),
        start(),
        *participants(repeats, theirs),
        *sizes(),
    ]


# ---------------------------------------------------------------- both servers


class Batch:
    """A batch of honest reports, and both servers' work on it."""

    def __init__(self, vdaf: Any, measurement: int, reports: int) -> None:
        from dpairs.vdaf.batch.server import Server

        self.vdaf, self.measurement, self.reports = vdaf, measurement, reports
        made = []
        for _ in range(min(DISTINCT, reports)):
            nonce = os.urandom(16)
            made.append((nonce, *vdaf.shard(CONTEXT, measurement, nonce, os.urandom(vdaf.rand_size))))
        made = [made[i % len(made)] for i in range(reports)]
        self.nonces, self.publics = [each[0] for each in made], [each[1] for each in made]
        self.shares = [[each[2][server] for each in made] for server in range(2)]
        self.servers = [Server(vdaf, KEY, CONTEXT, server) for server in range(2)]

    def verify(self) -> list[bytes]:
        prepared = [
            server.verify_init(self.nonces, self.publics, shares)
            for server, shares in zip(self.servers, self.shares, strict=True)
        ]
        messages, holds = self.servers[1].combine([each.verifier_shares for each in prepared])
        sums = []
        for server, each in zip(self.servers, prepared, strict=True):
            valid = server.verify_next(each, messages) & holds
            assert valid.all()
            sums.append(server.aggregate(each, valid))
        return sums

    def check(self) -> None:
        total = self.vdaf.unshard(self.verify())
        expected = self.measurement * self.reports
        assert (total if isinstance(total, int) else total[self.measurement] * self.measurement) == expected


def kinds() -> dict[str, tuple[Any, int, float, str]]:
    """Scheme, measurement, wanted reports a second, and what the peer calls it."""
    from dpairs.vdaf import instances

    return {
        "Histogram, 256 cells": (instances.histogram(256), 3, 2000.0, "histogram 256"),
        "one_hot, 256 cells": (instances.one_hot(256), 3, 2000.0, "histogram 256"),
        "Sum, 16 bits": (instances.sum_up(65535), 3, 5000.0, "sum 16"),
    }


def verification(reports: int, repeats: int, theirs: dict[str, dict[str, float]]) -> list[Row]:
    rows = []
    for name, (vdaf, measurement, wanted, peer) in kinds().items():
        batch = Batch(vdaf, measurement, reports)
        batch.check()
        rate = reports / seconds(repeats, ours=batch.verify)["ours"]
        rows.append(Row(f"{name}, both servers", "the target", rate, wanted, "reports/s", 1.0))
        other = 1 / theirs[peer]["verify"] if peer in theirs else None
        note = "" if peer in theirs else "npm cannot install it here"
        rows.append(
            Row(f"{name}, both servers", f"{PEER} {PEER_VERSION}", rate, other, "reports/s", note=note)
        )
    return rows


def peers(reports: int) -> dict[str, dict[str, float]]:
    """What npm's package needs, or nothing where it cannot be installed."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder]
        done = subprocess.run([*install, f"{PEER}@{PEER_VERSION}"], capture_output=True, check=False)
        if done.returncode != 0:
            return {}
        rates = {}
        for kind in ("histogram 256", "sum 16"):
            command = ["node", str(HERE / "vdaf_peer.mjs"), folder, *kind.split(), str(reports)]
            told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            rates[kind] = json.loads(told.stdout)
        return rates


# ---------------------------------------------------------------- growth and start


def growth(batch: int) -> list[Row]:
    from dpairs.vdaf import instances

    small, large = (Batch(instances.one_hot(256), 3, count) for count in (batch, 10 * batch))
    times = seconds(5, small=small.verify, large=large.verify)
    rates = {name: each.reports / times[name] for name, each in (("small", small), ("large", large))}
    peaks = {count: float(child("memory", str(batch), str(count))) for count in (1, 10)}
    return [
        Row(
            f"one_hot, {10 * batch:,} reports at once",
            f"{batch:,} at once",
            rates["large"],
            rates["small"],
            "reports/s",
            0.8,
        ),
        Row(f"10 batches of {batch:,}, peak", "one batch", peaks[10], peaks[1], "MB", 0.9),
    ]


def start() -> Row:
    child("start")  # so that the code is kept
    kept = float(child("start"))
    with tempfile.TemporaryDirectory() as folder:
        anew = float(child("start", NUMBA_CACHE_DIR=folder))
    return Row("first batch of a process, code kept", "compiling it", kept, anew, "s", 1.0)


def child(*arguments: str, **environment: str) -> str:
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, cwd=HERE, env={**os.environ, **environment}
    )
    return done.stdout.strip()


def in_child(arguments: list[str]) -> float:
    from dpairs.vdaf import instances

    if arguments[0] == "start":
        began = time.process_time()
        Batch(instances.one_hot(256), 3, 1).check()
        return time.process_time() - began
    batch = Batch(instances.one_hot(256), 3, int(arguments[1]))
    for _ in range(int(arguments[2])):
        batch.check()
    return own_peak()


# ---------------------------------------------------------------- one person, and bytes


def participants(repeats: int, theirs: dict[str, dict[str, float]]) -> list[Row]:
    rows = []
    for name, (vdaf, measurement, _, peer) in kinds().items():
        rand = os.urandom(vdaf.rand_size)
        spent = seconds(5 * repeats, ours=partial(vdaf.shard, CONTEXT, measurement, bytes(16), rand))
        other = theirs[peer]["shard"] if peer in theirs else None
        rows.append(Row(f"{name}, one report", f"{PEER} {PEER_VERSION}", spent["ours"], other, "s"))
    return rows


def sizes() -> list[Row]:
    from dpairs.vdaf import instances

    rows = []
    for exponent in range(4, 13):
        ours, theirs = instances.one_hot(2**exponent), instances.histogram(2**exponent)
        circuit: Any = ours.circuit
        errors = [f"2^{math.log2(each.soundness_error()):.0f}" for each in (ours, theirs)]
        rows.append(
            Row(
                f"one_hot, {2**exponent:,} cells",
                "Prio3Histogram",
                ours.report_size,
                theirs.report_size,
                "B",
                note=f"chunks of {circuit.chunk}; error {errors[0]} against {errors[1]}",
            )
        )
    return rows


if __name__ == "__main__":
    print(in_child(sys.argv[1:]))
