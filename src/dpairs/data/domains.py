"""Where a value may lie, and how it becomes a bin.

A `Domain` says which values exist; an `Axis` (see `axes`) cuts it into bins. Four kinds:

>>> Interval(0, 1), Integers(0, 99), Levels(["low", "high"]), Categories(["a", "b"])
(Interval(low=0.0, high=1.0), Integers(low=0, high=99), Levels(['low', 'high']), Categories(['a', 'b']))
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter, BadValue
from ..formats.canonical import big_integer, number_text, read_integer
from ..formats.checks import choice, fields, integer, real, text

Value: TypeAlias = "str | int | float"
MAX_LEVELS = 4096


@dataclass(frozen=True)
class Interval:
    """Every real number from ``low`` to ``high``, both included."""

    low: float
    high: float
    kind: ClassVar[str] = "interval"
    ordered: ClassVar[bool] = True
    numeric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        low, high = real("Interval low", self.low), real("Interval high", self.high)
        if not low < high:
            raise BadParameter(f"Interval needs low < high, not low={self.low!r}, high={self.high!r}")
        if max(abs(low), abs(high)) > 1e300 or high - low < 1e-300:
            raise BadParameter("Interval needs ends within 1e300 of zero and at least 1e-300 apart")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def check(self, values: Any, column: str) -> NDArray[np.float64]:
        """The values as floats, all inside the interval."""
        numbers = _floats(values, column)
        # A NaN makes min() a NaN, and every comparison with it false.
        if numbers.size and not (numbers.min() >= self.low and numbers.max() <= self.high):
            inside = (numbers >= self.low) & (numbers <= self.high)
            _refuse(
                numbers, inside, column, f"a number in [{number_text(self.low)}, {number_text(self.high)}]"
            )
        return numbers

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": self.low, "high": self.high}


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
        numbers = _numbers(values, column)
        wanted = f"a whole number from {self.low} to {self.high}"
        if numbers.dtype.kind == "f":
            whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
            if not whole.all():
                _refuse(numbers, whole, column, wanted)
        if numbers.size and not (int(numbers.min()) >= self.low and int(numbers.max()) <= self.high):
            inside = np.array([self.low <= int(value) <= self.high for value in numbers])
            _refuse(numbers, inside, column, wanted)
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
        return f"{type(self).__name__}({list(self.values)!r})"

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
        numbers = _floats(values, column)
        table = np.array(self.values, dtype=np.float64)
        order = np.argsort(table)
        found = np.minimum(np.searchsorted(table, numbers, sorter=order), self.size - 1)
        codes = order[found]
        known = table[codes] == numbers
        if not known.all():
            _refuse(numbers, known, column, f"one of {self._listed()}")
        return codes.astype(np.int64, copy=False)

    def _codes_strings(self, values: Any, column: str) -> NDArray[np.int64]:
        strings = _column(values, column)
        position = {value: place for place, value in enumerate(self.values)}
        codes = np.array(
            [position.get(value, -1) if isinstance(value, str) else -1 for value in strings.tolist()],
            dtype=np.int64,
        )
        known = codes >= 0
        if not known.all():
            _refuse(strings, known, column, f"one of {self._listed()}")
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


def domain_from_json(spec: Any) -> Domain:
    """Read a domain back from its JSON form."""
    if not isinstance(spec, Mapping):
        raise BadParameter(f"a domain must be a JSON object, not {type(spec).__name__}")
    kind = choice("domain kind", spec.get("kind"), _KINDS)
    names = ("values",) if kind in ("levels", "categories") else ("low", "high")
    fields(f"domain {kind!r}", spec, ("kind", *names))
    missing = [name for name in names if name not in spec]
    if missing:
        raise BadParameter(f"domain {kind!r} lacks {missing[0]!r}")
    arguments = [read_integer(spec[name]) if kind == "integers" else spec[name] for name in names]
    if kind in ("levels", "categories") and not isinstance(arguments[0], list):
        raise BadParameter(f"domain {kind!r} needs a list of values")
    domain: Domain = _KINDS[kind](*arguments)
    return domain


def finite(values: NDArray[Any], column: str) -> NDArray[Any]:
    """The values as numbers, none of them NaN or infinite."""
    numbers = _numbers(values, column)
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        _refuse(numbers, np.isfinite(numbers), column, "finite numbers")
    return numbers


def comparable(values: NDArray[Any], column: str) -> NDArray[Any]:
    """The values as strings if all of them are, else as finite numbers: things that can be equal."""
    strings = values.dtype.kind == "U" or (
        values.dtype.kind == "O" and all(isinstance(value, str) for value in values.tolist())
    )
    return values if strings else finite(values, column)


def as_domains(domain: Any) -> tuple[Domain, ...]:
    """One domain or several, as a tuple; two numbers are the ends of an interval, strings are categories.

    >>> as_domains((0, 1))
    (Interval(low=0.0, high=1.0),)
    >>> as_domains(((0, 1), Levels([1, 2])))
    (Interval(low=0.0, high=1.0), Levels([1, 2]))
    """
    several = isinstance(domain, (tuple, list)) and not (_are_ends(domain) or _are_words(domain))
    return tuple(map(_domain, domain if several else (domain,)))


def _domain(given: Any) -> Domain:
    if isinstance(given, (Interval, Integers, Levels, Categories)):
        return given
    if _are_ends(given):
        return Interval(*given)
    if _are_words(given):
        return Categories(given)
    raise BadParameter(
        "domain must be two numbers (low, high), or an Interval, Integers, Levels or Categories, or a tuple "
        f"of two of these for two columns, not {given!r}"
    )


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


def _column(values: Any, column: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 0:
        array = array.reshape(1)
    if array.ndim != 1:
        raise BadValue(f"column {column!r} must have one dimension, not {array.ndim}")
    return array


def _numbers(values: Any, column: str) -> NDArray[Any]:
    array = _column(values, column)
    if array.dtype.kind == "O":
        array = _from_objects(array, column)
    if array.dtype.kind not in "fiu":
        what = (
            "strings (levels that are strings need a domain)" if array.dtype.kind == "U" else str(array.dtype)
        )
        raise BadValue(f"column {column!r} must hold numbers, not {what}")
    return array


def _from_objects(array: NDArray[Any], column: str) -> NDArray[Any]:
    """Frames with missing values arrive as objects; None becomes NaN and is then refused by name."""
    plain = (item.item() if isinstance(item, np.generic) else item for item in array.tolist())
    items = [math.nan if item is None else item for item in plain]
    for item in items:
        if isinstance(item, (bool, str)) or not isinstance(item, (int, float)):
            raise BadValue(f"column {column!r} must hold numbers, not {item!r}")
    whole = all(isinstance(item, int) for item in items)
    try:
        return np.array(
            items, dtype=np.int64 if whole and min(items, default=0) < 0 else np.uint64 if whole else float
        )
    except OverflowError:
        raise BadValue(f"column {column!r} must hold numbers of at most 64 bits") from None


def _floats(values: Any, column: str) -> NDArray[np.float64]:
    return _numbers(values, column).astype(np.float64, copy=False)


def _refuse(values: NDArray[Any], good: NDArray[np.bool_], column: str, wanted: str) -> None:
    bad = np.flatnonzero(~good)
    first = values[bad[0]]
    shown = first.item() if hasattr(first, "item") else first
    if values.size == 1:
        raise BadValue(f"{column} must be {wanted}, not {shown!r}")
    raise BadValue(
        f"column {column!r} must hold {wanted}; {bad.size} of {values.size} values are not, "
        f"the first at row {bad[0]}: {shown!r}"
    )
