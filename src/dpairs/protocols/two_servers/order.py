"""How far a curve within bins may move a tau: from pairs that are a few bins apart.

Pairs in one bin count 0, and those near each other make up for them as smooth dependence asks: a pair's mean
sign is 0 at no distance and grows like it. On a curve it is the same at any small distance, as far as the
curve does not turn or jump within a few bins. The servers release H, by how much tau is larger then (see
`Statistic.order`). If the mean sign neither grows faster with distance than at first nor is less than 0 at
no distance, as in blurred curves of any width, tau lies between both: from the released value T to T + H.
"""

from __future__ import annotations

from typing import NamedTuple

from .within import Within


class Order(NamedTuple):
    """What is added to a tau for the middle of its intervals, and how far that may then be off."""

    middle: float = 0.0
    population: tuple[float, float] = (0.0, 0.0)
    """A bound of the bias, and a variance."""
    sample: tuple[float, float] = (0.0, 0.0)


def order_of(measured: Within | None) -> Order:
    """From H as released, which has noise of variance v.

    For the population H is shrunk to H - 2 v / H, or to 0 where H^2 is below 2 v (as by Akaike's criterion):
    what that leaves out is little beside the choice of people. The middle between T and T + that is the
    middle of intervals, and half of it a bias that is possible. For this sample all of H counts, and all of
    its noise. The value stays T: most columns that go together do so smoothly.
    """
    if measured is None or not measured.value:
        return Order()
    value, size, variance = measured.value, abs(measured.value), measured.variance
    share = max(1 - 2 * variance / size**2, 0.0) / 2
    return Order(
        share * value,
        (share * size, share**2 * variance),
        ((1 - share) * size, variance),
    )
