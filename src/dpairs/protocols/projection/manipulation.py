"""How far liars can move the answer of a second round.

The answer is the pilot's value plus the mean of the decoded symbols, times the function's range: linear in
the counts, so what ``estimator="second-round"`` can be moved by is exact. ``"combined"`` also weighs in the
first round's own answer, by its variance against that of the second, which the liars move too: value and
weight are bounded apart, and the mixture is largest at a corner.

Liars of the first round are not counted here. They move the pilot g, and through it only the second-order
rest (h - g)'A(h - g); what they do to the first round's own answer is in `Projection.manipulation`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...estimate import Manipulation
from ...mechanisms import ScalarResponse
from ...statistics import Statistic
from ..counts import DenseCounts
from ..manipulation import Reach, at_vertices, linear, span
from .analysis import Analysis


def second_round_manipulation(
    analysis: Analysis,
    statistic: Statistic,
    mechanism: ScalarResponse,
    counts: Mapping[str, DenseCounts],
    combined: bool,
    people: int,
) -> Manipulation:
    """The most that ``people`` replaced reports of this round change."""
    decode = mechanism.decode
    groups = []
    value = analysis.value + analysis.remainder.mean
    for stratum, table in counts.items():
        low, high = analysis.ranges[stratum]
        symbols = table.array.astype(np.float64)
        groups.append(((high - low) * decode / table.people, symbols))
        value += (high - low) * (float(symbols @ decode) / table.people - analysis.means[stratum])
    reach = linear(groups, people)
    mixed = analysis.alone is not None and combined
    if analysis.alone is not None and combined:
        value, reach = _mixed(analysis, decode, counts, (value, reach), analysis.alone[0], people)
    sizes = {stratum: table.people + analysis.people[stratum] for stratum, table in counts.items()}
    reach = at_vertices(
        lambda form: analysis.finished(statistic, float(form[0]), 0.0, 0.0, sizes).value,
        np.array([value]),
        [reach],
    )
    return Manipulation(people, people, reach.down, reach.up, not mixed, span(decode))


def _mixed(
    analysis: Analysis,
    decode: NDArray[np.float64],
    counts: Mapping[str, DenseCounts],
    second: tuple[float, Reach],
    alone: float,
    people: int,
) -> tuple[float, Reach]:
    """Value and reach of (1 - w) v + w a with w = V / (V + A), for v, V and A in their ranges."""
    value, reach = second
    totals: list[dict[str, tuple[float, int]]] = [{}, {}, {}]
    for stratum, table in counts.items():
        unbiased, noise = table.people / (table.people - 1), analysis.least_varied(stratum)
        ranges = _variances(decode, table.array.astype(np.float64), people)
        for place, variance in zip(totals, ranges, strict=True):
            place[stratum] = unbiased * max(variance, noise), table.people
    # Both variances grow with those of the answers.
    now, least, most = (
        (analysis.remainder.variance + both, own) for both, own in map(analysis.pooled, totals)
    )
    weights = (least[0] / (least[0] + most[1]), most[0] / (most[0] + least[1]))
    ends = [
        (1 - weight) * end + weight * alone
        for end in (value - reach.down, value + reach.up)
        for weight in weights
    ]
    weight = now[0] / (now[0] + now[1])
    mixture = (1 - weight) * value + weight * alone
    return mixture, Reach(mixture - min(ends), max(ends) - mixture)


def _variances(
    decode: NDArray[np.float64], symbols: NDArray[np.float64], people: int
) -> tuple[float, float, float]:
    """The variance of the decoded symbols now, and bounds on it after ``people`` replacements.

    Around the mean as it is now, the variance is the mean square less the square of what the mean moves by.
    """
    n = float(symbols.sum())
    square = (decode - float(symbols @ decode) / n) ** 2
    mean, around = (linear([(each / n, symbols)], people) for each in (decode, square))
    now = float(symbols @ square) / n
    return now, max(now - around.down - max(mean.down, mean.up) ** 2, 0.0), now + around.up
