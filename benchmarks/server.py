"""Trees: what the server does

The paper's theorem on the order of the tree's error says that the server needs time O(n log d) and space
O(log d) for n people and d values. Ours is the time to count everybody's reports and to estimate, with the
paper's own estimator and all rows: for 2^64 values beside 2^16, where log d allows four times as much, and
for four times the people. People are spread evenly, or each class sits in one leaf, so the walk goes down
to the leaves. Then what a tally keeps between reports and estimate, in bytes.

Space is not O(log d) here: it is proportional to the people, with a fixed part for the first 20 levels. To
keep less one must read all reports again for every node that is looked into.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measure import Row, seconds

import dpairs
from dpairs.protocols.sides import alone
from dpairs.randomness import SeededRandomness

EPSILON = 1.0
SHALLOW, MIDDLE, DEEP = 16, 32, 64
TIMES = 4
NOISE = 1.25
"""How far a ratio of times may be off."""


def study(bits: int) -> dpairs.Study:
    domain = dpairs.Integers(0, 2**bits - 1)
    return dpairs.Study.create("auc", protocol="tree", epsilon=EPSILON, domain=domain, rows="all", seed=1)


def reports(asked: dpairs.Study, bits: int, people: int, one_leaf: bool = False) -> dict[str, np.ndarray]:
    """Everybody's bit: of each class as many people, spread evenly, or positives at one end of the domain."""
    rng, protocol, sent = np.random.default_rng(1), alone(asked), {}
    for place, stratum in enumerate(asked.strata):
        scores = rng.integers(0, 2**bits - 1, size=people, dtype=np.uint64, endpoint=True)
        if one_leaf:
            scores[:] = 0 if place else 2**bits - 1
        sent[stratum] = protocol.randomize(asked.coins, place, 0, [scores], SeededRandomness(place))
    return sent


def counted(asked: dpairs.Study, sent: dict[str, np.ndarray]) -> dpairs.Tally:
    tally = dpairs.Tally(asked)
    for stratum, symbols in sent.items():
        tally.add_symbols(stratum, symbols, 0)
    return tally


def kept(tally: dpairs.Tally, asked: dpairs.Study) -> float:
    """Bytes of all counts and their rows."""
    total = 0
    for stratum in asked.strata:
        counts: Any = tally.counts(stratum)
        for level in counts.levels:
            level.settle()
            total += level.rows.nbytes + level.counts.nbytes
    return float(total)


def run(quick: bool) -> list[Row]:
    people, repeats = (2**14, 3) if quick else (2**18, 5)
    asked = {bits: study(bits) for bits in (SHALLOW, MIDDLE, DEEP)}
    sent = {bits: reports(each, bits, people) for bits, each in asked.items()}
    points = {bits: reports(asked[bits], bits, people, one_leaf=True) for bits in (SHALLOW, DEEP)}
    many = reports(asked[MIDDLE], MIDDLE, TIMES * people)
    times = seconds(
        repeats,
        shallow=lambda: counted(asked[SHALLOW], sent[SHALLOW]).estimate("paper"),
        middle=lambda: counted(asked[MIDDLE], sent[MIDDLE]).estimate("paper"),
        deep=lambda: counted(asked[DEEP], sent[DEEP]).estimate("paper"),
        many=lambda: counted(asked[MIDDLE], many).estimate("paper"),
        shallow_points=lambda: counted(asked[SHALLOW], points[SHALLOW]).estimate("paper"),
        deep_points=lambda: counted(asked[DEEP], points[DEEP]).estimate("paper"),
    )
    sizes = {bits: kept(counted(asked[bits], sent[bits]), asked[bits]) for bits in (MIDDLE, DEEP)}
    large = kept(counted(asked[MIDDLE], many), asked[MIDDLE])
    linear = 1 / (TIMES * NOISE)
    return [
        Row("time, 2^64 values", "2^16 values", times["deep"], times["shallow"], "s", linear),
        Row(
            "time, 2^64 values, one leaf",
            "2^16 values",
            times["deep_points"],
            times["shallow_points"],
            "s",
            linear,
        ),
        Row(f"time, {TIMES} times the people", "once", times["many"], times["middle"], "s", linear),
        Row("kept, 2^64 values", "2^32 values", sizes[DEEP], sizes[MIDDLE], "B"),
        Row(f"kept, {TIMES} times the people", "once", large, sizes[MIDDLE], "B"),
    ]
