"""Discrete Laplace noise from independent biased bits, inside the circuit, with pure epsilon.

A geometric variable has independent binary digits (Dwork, Kenthapadi, McSherry, Mironov, Naor, "Our data,
ourselves: privacy via distributed noise generation", EUROCRYPT 2006): P(digit i is 1) = a^(2^i) / (1 +
a^(2^i)) for P(G = j) proportional to a^j. Three things make it exact here:

* *No truncation.* The output is clamped just outside the levels' range, so all digits beyond that range act
  as one: "G is at least 2^d", itself a biased bit of probability a^(2^d). Nothing is cut off and no delta is
  needed: every symbol has a positive probability from every level (the truncated geometric mechanism of
  Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", STOC 2009).
* *No special zero.* The noise is G + 1/2 or -(G + 1/2): its sign is an XOR, zero is not counted twice.
* *Thresholds are integers*, so the distribution is known exactly and epsilon is computed from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from ..formats.checks import integer, positive
from ..mechanisms.thresholds import MAX_EPSILON, exp_below, log_above
from .arithmetic import Bit, Number
from .bits import Bits, Words, from_bits
from .noise import MAX_PRECISION, MAX_TOP, MIN_PRECISION, Noise, below

MAX_RESOLUTION = 16
_DIGITS = Context(prec=60)


@dataclass(frozen=True)
class LaplaceNoise(Noise):
    """level + noise, clamped; a level is first rounded to a multiple of 2^shift, up or down at random.

    Let v in 0 .. M be the rounded level in steps of 2^shift, G geometric, and s a fair sign. The symbol is
    v - G or v + G + 1, clamped to 0 .. M + 1. Then e^epsilon is the larger of P(G = 0) / P(G = M - 1) and
    1 / P(G >= M), over the exact integer distribution. ``thresholds`` are those of the d digits and, last,
    of "G >= 2^d", out of 2^precision. Costs about (d + 1)(t + 5) ANDs and (d + 1) t random bits.
    """

    top: int
    shift: int
    thresholds: tuple[int, ...]
    precision: int = 40
    name: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        """Refuse thresholds that are no probabilities."""
        integer("noise top", self.top, 1, MAX_TOP)
        integer("noise precision", self.precision, MIN_PRECISION, MAX_PRECISION)
        integer("noise shift", self.shift, 0, 63)
        integer("the noise's steps", self.steps, 1, 2**MAX_RESOLUTION)
        if len(self.thresholds) != self.digits + 1:
            raise BadParameter(f"Laplace noise of {self.steps} steps needs {self.digits + 1} thresholds")
        for threshold in self.thresholds:
            integer("noise threshold", threshold, 1, 2**self.precision - 1)

    @classmethod
    def for_epsilon(cls, top: int, epsilon: float, precision: int = 40, resolution: int = 10) -> LaplaceNoise:
        """Noise that keeps ``epsilon``, for levels rounded to at most 2^resolution steps.

        Rounding at random adds at most a quarter of a squared step to a noise of 2 (2^resolution /
        epsilon)^2: 1 in 10^7 at resolution 10 and epsilon 1.
        """
        integer("noise precision", precision, MIN_PRECISION, MAX_PRECISION)
        integer("noise resolution", resolution, 1, MAX_RESOLUTION)
        shift = max(0, (integer("noise top", top, 1, MAX_TOP) - 1).bit_length() - resolution)
        limit = exp_below(positive("epsilon", epsilon))
        target = Decimal(min(epsilon, MAX_EPSILON))
        # Rounded thresholds can overshoot by a few units of 2^-precision: then aim a little lower.
        for halvings in range(precision + 1, 2, -1):
            aim = _DIGITS.multiply(target, 1 - _DIGITS.power(Decimal(2), -halvings))
            made = cls(top, shift, _thresholds(-(-top >> shift), aim, precision), precision)
            if made._ratio <= limit:
                return made
        raise BadParameter(f"epsilon {epsilon!r} is out of reach for probabilities of {precision} bits")

    @property
    def steps(self) -> int:
        """M: the largest rounded level."""
        return -(-self.top >> self.shift)

    @property
    def digits(self) -> int:
        """d: binary digits of the noise below M."""
        return (self.steps - 1).bit_length()

    @property
    def random_bits(self) -> int:
        """The digits and the overflow take t each, the sign one, the rounding ``shift``."""
        return self.precision * (self.digits + 1) + 1 + self.shift

    @property
    def symbols(self) -> int:
        return self.steps + 2

    @cached_property
    def _weights(self) -> list[int]:
        """P(G = j) for j < M, out of 2^(t (d + 1))."""
        whole = 2**self.precision
        weights = [whole - self.thresholds[-1]]
        for threshold in self.thresholds[:-1]:
            weights = [weight * (whole - threshold) for weight in weights] + [
                weight * threshold for weight in weights
            ]
        return weights[: self.steps]

    @cached_property
    def _tails(self) -> list[int]:
        """P(G >= j) for j = 0 .. M, out of 2^(t (d + 1))."""
        tails = [self._whole]
        for weight in self._weights:
            tails.append(tails[-1] - weight)
        return tails

    @property
    def _whole(self) -> int:
        return 1 << self.precision * (self.digits + 1)

    @cached_property
    def _ratio(self) -> Fraction:
        """e^epsilon. A symbol within sees P(G = j) for all j < M at its worst; an end, all tails."""
        within = Fraction(max(self._weights), min(self._weights))
        return max(within, Fraction(self._whole, self._tails[-1]))

    @cached_property
    def epsilon(self) -> float:
        """From the exact distribution; rounding a level at random only mixes two of them."""
        return log_above(self._ratio)

    def build(self, level: Number, random_bits: Sequence[Bit]) -> Number:
        """Digits by comparison, one subtraction, one clamp."""
        space, t, d = level.space, self.precision, self.digits
        biased = [
            below(random_bits[place * t : (place + 1) * t], threshold)
            for place, threshold in enumerate(self.thresholds)
        ]
        up, rest = random_bits[t * (d + 1)], random_bits[t * (d + 1) + 1 :]
        if self.shift:
            level = level + space.uniform(rest) >> self.shift
        level = Number(space, level.bits, 0, self.steps)
        # G with its bits flipped by the sign: G itself, or -G - 1.
        digits = [(digit ^ up).literal for digit in biased[:-1]]
        noisy = level - Number(space, [*digits, up.literal], -(2**d), 2**d - 1)
        end = [up.literal if self.steps + 1 >> place & 1 else 0 for place in range(d + 2)]
        far = Number(space, end, 0, self.steps + 1)
        return biased[-1].choose(far, noisy.clamp(0, self.steps + 1))

    def ideal(self, levels: Words, random_bits: Bits) -> NDArray[np.int64]:
        t, d = self.precision, self.digits
        biased = [
            from_bits(random_bits[place * t : (place + 1) * t]) < np.uint64(threshold)
            for place, threshold in enumerate(self.thresholds)
        ]
        up = random_bits[t * (d + 1)] == 1
        rounded = levels
        if self.shift:
            # The low parts first: a level of 64 bits plus the random bits would not fit.
            low = np.uint64(2**self.shift - 1)
            carry = (levels & low) + from_bits(random_bits[t * (d + 1) + 1 :]) > low
            rounded = (levels >> np.uint64(self.shift)) + carry
        size = np.zeros(levels.size, dtype=np.int64)
        for place, digit in enumerate(biased[:-1]):
            size |= digit.astype(np.int64) << place
        size[biased[-1]] = 2**d
        noisy = rounded.astype(np.int64) + np.where(up, size + 1, -size)
        return np.clip(noisy, 0, self.steps + 1)

    def _step_weights(self, step: int) -> list[int]:
        """The symbols' probabilities for a rounded level, out of twice the whole."""
        weights, tails = self._weights, self._tails
        down = weights[:step][::-1]
        return [tails[step], *down, *weights[: self.steps - step], tails[self.steps - step]]

    def _level_weights(self, level: int) -> tuple[list[int], int]:
        """The symbols' probabilities, and out of what: a mixture of those of the two neighbouring steps."""
        step, part = divmod(level, 2**self.shift)
        lower = self._step_weights(step)
        upper = self._step_weights(step + 1) if part else lower
        size = 2**self.shift
        mixed = [(size - part) * a + part * b for a, b in zip(lower, upper, strict=True)]
        return mixed, 2 * self._whole * size

    def pmf(self, level: int) -> list[Fraction]:
        weights, whole = self._level_weights(level)
        return [Fraction(weight, whole) for weight in weights]

    def chances(self, level: int) -> NDArray[np.float64]:
        """Rounded as `pmf` would be, without its greatest common divisors of numbers of a thousand bits."""
        weights, whole = self._level_weights(level)
        return np.array([weight / whole for weight in weights])

    @cached_property
    def _overshoot(self) -> Fraction:
        """How far a clamped symbol lies outside, on average; the same from every level if G is geometric.

        Chosen so that the levels 0, top and the middle are unbiased exactly, thresholds as they are.
        """
        within = sum(weight * (2 * j + 1) for j, weight in enumerate(self._weights))
        last = self._tails[-1]
        return Fraction(within + last * (2 * self.steps + 1) - self._whole, 2 * (self._whole - last))

    def worth(self, symbol: int) -> Fraction:
        """In steps, symbol - 1/2; the ends lie further out by the mean overshoot.

        The bias would be 0 for a geometric variable, which has no memory. With thresholds of t bits it is
        of the order of M 2^-t / min(1, epsilon) steps, and `bias` computes it.
        """
        centre = Fraction(2 * symbol - 1, 2)
        if symbol == 0:
            centre -= self._overshoot
        if symbol == self.steps + 1:
            centre += self._overshoot
        return centre * (1 << self.shift)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "top": str(self.top),
            "shift": self.shift,
            "thresholds": [str(threshold) for threshold in self.thresholds],
            "precision": self.precision,
        }


def _thresholds(steps: int, epsilon: Decimal, precision: int) -> tuple[int, ...]:
    """Of the digits, to the nearest; of the overflow, up, which lowers epsilon."""
    digits, whole = (steps - 1).bit_length(), Decimal(2**precision)
    rate = _DIGITS.divide(epsilon, Decimal(steps))
    thresholds = []
    for digit in range(digits):
        odds = _DIGITS.exp(_DIGITS.multiply(-rate, Decimal(2**digit)))
        chance = _DIGITS.divide(odds, 1 + odds)
        thresholds.append(max(1, round(_DIGITS.multiply(whole, chance))))
    overflow = _DIGITS.exp(_DIGITS.multiply(-rate, Decimal(2**digits)))
    return (*thresholds, min(2**precision - 1, math.ceil(_DIGITS.multiply(whole, overflow))))
