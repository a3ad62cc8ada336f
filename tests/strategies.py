"""Hypothesis strategies and settings that several test files share."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from dpairs import Categories, Integers, Interval, Levels, Tally
from dpairs.protocols.counts import DenseCounts

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
QUICK = settings(max_examples=60 if FULL else 25, deadline=None, derandomize=True, database=None)
"""The same examples on every machine; no deadline, since the first call may import scipy."""

SMALL = st.integers(-3, 3)
"""So few values that almost every column has ties."""


@st.composite
def intervals(draw: Any) -> Interval:
    low = draw(st.floats(-1e9, 1e9))
    width = draw(st.floats(1e-3, 1e9))
    return Interval(low, low + width)


@st.composite
def integer_ranges(draw: Any, low: int = -(2**63), high: int = 2**64 - 1) -> Integers:
    first = draw(st.integers(low, high - 1))
    last = draw(st.integers(first + 1, min(high, first + 2**64 - 1)))
    return Integers(first, last)


def numbers() -> st.SearchStrategy[float]:
    return st.one_of(st.integers(-(2**40), 2**40).map(float), st.floats(-1e6, 1e6))


def names() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def levels() -> st.SearchStrategy[Levels]:
    ascending = st.lists(numbers(), min_size=2, max_size=12, unique=True).map(sorted)
    return st.one_of(ascending, st.lists(names(), min_size=2, max_size=12, unique=True)).map(Levels)


def categories() -> st.SearchStrategy[Categories]:
    values = st.one_of(
        st.lists(numbers(), min_size=2, max_size=12, unique=True),
        st.lists(names(), min_size=2, max_size=12, unique=True),
    )
    return values.map(Categories)


def domains() -> st.SearchStrategy[Any]:
    return st.one_of(intervals(), integer_ranges(), levels(), categories())


@st.composite
def labelled_tables(draw: Any, max_size: int = 30) -> dict[str, np.ndarray]:
    """Tied scores with 0/1 labels, both classes present."""
    n = draw(st.integers(2, max_size))
    score = draw(st.lists(SMALL, min_size=n, max_size=n))
    label = [0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))]
    return {"score": np.array(score), "label": np.array(draw(st.permutations(label)))}


@st.composite
def labelled_triples(draw: Any, max_size: int = 18) -> dict[str, np.ndarray]:
    """Tied scores with labels 0, 1 and 2, all three classes present."""
    n = draw(st.integers(3, max_size))
    score = draw(st.lists(SMALL, min_size=n, max_size=n))
    label = [0, 1, 2, *draw(st.lists(st.integers(0, 2), min_size=n - 3, max_size=n - 3))]
    return {"score": np.array(score), "label": np.array(draw(st.permutations(label)))}


@st.composite
def pair_tables(draw: Any, max_size: int = 30) -> dict[str, np.ndarray]:
    """Tied columns x and y, neither of them constant."""
    n = draw(st.integers(2, max_size))
    columns = {}
    for name in ("x", "y"):
        values = draw(st.lists(SMALL, min_size=n, max_size=n))
        if len(set(values)) == 1:
            values[draw(st.integers(0, n - 1))] += 1
        columns[name] = np.array(values)
    return columns


@st.composite
def value_tables(draw: Any, max_size: int = 30) -> dict[str, np.ndarray]:
    """One tied column of numbers of at least 0, not all of them 0."""
    values = draw(st.lists(st.integers(0, 5), min_size=2, max_size=max_size))
    values[0] += 1
    return {"value": np.array(values)}


def dense(tally: Tally, stratum: str) -> list[int]:
    """The counts of a study with few symbols, one number each."""
    counts = tally.counts(stratum)
    assert isinstance(counts, DenseCounts)
    return counts.array.tolist()
