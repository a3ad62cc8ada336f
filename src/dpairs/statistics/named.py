"""A custom kernel in the second round of a study: only its name, since everything else is in the pilot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..data.domains import Domain
from ..errors import BadFile, BadParameter
from ..formats.checks import fields, real, required, text
from .base import Statistic
from .domains import WIDEST

COLUMNS = {1: ("value",), 2: ("x", "y")}
"""The columns of a kernel of one value, and of a pair of values."""


@dataclass(frozen=True)
class NamedKernel(Statistic):
    """The mean of a kernel that was given elsewhere: it has no `forms`, so no study begins with it."""

    label: str
    dimensions: int
    range_: tuple[float, float]
    name: ClassVar[str] = "named_kernel"
    needs: ClassVar[str] = "any"

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """``value``, or ``x`` and ``y``."""
        return COLUMNS[self.dimensions]

    def options(self) -> dict[str, Any]:
        """What is left of the kernel."""
        return {"label": self.label, "columns": list(self.columns), "range": list(self.range_)}

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        return self.range_

    @classmethod
    def from_json(cls, spec: Mapping[str, Any]) -> NamedKernel:
        names = ("name", "label", "columns", "range")
        fields(f"statistic {cls.name!r}", spec, names)
        required(f"statistic {cls.name!r}", spec, names)
        return cls(text("label", spec["label"]), dimensions(spec["columns"]), kernel_range(spec["range"]))


def dimensions(columns: Any) -> int:
    """How many values a person has, from the names of the columns."""
    given = next((size for size, names in COLUMNS.items() if columns == list(names)), None)
    if given is None:
        raise BadFile(f"statistic 'kernel' cannot have the columns {columns!r}")
    return given


def kernel_range(given: Any) -> tuple[float, float]:
    """Two finite numbers, the lower first."""
    try:
        low, high = given
    except (TypeError, ValueError):
        raise BadParameter(f"range must be two numbers (low, high), not {given!r}") from None
    low, high = real("range low", low), real("range high", high)
    if not low < high:
        raise BadParameter(f"range must have low < high, not {given!r}")
    if max(abs(low), abs(high)) > WIDEST**2:
        raise BadParameter(f"range must lie within {WIDEST**2:g} of 0, not {given!r}")
    return low, high
