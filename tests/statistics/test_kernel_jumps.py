"""The average of a custom kernel over cells in which it jumps."""

import numpy as np
import pytest

from dpairs import Interval, Kernel
from dpairs.data.grids import Axis, Grid
from dpairs.statistics import kernel as kernels

UNIT = Interval(0, 1)
CLOSE = Kernel(lambda a, b: np.abs(a - b) < 0.1, range=(0, 1), domain=UNIT)
ROUND = Kernel(lambda a, b: a**2 + b**2 < 0.5, range=(0, 1), domain=UNIT)
STEPS = Kernel(lambda a, b: np.floor(3 * (a + b)), range=(0, 6), domain=UNIT)
BOX = Kernel(
    lambda a, b: (np.abs(a[0] - b[0]) < 0.1) & (np.abs(a[1] - b[1]) < 0.3), range=(0, 1), domain=(UNIT, UNIT)
)
# Over evenly spread people: the value, and how far an average of all cells may be off.
CASES = {
    "close": (CLOSE, 0.19, 2e-4),
    "round": (ROUND, np.pi / 8, 2e-4),
    # P(s > j/3) for the sum s of two uniform numbers, added up over j = 1 .. 5.
    "steps": (STEPS, sum(1 - t**2 / 2 if t <= 1 else (2 - t) ** 2 / 2 for t in np.arange(1, 6) / 3), 12e-4),
    "box": (BOX, 0.19 * 0.51, 2e-3),
}


def mean(kernel: Kernel, bins: int) -> float:
    grid = Grid(tuple(Axis(domain, bins) for domain in kernel.domain))
    matrix = kernel.forms(grid, "average")[0].matrix
    np.testing.assert_array_equal(matrix, matrix.T)
    return float(matrix.mean())


@pytest.mark.parametrize("bins", [3, 4, 7])
@pytest.mark.parametrize("name", CASES)
def test_the_average_is_right_where_the_kernel_jumps(name, bins):
    kernel, value, off = CASES[name]
    assert abs(mean(kernel, bins) - value) < off


def test_without_subdividing_it_is_not(monkeypatch):
    """Negative control: 8 x 7 nodes of 4 bins are off by 0.009."""
    monkeypatch.setattr(kernels, "PARTS", {1: 1, 2: 1})
    assert abs(mean(CLOSE, 4) - 0.19) > 0.005


def test_a_kernel_with_a_slope_is_not_subdivided(monkeypatch):
    """It does not jump; its table stays what it was, byte for byte."""
    smooth = Kernel(lambda a, b: np.abs(a - b), range=(0, 1), lipschitz=1.0, domain=UNIT)
    grid = Grid((Axis(UNIT, 4),))
    made = smooth.forms(grid, "average")[0].matrix
    monkeypatch.setattr(kernels, "PARTS", {1: 1, 2: 1})
    np.testing.assert_array_equal(made, smooth.forms(grid, "average")[0].matrix)
