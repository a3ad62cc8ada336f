"""How many people, or how much privacy, an error needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

from ..errors import BadParameter
from ..protocols.theory import MAX_PEOPLE
from ..statistics import Statistic
from .options import Option, Question

MOST_EPSILON, LEAST_EPSILON = 32.0, 1e-3
START = 10_000
"""People that a search begins with."""
CLOSE = 0.002
"""How near the target a solution comes."""
TURNS, STEPS = 6, 10
"""How often all parameters are looked at again, and steps with the same ones between."""
FAR = 64.0
"""The largest step before parameters are looked at again."""


def people(ask: Question, epsilon: float, error: float, only: str | None = None) -> list[Option]:
    """For each protocol, the people needed; the fewest first."""
    if ask.statistic.counts_people:
        raise BadParameter(
            f"the error of {ask.statistic.name} grows with the number of people, which it counts: give n, or "
            "plan for auc, whose error falls"
        )

    def sizes(count: float) -> dict[str, int]:
        return equal_parts(ask.statistic, math.ceil(count))

    solved = []
    start, _ = ask.options(epsilon, sizes(START), only)
    for option in start:
        best = _solve(
            option,
            START,
            (2.0 * len(ask.statistic.strata), float(MAX_PEOPLE)),
            -0.5,
            error,
            lambda option, count: ask.same(option, epsilon, sizes(count)),
            lambda option, count: ask.options(epsilon, sizes(count), option.protocol)[0],
        )
        if best is not None:
            solved.append(best)
    if start and not solved:
        least = min(each.error for each in ask.options(epsilon, sizes(MAX_PEOPLE), only)[0])
        raise BadParameter(
            f"at epsilon {epsilon:g} even {MAX_PEOPLE:,} people have a standard error of {least:.3g}, so "
            f"{error:.3g} is out of reach: ask for at least {_above(least)}, or allow a larger epsilon"
        )
    return sorted(solved, key=lambda each: sum(each.sizes.values()))


def privacy(ask: Question, sizes: Mapping[str, int], error: float, only: str | None = None) -> list[Option]:
    """For each protocol, the least epsilon; the least first."""
    floor, n = without_privacy(ask, sizes), sum(sizes.values())
    if error <= floor:
        more = f", or have {math.ceil(n * (floor / error) ** 2 * 1.1):,} people"
        raise BadParameter(
            f"without any privacy {n:,} people have a standard error of {floor:.3g}, so {error:.3g} is "
            f"out of reach: ask for more than that{_advice(ask, more)}"
        )
    solved = []
    start, _ = ask.options(1.0, sizes, only)
    for option in start:
        best = _solve(
            option,
            1.0,
            (LEAST_EPSILON, MOST_EPSILON),
            -1.0,
            error,
            lambda option, loss: ask.same(option, loss, sizes),
            lambda option, loss: ask.options(loss, sizes, option.protocol)[0],
        )
        if best is not None:
            solved.append(best)
    if start and not solved:
        least = min(each.error for each in ask.options(MOST_EPSILON, sizes, only)[0])
        raise BadParameter(
            f"even at epsilon {MOST_EPSILON:g} these {n:,} people have a standard error of {least:.3g}, so "
            f"{error:.3g} is out of reach: ask for at least {_above(least)}"
            f"{_advice(ask, ', or have more people')}"
        )
    return sorted(solved, key=lambda each: each.study.epsilon)


def _advice(ask: Question, more: str) -> str:
    """To have more people helps, except where the error is in a unit that grows with them."""
    return "" if ask.statistic.counts_people else more


def without_privacy(ask: Question, sizes: Mapping[str, int]) -> float:
    """The standard error of people who hand over their values."""
    return max(
        shape.scale * shape.for_people(sizes) * math.sqrt(shape.sampling(sizes)) for shape in ask.shapes
    )


def equal_parts(statistic: Statistic, total: int) -> dict[str, int]:
    strata = statistic.strata
    return {name: total // len(strata) + (place < total % len(strata)) for place, name in enumerate(strata)}


def _above(error: float) -> str:
    """The error with three digits, rounded up."""
    return f"{error * 1.006:.3g}"


def _solve(
    option: Option,
    at: float,
    bounds: tuple[float, float],
    slope: float,
    error: float,
    same: Callable[[Option, float], float],
    again: Callable[[Option, float], list[Option]],
) -> Option | None:
    """The option whose error is the target, by turns: its parameters kept, then all looked at again.

    Parameters and the worst shape change where the number does, so one prediction is a step and all
    predictions are a turn.
    """
    best: Option | None = None
    for _ in range(TURNS):
        if error * (1 - CLOSE) <= option.error <= error:
            return option
        if option.error <= error:
            best = option
        start, at = at, _root(partial(same, option), option, at, bounds, slope, error)
        if at == start:
            break
        options = again(option, at)
        if not options:
            break
        option = options[0]
    return option if option.error <= error * (1 + CLOSE) else best


def _root(
    predicted: Callable[[float], float],
    option: Option,
    at: float,
    bounds: tuple[float, float],
    slope: float,
    error: float,
) -> float:
    """Where the same parameters reach the target: secants of logarithms, in a bracket."""
    goal = math.log(error * (1 - CLOSE / 2))
    low, high = max(bounds[0], at / FAR), min(bounds[1], at * FAR)
    place, value = at, math.log(option.error) - goal
    for _ in range(STEPS):
        if abs(value) < CLOSE / 3:
            return place
        low, high = (place, high) if value > 0 else (low, place)
        if high <= low * (1 + CLOSE / 4):
            # The error jumps here, as the best mechanism of a kind does with epsilon.
            return high
        wanted = place * math.exp(max(min(-value / slope, 5.0), -5.0))
        # A step out of the bracket goes to its end where that was not tried, else to its middle.
        if not low < wanted < high:
            wanted = high if value > 0 and high in (bounds[1], at * FAR) else math.sqrt(low * high)
        last, before = place, value
        place, value = wanted, math.log(predicted(wanted)) - goal
        if value > 0 and place >= high:
            break
        if place != last and value != before:
            slope = min((value - before) / math.log(place / last), -0.02)
    return place
