"""Data as users have it: a table of columns, or a stream of such tables.

A table is anything that gives a 1-D array for a column name: a dict, a pandas or polars frame, an
Arrow table. A population that does not fit in memory is an iterable of such tables.

Two attributes tell these apart, `column_names` of Arrow and `columns` of the others, and numpy reads their
columns. That is all we need of a data frame, so the core does not import narwhals for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import BadValue

Table: TypeAlias = "dict[str, NDArray[Any]]"


def is_table(data: Any) -> bool:
    """Whether ``data`` is one table rather than a stream of them."""
    return isinstance(data, Mapping) or hasattr(data, "columns") or hasattr(data, "column_names")


def tables(data: Any, columns: Sequence[str]) -> Iterator[Table]:
    """The tables of ``data`` with just the asked columns, as arrays of one length."""
    if is_table(data):
        yield _table(data, columns)
        return
    if not isinstance(data, Iterable) or isinstance(data, (str, bytes, np.ndarray)):
        raise BadValue(
            f"data must be a mapping of column names to arrays, a frame, or an iterable of those, "
            f"not {type(data).__name__}"
        )
    for part in data:
        if not is_table(part):
            raise BadValue(
                f"each chunk of data must be a mapping of column names to arrays, not {type(part).__name__}"
            )
        yield _table(part, columns)


def whole(data: Any, columns: Sequence[str]) -> Table:
    """All of ``data`` as one table."""
    parts = list(tables(data, columns))
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return {name: np.empty(0) for name in columns}
    return {name: np.concatenate([part[name] for part in parts]) for name in columns}


def _table(data: Any, columns: Sequence[str]) -> Table:
    arrays = {name: _column(data, name) for name in columns}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise BadValue(f"all columns must have the same length, but {listed}")
    return arrays


def _column(data: Any, name: str) -> NDArray[Any]:
    names = (
        data.column_names
        if hasattr(data, "column_names")
        else data.keys()
        if hasattr(data, "keys")
        else data.columns
    )
    if name not in names:
        listed = ", ".join(repr(str(each)) for each in list(names)[:12]) or "none"
        raise BadValue(f"there is no column {name!r}; the columns are {listed}")
    try:
        array = np.asarray(data[name])
    except ValueError:
        raise BadValue(f"column {name!r} must hold one value for each person") from None
    if array.ndim != 1:
        raise BadValue(f"column {name!r} must have one dimension, not {array.ndim}")
    return array


def whole_numbers(values: Any, name: str) -> NDArray[Any]:
    """A column of integers as an array: numpy's, or a column of a data frame or of an Arrow table."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        raise BadValue(f"{name} must be a column of whole numbers") from None
    if array.ndim != 1:
        raise BadValue(f"{name} must have one dimension, not {array.ndim}")
    if array.size and array.dtype.kind not in "iu":
        # Missing values make floating-point numbers, or objects, of a column.
        raise BadValue(f"{name} must be whole numbers without missing ones, not {array.dtype}")
    return array if array.size else array.astype(np.int64)
