"""Reading a second round of `projection` from its file: everything in it is checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...data.domains import Categories, Domain, Interval, Levels
from ...data.grids import Axis, CutAxis, Grid
from ...errors import BadFile
from ...formats.canonical import big_integer, read_integer
from ...formats.checks import fields, integer, real, required, text
from ...statistics import Statistic
from ...statistics.base import LARGEST
from ...statistics.influence import Influence
from ..rounds import BLOCK


@dataclass(frozen=True)
class Earlier:
    """The first round: which study, and who was asked: ``share`` of every 64 people."""

    study_id: str
    share: int


def by_stratum(statistic: Statistic, what: str, given: Any) -> dict[str, Any]:
    """What is given for every stratum, in the strata's order."""
    if not isinstance(given, Mapping) or set(given) != set(statistic.strata):
        raise BadFile(f"a second round needs {what} for {', '.join(statistic.strata)}")
    return {stratum: given[stratum] for stratum in statistic.strata}


def read_earlier(spec: Any) -> Earlier:
    """Read what a second round says of its first."""
    if not isinstance(spec, Mapping):
        raise BadFile("a second round needs what its first round was")
    names = ("study", "share")
    fields("a first round", spec, names)
    required("a first round", spec, names)
    return Earlier(read_first(spec["study"]), integer("share", spec["share"], 1, BLOCK - 1))


def read_first(given: Any) -> str:
    """Read the id of a first round."""
    study = text("first study", given)
    if len(study) != 64 or not set(study) <= set("0123456789abcdef"):
        raise BadFile("a first round is named by the 64 hexadecimal digits of its study's id")
    return study


def write_edges(influences: Mapping[str, Influence]) -> list[Any]:
    """The edges of the cells that all functions are given on; none where values are listed."""
    grid = next(iter(influences.values())).grid
    return [
        [big_integer(edge) if isinstance(edge, int) else edge for edge in axis.edges]
        if isinstance(axis, CutAxis)
        else None
        for axis in grid.axes
    ]


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


def number(name: str, value: Any) -> float:
    """A finite number that a statistic could have."""
    given = real(name, value)
    if abs(given) > LARGEST:
        raise BadFile(f"a {name} of {given:g} is beyond all values of a statistic")
    return given


def not_negative(name: str, value: Any) -> float:
    """The same from 0 on."""
    given = number(name, value)
    if given < 0:
        raise BadFile(f"a {name} cannot be negative, as {given:g} is")
    return given


def share_of_pairs(value: Any) -> float:
    """A number from 0 to 1."""
    given = number("share of pairs", value)
    if not 0 <= given <= 1:
        raise BadFile(f"a share of pairs lies between 0 and 1, not at {given:g}")
    return given


def two_numbers(name: str, given: Any) -> tuple[float, float]:
    if not isinstance(given, list) or len(given) != 2:
        raise BadFile(f"a {name} is two numbers")
    return number(name, given[0]), number(name, given[1])
