"""Reading a second round of `projection` from its file: everything in it is checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...data.domains import Categories, Domain, Interval, Levels
from ...data.grids import Axis, CutAxis, Grid
from ...errors import BadFile
from ...formats.canonical import read_integer
from ...formats.checks import fields, integer, real, required, text
from ...statistics import Statistic
from ..counts import MAX_COUNT
from ..rounds import BLOCK

LARGEST = 1e100


@dataclass(frozen=True)
class Earlier:
    """The first round: which study, who was asked, how many answered, and its own estimate, if any."""

    study_id: str
    share: int
    people: dict[str, int]
    alone: tuple[float, float] | None
    """Value and variance, in the unit of the second round."""


def read_number(name: str, value: Any) -> float:
    """A finite number that a statistic could have."""
    number = real(name, value)
    if abs(number) > LARGEST:
        raise BadFile(f"a {name} of {number:g} is beyond all values of a statistic")
    return number


def read_variance(name: str, value: Any) -> float:
    """Such a number, not below 0."""
    number = read_number(name, value)
    if number < 0:
        raise BadFile(f"a {name} cannot be negative, as {number:g} is")
    return number


def by_stratum(statistic: Statistic, what: str, given: Any) -> dict[str, Any]:
    """What is given for every stratum, in the strata's order."""
    if not isinstance(given, Mapping) or set(given) != set(statistic.strata):
        raise BadFile(f"a second round needs {what} for {', '.join(statistic.strata)}")
    return {stratum: given[stratum] for stratum in statistic.strata}


def read_earlier(statistic: Statistic, spec: Any) -> Earlier:
    """Read what a second round says of its first."""
    if not isinstance(spec, Mapping):
        raise BadFile("a second round needs what its first round was")
    names = ("study", "share", "people", "alone")
    fields("a first round", spec, names)
    required("a first round", spec, names)
    study = text("first study", spec["study"])
    if len(study) != 64 or not set(study) <= set("0123456789abcdef"):
        raise BadFile("a first round is named by the 64 hexadecimal digits of its study's id")
    people = {
        name: integer("people of the first round", each, 1, MAX_COUNT)
        for name, each in by_stratum(statistic, "people", spec["people"]).items()
    }
    alone = spec["alone"]
    if alone is not None:
        if not isinstance(alone, list) or len(alone) != 2:
            raise BadFile("a first round's own estimate is a value and a variance")
        alone = read_number("estimate", alone[0]), read_variance("estimate's variance", alone[1])
    return Earlier(study, integer("share", spec["share"], 1, BLOCK - 1), people, alone)


def read_grid(statistic: Statistic, domains: tuple[Domain, ...], spec: Any) -> Grid:
    """Read the cells that functions are given on."""
    columns = statistic.cell_domains(domains)
    if not isinstance(spec, list) or len(spec) != len(columns):
        raise BadFile(f"a second round needs edges for {len(columns)} column(s)")
    axes: list[Axis] = []
    for domain, edges in zip(columns, spec, strict=True):
        if isinstance(domain, (Levels, Categories)):
            if edges is not None:
                raise BadFile(f"{domain!r} has no edges")
            axes.append(Axis(domain, domain.size))
            continue
        if not isinstance(edges, list) or len(edges) > 4097:
            raise BadFile(f"a second round needs a list of edges on {domain!r}")
        kind = float if isinstance(domain, Interval) else int
        # A whole number is written alike whether it is a float or an int.
        numbers = [real("edge", edge) if kind is float and type(edge) is int else edge for edge in edges]
        numbers = list(map(read_integer, numbers))
        if not all(type(edge) is kind for edge in numbers):
            raise BadFile(f"edges on {domain!r} must be numbers")
        axes.append(CutAxis.at(domain, numbers))
    return Grid(tuple(axes))
