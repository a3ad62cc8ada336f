"""Between which errors a study may have, if nothing is known about the people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from ..errors import BadParameter, NotEnoughData, NotEstimable
from ..protocols import FirstRound
from ..protocols.shape import Prediction, Shape
from ..statistics.bounded import Bounded
from ..study import Study
from .shapes import extremes


def predicted(first: FirstRound, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    """The error of so many people, in the statistic's own unit: no larger than the range of a population."""
    prediction, statistic = first.predict(shape, sizes).times(shape.for_people(sizes)), shape.statistic
    low, high = statistic.bounds(shape.domains, sizes)
    largest = min(high, statistic.most(shape.domains)) - low
    return prediction.times(largest / prediction.total) if prediction.total > largest else prediction


def possible(
    study: Study, shape: Shape, worst: Prediction, smallest: float, sizes: Mapping[str, int]
) -> tuple[float, float]:
    """The smallest error of people among whom there is least to learn, and the largest that there is.

    The smallest is that of people who all have one value, or whose classes are at opposite ends, with
    answers moved into the statistic's range: at its end that is half of them. The largest: an answer lies
    within the range, and where people may all be in one cell, or no pilot finds them, it may be off by all
    of that. Where nothing is hidden, it is the largest noise with the largest variance that the choice of
    people can cause (`Statistic.most_sampling`).
    """
    statistic, first = study.statistic, cast(FirstRound, study.protocol)
    least = math.inf
    for extreme in extremes(statistic, shape.domains):
        try:
            least = min(least, predicted(first, extreme, sizes).noise)
        except (BadParameter, NotEnoughData, NotEstimable, ArithmeticError):
            continue  # a ratio of nothing
    low, high = statistic.bounds(study.domains, sizes)
    least = within(min(least, smallest), high - low)
    if not first.tells_apart:
        return least, high - low
    noisy = worst
    if statistic.form_count == 1:
        ends = (0.0, 1.0) if statistic.counts_people else statistic.range(study.domains)
        drawn = math.sqrt(statistic.most_sampling(Bounded(sum(ends) / 2, *ends), sizes))
        noisy = replace(worst, sampling=max(worst.sampling, shape.scale * shape.for_people(sizes) * drawn))
    return least, min(noisy.total, high - low)


def within(deviation: float, length: float) -> float:
    """The least root mean square of normal errors when answers are moved into a range of this length.

    With the truth t and Z normal it is that of deviation Z moved into [-t, length - t]: about 0.7 times the
    deviation for t = 0; where the noise is wider than the range, less in the middle.

    >>> round(within(1.0, 100.0), 4), round(within(100.0, 1.0), 2)
    (0.7071, 0.5)
    """
    return min(_moved(deviation, 0.0, length), _moved(deviation, length / 2, length / 2))


def _moved(deviation: float, below: float, above: float) -> float:
    """The root mean square of a normal error moved into [-below, above]."""
    if deviation == 0 or not math.isfinite(above):
        return deviation * math.sqrt(0.5)
    square = 0.0
    for end in (below / deviation, above / deviation):
        density, beyond = math.exp(-(end**2) / 2) / math.sqrt(2 * math.pi), math.erfc(end / math.sqrt(2)) / 2
        square += 0.5 - beyond - end * density + end**2 * beyond
    return deviation * math.sqrt(max(square, 0.0))
