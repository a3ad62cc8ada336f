"""The error to expect of a histogram, by Hoeffding's decomposition of the mean over decoded reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers
from ...data.grids import Axis, most_points, rounded_at_random
from ...mechanisms import OPTIMIZED
from ...statistics import Statistic
from ...statistics.linear import nominal
from ..base import Setting
from ..shape import Prediction, Shape, onto, overlap
from .binning import hidden_bias
from .moments import hoeffding
from .rounding import excess

if TYPE_CHECKING:
    from .protocol import Histogram

BINS, BINS_PAIR = (4, 8, 16, 32, 64, 128, 256), (3, 4, 6, 8, 12, 16)
BINS_SEARCHED, BINS_PAIR_SEARCHED = (16, 32), (6,)
"""The same where a mechanism is searched, which takes seconds for each."""
Vector = NDArray[np.float64]


def candidates(setting: Setting) -> Iterator[dict[str, Any]]:
    if setting.statistic.arity != 2:
        return
    if not setting.numbers:
        yield {}
        yield {"mechanism": "krr"}
        if setting.optimized:
            yield {"mechanism": OPTIMIZED}
        return
    single = len(setting.domains) == 1
    # With as many cells the noise is about the same, and points hide less than bins.
    first = setting.domains[0]
    well = single and rounded_at_random(first) and _rounds_well(setting.statistic, Axis(first, 2, "random"))
    whole = first.size if single and isinstance(first, Integers) else math.inf
    most = most_points(first) if single else math.inf

    def cut(bins: int) -> dict[str, Any]:
        return {"bins": bins, "rounding": "random"} if well and bins < whole else {"bins": bins}

    if whole <= BINS[-1]:
        # One for each value, so that nothing is hidden.
        yield {"bins": whole}
        if setting.statistic.needs == "discrete":
            # Whoever shares a bin may agree or not: a bin of two values hides more than noise does.
            if setting.optimized and whole <= BINS_SEARCHED[-1]:
                yield {"bins": whole, "mechanism": OPTIMIZED}
            return
    yield from (cut(bins) for bins in (BINS if single else BINS_PAIR) if bins <= most)
    for bins in (BINS_SEARCHED if single else BINS_PAIR_SEARCHED) * setting.optimized:
        if bins <= most:
            yield {**cut(bins), "mechanism": OPTIMIZED}


def _rounds_well(statistic: Statistic, axis: Axis) -> bool:
    """Whether random rounding adds something that is known, of the order of a width's square."""
    return statistic.excess(axis, np.full(axis.bins, 1 / axis.bins)) is not None


class Expected(NamedTuple):
    """What is expected of people of a shape, however many there are."""

    first: tuple[float, ...]
    """First-order variances, of each stratum's reports."""
    second: float
    """The second-order variance."""
    inside: tuple[float, ...]
    """Of ``first``, what the choice of people does."""
    off: float
    bias: float


def predict(protocol: Histogram, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    if shape not in protocol.expected:  # whoever looks for the number of people asks again and again
        protocol.expected[shape] = _expected(protocol, shape)
    first, second, inside, off, bias = protocol.expected[shape]
    people = list(sizes.values())
    if len(people) == 1:
        n = people[0]
        linear, remainder, sampling = 4 * first[0] / n, 2 * second / n**2, 4 * inside[0] / n
    else:
        n, m = people
        linear, sampling = first[0] / n + first[1] / m, inside[0] / n + inside[1] / m
        remainder = second / (n * m)
    return Prediction(
        math.sqrt(max(linear - sampling, 0.0)),
        math.sqrt(max(sampling, 0.0)),
        math.sqrt(max(remainder, 0.0)),
        off,
        bias,
    )


def _expected(protocol: Histogram, shape: Shape) -> Expected:
    matrices = [form.matrix for form in protocol.forms]
    shares = list(onto(shape, protocol.grid).values())
    values = np.array([shares[0] @ matrix @ shares[-1] for matrix in matrices])
    many = nominal(protocol.statistic)
    finished = protocol.statistic.finish(values, many)
    truth = protocol.statistic.finish(shape.linear.forms, many).value
    kernel = np.tensordot(finished.gradient, np.array(matrices), axes=1)
    added = excess(protocol, shares[0])
    if added is not None:
        kernel = kernel - np.tensordot(finished.gradient, added, axes=1) / 2
    hidden = hidden_bias(protocol, tuple(shares), values, finished, many)
    off = abs(finished.value + hidden.middle - truth)
    if shape.assumed or (shape.guessed and _rounds_well(protocol.statistic, protocol.grid.axes[0])):
        # Where nobody looked, people may lie anyhow within a bin. Comparisons are priced so at an even spread
        # alone. Cells hide most of distances where people crowd, and there a ratio divides by little.
        off = max(off, hidden.half)
    moments = hoeffding(protocol, kernel, shares)
    inside = tuple(each.people for each in moments.parts)
    if protocol.rounding == "random" and len(shares) == 1:
        # What people's own values do; the rest of what cells do is rounding, which is noise.
        part = overlap(shape, protocol.grid).T @ (kernel @ shares[0])
        (people,) = shape.masses.values()
        inside = (float(people @ part**2) - float(people @ part) ** 2,)
    return Expected(tuple(each.reports for each in moments.parts), moments.pairs, inside, off, hidden.half)
