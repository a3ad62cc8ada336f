"""Two rounds: a pilot, then one bit of its function

2,000,000 people in two classes, scores of 20 bits, epsilon 1. Ours is `dpairs.simulate`: both rounds, every
person's answer, both tallies, the second round's study and the estimate.

*Against bare numpy*: what a script without privacy tools needs for the second round alone, when the pilot's
function is already a table. `np.interp` reads it at everybody's score, `numpy.random` draws, a comparison
makes the bit, a sum counts, in slices as small as ours. Ours has a first round, public coins, exact
thresholds and checks on top, so a ratio below 1 is expected.

*Estimate*: seconds from the first round's counts to the second round's study, imagined rounds included,
against the limit of one second.

*Files*: bytes of the second round's study, against the limit of 64 KB.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import Row, seconds

import dpairs
from dpairs.simulate import SLICE, simulate_round

EPSILON, BITS = 1.0, 20
LIMIT = 3.0
"""Seconds of processor time for 2,000,000 people."""
WANTED = 0.1
"""Of bare numpy's rate, for all of both rounds."""
FILE_LIMIT = 64_000


def study(people: int) -> dpairs.Study:
    domain = dpairs.Integers(0, 2**BITS - 1)
    return dpairs.Study.create("auc", protocol="projection", epsilon=EPSILON, domain=domain, n=people, seed=1)


def people(each: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 2**BITS - 1, size=2 * each, dtype=np.uint64, endpoint=True)
    return {"score": scores, "label": np.repeat([1, 0], each)}


def run(quick: bool) -> list[Row]:
    per_class, repeats = (10**5, 3) if quick else (10**6, 5)
    data, asked = people(per_class), study(2 * per_class)
    first = simulate_round(asked, data, 1)
    second = asked.next(first)
    times = seconds(
        repeats,
        simulate=lambda: dpairs.simulate(asked, data, seed=1),
        next=lambda: asked.next(first),
        bare=lambda: bare(data, second),
    )
    limit, number = LIMIT * per_class / 10**6, 2 * per_class
    size = len(second.to_json().encode())
    return [
        Row(
            f"both rounds of {number:,} people",
            "numpy, second round only, sliced",
            number / times["simulate"],
            number / times["bare"],
            "people/s",
            WANTED,
        ),
        Row(f"both rounds of {number:,} people", "the limit", times["simulate"], limit, "s", 1.0),
        Row("from the first tally to the second study", "the limit", times["next"], 1.0, "s", 1.0),
        Row("the second round's file", "the limit", size, FILE_LIMIT, "B", 1.0),
    ]


def bare(data: dict[str, np.ndarray], second: dpairs.Study) -> float:
    """The second round as one writes it in numpy, without a first."""
    rng, value = np.random.default_rng(1), 0.0
    keep = math.exp(EPSILON) / (1 + math.exp(EPSILON))
    protocol: Any = second.protocol
    for label, influence in zip((1, 0), protocol.influences.values(), strict=True):
        scores = data["score"][data["label"] == label].astype(np.float64)
        (axis,) = influence.grid.axes
        edges, heights = np.array(axis.edges[:-1], dtype=np.float64), influence.cells
        ones = 0
        for start in range(0, scores.size, SLICE):
            part = scores[start : start + SLICE]
            chance = 1 - keep + (2 * keep - 1) * np.interp(part, edges, heights)
            ones += int((rng.random(part.size) < chance).sum())
        value += (ones / scores.size - 1 + keep) / (2 * keep - 1)
    return value
