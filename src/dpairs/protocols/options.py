"""Every keyword of every protocol, for editors and type checkers; the protocols check the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from ..data.domains import DomainLike
from .histogram.search import Search


class StatisticOptions(TypedDict, total=False):
    """The keywords of a statistic."""

    ties: Literal["half", "zero"]
    labels: Literal["public", "private"]
    variant: Literal["a", "b"]


class StudyOptions(StatisticOptions, total=False):
    domain: DomainLike | None
    seed: int | None


class HistogramOptions(StudyOptions, total=False):
    bins: int | Sequence[int] | None
    mechanism: Literal["projective", "krr", "optimized"]
    kernel: Literal["average", "midpoint"]
    rounding: Literal["simple", "random"]
    n: int | None
    prior: Sequence[float] | None
    search: Search


class TreeOptions(StudyOptions, total=False):
    bins: int | None
    splitting: Literal["users", "users-independent", "budget", "budget-advanced", "budget-advanced-paper"]
    rows: Literal["others", "all"]
    answer: Literal["one-bit", "several-bits"]
    delta: float | None
    n: int | None


class ProjectionOptions(StudyOptions, total=False):
    pilot_fraction: float | None
    pilot: Literal["histogram", "tree"] | None
    bins: int | Sequence[int] | None
    n: int | None
    mechanism: Literal["projective", "krr", "optimized"] | None
    prior: Sequence[float] | None
    search: Search


class PairwiseOptions(StudyOptions, total=False):
    pairs: int
    noise: Literal["response", "kary", "laplace"] | None
    bits: int
    matching: Literal["permutations", "disjoint", "classes", "uncoordinated"] | None
    bins: int | None
    delta: float | None


class SitesOptions(StudyOptions, total=False):
    rounds: Literal[1, 2]
    bins: int | Sequence[int] | None
    split: float
    noise: Literal["laplace", "gaussian"]
    delta: float
    n: int | None
    sites: int
    unit: Literal["record", "person"]
    max_records_per_person: int
    hide_sizes: bool


class TwoServersOptions(StudyOptions, total=False):
    release: Literal["value", "counts"]
    rounds: Literal[1, 2]
    bins: int | Sequence[int] | None
    split: float
    noise: Literal["laplace", "gaussian"]
    delta: float
    answered_by: Literal["people", "sites"]
    n: int | None
