"""Checks of a caller's numbers and lists, each ending in one sentence that says what is allowed."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BadParameter, BadValue


def whole(name: str, value: Any, low: int, high: int, error: type[Exception] = BadParameter) -> int:
    """A whole number in low..high."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        # A person's value is not repeated: messages end up in logs.
        shown = "" if error is BadValue else f", not {_shown(value)}"
        raise error(f"{name} must be a whole number from {low} to {high}{shown}")
    return number


def settle(owner: Any, attribute: str, name: str, low: int, high: int) -> None:
    """Check a number of a frozen dataclass, and keep it as Python's: numpy's overflow."""
    object.__setattr__(owner, attribute, whole(name, getattr(owner, attribute), low, high))


def listed(name: str, values: Any, length: int) -> Sequence[Any]:
    """A sequence of that length."""
    array = isinstance(values, np.ndarray) and values.ndim == 1
    if isinstance(values, (str, bytes)) or not (array or isinstance(values, Sequence)):
        raise BadValue(f"{name} must be a list of {length} elements")
    if len(values) != length:
        raise BadValue(f"{name} must have {length} elements, not {len(values)}")
    return list(values)


def _shown(value: Any) -> str:
    try:
        return reprlib.repr(value)
    except ValueError:  # Python does not write down a number of thousands of digits
        return "one of thousands of digits"
