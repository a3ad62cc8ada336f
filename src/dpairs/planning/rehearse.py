"""Studies rehearsed on people drawn from data at hand: the errors that a plan with ``like=data`` states.

Formulas only make the shortlist, because they are wrong where people crowd. Every study on it is simulated,
and the root mean square error of these runs is the option's error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..errors import BadParameter
from .options import Option, Question, chosen
from .outcomes import Rehearsal
from .sample import Sample

ACCURACY = 0.1
"""The relative standard error that a simulated error is to have: 1 / sqrt(2 runs) for normal errors."""
RUNS = round(1 / (2 * ACCURACY**2))
WORK = 10**7
"""People simulated for one option at most, so that large studies get fewer runs."""
LEAST_RUNS = 8
"""Fewer say nothing (an error to within 25%): then a plan has only its formulas."""
SHORTLIST, SCREENED = 3, 5
"""Studies of a protocol that are tried, and for how many runs at least before one of them is chosen."""
SCREENING = 5
"""One run in so many is for choosing among them."""
FRESH = RUNS
"""The number of the first run that chooses nothing."""
TURNS = 4
"""How often the people or the epsilon that an error needs are corrected."""
Advance = Callable[[int], None]


def runs_for(people: int) -> int:
    """How many runs a study of so many people gets; 0 where they would be too few to tell."""
    runs = min(RUNS, WORK // people)
    return runs if runs >= LEAST_RUNS else 0


def rehearsed(sample: Sample, option: Option, numbers: range, advance: Advance) -> Option:
    """The option with the error of the simulated runs that have these numbers."""
    known = sample.outcomes.setdefault((option.study.id, tuple(option.sizes.values())), {})
    for run in numbers:
        if run not in known:
            known[run] = sample.outcome(option.study, option.sizes, run)
            advance(1)
    share = sum(option.sizes.values()) / sample.people
    return replace(option, rehearsal=Rehearsal.of([known[run] for run in numbers], share))


def stated(sample: Sample, option: Option, runs: int, advance: Advance) -> Option:
    """The option with the error that a plan states, from runs by which it was not chosen.

    Where the errors' kurtosis is more than two of its standard errors, sqrt(24 / runs), beyond that of
    normal ones, a few runs decide, and there are twice as many.
    """
    first = rehearsed(sample, option, range(FRESH, FRESH + runs), advance)
    accuracy = 0.0 if first.rehearsal is None else first.rehearsal.accuracy
    if runs < RUNS or accuracy <= math.sqrt((2 + 2 * math.sqrt(24 / runs)) / (4 * runs)):
        return first
    return rehearsed(sample, option, range(FRESH, FRESH + min(2 * runs, WORK // option.people)), advance)


def options(
    ask: Question,
    sample: Sample,
    epsilon: float,
    sizes: Mapping[str, int],
    only: str | None,
    advance: Advance,
) -> tuple[list[Option], dict[str, str]]:
    """The best of each protocol, the smallest simulated error first; and why the others do not fit."""
    runs = runs_for(sum(sizes.values()))
    if not runs:
        return ask.options(epsilon, sizes, only)
    ranked, left = ask.ranked(epsilon, sizes, only)
    best = []
    for name, candidates in ranked.items():
        few = runs // SCREENING
        kept = candidates[: SHORTLIST if few >= SCREENED else 1]
        if len(kept) > 1:
            tried = [rehearsed(sample, each, range(few), advance) for each in kept]
            told = [each for each in tried if each.rehearsal is not None and not each.rehearsal.hopeless]
            kept = [chosen(told or tried)]
        option = stated(sample, kept[0], runs, advance)
        if option.rehearsal is not None and option.rehearsal.hopeless:
            left[name] = option.rehearsal.told
        else:
            best.append(option)
    return in_order(best, lambda each: each.error), left


def in_order(found: Iterable[Option], cost: Callable[[Option], float]) -> list[Option]:
    """The cheapest first; studies that often give no answer come last."""
    return sorted(
        found, key=lambda each: (each.rehearsal is not None and not each.rehearsal.reliable, cost(each))
    )


def confirmed(
    sample: Sample,
    solved: Iterable[Option],
    error: float,
    again: Callable[[str, float], list[Option]],
    advance: Advance,
) -> tuple[list[Option], dict[str, str]]:
    """Solutions of formulas, corrected until their simulated error is the one that was asked for.

    ``again`` solves a protocol's formula for another error. Where a study's simulated error is r times its
    formula's, the formula is asked for 1/r of the error. A solution's simulated error exceeds the wanted
    one by no more than its own standard error; a protocol that does not get there is left out.
    """
    found: list[Option] = []
    left: dict[str, str] = {}
    for first in solved:
        option, good = first, None
        for _ in range(TURNS):
            runs = runs_for(option.people)
            if not runs:
                break
            option = stated(sample, option, runs, advance)
            rehearsal = option.rehearsal
            if rehearsal is None or rehearsal.hopeless:
                break
            if rehearsal.error <= error * (1 + rehearsal.accuracy):
                good = option
                if rehearsal.error * (1 + rehearsal.accuracy) >= error:
                    break
            try:
                next_ones = again(option.protocol, error * option.prediction.total / rehearsal.error)
            except BadParameter:
                break
            if not next_ones:
                break
            option = next_ones[0]
        if good is None and option is first and option.rehearsal is None:
            good = option  # too many people to simulate: the formula's word
        if good is not None:
            found.append(good)
        else:
            left[first.protocol] = _missed(first, option, error)
    return found, left


def _missed(first: Option, last: Option, error: float) -> str:
    rehearsal = last.rehearsal
    if rehearsal is None:
        return (
            f"an error of {error:.3g} needs more people than can be simulated, and its formula is wrong here"
        )
    if rehearsal.hopeless:
        return rehearsal.told
    return (
        f"at epsilon {last.study.epsilon:.3g} {last.people:,} people had an error of {rehearsal.error:.3g} "
        f"in {rehearsal.runs} simulated studies, where its formula says {last.prediction.total:.3g}"
    )
