"""Into how many cells a study cuts its domains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...data.domains import Domain, Integers, Interval
from ...data.grids import MAX_BINS, ROUNDINGS, Axis, most_points
from ...errors import BadParameter
from ...formats.checks import choice, integer
from ...statistics import Statistic
from .. import theory

KEPT_APART = 64
"""Whole numbers of at most so many values are not binned unless a study says so."""


def axes_of(
    statistic: Statistic, domains: tuple[Domain, ...], bins: tuple[int, ...], rounding: str
) -> tuple[Axis, ...]:
    """The axes of a study: intervals are rounded as it says, and whole numbers if distances count."""
    choice("rounding", rounding, ROUNDINGS)
    rounded = [
        isinstance(each, Interval) or (isinstance(each, Integers) and statistic.needs == "numeric")
        for each in domains
    ]
    if rounding == "random" and not any(rounded):
        raise BadParameter(
            "rounding='random' needs an Interval domain, or Integers whose distances count; other values are "
            "not rounded"
        )
    return tuple(
        Axis(domain, count, rounding if here else "simple")
        for domain, count, here in zip(domains, bins, rounded, strict=True)
    )


def usual_rounding(statistic: Statistic, domains: tuple[Domain, ...]) -> str:
    """At random where distances count and only an interval's edges say what they are."""
    edges = any(isinstance(domain, Interval) and domain.scaled for domain in domains)
    return "random" if edges and statistic.needs == "numeric" else "simple"


def bins_of(
    statistic: Statistic,
    domains: tuple[Domain, ...],
    epsilon: float,
    bins: int | Sequence[int] | None,
    n: int | None,
) -> tuple[int, ...]:
    """One count of bins for each domain: as given, or one for each value, or by the paper's rule."""
    if bins is not None and not isinstance(bins, (tuple, list)):
        given: list[Any] = [bins if _cuttable(domain) else domain.size for domain in domains]  # type: ignore[union-attr]
        if not any(map(_cuttable, domains)):
            given = [bins] * len(domains)
    elif bins is not None:
        given = list(bins)
        if len(given) != len(domains):
            raise BadParameter(f"bins must be one number for each column ({len(domains)}), not {len(given)}")
    else:
        given = [_default_bins(statistic, domains, domain, epsilon, n) for domain in domains]
    return tuple(integer("bins", count, 2, MAX_BINS) for count in given)


def _cuttable(domain: Domain) -> bool:
    return isinstance(domain, (Interval, Integers))


def _default_bins(
    statistic: Statistic, domains: tuple[Domain, ...], domain: Domain, epsilon: float, n: int | None
) -> int:
    kept = _kept(domain)
    if kept is not None:
        return kept
    if n is None:
        raise BadParameter(
            f"say how many bins {domain!r} is cut into (bins=...), or how many people there are (n=...)"
        )
    low, high = statistic.range(domains)
    slope = statistic.lipschitz(domains)
    # The paper's rule is for values and kernels scaled to [0, 1]; without a slope it takes L = 1.
    extent = float(domain.high) - float(domain.low) if isinstance(domain, (Interval, Integers)) else 1.0
    scaled = 1.0 if slope is None else slope * extent / (high - low)
    # Columns whose values are kept apart multiply the cells and narrow none of them.
    kept_apart = [_kept(each) or 1 for each in statistic.cell_domains(domains)]
    cut = sum(_kept(each) is None for each in domains)
    chosen = theory.best_bins(n, epsilon, scaled, columns=cut, apart=math.prod(kept_apart))
    return min(chosen, most_points(domain) if isinstance(domain, Interval) else domain.size)


def _kept(domain: Domain) -> int | None:
    """The values of a domain that a study keeps apart unasked; None where they are too many."""
    if isinstance(domain, Interval) or (isinstance(domain, Integers) and domain.size > KEPT_APART):
        return None
    return domain.size
