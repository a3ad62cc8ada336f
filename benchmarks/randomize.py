"""Randomizing and counting a population

10^7 people, 64 cells, epsilon 1: everybody's device, and the tally. `krr` is k-ary randomized response, the
paper's mechanism and the one that the other packages have; `projective` is our default.

*Against other packages*: people for each second of processor time through client and aggregator together,
1 / (1/client + 1/aggregate). The peers run in a child process on the same core, on a tenth of the people.
Ours is `dpairs.simulate` with a seed: it randomizes, counts and estimates, as theirs does.

*Against bare numpy*: `numpy.random` draws, `np.where` chooses, `np.bincount` counts, on the whole array at
once and in slices as small as ours. The slices are the harder comparison: whole arrays need fresh memory.
Ours is `dpairs.simulate_tally`, which also checks that every value is in the domain.

*Operating system's randomness*: what a real device uses. The baseline only reads as many random bytes in
slices as small as ours and does nothing with them.

In fairness to the peers:

- They are driven as they document it, one call for each person; our rate is for whole arrays. Called
  person by person, ours is the slower one: a `Participant` for each, which checks the study and the value
  and reads the operating system's bits, then `tally.add`. That is the row "one by one".
- A caller who knows numba can compile a loop around multi-freq-ldpy's client and count with numpy. That
  is measured as well, in a row of its own.
- Neither peer takes its noise from the operating system. Ours does on a real device, but not in these
  rows, which have a seed.
- `numpy.random` as it is used here rounds probabilities to multiples of 2^-53; ours are multiples of
  2^-64 with an exact epsilon.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import numpy as np
from environment import HERE, peers_python
from measure import Row, seconds

import dpairs
from dpairs.simulate import SLICE

CELLS, EPSILON = 64, 1.0
WANTED = {"pure-ldp": 30, "multi-freq-ldpy": 15, "multi-freq-ldpy, compiled by the caller": None}
WANTED_BARE = 0.4
FEW = 10**4


def study(mechanism: str) -> dpairs.Study:
    domain = dpairs.Integers(0, CELLS - 1)
    return dpairs.Study.create(
        "collision_entropy", epsilon=EPSILON, domain=domain, options={"mechanism": mechanism}
    )


def run(quick: bool) -> list[Row]:
    n, some, repeats = (10**6, 10**5, 3) if quick else (10**7, 10**6, 5)
    values = np.random.default_rng(0).integers(CELLS, size=n)
    data = {"value": values}
    krr, projective = study("krr"), study("projective")
    times = seconds(
        repeats,
        simulate=lambda: dpairs.simulate(krr, data, seed=1),
        krr=lambda: dpairs.simulate_tally(krr, data, seed=1),
        krr_system=lambda: dpairs.simulate_tally(krr, data),
        projective=lambda: dpairs.simulate_tally(projective, data, seed=1),
        projective_system=lambda: dpairs.simulate_tally(projective, data),
        whole=lambda: bare(values, n),
        sliced=lambda: bare(values, SLICE),
        system=lambda: [os.urandom(8 * min(SLICE, n - start)) for start in range(0, n, SLICE)],
    )
    rate = {name: n / time for name, time in times.items()}
    people = values[:FEW].tolist()
    rate["one_by_one"] = FEW / seconds(repeats, ours=lambda: one_by_one(krr, people))["ours"]
    peers = peer_rates(some, repeats)

    def row(name, ours, against, theirs, wanted=None) -> Row:
        return Row(name, against, rate[ours], theirs, "people/s", wanted)

    whole, sliced, system = "numpy, whole array", "numpy, sliced", "reading the random bytes"
    return [
        *(row("krr with estimate", "simulate", name, peers.get(name), WANTED[name]) for name in WANTED),
        *(row("krr, one by one", "one_by_one", name, peers.get(name)) for name in list(WANTED)[:2]),
        row("krr", "krr", whole, rate["whole"], WANTED_BARE),
        row("krr", "krr", sliced, rate["sliced"], WANTED_BARE),
        row("projective", "projective", f"{sliced} krr", rate["sliced"]),
        row("krr, system's randomness", "krr_system", system, rate["system"]),
        row("projective, system's randomness", "projective_system", system, rate["system"]),
    ]


def one_by_one(study: dpairs.Study, values: list[int]) -> None:
    """A device for each person, and a collector that counts one report after another."""
    tally = dpairs.Tally(study)
    for index, value in enumerate(values):
        tally.add(dpairs.Participant(study, index).report(value=value))


def bare(values: np.ndarray, size: int) -> np.ndarray:
    """Randomized response as one writes it in numpy, ``size`` people at once."""
    rng = np.random.default_rng(1)
    redraw = CELLS / (CELLS + math.exp(EPSILON) - 1)
    counts = np.zeros(CELLS, dtype=np.int64)
    for start in range(0, len(values), size):
        part = values[start : start + size]
        random = rng.integers(CELLS, size=part.size)
        reports = np.where(rng.random(part.size) < redraw, random, part)
        counts += np.bincount(reports, minlength=CELLS)
    return counts


def peer_rates(people: int, repeats: int) -> dict[str, float]:
    """People per second of each peer, client and aggregator together; empty when they cannot run."""
    python = peers_python()
    if python is None:
        return {}
    sizes = {"--cells": CELLS, "--epsilon": EPSILON, "--people": people, "--repeats": repeats}
    command = [
        str(python),
        str(HERE / "peers.py"),
        *(str(word) for option in sizes.items() for word in option),
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        print(f"The peers failed, so they are not measured:\n{done.stderr}", file=sys.stderr)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["name"]: 1 / (1 / line["client"] + 1 / line["aggregate"]) for line in lines}
