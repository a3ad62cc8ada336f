"""Where a value may lie, and how it becomes a bin.

A `Domain` says which values exist; an `Axis` (see `axes`) cuts it into bins. Four kinds:

>>> Interval(0, 1), Integers(0, 99), Levels(["low", "high"]), Categories(["a", "b"])
(Interval(low=0.0, high=1.0), Integers(low=0, high=99), Levels(['low', 'high']), Categories(['a', 'b']))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from ..formats.canonical import big_integer, number_text, read_integer
from ..formats.checks import choice, fields, integer, real, text
from .columns import array_of, column_of, floats, refuse
from .scales import scale_edges

Value: TypeAlias = "str | int | float"
MAX_LEVELS, MAX_EDGES = 4096, 1024


@dataclass(frozen=True, repr=False)
class Interval:
    """Every real number from ``low`` to ``high``, both included.

    ``scale="log"`` or ``"asinh"`` looks as closely at every octave of the values as at any other, for money
    and whatever else is skewed; ``edges`` may be given instead (see `scales`). Statistics of ranks take it in
    every protocol, distances in a histogram.
    """

    low: float
    high: float
    scale: InitVar[str | None] = None
    edges: tuple[float, ...] = ()
    kind: ClassVar[str] = "interval"
    ordered: ClassVar[bool] = True
    numeric: ClassVar[bool] = True

    def __post_init__(self, scale: str | None) -> None:
        low, high = real("Interval low", self.low), real("Interval high", self.high)
        if not low < high:
            raise BadParameter(f"Interval needs low < high, not low={self.low!r}, high={self.high!r}")
        if max(abs(low), abs(high)) > 1e300 or high - low < 1e-300:
            raise BadParameter("Interval needs ends within 1e300 of zero and at least 1e-300 apart")
        edges = self.edges
        if scale is not None:
            if edges:
                raise BadParameter("Interval takes a scale or edges, not both")
            edges = scale_edges(low, high, scale)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "edges", _between(low, high, edges))

    def __repr__(self) -> str:
        inner = f", edges=({self.edges[0]!r}, ..., {self.edges[-1]!r})" if self.edges else ""
        return f"Interval(low={self.low!r}, high={self.high!r}{inner})"

    @property
    def scaled(self) -> bool:
        """Whether edges say how closely to look where."""
        return bool(self.edges)

    def values_at(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values at these places of what `check` returns: of an interval, themselves."""
        return places

    def check(self, values: Any, column: str) -> NDArray[np.float64]:
        """The values as floats, all inside the interval."""
        numbers = floats(values, column)
        # A NaN makes min() a NaN, and every comparison with it false.
        if numbers.size and not (numbers.min() >= self.low and numbers.max() <= self.high):
            inside = (numbers >= self.low) & (numbers <= self.high)
            refuse(
                numbers, inside, column, f"a number in [{number_text(self.low)}, {number_text(self.high)}]"
            )
        return numbers

    def to_json(self) -> dict[str, Any]:
        spec = {"kind": self.kind, "low": self.low, "high": self.high}
        return {**spec, "edges": list(self.edges)} if self.edges else spec


