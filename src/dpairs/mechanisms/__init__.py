"""How a bin becomes a symbol: one file for each mechanism, with its exact distribution."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..errors import BadFile
from ..formats.checks import choice, fields, required
from .base import Mechanism, count_variance, decoder
from .bit import BitResponse
from .krr import KaryResponse
from .projective import ProjectiveResponse
from .scalar import ScalarResponse, scalar_response, spaced_response
from .table import TableResponse
from .thresholds import largest_ratio
from .window import MAX_SYMBOLS, WindowResponse

__all__ = [
    "OPTIMIZED",
    "BitResponse",
    "KaryResponse",
    "Mechanism",
    "ProjectiveResponse",
    "ScalarResponse",
    "TableResponse",
    "WindowResponse",
    "count_variance",
    "decoder",
    "largest_ratio",
    "mechanism",
    "mechanism_from_json",
    "scalar_from_json",
    "scalar_response",
    "spaced_response",
]

OPTIMIZED = "optimized"
"""The name under which a study asks for the best mechanism for its kernel; see `optimize`."""
MECHANISMS: dict[str, type[KaryResponse] | type[ProjectiveResponse]] = {
    KaryResponse.name: KaryResponse,
    ProjectiveResponse.name: ProjectiveResponse,
}
"""Mechanisms for bins, by name."""
SCALARS: dict[str, type[BitResponse] | type[WindowResponse]] = {
    BitResponse.name: BitResponse,
    WindowResponse.name: WindowResponse,
}
"""Mechanisms for a number in [0, 1], by name."""
KNOTS = "knots"
"""The one field that is a list, and that a file may leave out."""


def mechanism(name: str, inputs: int, epsilon: float) -> Mechanism:
    """The named mechanism for ``inputs`` bins.

    >>> mechanism("projective", 64, 1.0).symbols
    121
    """
    return _for_epsilon(choice("mechanism", name, (*MECHANISMS, OPTIMIZED)), inputs, epsilon)


@lru_cache(maxsize=32)
def _for_epsilon(name: str, inputs: int, epsilon: float) -> Mechanism:
    # A plan asks for the same ones again and again, and each remembers its channel and its decoder.
    return MECHANISMS[name].for_epsilon(inputs, epsilon)


def mechanism_from_json(spec: Any) -> Mechanism:
    """Read a mechanism for bins back from its JSON form."""
    if isinstance(spec, Mapping) and spec.get("name") == TableResponse.name:
        return TableResponse.from_json(spec)
    read: Mechanism = _read(spec, MECHANISMS)
    return read


def scalar_from_json(spec: Any) -> ScalarResponse:
    """Read a mechanism for numbers back from its JSON form."""
    read: ScalarResponse = _read(spec, SCALARS)
    return read


def _read(spec: Any, kinds: Mapping[str, type[Any]]) -> Any:
    if not isinstance(spec, Mapping):
        raise BadFile(f"a mechanism must be a JSON object, not {type(spec).__name__}")
    kind = kinds[choice("mechanism", spec.get("name"), kinds)]
    known = [each.name for each in dataclasses.fields(kind)]
    names = [name for name in known if name != KNOTS]
    fields(f"mechanism {kind.name!r}", spec, ("name", *known))
    required(f"mechanism {kind.name!r}", spec, names)
    given: dict[str, Any] = {name: _integer(name, spec[name]) for name in names}
    if KNOTS in spec:
        given[KNOTS] = _integers(KNOTS, spec[KNOTS])
    return kind(**given)


def _integers(name: str, values: Any) -> tuple[int, ...]:
    """A list that is left out where it is empty: one way to write each study."""
    if not isinstance(values, list) or not 1 <= len(values) < MAX_SYMBOLS:
        raise BadFile(f"mechanism field {name!r} must be a list of 1 to {MAX_SYMBOLS - 1} whole numbers")
    return tuple(_integer(name, each) for each in values)


def _integer(name: str, value: Any) -> int:
    """Thresholds are decimal strings, for languages whose numbers end at 2^53; the rest are numbers."""
    wanted = str if name in ("floor", "boost") else int
    text = str(value)
    if type(value) is not wanted or len(text) > 20 or not (text.isascii() and text.isdigit()):
        raise BadFile(f"mechanism field {name!r} must be a whole number below 2^64, not {value!r}")
    return int(text)
