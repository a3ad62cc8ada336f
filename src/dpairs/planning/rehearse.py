"""Studies rehearsed on people drawn from data at hand: the errors that a plan with ``like=data`` states.

Formulas only make the shortlist, because they are wrong where people crowd. Every study on it is simulated,
and the root mean square error of these runs is the option's error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
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
"""Studies of a protocol that are tried for their formula, and for how many runs at least to choose one."""
SCREENING = 5
"""One run in so many is for choosing among them."""
MORE = RUNS // 5
"""Runs that are added at once."""
FRESH = RUNS
"""The number of the first run that chooses nothing."""
TURNS = 4
"""How often the people or the epsilon that an error needs are corrected."""
Advance = Callable[[int], None]


def runs_for(people: int) -> int:
    """How many runs a study of so many people gets; 0 where they would be too few to tell."""
    runs = min(RUNS, WORK // people)
    return runs if runs >= LEAST_RUNS else 0


def rehearsed(
    sample: Sample, option: Option, numbers: range, advance: Advance, feared: float = 0.0
) -> Option:
    """The option with the error of the simulated runs that have these numbers."""
    study, estimator, sizes = option.study, option.estimator, option.sizes
    known = sample.outcomes.setdefault((study.id, estimator, tuple(sizes.values())), {})
    for run in numbers:
        if run not in known:
            known[run] = sample.outcome(study, sizes, run, estimator)
            advance(1)
    share = sum(sizes.values()) / sample.people
    return replace(option, rehearsal=Rehearsal.of([known[run] for run in numbers], share, feared))


def stated(sample: Sample, option: Option, runs: int, advance: Advance) -> Option:
    """The option with the error that a plan states, from runs by which it was not chosen.

    Errors with longer tails than normal ones get more runs, up to twice as many, until the error is as
    accurate as it is to be.
    """
    most = min(2 * runs, WORK // option.people) if runs == RUNS else runs
    feared = option.prediction.total if option.estimator is None else 0.0  # formulas say nothing of others
    made = rehearsed(sample, option, range(FRESH, FRESH + runs), advance, feared)
    while runs < most and made.rehearsal is not None and not made.rehearsal.hopeless:
        if made.rehearsal.accuracy <= ACCURACY:
            break
        runs = min(runs + MORE, most)
        made = rehearsed(sample, option, range(FRESH, FRESH + runs), advance, feared)
    return made


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
        kept = shortlist(candidates) if few >= SCREENED else candidates[:1]
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


def shortlist(candidates: list[Option]) -> list[Option]:
    """The best by formula, and all with estimators that formulas say nothing of."""
    return candidates[:SHORTLIST] + [
        replace(option, estimator=estimator)
        for option in candidates
        for estimator in option.study.protocol.also_rehearsed
    ]


def in_order(options: Iterable[Option], cost: Callable[[Option], float]) -> list[Option]:
    """The cheapest first; studies that often give no answer come last."""
    return sorted(
        options, key=lambda each: (each.rehearsal is not None and not each.rehearsal.reliable, cost(each))
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
    kept: list[Option] = []
    left: dict[str, str] = {}
    for first in solved:
        tried = list(_turns(sample, first, error, again, advance))
        good = [each for each in tried if _excess(each, error) <= 1]
        if not tried:
            kept.append(first)  # too many people to simulate: the formula's word
        elif good:
            kept.append(min(good, key=lambda each: (each.people, each.study.epsilon)))
        else:
            left[first.protocol] = _missed(tried[-1])
    return kept, left


def _turns(
    sample: Sample,
    option: Option,
    error: float,
    again: Callable[[str, float], list[Option]],
    advance: Advance,
) -> Iterator[Option]:
    """Rehearsed options, each corrected by the one before it."""
    for _ in range(TURNS):
        runs = runs_for(option.people)
        if not runs:
            return
        option = stated(sample, option, runs, advance)
        yield option
        if option.error == math.inf or abs(_excess(option, error)) <= 1:
            return
        try:
            option = again(option.protocol, error * option.prediction.total / option.error)[0]
        except (BadParameter, IndexError):
            return


def _excess(option: Option, error: float) -> float:
    """By how many of its standard errors an error lies above the one that was asked for."""
    if option.rehearsal is None or option.rehearsal.hopeless:
        return math.inf
    above = option.error / error - 1
    return above / option.rehearsal.accuracy if option.rehearsal.accuracy else math.copysign(math.inf, above)


def _missed(last: Option) -> str:
    if last.rehearsal is None or last.rehearsal.hopeless:
        return "" if last.rehearsal is None else last.rehearsal.told
    return (
        f"at epsilon {last.study.epsilon:.3g} {last.people:,} people had an error of {last.error:.3g} "
        f"in {last.rehearsal.runs} simulated studies, where its formula says {last.prediction.total:.3g}"
    )
