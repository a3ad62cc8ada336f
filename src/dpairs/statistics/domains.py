"""Which domains a statistic takes: levels for ranks, numbers for distances, listed values for agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data.columns import blurred
from ..data.domains import Domain, Interval, ends, extent
from ..errors import BadParameter

if TYPE_CHECKING:
    from .base import Statistic

WIDEST = 1e25
"""The largest extent of a domain whose distances are taken."""
POINTS = ", or take protocol='histogram' with rounding='random', for which edges are points"


def check_domains(statistic: Statistic, domains: tuple[Domain, ...], points: bool) -> None:
    """Refuse domains on which the kernel has no meaning.

    Only where values are rounded to ``points`` do an interval's edges say what distances are.
    """
    if len(domains) != len(statistic.domain_columns):
        listed = ", ".join(statistic.domain_columns)
        raise BadParameter(
            f"{statistic.name} needs one domain for each of {listed}, and was given {len(domains)}"
        )
    for column, domain in zip(statistic.domain_columns, domains, strict=True):
        if statistic.needs == "numeric" and not domain.numeric:
            raise BadParameter(
                f"{statistic.name} needs numbers, so {column} cannot have the domain {domain!r}"
            )
        if statistic.needs == "numeric" and extent(domain) > WIDEST:
            raise BadParameter(
                f"{statistic.name} squares distances of {column}, and {domain!r} is too wide for that: its "
                f"ends may lie {WIDEST:g} apart at most"
            )
        if statistic.needs == "numeric" and not isinstance(domain, Interval) and blurred(*ends(domain)):
            raise BadParameter(
                f"{statistic.name} takes distances of {column}, and doubles do not keep those of {domain!r}: "
                "subtract its lowest value from all"
            )
        if statistic.needs == "ordered" and not domain.ordered:
            raise BadParameter(
                f"{statistic.name} compares values, so {column} needs an ordered domain, such as Levels with "
                f"the lowest first, not {domain!r}"
            )
        if isinstance(domain, Interval) and domain.scaled and statistic.needs != "ordered":
            distances = statistic.needs == "numeric"
            if not (distances and points):
                raise BadParameter(
                    f"{statistic.name} needs the values of {column}, of which edges keep only the order: "
                    f"give an Interval without a scale{POINTS if distances else ''}"
                )
        if statistic.needs == "discrete" and domain.kind == "interval":
            raise BadParameter(
                f"{statistic.name} counts equal values, so {column} needs Categories, Levels or Integers, "
                f"not {domain!r}"
            )
