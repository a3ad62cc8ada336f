"""Data as users have it: a table of columns, or a stream of such tables.

A table is a mapping of column names to sequences, or any data frame that narwhals knows: pandas, polars (also
lazy), Arrow, a DuckDB relation and others. A population that does not fit in memory is an iterable of such
tables.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter, BadValue
from ..formats.checks import did_you_mean

Table: TypeAlias = "dict[str, NDArray[Any]]"
LABEL = "label"
"""The column that says to which of two classes a person belongs."""
SCORE = "score"
"""The column of a model's scores, for which all of predict_proba is often given."""
SHOWN = 12
"""Columns that a message lists."""


def is_table(data: Any) -> bool:
    """Whether ``data`` is one table rather than a stream of them."""
    return isinstance(_by_name(data), Mapping) or _frame(data) is not None


def tables(data: Any, columns: Sequence[str]) -> Iterator[Table]:
    """The tables of ``data`` with just the asked columns, as arrays of one length."""
    if isinstance(data, Named):
        for table in tables(data.data, [data.columns.get(name, name) for name in columns]):
            yield data.renamed(table, columns)
        return
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


class Named:
    """Data whose columns have names of their own, and whose positive class may have a value of its own."""

    def __init__(self, data: Any, columns: Mapping[str, str], positive: Any) -> None:
        self.data, self.columns, self.positive = data, columns, positive

    def renamed(self, table: Table, names: Sequence[str]) -> Table:
        """The table under the statistic's names; labels as whether they are the positive class."""
        columns = {name: table[self.columns.get(name, name)] for name in names}
        if self.positive is not None and LABEL in columns:
            columns[LABEL] = is_positive(columns[LABEL], self.positive, self.columns.get(LABEL, LABEL))
        return columns


def with_columns(data: Any, known: Sequence[str], columns: Mapping[str, str] | None, positive: Any) -> Any:
    """``data`` as it is read by ``columns={"score": "p_hat", ...}`` and ``positive="yes"``."""
    if columns is None and positive is None:
        return data
    if columns is not None and not isinstance(columns, Mapping):
        raise BadParameter(f"columns must be a mapping such as {{'{known[0]}': 'its name'}}, not {columns!r}")
    for name in columns or {}:
        if name not in known:
            raise BadParameter(
                f"columns has {name!r}, which the statistic does not; it has {', '.join(known)}"
                f"{did_you_mean(name, known)}"
            )
    if positive is not None and LABEL not in known:
        raise BadParameter(f"positive is for statistics of two classes; this one has {', '.join(known)}")
    if isinstance(data, Iterator):
        return (Named(part, columns or {}, positive) for part in data)
    return Named(data, columns or {}, positive)


def is_positive(labels: NDArray[Any], positive: Any, column: str = LABEL) -> NDArray[np.bool_]:
    """Which labels equal ``positive``; refuse a value that is nobody's, and more than two classes."""
    items = labels.tolist()
    for row, item in enumerate(items):
        if _missing(item) or not isinstance(item, Hashable):
            raise BadValue(f"column {column!r} must hold a label for everybody, not {item!r} as at row {row}")
    classes = dict.fromkeys(items)
    if not isinstance(positive, Hashable) or positive not in classes:
        raise BadValue(
            f"positive={positive!r} is not a label of column {column!r}, which has {_listed(classes)}"
        )
    if len(classes) > 2:
        raise BadValue(f"column {column!r} must have two classes, and has {len(classes)}: {_listed(classes)}")
    return np.fromiter((item == positive for item in items), np.bool_, len(items))


def _by_name(data: Any) -> Any:
    """A batch of Arrow as a mapping, since narwhals knows only whole tables."""
    if type(data).__name__ == "RecordBatch" and hasattr(data, "schema"):
        return dict(zip(data.schema.names, data.columns, strict=True))
    return data


