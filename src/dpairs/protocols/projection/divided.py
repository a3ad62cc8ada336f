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
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from ...errors import BadFile, NotEstimable
from ...formats.canonical import agreed
from ...formats.checks import real
from ...statistics import Linear, Statistic
from ...statistics.base import LARGEST, TWO_SIDED
from ...statistics.fixed_length import fieller
from ...statistics.linear import Linearizer, nominal
from .pilot import REPLICATES, Masses, Pilot
from .remainder import Remainder, moved_by
from .winsorize import SIGNIFICANT, SURE

BY_CHANCE = 0.005
"""In how many studies a ratio of nothing gets a number at most."""
NO_MEAN = (
    "by the first round the mean may be 0, and then the value is not defined: too few people for this "
    "epsilon, or everybody has 0"
)


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
    usual: float = 0.0
    """The mean square of c in imagined rounds."""
    missed: float = 0.0
    """The variance of f c + q there, or 0 where only a real c counts."""

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
        measured: Sequence[tuple[float, float]] | None = None,
    ) -> Divided | None:
        """None for a statistic of one form, which divides by nothing.

        ``crowd`` adds to the variance of q. ``measured`` are numbers that the divisor is not below, as the
        first round measured them, without the bias of a distribution that has no negative shares, each
        with its standard error. Where none is surely above 0 the study is refused before others answer.
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
        square, both, missed_square = (allowed * float((a * b).mean()) for a, b in ((f, f), (f, q), (q, q)))
        usual = whole = 0.0
        if measured is not None:
            ((at_pilot, _),) = statistic.divisors(linear.forms).values()
            # The first takes people to be in the middle of their nodes: if all have 0 it is above 0.
            moments = _above_nothing(at_pilot, measured) if _surely(measured[1:]) else None
            if moments is None:
                raise NotEstimable(NO_MEAN)
            imagined = square
            square, mean = max((square, mean), moments)
            # What is missed is as large as the factor in either part.
            larger = square / imagined if imagined > 0 else 1.0
            both, missed_square = larger * both, larger * missed_square
            relative, usual, whole = 0.0, sum(remainder.expected), larger * remainder.variance
        numbers = (mean, square, both, missed_square + crowd, relative, shift, usual, whole)
        return cls(*map(agreed, numbers))

    def by_shares(
        self, statistic: Statistic, linearizer: Linearizer, linear: Linear, pilot: Pilot, mean: float
    ) -> Divided:
        """The same by shares before they are cut at 0, where that is more; ``mean`` is what is added to c.

        A distribution has no negative shares, so cells that hold nobody have people in a pilot: of a rare
        class it has too many, and its mean is too large. Imagined rounds start there, and know neither how
        small R(h) is nor what the cut hides of q. Before the cut shares are off by noise z alone, whoever
        the people are: R is measured without bias, and q = r z'Az with r = R(g) / R(h) and A the matrix of
        the forms along the gradient.
        """
        if pilot.uncut is None or len(statistic.divisors(linear.forms)) != 1:
            return self
        noise = [{name: each[name] - pilot.masses[name] for name in each} for each in pilot.measured]
        gradient = statistic.finish(linear.forms, nominal(statistic)).gradient
        moments = _by_shares(statistic, linearizer, pilot, pilot.uncut)
        if moments is None:
            # A divisor that cannot be told from 0: `slack` says so.
            return replace(self, relative=1.0)
        # With one standard error less than was measured, as R and z are off together.
        ratio = 1 + moments[1]
        ratio *= ratio / max(ratio - math.sqrt(max(moments[0] - moments[1] ** 2, 0.0)), ratio / 2)
        missed = float(np.mean((ratio * (linearizer.forms(noise) @ gradient) - mean) ** 2))
        (square, factor), missed = max(moments, (self.square, self.factor)), max(missed, self.missed_square)
        numbers = (factor, square, self.both, missed, 0.0, self.shift)
        return Divided(*map(agreed, numbers))

    def variance(self, correction: float) -> float:
        """Of what is missed, for the correction c: the mean of (f c + q)^2, f beside the largest shift.

        Either f and q have nothing to do with c, or what they have in imagined rounds, to which a real c adds
        what it is more than theirs. Each counts too much: the first what f c and q make up for in each other,
        the second imagined corrections that are larger than c. So the smaller of both is taken.
        """
        seen = max(self.square * correction**2 + 2 * self.both * correction + self.missed_square, 0.0)
        if self.missed > 0:
            seen = min(seen, self.missed + self.square * max(correction**2 - self.usual, 0.0))
        return seen + (self.shift * correction) ** 2

    def further(self, square: float) -> Divided:
        """Of a remainder so many times as large as imagined: as q is, the square of the pilot's errors."""
        return replace(
            self,
            square=square * self.square,
            both=math.sqrt(square) * square * self.both,
            missed_square=square**2 * self.missed_square,
            relative=square * self.relative,
            missed=square**2 * self.missed,
        )

    @property
    def stretch(self) -> float:
        """The mean square by which noise and sampling are larger than at the pilot."""
        return 1 + 2 * self.factor + self.square + self.shift**2

    @property
    def noisier(self) -> float:
        """How many times as large the variance of noise is, where Fieller's slack does not say so."""
        return 1.0 if self.relative > 0 else max(self.stretch, 1.0)

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
        """Without the last two numbers if they are nothing, as in files from before there were any."""
        numbers = list(astuple(self))
        return numbers if self.missed else numbers[:-2]

    @classmethod
    def from_json(cls, statistic: Statistic, spec: Any) -> Divided | None:
        """Read it back; everything is checked before it is used."""
        if statistic.form_count == 1:
            if spec is not None:
                raise BadFile(f"{statistic.name} divides by nothing: 'divided' must be null")
            return None
        if not isinstance(spec, list) or len(spec) not in (6, 8):
            raise BadFile("what a divisor does is a list of six numbers, or of eight")
        divided = cls(*(real("what a divisor does", each) for each in spec))
        factor, square, _, *others = numbers = astuple(divided)
        if max(map(abs, numbers)) > LARGEST or min(square, *others) < 0 or factor < -1:
            raise BadFile("what a divisor does has variances from 0 and a factor from -1")
        return divided


