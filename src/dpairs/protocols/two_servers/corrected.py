"""The answer of a second round: the pilot's value, corrected by noisy means of the influence functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ...estimate import Laws
from ...statistics import Statistic
from ...statistics.influence import STEPS
from ..base import Answer
from ..projection.analysis import Analysis
from ..projection.divided import Divided
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