def _frame(data: Any) -> Any:
    import narwhals as nw  # a device, which has one person's values and no frame, does not wait for it

    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise BadValue("two columns of the frame have the same name: rename or drop one of them") from None
    return frame if isinstance(frame, (nw.DataFrame, nw.LazyFrame)) else None


def _table(data: Any, columns: Sequence[str]) -> Table:
    by_name = _by_name(data)
    if isinstance(by_name, Mapping):
        _check_names(list(by_name), columns)
        arrays = {name: _array(by_name[name], name) for name in columns}
    else:
        frame = _frame(data)
        _check_names(frame.collect_schema().names(), columns)
        chosen = frame.select(*dict.fromkeys(columns))
        if hasattr(chosen, "collect"):
            chosen = chosen.collect()
        arrays = {name: _array(chosen[name].to_numpy(), name) for name in columns}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise BadValue(f"all columns must have the same length, but {listed}")
    return arrays


def _check_names(present: Sequence[Any], columns: Sequence[str]) -> None:
    for name in columns:
        if name not in present:
            words = [each for each in present if isinstance(each, str)]
            hint = did_you_mean(name, words) or f"; columns={{{name!r}: 'its name'}} says which one it is"
            raise BadValue(f"there is no column {name!r}; the columns are {_listed(present)}{hint}")


def _listed(names: Iterable[Any]) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown[:SHOWN]) + (", ..." if len(shown) > SHOWN else "") or "none"


def _missing(item: Any) -> bool:
    """Whether it is None, NaN or another value that stands for none."""
    try:
        return item is None or bool(item != item)
    except (TypeError, ValueError):  # pandas' NA says neither that it is equal to itself, nor that it is not
        return True


def _array(values: Any, name: str) -> NDArray[Any]:
    """One value for each person: from a list, an array, a series, an iterator, or a frame of one column."""
    if np.ma.is_masked(values):
        row = int(np.argmax(np.ma.getmaskarray(values)))
        raise BadValue(f"column {name!r} is masked at row {row}: leave such people out first")
    column = _column(values, name)
    try:
        array = np.asarray(column)
    except ValueError:
        raise BadValue(f"column {name!r} must hold one value for each person") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 0:
        raise BadValue(f"column {name!r} must be a list, an array or a series, not {type(values).__name__}")
    if array.ndim != 1:
        probabilities = array.ndim == 2 and array.shape[1] == 2 and name == SCORE
        hint = "; of predict_proba, give the positive class's column, [:, 1]" if probabilities else ""
        raise BadValue(f"column {name!r} must have one dimension, not {array.ndim}{hint}")
    if array.dtype.kind in "cmMV":
        raise BadValue(f"column {name!r} must hold numbers or words, not {array.dtype}")
    return array


def _column(values: Any, name: str) -> Any:
    """What numpy makes an array of: the column of a frame that has one, the items of an iterator."""
    if isinstance(values, (list, tuple, str, bytes, Mapping)) or hasattr(values, "__array__"):
        return values
    if isinstance(values, Iterator):
        return list(values)
    frame = _frame(values)
    if frame is None:
        return values
    columns = frame.collect_schema().names()
    if len(columns) != 1:
        raise BadValue(f"column {name!r} must be one column, not a frame with {_listed(columns)}")
    return (frame.collect() if hasattr(frame, "collect") else frame)[columns[0]].to_numpy()


def whole_numbers(values: Any, name: str) -> NDArray[Any]:
    """A column of integers as an array: numpy's, or a column of a data frame or of an Arrow table."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        raise BadValue(f"{name} must be a column of whole numbers") from None
    if array.ndim != 1:
        raise BadValue(f"{name} must have one dimension, not {array.ndim}")
    if np.ma.is_masked(values):
        raise BadValue(f"{name} must be whole numbers without missing ones: some are masked")
    if array.size and array.dtype.kind not in "iu":
        # Missing values make floating-point numbers, or objects, of a column.
        raise BadValue(f"{name} must be whole numbers without missing ones, not {array.dtype}")
    return array if array.size else array.astype(np.int64)
