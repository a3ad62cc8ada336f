"""Made-up numbers and categories for one-sample statistics: incomes, heavy tails, hospital counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpairs.data.domains import Categories, Domain, Integers, Interval

from .synthetic import people

DOMAINS: dict[str, Domain] = {
    "log-normal": Interval(0, 200),
    "Pareto": Interval(0, 20),
    "hospital counts": Integers(1, 81),
}
"""Numbers: incomes in thousands, a heavy tail, and how many medicines a patient gets."""
SHARES: dict[str, tuple[float, ...]] = {
    "uniform, 16": (1.0,) * 16,
    "Zipf, 64": tuple(1 / rank for rank in range(1, 65)),
    "hospital, 9": (30, 16, 14, 11, 9, 7, 6, 4, 3),
}
"""Categories: relative shares; the last are of the shape of diagnosis groups, made up."""


def numbers(name: str, size: int, seed: int) -> NDArray[Any]:
    """Values of so many people; what is outside the domain is moved to its end.

    >>> int(numbers("hospital counts", 100_000, 0).mean().round())
    16
    """
    draw = people(seed)
    if name == "log-normal":
        return np.clip(draw.lognormal(np.log(30), 0.8, size), 0, 200)
    if name == "Pareto":
        return np.clip(1 + draw.pareto(2.5, size), 0, 20)
    if name == "hospital counts":  # mean 16 and standard deviation 8, as the data's num_medications has
        return np.clip(1 + draw.negative_binomial(4.5, 4.5 / 19.5, size), 1, 81)
    raise ValueError(f"there are no numbers named {name!r}")


def categories(name: str) -> Categories:
    """As many categories as there are shares."""
    return Categories(range(len(SHARES[name])))


def members(name: str, size: int, seed: int) -> NDArray[np.int64]:
    """The category of each of so many people."""
    shares = np.array(SHARES[name])
    return people(seed).choice(shares.size, size, p=shares / shares.sum())
