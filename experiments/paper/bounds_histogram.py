"""Section 3's bounds: randomized response, quantization, and both together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpairs.data.domains import Interval, Levels
from dpairs.data.grids import Axis, Grid
from dpairs.protocols import theory
from dpairs.simulate import simulate
from dpairs.statistics import Kernel, statistic
from dpairs.study import Study

from ..synthetic import people
from .bound_case import Case, Measured, Run, seeds

UNIT = Interval(0, 1)
Vector = NDArray[np.float64]


def slope(size: int, seed: int) -> Vector:
    """People on [0, 1] with the density 1/2 + x, whose Lipschitz constant is 1."""
    drawn: Vector = (np.sqrt(1 + 8 * people(seed).random(size)) - 1) / 2
    return drawn


SLOPE_GINI = 19 / 60
"""Their mean difference: the integral of 2 F (1 - F), F = (x^2 + x) / 2."""


def response(worst: bool) -> Run:
    """Randomized response on 8 cells; the worst kernel is a coin for a report, whatever the person has."""
    k, n, epsilon, repeats = 8, 2000, 0.5, 200
    cell = np.arange(k)

    def kernel(a: Any, b: Any) -> Any:
        return (np.maximum(a, b) < k / 2).astype(np.float64) if worst else np.abs(a - b) / (k - 1)

    matrix = kernel(cell[:, None], cell)
    shares = (cell == 0).astype(np.float64) if worst else np.full(k, 1 / k)
    asked = Kernel(kernel, range=(0, 1), domain=Levels(range(k)))

    def run(seed: int) -> Iterator[Measured]:
        study = Study.create(asked, epsilon=epsilon, mechanism="krr", seed=0)
        truth = float(shares @ matrix @ shares)
        squares = [
            (simulate(study, {"value": people(each).choice(k, n, p=shares)}, seed=each).raw - truth) ** 2
            for each in seeds(seed, repeats)
        ]
        yield Measured(
            float(np.mean(squares)),
            theory.krr_variance_bound(n, k, epsilon),
            theory.krr_variance(n, epsilon, matrix, shares),
        )

    return run


def lipschitz(worst: bool) -> Run:
    """Binning alone: everybody at the lower end of a bin, or anywhere."""
    k = 10

    def run(seed: int) -> Iterator[Measured]:
        axis = Axis(UNIT, k)
        if worst:  # f = (x + y) / 2, and the middle of a bin lies 1 / (2 k) above its people
            low = np.arange(k) / k
            yield Measured(
                float(axis.centres.mean() - low.mean()) ** 2, theory.lipschitz_quantization_bound(k, 0.5)
            )
            return
        off = binned(slope(100_000, seed), k, "midpoint") - SLOPE_GINI
        yield Measured(off**2, theory.lipschitz_quantization_bound(k, 1.0))

    return run


def binned(values: Vector, k: int, kernel: str) -> float:
    """The mean difference of values that are known by their bins only, each value with each other."""
    share = np.bincount(np.minimum((values * k).astype(np.int64), k - 1), minlength=k) / values.size
    (form,) = statistic("gini_mean_difference").forms(Grid((Axis(UNIT, k),)), kernel)
    return float(share @ form.matrix @ share)


def smooth(seed: int) -> Iterator[Measured]:
    """Binning with the average kernel, for a density of slope 1: the exact shares of bins."""
    k = 10
    edges = np.arange(k + 1) / k
    share = np.diff((edges**2 + edges) / 2)
    (form,) = statistic("gini_mean_difference").forms(Grid((Axis(UNIT, k),)), "average")
    off = float(share @ form.matrix @ share) - SLOPE_GINI
    yield Measured(off**2, theory.smooth_quantization_bound(1 / k, 1.0))


def whole(n: int, kernel: str, repeats: int) -> Run:
    """Binning and noise together, with the paper's number of bins."""
    epsilon = 1.0
    k = theory.best_bins(n, epsilon)
    bound = {
        "midpoint": theory.mse_bound_lipschitz_kernel(n, k, epsilon, 1.0),
        "average": theory.mse_bound_smooth_data(n, k, epsilon, 1.0),
        "order": theory.mse_order(n, epsilon),
    }[kernel]

    def run(seed: int) -> Iterator[Measured]:
        study = Study.create(
            "gini_mean_difference",
            epsilon=epsilon,
            domain=UNIT,
            options={
                "bins": k,
                "mechanism": "krr",
                "kernel": "midpoint" if kernel == "order" else kernel,
            },
            seed=0,
        )
        squares = [
            (simulate(study, {"value": slope(n, each)}, seed=each).raw - SLOPE_GINI) ** 2
            for each in seeds(seed, repeats)
        ]
        yield Measured(float(np.mean(squares)), bound)

    return run


CASES = (
    Case("krr, worst data", "Discrete domains, kernel and data chosen to be worst", 3, response(True)),
    Case("krr, even data", "Discrete domains, distance of 8 even cells", 3, response(False)),
    Case(
        "Lipschitz, worst data", "Quantization, Lipschitz kernel, people at ends of bins", 3, lipschitz(True)
    ),
    Case("Lipschitz, smooth data", "Quantization, Lipschitz kernel, density 1/2 + x", 3, lipschitz(False)),
    Case("smooth data", "Quantization, smooth data, density 1/2 + x", 3, smooth),
    Case("total, Lipschitz", "Total, Lipschitz kernel, n = 10,000", 3, whole(10_000, "midpoint", 100)),
    Case("total, smooth", "Total, smooth data, n = 10,000", 3, whole(10_000, "average", 100)),
    Case("order, n = 10^4", "Corollary, best bins, n = 10,000", 3, whole(10_000, "order", 100), "order"),
    Case("order, n = 10^6", "Corollary, best bins, n = 1,000,000", 3, whole(1_000_000, "order", 10), "order"),
)
