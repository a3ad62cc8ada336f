"""How far lying sites can move the answer of a second round.

A site weighs the records that it declares, and numbers beyond those and noise are refused. The answer is
linear in the sums, so what sites do that lie in this round, with the sizes of the first, is exact.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..manipulation import Reach
from .by_sites import BySites, SiteNumbers


def of_sums(
    protocol: BySites, answers: Mapping[str, SiteNumbers], weights: Mapping[str, float], sites: int
) -> tuple[Reach, float]:
    """The most that so many sites can do, and by how much noise makes a lie larger.

    ``weights`` are what one step of a class's sum moves the answer.
    """
    downs, ups, multiplier = [], [], 1.0
    for answer in answers.values():
        down = up = 0.0
        for name, weight in weights.items():
            size, given = (answer.sizes or {})[name], int(answer.numbers[name][0])
            least, most = protocol.extremes(name, size)
            down, up = down + weight * (given - least), up + weight * (most - given)
            if size:
                low, high = protocol.ends(name)
                multiplier = max(multiplier, (most - least) / (size * (high - low)))
        downs.append(down)
        ups.append(up)
    down, up = (sum(sorted(moves, reverse=True)[:sites]) for moves in (downs, ups))
    return Reach(down, up), multiplier
