"""The two classes of a label column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadValue, NotEnoughData

POSITIVE, NEGATIVE = "positive", "negative"
ALLOWED = "0 and 1, -1 and 1, False and True, or 'negative' and 'positive'"
SPELLED = ("0", "1", "-1", "0.0", "1.0", "-1.0", "False", "True", "false", "true")
"""Labels that a file's column has as texts once one of them is a word."""


def positives(labels: NDArray[Any], column: str = "label") -> NDArray[np.bool_]:
    """Which labels are the positive class."""
    strings = labels.dtype.kind == "U"
    if labels.dtype.kind == "O":
        items = labels.tolist()
        # Strings stay objects: an array of numpy's own strings forgets NULs at their ends.
        strings = bool(items) and all(isinstance(item, str) for item in items)
        labels = labels if strings else np.array(items)
    if labels.dtype.kind == "b":
        return labels.astype(np.bool_, copy=False)
    names: tuple[Any, ...] = (POSITIVE, NEGATIVE) if strings else (1, 0, -1)
    if not strings and labels.dtype.kind not in "fiu":
        other = next(
            (item for item in labels.tolist() if not isinstance(item, (int, float, str))), labels.dtype
        )
        raise BadValue(f"column {column!r} holds {other!r}; the two classes are {ALLOWED}")
    matches = [np.asarray(labels == name, dtype=np.bool_) for name in names]
    known = np.logical_or.reduce(matches)
    if not known.all():
        words = known | np.isin(labels, SPELLED) if strings else known
        row = int(np.argmin(known if words.all() else words))
        raise BadValue(
            f"column {column!r} has the label {labels[row : row + 1].tolist()[0]!r} at row {row}; "
            f"the two classes are {ALLOWED}"
        )
    if len(matches) == 3 and matches[1].any() and matches[2].any():
        raise BadValue(f"column {column!r} mixes 0 and -1; the two classes are {ALLOWED}")
    chosen: NDArray[np.bool_] = matches[0]
    return chosen


def need_both(positive: int, negative: int) -> None:
    if positive == 0 or negative == 0:
        empty = POSITIVE if positive == 0 else NEGATIVE
        raise NotEnoughData(f"the {empty} class is empty, and the statistic needs people of both classes")
