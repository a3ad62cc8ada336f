"""Counts of a study of pairs: by group and symbol."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadValue
from ..counts import DenseCounts
from .matching import GROUPS


class PairCounts(DenseCounts):
    """How often each symbol came from the pairs of each group; a pair's number says its group."""

    def __init__(self, symbols: int) -> None:
        super().__init__(GROUPS * symbols)
        self.symbols = symbols

    @property
    def by_group(self) -> NDArray[np.int64]:
        """A row for each group, a column for each symbol."""
        return self.array.reshape(GROUPS, self.symbols)

    def add(self, first_index: int, symbols: NDArray[Any]) -> None:
        """Count the symbols of consecutively numbered pairs."""
        numbers = first_index + np.arange(symbols.size)
        self.add_at(numbers, numbers, symbols)

    def add_at(self, indices: NDArray[np.int64], places: NDArray[np.int64], symbols: NDArray[Any]) -> None:
        """Count the symbols of pairs with these numbers."""
        if symbols.size and (symbols.min() < 0 or symbols.max() >= self.symbols):
            raise BadValue(f"symbols of this study are 0 to {self.symbols - 1}")
        super().add(0, indices % GROUPS * self.symbols + symbols)
