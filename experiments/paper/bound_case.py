"""A bound of the paper, and a run that is put beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """What a run found, on average over its repetitions; ``exact`` is 0 where no formula has it."""

    found: float
    bound: float
    exact: float = 0.0
    place: int = 0
    """Where a bound holds for each of several levels: the level."""


Run = Callable[[int], Iterator[Measured]]
"""From a seed to what was found."""


@dataclass(frozen=True)
class Case:
    """A bound on one population."""

    name: str
    words: str
    section: int
    run: Run
    kind: str = "bound"
    """"bound"; "equal": the paper states the error itself; "order": no constant; "ours": the paper's theorem
    beside a protocol of ours."""


def seeds(seed: int, repeats: int) -> range:
    """Seeds of the repetitions, which no other run has."""
    return range(seed * repeats, (seed + 1) * repeats)
