"""Tallies of tree studies with many reports."""

import base64
import json
from collections import Counter
from typing import Any

import numpy as np

from dpairs import Integers, Study, Tally
from dpairs.formats.canonical import canonical
from dpairs.protocols.tree.counts import TreeCounts

STRATA = ("positive", "negative")
Cells = Counter[tuple[int, int, int]]
"""How often each (level, row, bit) came up."""


def study(depth: int, splitting: str = "users", **options: Any) -> Study:
    return Study.create(
        "auc",
        protocol="tree",
        epsilon=2.0,
        domain=Integers(0, 2**64 - 1),
        options={"bins": 2**depth, "splitting": splitting, **options},
        seed=5,
    )


def symbols(depth: int, splitting: str, count: int, seed: int) -> np.ndarray:
    bits = depth if splitting == "budget" else 1
    return np.random.default_rng(seed).integers(0, 2**bits - 1, count, dtype=np.uint64, endpoint=True)


def filled(made: Study, splitting: str, count: int, seed: int, first: int = 0) -> Tally:
    tally, depth = Tally(made), made.protocol.to_json()["depth"]
    for place, stratum in enumerate(STRATA):
        tally.add_symbols(stratum, symbols(depth, splitting, count, seed + place), first)
    return tally


def tree(counts: Any) -> TreeCounts:
    assert isinstance(counts, TreeCounts)
    return counts


def cells(counts: Any) -> Cells:
    found: Cells = Counter()
    for level in tree(counts).levels:
        level.settle()
        for bit in (0, 1):
            for place in np.flatnonzero(level.counts[bit]):
                found[level.level, int(level.rows[place]), bit] += int(level.counts[bit, place])
    return found


def packed(numbers: list[int], width: int | None = None) -> str:
    """The documented form, written independently: width, then little-endian integers."""
    largest = max(numbers, default=0)
    size = width or next(size for size in (1, 2, 4, 8) if largest < 256**size)
    raw = bytes([size]) + b"".join(number.to_bytes(size, "little") for number in numbers)
    return base64.b64encode(raw).decode()


def level_of(rows: list[int], zeros: list[int], ones: list[int]) -> dict[str, str]:
    steps = [row - before for row, before in zip(rows, [0, *rows], strict=False)]
    return {"rows": packed(steps), "zeros": packed(zeros), "ones": packed(ones)}


def with_level(
    made: Study, level: int, rows: list[int], zeros: list[int], ones: list[int], people: int
) -> str:
    content = json.loads(Tally(made).to_json())
    content["counts"]["positive"]["levels"][level - 1] = level_of(rows, zeros, ones)
    content["counts"]["positive"]["people"] = people
    return canonical(content)
