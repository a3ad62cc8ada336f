"""The answer of a second round: the pilot's value, corrected by noisy means of the influence functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...estimate import Laws
from ...statistics import Linear, Statistic
from ...statistics.influence import STEPS
from ..base import Answer
from ..projection.analysis import Analysis
from ..projection.divided import Divided
from ..projection.pilot import Pilot
from .law import ErrorLaw

LARGEST = STEPS
"""Influence is a whole number from 0 to LARGEST, before anything is taken off."""


def corrected(
    statistic: Statistic,
    at: Analysis,
    means: Mapping[str, float],
    noise: Mapping[str, float],
    sizes: Mapping[str, int],
    hidden: float,
    draws: int | None,
    divided: Divided | None = None,
    nearer: float = 0.0,
) -> Answer:
    """The value and its errors.

    ``means`` are of the functions as shares of their ranges, ``noise`` the variances of their sums in steps.
    ``hidden`` bounds what the pilot's cells may do. Noise is the sum of ``draws`` Laplace numbers, or normal.
    ``divided`` is what a ratio's divisor does. ``nearer`` is added to the correction, where ``at`` has
    means over other people than the value.
    """
    correction, parts, sampling, known = nearer, [], 0.0, at.remainder.variance
    for name, mean in means.items():
        (low, high), people = at.ranges[name], sizes[name]
        correction += (high - low) * (mean - at.means[name])
        parts.append(((high - low) / (LARGEST * people)) ** 2 * noise[name])
        sampling += (high - low) ** 2 * at.variances[name] / people
    if divided is not None:
        known, sampling = divided.variance(correction), divided.stretch * sampling
        parts = [divided.stretch * part for part in parts]
    value, sample = at.value + at.remainder.mean + correction, known + sum(parts)
    whole = sample + sampling
    answer = at.finished(statistic, value, whole, sample, dict(sizes))
    square = answer.standard_error**2 / whole if whole else 1.0
    tails = tuple(square * each for each in parts)
    law = ErrorLaw(square * known, noise=tails, bias=math.sqrt(square) * hidden)
    law = replace(law, known=law.known + sum(tails), noise=()) if draws is None else replace(law, draws=draws)
    population = replace(law, sampling=square * sampling)
    if divided is not None:
        law, population = law.wider(divided.slack), population.wider(divided.slack)
    return replace(
        answer,
        standard_error=population.deviation,
        sample_standard_error=law.deviation,
        laws=Laws(population, law),
        caveats=(*law.caveats, *(() if divided is None else divided.caveats)),
    )


def with_oneself(statistic: Statistic, linear: Linear, pilot: Pilot, people: Mapping[str, int]) -> float:
    """From h'Ah, in which everybody meets everybody, to pairs of two people: (h'Ah - d) / (n - 1) more.

    d is the kernel of a person and the same person. A ratio of two forms has the same in both.
    """
    if statistic.form_count > 1 or len(people) > 1 or statistic.arity > 2:
        return 0.0
    ((name, count),) = people.items()
    own = statistic.with_oneself
    if statistic.from_table:
        (form,) = statistic.forms(pilot.grid, "average")
        own = float(np.diagonal(form.matrix) @ pilot.masses[name])
    return (linear.value - own) / max(count - 1, 1)
