"""How fine a grid two servers count on, and how the loss is divided among forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Categories, Domain, Integers, Interval, Levels
from ...data.grids import MAX_BINS, Grid
from ...errors import BadParameter, NotEstimable
from ...formats.checks import integer
from ...statistics import Statistic
from ...statistics.base import TWO_SIDED
from ...statistics.kernel import MAX_TABLE_CELLS
from .budget import LAPLACE, NoiseBudget, Query
from .coarse import coarse_grid
from .forms import IntegerForm, integer_forms, order_form, pairs, within_form
from .standing_out import cut_places, hiding_places

WHOLE = 1024
USUAL = 1024
"""Bins of one axis at least, 8 KB of shares: noise does not grow with them, and less hides in them."""
WITHIN = 64
"""Of 1024, the share of what coarse counts leave of the loss that measures what bins hide of pairs."""
ORDER = 128
"""The same that measures how pairs of neighbouring bins go together; twice that where noise is small.

Twice makes an interval for a sample about the shortest; once keeps one for few people's population short.
"""
SMALL = 1 / 4
"""Of the sampling error of unrelated columns, 2 / (3 sqrt(n)): so much noise hardly matters beside it."""
MOST_TOLD = 1e12
"""With so many people, times epsilon, as many bins are best as there may be."""
MOST_COUNTED = 1024
"""Cells of a release of counts at most: its noise needs the kernel's table."""
FINER = 12.0
"""Bins for each square root of a person: then binning adds less than a twentieth of the noise to the error.

Noise is about 4 / (n epsilon) of the kernel's range. People's places within k bins of an even spread move the
value by 2 / sqrt(12 n) / k, and where most of them lie in a third of the domain by three times that.
"""


def chosen_bins(
    statistic: Statistic,
    domains: tuple[Domain, ...],
    bins: int | Sequence[int] | None,
    n: int | None,
    counted: float | None,
    pilot: bool = False,
) -> tuple[int, ...]:
    """Bins of each domain: as given, one for each value, or as fine as noise lets one notice.

    ``counted`` is epsilon where the counts themselves are released, whose noise grows with their number;
    as a ``pilot``, noise enters squared.
    """
    if n is not None:
        integer("n", n, 1, 2**53)
    if isinstance(bins, (list, tuple)):
        if len(bins) != len(domains):
            raise BadParameter(f"bins must be one number for each column ({len(domains)}), not {len(bins)}")
        return tuple(integer("bins", count, 2, MAX_BINS) for count in bins)
    return tuple(_bins(statistic, domains, domain, bins, n, counted, pilot) for domain in domains)


def _bins(
    statistic: Statistic,
    domains: tuple[Domain, ...],
    domain: Domain,
    bins: Any,
    n: int | None,
    counted: float | None,
    pilot: bool,
) -> int:
    if isinstance(domain, (Levels, Categories)):
        return domain.size
    size = MAX_BINS if isinstance(domain, Interval) else domain.size
    if bins is not None:
        return min(integer("bins", bins, 2, MAX_BINS), size)
    others = math.prod(other.size for other in domains if isinstance(other, (Levels, Categories)))
    cut = sum(isinstance(other, (Interval, Integers)) for other in domains)
    hidden = statistic.cell_domains(domains)[len(domains) :]
    labels = math.prod(other.size for other in hidden if isinstance(other, (Levels, Categories)))
    room = MAX_TABLE_CELLS if statistic.from_table else MAX_BINS
    most: int = min(size, max(2, math.floor((room / (others * labels)) ** (1 / cut) + 1e-9)))
    if statistic.needs == "discrete":
        # Equal bins are not equal values.
        return most
    if counted is not None:
        # Noise of counts grows like sqrt(cells) / (n epsilon), binning falls like 1 / bins^2.
        told = min((1000 if n is None else n) * counted, MOST_TOLD)
        best: float = 2 * told**0.4 if cut == 1 else 1.2 * told**0.3
        if pilot and statistic.needs == "numeric" and cut == 1:
            # Where people fill a third of a domain of length 1, k cells hide up to 1 / k^2 of a distance;
            # noise of variance v on their shares adds v e'Ae, 1.96 of whose deviations are 1.13 v k, with
            # v = 16 / (n epsilon)^2.
            best = (0.11 * told**2) ** (1 / 3)
        room = math.isqrt(MOST_COUNTED) if cut > 1 else MOST_COUNTED // (labels * others)
        return max(2, min(most, room, round(best)))
    if cut > 1:
        return most
    wanted = USUAL if n is None else 2 ** math.ceil(math.log2(max(FINER * math.sqrt(n), USUAL)))
    return min(most, wanted)


