"""Forms in whole numbers: the same kernels, the same totals, and the claimed sensitivity by enumeration."""

from itertools import product

import numpy as np
import pytest

from dpairs import Categories, Interval, Kernel, Levels
from dpairs.data.grids import Axis, Grid
from dpairs.protocols.two_servers.forms import (
    IntegerForm,
    KernelTable,
    integer_forms,
    multiplicands,
    pairs,
    total_shares,
    within_form,
)
from dpairs.protocols.two_servers.goldilocks import MODULUS
from dpairs.protocols.two_servers.ties import counted_kernels
from dpairs.statistics import statistic as named

UNIT = Interval(0, 1)
NEAR = Kernel(lambda a, b: np.abs(a - b) < 0.3, range=(0, 1), domain=UNIT)
CASES = {
    "auc": (named("auc"), (Axis(UNIT, 5),)),
    "auc, ties zero": (named("auc", ties="zero"), (Axis(Levels(range(4)), 4),)),
    "private labels": (named("auc", labels="private"), (Axis(UNIT, 3),)),
    "kernel": (NEAR.tabulate(Grid((Axis(UNIT, 4),)), "average"), (Axis(UNIT, 4),)),
    "tau": (named("kendall_tau"), (Axis(UNIT, 3), Axis(UNIT, 2))),
    "tau-b": (named("kendall_tau", variant="b"), (Axis(UNIT, 3), Axis(Levels(range(2)), 2))),
    "gini": (named("gini_coefficient"), (Axis(UNIT, 4),)),
    "variance": (named("variance"), (Axis(Levels(range(4)), 4),)),
    "entropy": (named("collision_entropy"), (Axis(Categories(list("abcd")), 4),)),
}


def forms_of(name):
    statistic, axes = CASES[name]
    return statistic, statistic.grid(axes), integer_forms(statistic, statistic.grid(axes))


def with_within(name):
    """The same, and what bins hide of pairs."""
    statistic, grid, forms = forms_of(name)
    within = within_form(statistic, grid)
    return statistic, grid, (*forms, *(() if within is None else (within,)))


def dense(form):
    cells = np.eye(form.kernel.diagonal.size, dtype=np.int64)
    return np.array([form.kernel.apply(column) for column in cells]).T


@pytest.mark.parametrize("name", CASES)
def test_whole_numbers_are_the_kernel_to_half_a_unit(name):
    statistic, grid, forms = forms_of(name)
    for form, real in zip(forms, counted_kernels(statistic, grid), strict=True):
        table = dense(form)
        assert np.abs(form.unit * table - real).max() <= form.rounding
        assert form.kernel.low <= table.min()
        assert table.max() <= form.kernel.high
        assert np.array_equal(np.diagonal(table), form.kernel.diagonal)
        span = max(np.ptp(table, axis=0).max(), np.ptp(table, axis=1).max())
        assert form.kernel.span >= span


def people_of(cells, count):
    """Everybody's cells, in every way."""
    return product(range(cells), repeat=count)


def histogram(people, cells):
    return np.bincount(people, minlength=cells)


@pytest.mark.parametrize("name", CASES)
def test_totals_are_sums_over_pairs_and_nobody_moves_them_further_than_claimed(name):
    statistic, grid, forms = with_within(name)
    cells, several = grid.cells, len(statistic.strata) == 2
    for form in forms:
        table, worst = dense(form), 0
        sizes = [2, 3] if several else [3]
        claimed = form.sensitivity(sizes)
        totals = {}
        for people in people_of(cells, sum(sizes)):
            if several:
                a, b = people[:2], people[2:]
                wanted = sum(int(table[x, y]) for x in a for y in b)
                given = [histogram(a, cells), histogram(b, cells)]
            else:
                wanted = sum(
                    int(table[x, y]) for i, x in enumerate(people) for j, y in enumerate(people) if i != j
                )
                given = [histogram(people, cells)]
            total = totals[people] = form.total(given)
            assert total == wanted
        for people, total in totals.items():
            for place in range(len(people)):
                for other in range(cells):
                    neighbour = (*people[:place], other, *people[place + 1 :])
                    worst = max(worst, abs(totals[neighbour] - total))
        assert worst <= claimed
        # The control: who forgot that a pair counts in both orders would claim half, and be wrong.
        if name in ("auc", "tau", "variance", "entropy"):
            assert worst > claimed / 2


@pytest.mark.parametrize("name", CASES)
def test_shares_of_histograms_make_shares_of_totals(name):
    statistic, grid, forms = with_within(name)
    rng = np.random.default_rng(4)
    clear = [rng.integers(0, 50, grid.cells) for _ in statistic.strata]
    first = [[int(x) for x in rng.integers(0, 2**62, grid.cells)] for _ in clear]
    second = [
        [(int(a) - b) % MODULUS for a, b in zip(whole, one, strict=True)]
        for whole, one in zip(clear, first, strict=True)
    ]
    u, v = (multiplicands(forms, server, shares, MODULUS) for server, shares in enumerate((first, second)))
    products = [sum(a * b for a, b in zip(x, y, strict=True)) % MODULUS for x, y in zip(u, v, strict=True)]
    masks = [int(x) for x in rng.integers(0, 2**62, len(products))]
    one = total_shares(forms, first, masks, MODULUS)
    other = total_shares(
        forms, second, [(p - m) % MODULUS for p, m in zip(products, masks, strict=True)], MODULUS
    )
    totals = [(a + b) % MODULUS for a, b in zip(one, other, strict=True)]
    assert [each - MODULUS if each > MODULUS // 2 else each for each in totals] == [
        form.total(clear) for form in forms
    ]


def test_products_with_field_elements_are_exact():
    form = IntegerForm(KernelTable(np.array([[2**20, -(2**20)], [3, -7]])), 1.0, 0.0)
    share = [MODULUS - 1, MODULUS // 2]
    wanted = [(2**20 * share[0] - 2**20 * share[1]) % MODULUS, (3 * share[0] - 7 * share[1]) % MODULUS]
    assert form.apply_modulo(share, MODULUS) == wanted


def test_a_custom_kernel_is_rounded_to_a_power_of_two():
    near = Kernel(lambda a, b: np.exp(-np.abs(a - b)), range=(0, 1), domain=UNIT)
    grid = near.grid((Axis(UNIT, 8),))
    (form,) = integer_forms(near.tabulate(grid, "average"), grid)
    assert form.rounding > 0
    assert np.log2(form.unit) == round(np.log2(form.unit))
    assert pairs([5]) == pairs([5, 4]) == 20
