"""From a tally to an estimate

`tally.estimate()` of Gini's mean difference, with its standard errors, by the default mechanism. Ours is the
time for the counts of 10^8 people, beside that for 10^4: a tally is as small for many people as for few, so
the time must be the same. How it grows with the number of cells is shown beside one product of two square
matrices of that size in numpy. The first estimate of a study that was just read also computes the decoder;
later ones find it computed.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from measure import Row, seconds

import dpairs

FEW, MANY = 10**4, 10**8
SAME = 1 / 1.5


def run(quick: bool) -> list[Row]:
    cells = (16, 64, 256) if quick else (16, 64, 256, 1024)
    return [row for k in cells for row in rows(k, quick)]


def rows(k: int, quick: bool) -> list[Row]:
    repeats = (5 if quick else 9) if k >= 256 else 101
    domain = dpairs.Integers(0, k - 1)
    study = dpairs.Study.create("gini_mean_difference", epsilon=1.0, domain=domain, bins=k)
    few, many = tally(study, FEW), tally(study, MANY)
    square = np.random.default_rng(1).random((k, k))
    text, counts = study.to_json(), many.to_json()
    times = seconds(repeats, few=few.estimate, many=many.estimate, product=lambda: square @ square)
    # Reading is timed alone too, and taken off: only the estimate is meant.
    fresh = seconds(
        min(repeats, 5),
        read=lambda: read(text, counts),
        estimate=lambda: read(text, counts).estimate(),
    )
    name, first = f"{k:,} cells", fresh["estimate"] - fresh["read"]
    return [
        Row(name, f"{FEW:,} people", times["many"], times["few"], "s", SAME),
        Row(name, "one matrix product", times["many"], times["product"], "s"),
        Row(f"{name}, first estimate", "later ones", first, times["many"], "s"),
    ]


def tally(study: dpairs.Study, people: int) -> dpairs.Tally:
    """A tally of people who are equally many in each cell, drawn as counts."""
    protocol: Any = study.protocol
    chances = protocol.mechanism.channel.mean(axis=0)
    counts = np.random.default_rng(1).multinomial(people, chances / chances.sum())
    symbols = np.flatnonzero(counts)
    table = {"symbols": symbols.tolist(), "counts": counts[symbols].tolist()}
    strata = dict.fromkeys(study.strata, table)
    spec = {"format": "dpairs-tally", "version": 1, "study": study.id, "counts": strata}
    return dpairs.Tally.from_json(json.dumps(spec), study)


def read(study: str, tally: str) -> dpairs.Tally:
    return dpairs.Tally.from_json(tally, dpairs.Study.from_json(study))
