"""What the second round misses of a ratio whose divisor the pilot has wrong.

Let theta = N / R, with R what the first form is divided by, and let the sum of influence values move the
pilot's value by c. Then, exactly but for the curvature of R,

    theta(h) - theta(g) = (R(g) / R(h)) c + q,

q being of second order. The derivative takes R(g) / R(h) for 1. So what is missed grows with c, which is
known: imagined rounds tell how far that factor varies, and the real c, not theirs, belongs beside it.
A pilot on many cells spreads noise as people over those that are nearly empty; a rare class then seems less
rare, and nearer to the other one, than it is.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from ...errors import BadFile
from ...formats.canonical import agreed
from ...formats.checks import real
from ...statistics import Linear, Statistic
from ...statistics.base import LARGEST, TWO_SIDED
from ...statistics.fixed_length import fieller
from ...statistics.linear import Linearizer, nominal
from .pilot import Pilot
from .remainder import Remainder, moved_by


@dataclass(frozen=True)
class Divided:
    """Moments over imagined rounds of the factor less 1, f, and of q beyond the mean of what is missed."""

    factor: float
    """The mean of f."""
    square: float
    """The mean of f^2."""
    both: float
    """The mean of f q."""
    missed_square: float
    """The mean of q^2."""
    relative: float
    """The relative variance of the divisor."""
    shift: float
    """The most that people who stand out of cells may change it by, as a share."""

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        linearizer: Linearizer,
        linear: Linear,
        pilot: Pilot,
        remainder: Remainder,
        shift: float,
        crowd: float = 0.0,
        measured: tuple[float, float] | None = None,
    ) -> Divided | None:
        """None for a statistic of one form, which divides by nothing.

        ``crowd`` adds to the variance of q. ``measured`` is the divisor as the first round measured it,
        without the bias of a distribution that has no negative shares, and its standard error.
        """
        if statistic.form_count == 1:
            return None
        people = nominal(statistic)
        divided = statistic.finish(linear.forms, people).gradient[0]
        factors, remainders, missed = [], [], []
        linears = linearizer.every(pilot.imagined, people)
        told = [
            (masses, each) for masses, each in zip(pilot.imagined, linears, strict=True) if each is not None
        ]
        for (_, there), by_stratum in zip(told, moved_by(pilot, told), strict=True):
            factor = float(divided / statistic.finish(there.forms, people).gradient[0])
            moved = sum(by_stratum)
            factors.append(factor - 1)
            remainders.append(linear.value - there.value - factor * moved)
            missed.append(linear.value - there.value - moved)
        # Allowances that the remainder's variance has for what imagined rounds do not show.
        seen = float(np.var(missed, ddof=1))
        allowed = remainder.variance / seen if seen > 0 else 1.0
        f, q = np.array(factors), np.array(remainders) - np.mean(missed)
        mean = float(f.mean())
        relative = float(np.var(f, ddof=1)) / (1 + mean) ** 2
        square, both, missed_square = (float((a * b).mean()) for a, b in ((f, f), (f, q), (q, q)))
        if measured is not None:
            divisor, error = measured
            ((at_pilot, _),) = statistic.divisors(linear.forms).values()
            if divisor <= TWO_SIDED * error:
                # It cannot be told from 0: `slack` then says so.
                relative = 1.0
            else:
                ratio = at_pilot / divisor
                square = max(square, (ratio - 1) ** 2 + (ratio * error / divisor) ** 2)
        square, both, missed_square = allowed * square, allowed * both, allowed * missed_square
        return cls(*map(agreed, (mean, square, both, missed_square + crowd, relative, shift)))

    def variance(self, correction: float) -> float:
        """Of what is missed, for the correction c: the mean of (f c + q)^2, f beside the largest shift."""
        seen = max(self.square * correction**2 + 2 * self.both * correction + self.missed_square, 0.0)
        return seen + (self.shift * correction) ** 2

    def further(self, square: float) -> Divided:
        """Of a remainder so many times as large as imagined: as q is, the square of the pilot's errors."""
        return replace(
            self,
            square=square * self.square,
            both=math.sqrt(square) * square * self.both,
            missed_square=square**2 * self.missed_square,
            relative=square * self.relative,
        )

    @property
    def stretch(self) -> float:
        """The mean square by which noise and sampling are larger than at the pilot."""
        return 1 + 2 * self.factor + self.square + self.shift**2

    @property
    def slack(self) -> float:
        """How much longer Fieller's interval is, infinite if R may be 0."""
        return fieller([TWO_SIDED * math.sqrt(self.relative) + self.shift])

    @property
    def caveats(self) -> tuple[str, ...]:
        """A sentence where there is no interval."""
        if math.isfinite(self.slack):
            return ()
        return (
            "By the first round, the divisor of this value may be 0, and then it is not defined. So the "
            "interval is the whole range of the statistic: more people, or a larger epsilon, would help, "
            "unless it is 0.",
        )

    def to_json(self) -> list[float]:
        return list(astuple(self))

    @classmethod
    def from_json(cls, statistic: Statistic, spec: Any) -> Divided | None:
        """Read it back; everything is checked before it is used."""
        if statistic.form_count == 1:
            if spec is not None:
                raise BadFile(f"{statistic.name} divides by nothing: 'divided' must be null")
            return None
        if not isinstance(spec, list) or len(spec) != 6:
            raise BadFile("what a divisor does is a list of six numbers")
        numbers = [real("what a divisor does", each) for each in spec]
        factor, square, both, missed_square, relative, shift = numbers
        if max(map(abs, numbers)) > LARGEST or min(square, missed_square, relative, shift) < 0 or factor < -1:
            raise BadFile("what a divisor does has variances from 0 and a factor from -1")
        return cls(factor, square, both, missed_square, relative, shift)
