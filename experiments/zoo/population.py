"""A population of the zoo: people made from uniform numbers, the domain they are asked about, the statistics.

Every population is a function of a few uniform numbers for each person. People are drawn with random ones;
the population's own value is that of 2^21 quasi-random ones (see `truths`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

import dpairs
from dpairs.data.domains import Domain, Integers, Interval, as_domains

Vector: TypeAlias = NDArray[np.float64]
Columns: TypeAlias = "dict[str, NDArray[Any]]"
Make: TypeAlias = Callable[..., Any]
"""From arrays of uniform numbers, one for each dimension, to one column or two."""
SPLIT = "dpairs zoo, 2026"
"""The public string that decides which half a population belongs to."""


@dataclass(frozen=True)
class Population:
    """Who they are, and what is asked of them."""

    name: str
    columns: tuple[str, ...]
    make: Make
    dimensions: int
    domain: Any
    statistics: tuple[str, ...]
    """Names, with ":" and an option where they have one: ``kendall_tau:b``."""
    positives: float = 0.5
    """The share of positives, where there are classes."""

    @property
    def half(self) -> str:
        """The half it belongs to: those that an issue named were looked at, the others as a hash has it.

        Or the third set, written later.
        """
        from .populations import NAMED, POPULATIONS

        if self.name not in POPULATIONS:
            return "third"
        others = sorted(
            set(POPULATIONS) - NAMED, key=lambda name: sha256(f"{SPLIT}/{name}".encode()).digest()
        )
        first = NAMED | set(others[: len(POPULATIONS) // 2 - len(NAMED)])
        return "first" if self.name in first else "second"

    @property
    def domains(self) -> tuple[Domain, ...]:
        return as_domains(self.domain)

    def draw(self, n: int, seed: int) -> Columns:
        """So many people, their values moved into the domain as a device would."""
        rng = np.random.default_rng(seed)
        uniform = rng.random((self.dimensions, n))
        if self.columns != ("score", "label"):
            return self._columns(uniform)
        label = (rng.random(n) < self.positives).astype(np.int64)
        label[:4] = 0, 1, 0, 1  # neither class is ever empty
        return self._columns(uniform, label)

    def dense(self, power: int = 21) -> Columns:
        """The population itself, as evenly as quasi-random numbers have it."""
        from scipy.stats import qmc  # which takes a second

        classes = self.columns == ("score", "label")
        points = np.asarray(qmc.Sobol(self.dimensions, scramble=True, seed=1).random_base2(power)).T
        points = np.clip(points, 2.0**-40, 1 - 2.0**-40)
        if not classes:
            return self._columns(points)
        label = np.repeat([1, 0], points.shape[1])
        return self._columns(np.concatenate([points, points], axis=1), label)

    def _columns(self, uniform: Vector, label: NDArray[np.int64] | None = None) -> Columns:
        if label is None:
            result = self.make(*uniform)
            made: Any = result if isinstance(result, tuple) else (result,)
            return {
                name: clipped(domain, each)
                for name, domain, each in zip(self.columns, self.domains, made, strict=True)
            }
        negative, positive = (np.asarray(self.make(each, *uniform)) for each in (0, 1))
        score = np.where(label == 1, positive, negative)
        return {"score": clipped(self.domains[0], score), "label": label}


def clipped(domain: Domain, values: NDArray[Any]) -> NDArray[Any]:
    """Values outside the domain at its nearest end."""
    if isinstance(domain, (Interval, Integers)):
        inside: NDArray[Any] = np.clip(values, domain.low, domain.high)
        return np.rint(inside).astype(np.int64) if isinstance(domain, Integers) else inside
    return np.asarray(values)


def options_of(statistic: str) -> tuple[str, dict[str, Any]]:
    """The statistic's name and its options.

    >>> options_of("kendall_tau:b")
    ('kendall_tau', {'variant': 'b'})
    """
    name, _, option = statistic.partition(":")
    if not option:
        return name, {}
    return name, {"variant" if name == "kendall_tau" else "labels": option}


def exact(statistic: str, data: Columns) -> float:
    name, options = options_of(statistic)
    return float(dpairs.exact(name, data, **options))


# ---------------------------------------------------------------- what populations are made of


def normal(u: Vector, mean: float = 0.0, deviation: float = 1.0) -> Vector:
    return mean + deviation * np.asarray(ndtri(u))


def lognormal(u: Vector, median: float, sigma: float) -> Vector:
    return median * np.exp(sigma * np.asarray(ndtri(u)))


def pareto(u: Vector, shape: float) -> Vector:
    """From 1 on, with tail (1/x)^shape."""
    return np.asarray((1 - u) ** (-1 / shape))


def mixed(u: Vector, *parts: tuple[float, Callable[[Vector], Any]]) -> Vector:
    """One of several parts, each with its share of ``u`` stretched to [0, 1]; shares add up to 1."""
    result, start = np.empty_like(u), 0.0
    for place, (share, part) in enumerate(parts):
        end = 1.0 if place == len(parts) - 1 else start + share
        inside = (u >= start) & (u < end) if end < 1 else u >= start
        stretched = np.clip((u[inside] - start) / (end - start), 2.0**-53, 1 - 2.0**-53)
        result[inside] = part(stretched)
        start = end
    return result


def at(value: float) -> Callable[[Vector], Vector]:
    return lambda u: np.full_like(u, value)


def steps(u: Vector, shares: Any, values: Any = None) -> Vector:
    """A discrete distribution with these relative shares."""
    ends = np.cumsum(np.asarray(shares, dtype=float))
    place = np.minimum(np.searchsorted(ends / ends[-1], u, side="right"), ends.size - 1)
    return np.asarray(place if values is None else np.asarray(values)[place])


def copula(u: Vector, v: Vector, correlation: float) -> tuple[Vector, Vector]:
    """Two uniform numbers with a Gaussian copula, as normal numbers."""
    x = np.asarray(ndtri(u))
    return x, correlation * x + np.sqrt(1 - correlation**2) * np.asarray(ndtri(v))
