"""The two classes of a label column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadValue, NotEnoughData

POSITIVE, NEGATIVE = "positive", "negative"
ALLOWED = "0 and 1, -1 and 1, False and True, or 'negative' and 'positive'"
_CODES: dict[Any, bool] = {POSITIVE: True, NEGATIVE: False, 1: True, 0: False, -1: False}


def positives(labels: NDArray[Any], column: str = "label") -> NDArray[np.bool_]:
    """Which labels are the positive class."""
    if labels.dtype.kind == "b":
        return labels.astype(np.bool_, copy=False)
    if labels.dtype.kind in "fiu":
        above: NDArray[np.bool_] = labels == 1
        zeros, minus = labels == 0, labels == -1
        known = above | zeros | minus
        if known.all() and not (zeros.any() and minus.any()):
            return above
        if known.all():
            raise BadValue(f"column {column!r} mixes 0 and -1; the two classes are {ALLOWED}")
        bad = labels[~known][0]
    else:
        items = labels.tolist()
        codes = [_CODES.get(item) if isinstance(item, (str, bool, int, float)) else None for item in items]
        if None not in codes:
            return np.array(codes, dtype=bool)
        bad = items[codes.index(None)]
    shown = bad.item() if hasattr(bad, "item") else bad
    raise BadValue(f"column {column!r} has the label {shown!r}; the two classes are {ALLOWED}")


def need_both(positive: int, negative: int) -> None:
    """Refuse an empty class."""
    if positive == 0 or negative == 0:
        empty = POSITIVE if positive == 0 else NEGATIVE
        raise NotEnoughData(f"the {empty} class is empty, and the statistic needs people of both classes")