def form_weights(statistic: Statistic, grid: Grid, noise: str) -> tuple[int, ...]:
    """Shares of the loss, in 1024ths, that make a smooth function of forms least noisy.

    The variance is a sum of (g s / w)^2 over forms of gradient g, sensitivity s and share w, for Gaussian
    noise of g^2 s^2 / w: least for w proportional to (g s)^(2/3), or to g s.
    """
    count = statistic.form_count
    if count == 1:
        return (WHOLE,)
    coarse, _ = coarse_grid(grid, 64 if len(cut_places(grid)) < 2 else 8)
    kernels = [form.matrix for form in statistic.forms(coarse, "average")]
    gradient = np.zeros(count)
    for masses in _priors(coarse):
        try:
            forms = np.array([masses @ kernel @ masses for kernel in kernels])
            gradient += np.abs(statistic.finish(forms, dict.fromkeys(statistic.strata, 1000)).gradient)
        except NotEstimable:
            continue
    if not gradient.any():
        gradient = np.ones(count)
    spans = np.array([max(np.ptp(kernel, axis=0).max(), 1e-12) for kernel in kernels])
    for form in statistic.same_bin:
        spans[form] = 1.0  # pairs of one bin are counted: see `ties`
    power = 2 / 3 if noise == LAPLACE else 1.0
    shares = np.maximum(gradient * spans, 1e-3 * float((gradient * spans).max())) ** power
    parts = np.maximum(np.floor(WHOLE * shares / shares.sum()), 1).astype(int)
    parts[int(np.argmax(parts))] -= max(int(parts.sum()) - WHOLE, 0)
    return tuple(parts.tolist())


def with_measured(
    weights: tuple[int, ...],
    statistic: Statistic,
    grid: Grid,
    budget: NoiseBudget,
    share: Fraction,
    n: int | None,
) -> tuple[int, ...]:
    """The same with last weights for what bins hide of pairs, where so many people can make use of it.

    Of how many pairs share a bin: not where noise alone, of classes of one size, leaves an interval of a
    quarter of what it is at most. Of two columns half of that: what noise leaves possible enters the bound
    squared (see `within`). Of their order: not where noise is more than evenly spread people's pairs that
    share a bin can do, all in one order.
    """
    if n is None or n < 4:
        return weights
    people = [n // len(statistic.strata)] * len(statistic.strata)

    def noise(form: IntegerForm, part: int) -> float:
        return _noise(form, budget, share * Fraction(part, WHOLE), people)

    within, order, more = within_form(statistic, grid), order_form(statistic, grid), []
    if within is not None:
        most = within.largest * within.unit / (4 * max(len(cut_places(grid)), 1))
        if TWO_SIDED * noise(within, WITHIN) > most:
            return weights
        more.append(WITHIN)
    if order is not None:
        own = noise(integer_forms(statistic, grid)[0], WHOLE - sum(more) - 2 * ORDER)
        if noise(order, ORDER) <= _in_one_bin(grid):
            more.append(2 * ORDER if own <= SMALL * 2 / (3 * math.sqrt(n)) else ORDER)
    rest = WHOLE - sum(more)
    return *(max(weight * rest // WHOLE, 1) for weight in weights), *more


def near_pairs(statistic: Statistic, grid: Grid, budget: NoiseBudget, share: Fraction, n: int | None) -> bool:
    """Whether near pairs make up for order that bins hide: not where noise is more than that can be.

    That is evenly spread people's pairs that share a bin. Making up for them adds to the noise.
    """
    if n is None or n < 4 or order_form(statistic, grid) is None:
        return True
    noise = _noise(integer_forms(statistic, grid, near=False)[0], budget, share, [n])
    return noise <= _in_one_bin(grid)


def _noise(form: IntegerForm, budget: NoiseBudget, share: Fraction, people: Sequence[int]) -> float:
    """The standard deviation of a form's mean."""
    variance = budget.variance(Query.number(form.sensitivity(people), share))
    return math.sqrt(variance) * form.unit / pairs(people)


def _in_one_bin(grid: Grid) -> float:
    """The pairs of evenly spread people that share a bin of several values."""
    return 1 - math.prod(1 - 1 / grid.axes[place].bins for place in hiding_places(grid))


def _priors(grid: Grid) -> list[NDArray[np.float64]]:
    """An even spread, and on two columns also people who are alike in both."""
    priors = [np.full(grid.cells, 1 / grid.cells)]
    if len(grid.axes) > 1:
        shape = [axis.bins for axis in grid.axes]
        alike = np.zeros(shape)
        steps = max(shape)
        for step in range(steps):
            alike[tuple(step * bins // steps for bins in shape)] += 1 / steps
        priors.append(alike.reshape(-1))
    return priors