def _above_nothing(at_pilot: float, measured: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """The mean square and the mean of f = R(g) / R(h) - 1 at most, or None if R(h) may be 0.

    R(h) is at least any of the numbers m that were ``measured``, with standard errors e: then f has the mean
    r - 1 at most, with r = R(g) / m, and the variance (r e / m)^2. Of those that are surely above 0 the one
    with the least mean square counts. Noise far away makes the mean of all people uncertain, not that of
    people who are moved to a nearer value: it is less, and known to be above 0.
    """
    moments = []
    for least, error in measured:
        if least > SURE * error:
            moments.append(_mean_square(at_pilot / least, error / least))
    return min(moments, default=None)


def _surely(measured: Sequence[tuple[float, float]]) -> bool:
    """Whether one of these numbers is above 0, each of which is 0 on average if everybody has 0.

    Then that is said in `BY_CHANCE` of all studies at most: by Student's law, as standard errors come from a
    few imagined rounds, and Bonferroni's bound.
    """
    from scipy.special import stdtrit

    sure = -float(stdtrit(REPLICATES - 1, BY_CHANCE / max(len(measured), 1)))
    return any(least > sure * error for least, error in measured)


def _by_shares(
    statistic: Statistic, linearizer: Linearizer, pilot: Pilot, uncut: Masses
) -> tuple[float, float] | None:
    """As `_above_nothing`, by shares that were not cut.

    A mean is at least that of people who are moved down to a nearer value, which has less noise. If one of
    these is surely above 0, so is the mean, and it need not show that by itself.
    """
    forms = linearizer.forms([uncut, pilot.masses, *pilot.measured])
    ((at_pilot, place),) = statistic.divisors(forms[1]).values()
    imagined = forms[2:, place]
    # Squares of noise add to a form, as many as in imagined rounds.
    whole = float(forms[0, place] - imagined.mean()) + at_pilot
    error = float(np.std(imagined, ddof=1))
    values, nearer = np.diag(linearizer.matrices[place]), []
    if values.any():
        (name,) = uncut
        limit = float(values[values > 0].min())
        while limit < values.max():
            up_to = np.minimum(values, limit)
            means = [float(each[name] @ up_to) for each in pilot.measured]
            nearer.append((float(uncut[name] @ up_to), float(np.std(means, ddof=1))))
            limit *= 2
    moments = _above_nothing(at_pilot, nearer) if _surely(nearer) else None
    if whole <= (SURE if moments is None else SIGNIFICANT) * error:
        if moments is None and values.any():
            raise NotEstimable(NO_MEAN)
        return moments
    by_whole = _mean_square(at_pilot / whole, error / whole)
    return by_whole if moments is None else min(moments, by_whole)


def _mean_square(ratio: float, relative: float) -> tuple[float, float]:
    """Of the factor less 1, and its mean, for R(g) over the measured R and the latter's relative error.

    A factor has no normal error where R has one: at the end of a 95% interval for R it is 1 / (1 - 1.96 e)
    times as large (Fieller). A normal one that reaches there has the deviation e / (1 - 1.96 e).
    """
    left = 1 - TWO_SIDED * relative
    furthest = ratio * relative / left if left > 0 else math.inf
    return (ratio - 1) ** 2 + furthest**2, ratio - 1
