"""A randomized symbol of a bounded number: a window of favoured symbols that moves with the number.

Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu, "Collecting and analyzing multidimensional data with local
differential privacy" (ICDE 2019), have the continuous form, the piecewise mechanism. This one has
finitely many symbols with exact probabilities, and one bit (two symbols, a window of one) is the
special case that `BitResponse` draws with a single word.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter, BadValue
from ..formats.checks import integer
from ..randomness import WORDS, Randomness
from .thresholds import floor_and_boost, log_above

MAX_SYMBOLS = 256
STEPS = 2**32
"""How finely a number between two windows is rounded."""


@dataclass(frozen=True)
class WindowResponse:
    """P(y | s) = (A + B [s <= y < s + w] + [y < leftover]) / 2^64 for the window s = v (m - w).

    A number between two windows takes one of them at random, so that the mean of s is v (m - w). The
    mean of y is then linear in v, and `decode` inverts it: its mean is v exactly, whatever v is. Every
    probability lies between A and A + B, except for leftover words, the same for all windows, so
    e^epsilon = (A + B) / A. The last window, s = m - w, is that of v = 1.

    With ``knots``, window s is that of the number k_s instead of s / (m - w), and in between s is linear:
    windows lie close where numbers are common (see `spacing`). Knots are whole numbers of 2^-32, those of
    the first and the last window (0 and 1) left out. They choose a window and nothing else, so epsilon is
    the same. A number's place between two knots is rounded to 2^-32 of the gap.
    """

    symbols: int
    width: int
    floor: int
    boost: int
    knots: tuple[int, ...] = ()
    name: ClassVar[str] = "window"

    def __post_init__(self) -> None:
        """Refuse windows that cannot move and thresholds that are no probabilities."""
        integer("window symbols", self.symbols, 2, MAX_SYMBOLS)
        integer("window width", self.width, 1, self.symbols - 1)
        integer("window floor", self.floor, 1, WORDS // self.symbols)
        integer("window boost", self.boost, 1, WORDS)
        if not 0 <= self.leftover < self.width:
            raise BadParameter("window floor and boost do not fill 64-bit words")
        if self.knots:
            if len(self.knots) != self.last - 1:
                raise BadParameter(f"{self.last + 1} windows have {self.last - 1} knots between 0 and 1")
            least = 1
            for knot in self.knots:
                least = integer("a window's knot, above the one before it,", knot, least, STEPS - 1) + 1

    @classmethod
    def for_epsilon(
        cls, symbols: int, width: int, epsilon: float, knots: tuple[int, ...] = ()
    ) -> WindowResponse:
        """The most accurate thresholds that keep ``epsilon``."""
        return cls(symbols, width, *floor_and_boost(epsilon, symbols, width), knots)

    @property
    def leftover(self) -> int:
        """Words that neither the floors nor the boosts use."""
        return WORDS - self.symbols * self.floor - self.width * self.boost

    @property
    def last(self) -> int:
        """The last window: the number of steps from 0 to 1."""
        return self.symbols - self.width

    @cached_property
    def epsilon(self) -> float:
        """ln((A + B) / A)."""
        return log_above(Fraction(self.floor + self.boost, self.floor))

    def _window(self, start: int) -> list[Fraction]:
        return [
            Fraction(
                self.floor + (symbol < self.leftover) + self.boost * (start <= symbol < start + self.width),
                WORDS,
            )
            for symbol in range(self.symbols)
        ]

    @cached_property
    def _ends(self) -> NDArray[np.uint64]:
        """All knots, from 0 to 1."""
        return np.array([0, *self.knots, STEPS], dtype=np.uint64)

    def _steps(self, values: NDArray[np.float64]) -> NDArray[np.uint64]:
        """The window of each number, in units of 2^-32, as integers."""
        if values.size and not (values.min() >= 0 and values.max() <= 1):
            raise BadValue("a number sent as a window must lie in [0, 1]")
        steps = np.round(values * float(STEPS)).astype(np.uint64)
        if not self.knots:
            return steps * np.uint64(self.last)
        start = np.searchsorted(self._ends[1:-1], steps, side="right")
        low = self._ends[start]
        gap = self._ends[start + 1] - low
        # To the nearest step. A gap is below 2^32, so the dividend is below 2^64.
        through = ((steps - low << np.uint64(32)) + (gap >> np.uint64(1))) // gap
        return np.asarray((start.astype(np.uint64) << np.uint64(32)) + through)

    def pmf(self, value: float) -> list[Fraction]:
        """Exact probabilities of all symbols."""
        steps = int(self._steps(np.array([value], dtype=np.float64))[0])
        start, rest = divmod(steps, STEPS)
        if rest == 0:
            return self._window(start)
        share = Fraction(rest, STEPS)
        return [
            (1 - share) * low + share * high
            for low, high in zip(self._window(start), self._window(start + 1), strict=True)
        ]

    def randomize(self, values: NDArray[np.float64], bits: Randomness) -> NDArray[np.int64]:
        """A symbol for each value, from two words each: one for the window, one for the symbol."""
        steps = self._steps(values)
        words = bits.words(2 * values.size)
        half = np.uint64(32)
        start = (steps + (words[: values.size] >> half) >> half).view(np.int64)
        chosen = words[values.size :]
        symbols = (chosen // np.uint64(self.floor)).view(np.int64)
        base = np.uint64(self.symbols * self.floor)
        above = np.flatnonzero(chosen >= base)
        rest = chosen[above] - base
        member = (rest // np.uint64(self.boost)).view(np.int64)
        leftover = (rest - np.uint64(self.width * self.boost)).view(np.int64)
        symbols[above] = np.where(member < self.width, start[above] + member, leftover)
        return symbols

    @cached_property
    def decode(self) -> NDArray[np.float64]:
        """What each symbol is worth: the mean is the value sent.

        With knots: from window s to the next, P(s + w) gains B / 2^64 and P(s) loses it. So the mean is right
        if it is 0 for window 0, and d(s + w) - d(s) = (k_(s+1) - k_s) 2^64 / B. This leaves w - 1 numbers
        free: they are those of the least mean square if all windows are equally likely.
        """
        if self.knots:
            return self._between_knots()
        # In units of 2^-64, as integers: the mean of the first window, and what the last one adds to it.
        first = sum(
            symbol * (self.floor + (symbol < self.leftover) + self.boost * (symbol < self.width))
            for symbol in range(self.symbols)
        )
        slope = self.width * self.boost * self.last
        return np.array([(symbol * WORDS - first) / slope for symbol in range(self.symbols)])

    def _between_knots(self) -> NDArray[np.float64]:
        knots, width, symbols = [0, *self.knots, STEPS], self.width, range(self.symbols)
        # From the first of every w-th symbol on, in units of 2^-32 / B.
        above = [0] * width
        for start in range(self.last):
            above.append(above[start] + knots[start + 1] - knots[start])
        common = [self.floor + (symbol < self.leftover) for symbol in symbols]
        in_first = [common[symbol] + self.boost * (symbol < width) for symbol in symbols]
        in_all = [
            (self.last + 1) * common[symbol]
            + self.boost * (min(symbol, self.last) - max(symbol - width + 1, 0) + 1)
            for symbol in symbols
        ]
        first, words, mean = [0] * width, [0] * width, [0] * width
        for symbol in symbols:
            first[symbol % width] += in_first[symbol]
            words[symbol % width] += in_all[symbol]
            mean[symbol % width] -= in_all[symbol] * above[symbol]
        # Least squares: every w-th symbol has mean 0, but for what a multiplier adds so that window 0 has.
        off = -sum(each * height for each, height in zip(in_first, above, strict=True)) - sum(
            Fraction(mean[each] * first[each], words[each]) for each in range(width)
        )
        multiplier = off / sum(Fraction(first[each] ** 2, words[each]) for each in range(width))
        begin = [(mean[each] + multiplier * first[each]) / words[each] for each in range(width)]
        scale = Fraction(WORDS, self.boost * STEPS)
        return np.array([float((above[symbol] + begin[symbol % width]) * scale) for symbol in symbols])

    @cached_property
    def _squares(self) -> NDArray[np.float64]:
        """The mean square of the decoded symbol, for each window."""
        squared, symbol = self.decode**2, np.arange(self.symbols)
        common = (self.floor + (symbol < self.leftover)) / WORDS @ squared
        sums = np.concatenate(([0.0], np.cumsum(squared)))
        return np.asarray(common + self.boost / WORDS * (sums[self.width :] - sums[: -self.width]))

    def variances(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of the decoded symbol of each value, exact up to floating point."""
        # Between two windows the mean square is that of the mixture: linear.
        if self.knots:
            second = np.interp(values, self._ends / STEPS, self._squares)
        else:
            second = np.interp(values * self.last, np.arange(self.last + 1), self._squares)
        return np.asarray(second - values**2, dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "symbols": self.symbols,
            "width": self.width,
            "floor": str(self.floor),
            "boost": str(self.boost),
            **({"knots": list(self.knots)} if self.knots else {}),
        }
