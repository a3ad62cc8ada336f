"""A column of one or many people's values as an array; what is refused is named by column and row."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadValue


def finite(values: NDArray[Any], column: str) -> NDArray[Any]:
    """The values as numbers, none of them NaN or infinite."""
    array = array_of(values, column)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        refuse(array, np.isfinite(array), column, "finite numbers")
    return array


def blurred(low: float, high: float) -> bool:
    """Whether whole numbers between these lie too far from 0 for doubles to keep their distances."""
    farthest = max(abs(low), abs(high))
    return farthest > 2**53 and farthest > 2**32 * (high - low)


def distant(values: NDArray[Any], column: str) -> NDArray[Any]:
    """Finite numbers whose distances doubles keep."""
    array = finite(values, column)
    if array.dtype.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        if low < high and blurred(low, high):
            raise BadValue(
                f"column {column!r} holds whole numbers from {low} to {high}, and doubles do not keep their "
                "distances: subtract the lowest from all"
            )
    return array


def comparable(values: NDArray[Any], column: str) -> NDArray[Any]:
    """The values as strings if all of them are, else as finite numbers: things that can be equal."""
    strings = values.dtype.kind == "U" or (
        values.dtype.kind == "O" and all(isinstance(value, str) for value in values.tolist())
    )
    return values if strings else finite(values, column)


def column_of(values: Any, column: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 0:
        array = array.reshape(1)
    if array.ndim != 1:
        raise BadValue(f"column {column!r} must have one dimension, not {array.ndim}")
    return array


def array_of(values: Any, column: str) -> NDArray[Any]:
    array = column_of(values, column)
    if array.dtype.kind == "O":
        array = _from_objects(array, column)
    if array.dtype.kind not in "fiu":
        words = array.dtype.kind == "U" and array.size
        what = f"words such as {array[0].item()!r}" if words else str(array.dtype)
        raise BadValue(f"column {column!r} must hold numbers, not {what}")
    return array


def _from_objects(array: NDArray[Any], column: str) -> NDArray[Any]:
    """Frames with missing values arrive as objects; None becomes NaN and is then refused by name."""
    plain = (item.item() if isinstance(item, np.generic) else item for item in array.tolist())
    items = [math.nan if item is None else item for item in plain]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, (Rational, float, Decimal)):
            raise BadValue(f"column {column!r} must hold numbers, not {item!r}")
    whole = all(isinstance(item, int) for item in items)
    try:
        return np.array(
            items, dtype=np.int64 if whole and min(items, default=0) < 0 else np.uint64 if whole else float
        )
    except OverflowError:
        raise BadValue(f"column {column!r} must hold numbers of at most 64 bits") from None


def floats(values: Any, column: str) -> NDArray[np.float64]:
    return array_of(values, column).astype(np.float64, copy=False)


def refuse(values: NDArray[Any], good: NDArray[np.bool_], column: str, wanted: str) -> None:
    bad = np.flatnonzero(~good)
    first = values[bad[0]]
    shown = first.item() if hasattr(first, "item") else first
    if values.size == 1:
        raise BadValue(f"{column} must be {wanted}, not {shown!r}")
    raise BadValue(
        f"column {column!r} must hold {wanted}; {bad.size} of {values.size} values are not, "
        f"the first at row {bad[0]}: {shown!r}"
    )
