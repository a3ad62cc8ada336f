"""Arithmetic with something that has a value: what scorers, means and sorting do with it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Numeric:
    """Computes and compares as its `float`; the result is a plain number.

    Equality is left to the class: two results with one value need not be the same.
    """

    @abstractmethod
    def __float__(self) -> float: ...

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self), digits)

    def __neg__(self) -> float:
        return -float(self)

    def __abs__(self) -> float:
        return abs(float(self))

    def __add__(self, other: Any) -> Any:
        return float(self) + _plain(other)

    def __radd__(self, other: Any) -> Any:
        return _plain(other) + float(self)

    def __sub__(self, other: Any) -> Any:
        return float(self) - _plain(other)

    def __rsub__(self, other: Any) -> Any:
        return _plain(other) - float(self)

    def __mul__(self, other: Any) -> Any:
        return float(self) * _plain(other)

    def __rmul__(self, other: Any) -> Any:
        return _plain(other) * float(self)

    def __truediv__(self, other: Any) -> Any:
        return float(self) / _plain(other)

    def __rtruediv__(self, other: Any) -> Any:
        return _plain(other) / float(self)

    def __pow__(self, other: Any) -> Any:
        return float(self) ** _plain(other)

    def __rpow__(self, other: Any) -> Any:
        return _plain(other) ** float(self)

    def __lt__(self, other: Any) -> Any:
        return float(self) < _plain(other)

    def __le__(self, other: Any) -> Any:
        return float(self) <= _plain(other)

    def __gt__(self, other: Any) -> Any:
        return float(self) > _plain(other)

    def __ge__(self, other: Any) -> Any:
        return float(self) >= _plain(other)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """A number to numpy too, so that its functions and arrays compute with it."""
        return np.asarray(float(self), dtype=dtype)


def _plain(other: Any) -> Any:
    return float(other) if isinstance(other, Numeric) else other
