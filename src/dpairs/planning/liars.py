"""How far liars would move an answer, before anybody is asked: about what `Estimate.manipulation` will say.

Counts are those expected at the shape. Of a tree no useful bound is known for more than a few liars.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..errors import NotEstimable
from ..mechanisms.bit import BitResponse
from ..protocols import Histogram, Pairwise, Projection, Protocol
from ..protocols.shape import Shape, onto


def liars_change(protocol: Protocol, shape: Shape, sizes: Mapping[str, int], share: float) -> float:
    """The largest change by such a share of all people; infinite where nothing is known."""
    people = math.floor(share * sum(sizes.values()) + 1e-9)
    if isinstance(protocol, Histogram):
        channel = protocol.mechanism.channel
        masses = onto(shape, protocol.grid)
        expected = [people_of * (masses[name] @ channel) for name, people_of in sizes.items()]
        try:
            return protocol.reach(expected, sizes, people).change
        except NotEstimable:
            return math.inf
    if isinstance(protocol, Projection):
        # Liars of both rounds are as many in a hundred; those of the second move its mean.
        span = float(np.ptp(BitResponse.for_epsilon(protocol.epsilon).decode))
        ranges = {name: float(np.ptp(values)) for name, values in shape.linear.functions.items()}
        return abs(shape.scale) * span * people * max(ranges[name] / sizes[name] for name in sizes)
    if isinstance(protocol, Pairwise):
        least = min(sizes.values())
        pairs = protocol.pairs * (least if len(sizes) > 1 else least / 2)
        spoiled = min(people * protocol.pairs / pairs, 1.0)
        return abs(shape.scale) * spoiled * float(np.ptp(protocol.function.decode))
    return math.inf