@dataclass(frozen=True)
class Integers:
    """Every whole number from ``low`` to ``high``, both included; never enumerated."""

    low: int
    high: int
    kind: ClassVar[str] = "integers"
    ordered: ClassVar[bool] = True
    numeric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse fewer than two integers, and more than 64 bits hold."""
        low = integer("Integers low", self.low, -(2**63), 2**64 - 1)
        high = integer("Integers high", self.high, -(2**63), 2**64 - 1)
        if not low < high or high - low >= 2**64:
            raise BadParameter(f"Integers needs low < high, less than 2^64 apart, not low={low}, high={high}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def size(self) -> int:
        """How many integers there are."""
        return self.high - self.low + 1

    def _checked(self, values: Any, column: str) -> NDArray[Any]:
        numbers = array_of(values, column)
        wanted = f"a whole number from {self.low} to {self.high}"
        if numbers.dtype.kind == "f":
            whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
            if not whole.all():
                refuse(numbers, whole, column, wanted)
        if numbers.size and not (int(numbers.min()) >= self.low and int(numbers.max()) <= self.high):
            inside = np.array([self.low <= int(value) <= self.high for value in numbers])
            refuse(numbers, inside, column, wanted)
        return numbers

    def offsets(self, values: Any, column: str) -> NDArray[np.uint64]:
        """How far each value lies above ``low``: 0 .. size-1."""
        numbers = self._checked(values, column)
        if numbers.dtype.kind == "f" and (self.high < 2**63 or self.low >= 0):
            numbers = numbers.astype(np.int64 if self.high < 2**63 else np.uint64)
        elif numbers.dtype.kind == "f":
            # Neither integer type holds both ends, and a float outside its type casts to anything.
            return np.array([int(value) - self.low for value in numbers], dtype=np.uint64)
        # Subtraction modulo 2^64 is right whatever the sign of low.
        return numbers.astype(np.uint64) - np.uint64(self.low % 2**64)

    def check(self, values: Any, column: str) -> NDArray[np.float64]:
        """The values as floats, all in the domain."""
        return self._checked(values, column).astype(np.float64)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": big_integer(self.low), "high": big_integer(self.high)}


class _Listed:
    """A domain given by its list of values, all numbers or all strings."""

    kind: ClassVar[str]
    ordered: ClassVar[bool]

    def __init__(self, values: Iterable[Value]) -> None:
        name = type(self).__name__
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise BadParameter(f"{name} needs a list of values, not {values!r}")
        items = tuple(_item(name, value) for value in values)
        integer(f"the number of values of {name}", len(items), 2, MAX_LEVELS)
        if len({isinstance(item, str) for item in items}) > 1:
            raise BadParameter(f"{name} takes numbers or strings, not both")
        if len(set(items)) < len(items):
            raise BadParameter(f"{name} has the value {_first_repeated(items)!r} twice")
        if self.ordered and not isinstance(items[0], str) and list(items) != sorted(items):
            raise BadParameter(f"{name} that are numbers must be given in ascending order")
        self.values: tuple[Value, ...] = items
        self.numeric: bool = not isinstance(items[0], str)
        # Consecutive integers need no table: the usual ratings, and the fast path of large simulations.
        self._consecutive = (
            self.numeric
            and all(isinstance(item, int) for item in items)
            and list(items) == list(range(int(items[0]), int(items[0]) + len(items)))
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{self._listed()}])"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.values == self.values

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.values))

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.values)

    def codes(self, values: Any, column: str) -> NDArray[np.int64]:
        """The position of each value in the list."""
        if self._consecutive:
            first = int(self.values[0])
            offsets = Integers(first, first + self.size - 1).offsets(values, column)
            return offsets.view(np.int64)
        return self._codes_numbers(values, column) if self.numeric else self._codes_strings(values, column)

    def _codes_numbers(self, values: Any, column: str) -> NDArray[np.int64]:
        numbers = floats(values, column)
        table = np.array(self.values, dtype=np.float64)
        order = np.argsort(table)
        places = np.minimum(np.searchsorted(table, numbers, sorter=order), self.size - 1)
        codes = order[places]
        known = table[codes] == numbers
        if not known.all():
            refuse(numbers, known, column, f"one of {self._listed()}")
        return codes.astype(np.int64, copy=False)

    def _codes_strings(self, values: Any, column: str) -> NDArray[np.int64]:
        strings = column_of(values, column)
        position = {value: place for place, value in enumerate(self.values)}
        codes = np.array(
            [position.get(value, -1) if isinstance(value, str) else -1 for value in strings.tolist()],
            dtype=np.int64,
        )
        known = codes >= 0
        if not known.all():
            refuse(strings, known, column, f"one of {self._listed()}")
        return codes

    def check(self, values: Any, column: str) -> NDArray[np.float64]:
        """The values as floats: themselves when they are numbers, else their positions."""
        codes = self.codes(values, column)
        return np.array(self.values, dtype=np.float64)[codes] if self.numeric else codes.astype(np.float64)

    def _listed(self) -> str:
        shown = ", ".join(map(repr, self.values[:8]))
        return shown if self.size <= 8 else f"{shown}, ... ({self.size} values)"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "values": list(self.values)}


class Levels(_Listed):
    """Ordered values, lowest first: ratings, grades. Numbers must ascend; strings keep their order."""

    kind = "levels"
    ordered = True


class Categories(_Listed):
    """Values without an order: colours, countries."""

    kind = "categories"
    ordered = False


Domain: TypeAlias = "Interval | Integers | Levels | Categories"
Ends: TypeAlias = "tuple[float, float] | list[float]"
DomainLike: TypeAlias = "Domain | Ends | Sequence[str] | Sequence[Domain | Ends | Sequence[str]]"
"""What is taken for a domain: one, or two numbers for the ends of an interval, or words for categories; or
several of these, one for each column."""
_KINDS: dict[str, Any] = {item.kind: item for item in (Interval, Integers, Levels, Categories)}


def scaled(domains: tuple[Domain, ...], scale: str | None) -> tuple[Domain, ...]:
    """Domains whose plain intervals have this scale."""
    return tuple(
        Interval(each.low, each.high, scale=scale) if isinstance(each, Interval) and not each.edges else each
        for each in domains
    )


def ends(domain: Domain) -> tuple[float, float]:
    """The least and the greatest value of a numeric domain."""
    if isinstance(domain, (Levels, Categories)):
        numbers = [float(value) for value in domain.values]
        return min(numbers), max(numbers)
    return float(domain.low), float(domain.high)


def extent(domain: Domain) -> float:
    """The distance between a numeric domain's ends."""
    low, high = ends(domain)
    return high - low


