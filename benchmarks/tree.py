"""Trees: one bit from each person

*Against another package*: 2,000,000 people in two classes, scores of 20 bits, epsilon 1. Ours is
`dpairs.simulate`: every person's bit, the tally and the estimate. Theirs is only the client of pure-ldp's
Hadamard response on as many values, one call for each person as it is documented, measured on a subsample
and scaled.

*Estimate*: seconds from counts to the estimate, against the limit of one second.

*Deep domains*: seconds and peak memory of a fresh process that simulates and estimates 1,000,000 people
per class on domains of 2^32 and 2^64 values, against the limits of 60 seconds and 2 GB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
from environment import HERE, peers_python
from measure import Row, seconds
from memory import own_peak

import dpairs

EPSILON = 1.0
WANTED = 20
LIMITS = {"s": 60.0, "MB": 2000.0}


def study(bits: int) -> dpairs.Study:
    domain = dpairs.Integers(0, 2**bits - 1)
    return dpairs.Study.create("auc", protocol="tree", epsilon=EPSILON, domain=domain, seed=1)


def people(bits: int, each: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 2**bits - 1, size=2 * each, dtype=np.uint64, endpoint=True)
    return {"score": scores, "label": np.repeat([1, 0], each)}


def run(quick: bool) -> list[Row]:
    per_class, some, repeats = (10**5, 2 * 10**4, 2) if quick else (10**6, 10**5, 3)
    data, asked = people(20, per_class), study(20)
    tally = dpairs.simulate_tally(asked, data, seed=1)
    times = seconds(
        repeats,
        simulate=lambda: dpairs.simulate(asked, data, seed=1),
        estimate=lambda: tally.estimate(),
    )
    rows = [
        Row(
            "simulate and estimate, 2^20 values",
            "pure-ldp's Hadamard response, client only",
            2 * per_class / times["simulate"],
            peer_rate(some),
            "people/s",
            WANTED,
        ),
        Row("estimate from counts, 2^20 values", "the limit", times["estimate"], 1.0, "s", 1.0),
    ]
    for bits in (32, 64):
        spent = deep(bits, per_class)
        rows += [
            Row(f"2^{bits} values, {unit}", "the limit", spent[unit], LIMITS[unit], unit, 1.0)
            for unit in LIMITS
        ]
    return rows


def peer_rate(some: int) -> float | None:
    """People per second of the peer's client, or None when it cannot run."""
    python = peers_python()
    if python is None:
        return None
    command = [python, "-W", "ignore", HERE / "peers_hadamard.py", str(EPSILON), str(some)]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"The peer failed, so it is not measured:\n{done.stderr}", file=sys.stderr)
        return None
    return float(done.stdout)


def deep(bits: int, each: int) -> dict[str, float]:
    """Seconds and peak memory of a child process."""
    command = [sys.executable, __file__, str(bits), str(each)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=HERE)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    depth, number = int(sys.argv[1]), int(sys.argv[2])
    start = time.process_time()
    assert dpairs.simulate(study(depth), people(depth, number), seed=1).n == 2 * number
    print(json.dumps({"s": time.process_time() - start, "MB": own_peak()}))