def domain_from_json(spec: Any) -> Domain:
    """Read a domain back from its JSON form."""
    if not isinstance(spec, Mapping):
        raise BadParameter(f"a domain must be a JSON object, not {type(spec).__name__}")
    kind = choice("domain kind", spec.get("kind"), _KINDS)
    names = ("values",) if kind in ("levels", "categories") else ("low", "high")
    fields(f"domain {kind!r}", spec, ("kind", *names, *(("edges",) if kind == "interval" else ())))
    missing = [name for name in names if name not in spec]
    if missing:
        raise BadParameter(f"domain {kind!r} lacks {missing[0]!r}")
    arguments = [read_integer(spec[name]) if kind == "integers" else spec[name] for name in names]
    if kind in ("levels", "categories") and not isinstance(arguments[0], list):
        raise BadParameter(f"domain {kind!r} needs a list of values")
    if "edges" in spec:
        if not isinstance(spec["edges"], list) or not spec["edges"]:
            raise BadParameter("the edges of an interval are a list of numbers")
        return Interval(arguments[0], arguments[1], edges=tuple(spec["edges"]))
    domain: Domain = _KINDS[kind](*arguments)
    return domain


def as_domains(domain: Any) -> tuple[Domain, ...]:
    """One domain or several, as a tuple; two numbers are the ends of an interval, strings are categories.

    >>> as_domains((0, 1))
    (Interval(low=0.0, high=1.0),)
    >>> as_domains(((0, 1), Levels([1, 2])))
    (Interval(low=0.0, high=1.0), Levels([1, 2]))
    """
    given = domain.tolist() if isinstance(domain, np.ndarray) else domain
    several = isinstance(given, (tuple, list)) and not (_are_ends(given) or _are_words(given))
    domains = tuple(map(_domain, given if several else (given,)))
    known = tuple(each for each in domains if each is not None)
    if len(known) < len(domains):
        raise BadParameter(
            "domain must be two numbers (low, high), or an Interval, Integers, Levels or Categories, or a "
            f"tuple of two of these for two columns, not {' '.join(repr(domain).split())}"
        )
    return known


def _domain(given: Any) -> Domain | None:
    if isinstance(given, (Interval, Integers, Levels, Categories)):
        return given
    if _are_ends(given):
        return Interval(*given)
    return Categories(given) if _are_words(given) else None


def _are_ends(given: Any) -> bool:
    return (
        isinstance(given, (tuple, list))
        and len(given) == 2
        and all(isinstance(end, (int, float, np.number)) and not isinstance(end, bool) for end in given)
    )


def _are_words(given: Any) -> bool:
    return (
        isinstance(given, (tuple, list)) and len(given) > 1 and all(isinstance(item, str) for item in given)
    )


def _between(low: float, high: float, edges: Any) -> tuple[float, ...]:
    """Numbers that ascend from one end to the other, without the ends."""
    edges = edges.tolist() if isinstance(edges, np.ndarray) else edges
    if not isinstance(edges, (tuple, list)) or len(edges) > MAX_EDGES:
        raise BadParameter(f"Interval takes a tuple of at most {MAX_EDGES} edges")
    inner = tuple(real("each edge of an Interval", edge) for edge in edges)
    if any(not before < after for before, after in pairwise((low, *inner, high))):
        raise BadParameter(
            f"the edges of an Interval must ascend from low={low!r} to high={high!r}, without these"
        )
    return inner


def _item(name: str, value: Any) -> Value:
    if isinstance(value, str):
        return text(f"each value of {name}", value)
    number = real(f"each value of {name}", value)
    return int(number) if number == int(number) and abs(number) <= 2**53 else number


def _first_repeated(items: tuple[Value, ...]) -> Value:
    seen: set[Value] = set()
    for item in items:
        if item in seen:
            break
        seen.add(item)
    return item
