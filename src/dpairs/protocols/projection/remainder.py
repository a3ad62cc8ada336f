"""The second-order remainder: what the derivative at a pilot misses, and how far that may be.

Imagined rounds start from the pilot as the truth, so what a derivative at an imagined pilot misses is known.
What they cannot show, because every pilot is smoother than the people, is allowed for by fitted factors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadFile, NotEstimable
from ...formats.canonical import agreed
from ...statistics import Linear, Statistic
from ...statistics.base import CLEAR
from ...statistics.linear import Linearizer, nominal
from ...statistics.vertices import cell_means
from ..fitted import ALL_TOGETHER, FAR_APART, SMOOTH, SMOOTH_PLANE, UNEVEN, UNEVEN_LINE
from .crowded import NOBODY, Crowded
from .far import NOBODY_FAR, Far
from .gain import gain_error
from .heavier import NO_TAIL, Heavier
from .pilot import TOO_NOISY, Masses, Pilot
from .pilot_copula import beyond_function
from .reading import by_stratum, not_negative, share_of_pairs, two_numbers
from .uneven_bins import at_ends, slab_deviation

Vector = NDArray[np.float64]
STEPS = 60
FARTHEST = 1e6
"""A pilot that is further off than so many times what is usual says nothing more."""
REMAINDER = (
    "remainder",
    "bias",
    "expected",
    "beside",
    "together",
    "ends",
    "uncut",
    "crowded",
    "heavier",
    "far",
    "gain",
)
"""The fields of an analysis that are the remainder's."""


@dataclass(frozen=True)
class Remainder:
    """What it is on average, and its variance."""

    mean: float
    variance: float
    bias: float = 0.0
    """The most that what nobody could see may have moved the value."""
    expected: tuple[float, ...] = ()
    """Of each stratum, the mean square of the corrections that imagined second rounds make."""
    beside: float = 0.0
    """The share of pairs of the plane that were not told apart in both columns, in the value's unit."""
    crowded: Crowded = NOBODY
    uncut: float = 0.0
    """How much larger the variance may be than imagined rounds have it: see `_uncut`."""
    heavier: Heavier = NO_TAIL
    together: float = 0.0
    """Of ``beside``, the share of pairs in one part or cell: these count as ties."""
    ends: float = 0.0
    """Of a correction, the share that is too much if people lie at the domain's ends: see `at_ends`."""
    far: Far = NOBODY_FAR
    """Of ``bias``, what is allowed for people beyond the end of the function."""
    gain: float = 0.0
    """The mean square of the share of a correction that the function misses: see `gain`."""
    one_number: bool = False
    """Whether a file from before says ``expected`` of all strata at once; it is written as it was read."""

    def to_json(self, strata: Iterable[str]) -> dict[str, Any]:
        """Fields of an analysis; what is nothing is left out."""
        corrections = dict(zip(strata, self.expected, strict=False))
        spec = {
            "remainder": [self.mean, self.variance],
            "bias": self.bias,
            "expected": self.expected[0] if self.one_number else corrections,
        }
        shares = {name: getattr(self, name) for name in ("beside", "together", "ends", "uncut", "gain")}
        crowded = {"crowded": list(astuple(self.crowded))} if self.crowded.pairs else {}
        heavier = {"heavier": self.heavier.to_json()} if self.heavier.added else {}
        far = {"far": self.far.to_json()} if self.far.share else {}
        some = {name: share for name, share in shares.items() if share}
        return {**spec, **some, **crowded, **heavier, **far}

    @classmethod
    def from_json(cls, statistic: Statistic, spec: Mapping[str, Any]) -> Remainder:
        """Read it back; files from before intervals allowed for something do not have it."""
        mean, variance = two_numbers("remainder", spec["remainder"])
        if variance < 0:
            raise BadFile(f"the remainder's variance cannot be negative, as {variance:g} is")
        beside, together = (share_of_pairs(spec.get(name, 0.0)) for name in ("beside", "together"))
        if together > beside:
            raise BadFile("pairs in one part are pairs that were not told apart: no more than these")
        if "gain" in spec and (len(statistic.domain_columns) < 2 or statistic.form_count > 1):
            raise BadFile(f"{statistic.name} has no gain: only tau-a of two columns does")
        bias = not_negative("bias", spec.get("bias", 0.0))
        return cls(
            mean,
            variance,
            bias,
            _expected(statistic, spec["expected"]) if "expected" in spec else (),
            beside,
            Crowded.from_json(spec["crowded"]) if "crowded" in spec else NOBODY,
            not_negative("variance", spec.get("uncut", 0.0)),
            Heavier.from_json(spec["heavier"]) if "heavier" in spec else NO_TAIL,
            together,
            not_negative("share of a correction", spec.get("ends", 0.0)),
            Far.from_json(spec["far"], bias) if "far" in spec else NOBODY_FAR,
            not_negative("gain", spec.get("gain", 0.0)),
            not isinstance(spec.get("expected", {}), Mapping),
        )

    def hidden(self, value: float) -> float:
        """What pairs add that were not told apart, if they depend as all pairs do: so tau is found with them.

        Their columns are taken to have nothing to do with each other, so the function sees only a part of how
        they depend (`beyond_function`). People on a curve depend alike at every scale, smooth ones less in
        small boxes: from nothing to twice this is missing, as far as tau's range has room for it. Pairs in
        one part count as ties, which they may be: of them it is from nothing to as much as others have.
        """
        if self.beside <= 0:
            return 0.0
        tau = reached = min(max(value, -1.0), 1.0)
        # A share below 1 of a function that rises by less than tau does: this ends.
        for _ in range(STEPS):
            reached = min(max(tau + self._unseen(reached), -1.0), 1.0)
        missing = abs(self._unseen(reached))
        return math.copysign(min(missing, (1 - abs(tau)) / 2), tau)

    def slope(self, value: float, variance: float) -> float:
        """How many times as far off the value is with what is hidden, which follows from it and its error.

        The mean slope of both together within a standard error, where they rise together.
        """
        error = math.sqrt(variance)
        if self.beside <= 0 or error <= 0:
            return 1.0
        rise = self.hidden(value + error) - self.hidden(value - error)
        return max(1.0, 1 + rise / (2 * error))

    def _unseen(self, tau: float) -> float:
        """The middle of what the function may not see of pairs that depend so."""
        return (self.beside - self.together) * beyond_function(tau) + self.together * tau / 2

    def further(self, corrections: Sequence[float], noises: Sequence[float]) -> float:
        """How many times as large as imagined the remainder is by the second round: at least once.

        The correction that the second round makes is the pilot's error along the function, and noise of this
        variance: what is beyond such noise is the pilot's. Imagined pilots, which start from a pilot that saw
        nobody in some part of the domain, know little of how far they could be off there. The remainder is
        quadratic in the errors of one stratum, and linear in those of each of several. Of two classes whose
        pilots are off alike the corrections cancel and the remainder does not, so each class counts by
        itself, and all together.
        """
        usual = self.expected
        times = [_times(*one) for one in zip(corrections, noises, usual, strict=False)]
        return max(math.prod(times), _times(sum(corrections), sum(noises), sum(usual)) ** 2)


def _expected(statistic: Statistic, given: Any) -> tuple[float, ...]:
    """Of each stratum; files from before have the mean square of their sum, which is that of one of them."""
    if not isinstance(given, Mapping):
        return (not_negative("correction", given),) * len(statistic.strata)
    corrections = by_stratum(statistic, "corrections", given) if given else {}
    return tuple(not_negative("correction", number) for number in corrections.values())


def _times(correction: float, noise: float, usual: float) -> float:
    """How many times as far off as usual a pilot is along the function."""
    if usual <= 0:
        return 1.0
    return min(max(1.0, (abs(correction) - CLEAR * math.sqrt(noise)) / math.sqrt(usual)), FARTHEST)


def remainder_of(
    statistic: Statistic,
    linearizer: Linearizer,
    linear: Linear,
    pilot: Pilot,
    half_range: float,
    gradient: float = 0.0,
    inside: float = 0.0,
    beyond: float = 0.0,
) -> Remainder:
    """From imagined rounds, with allowances.

    ``gradient`` is that of the first form, where bins may be uneven; ``inside`` and ``beyond`` are the most
    that pairs within parts and people far away add.
    """
    missed, moved = imagined_remainders(statistic, linearizer, linear, pilot)
    # Errors of several strata have nothing to do with each other, so their product is 0 on average but for
    # what cutting shares at 0 does. Imagined rounds start from pilots that are cut and show too much of it.
    mean, seen = 0.0, float(np.mean(np.square(missed)))
    if len(pilot.masses) == 1:
        mean, seen = float(np.mean(missed)), float(np.var(missed, ddof=1))
    between = 0.0
    if pilot.even is not None:
        mean, between, seen = _between(statistic, linearizer, pilot.even, mean, seen)
    variance = allowed_variance(statistic, pilot, seen, half_range)
    cut, uncut, ends = 0.0, variance, 0.0
    if pilot.measured and statistic.form_count == 1 and statistic.needs != "discrete":
        cut, missed_variance = _uncut(statistic, linearizer, linear, pilot, missed)
        uncut = missed_variance + allowed_variance(statistic, pilot, 0.0, half_range)
    gain = 0.0
    if gradient and statistic.needs == "ordered" and len(statistic.domain_columns) == 2:
        if statistic.form_count == 1:
            gain = gain_error(linearizer, pilot)
        ends = abs(gradient) * at_ends(pilot, linear)
        variance += gradient**2 * (slab_deviation(pilot) ** 2 + pilot.deviation**2)
    # Of what pairs within parts add there is between nothing and all: half of it may be wrong.
    mean += inside / 2
    crowd = missed_pairs(statistic, gradient, pilot.missed)
    bias, expected = abs(inside) / 2 + abs(beyond) + cut + crowd + between, np.empty(0)
    if len(statistic.domain_columns) == 1:
        # A pilot of two columns is drawn towards columns that have nothing to do with each other, and so
        # is off along the function where it misses little.
        expected = np.mean(np.square(moved), axis=0)
    beside = min(abs(gradient) * pilot.beside, 1.0)
    together = 0.0 if pilot.one_part is None else min(abs(gradient) * float(pilot.one_part.sum()), beside)
    crowded = (
        Crowded(agreed(pilot.crowded.pairs), agreed(pilot.crowded.tied), agreed(1 / gradient))
        if pilot.crowded.pairs
        else Crowded()
    )
    usual = tuple(map(agreed, expected.tolist()))
    more = agreed(max(agreed(uncut) - agreed(variance), 0.0))
    return Remainder(
        agreed(mean),
        agreed(variance),
        agreed(bias),
        usual,
        agreed(beside),
        crowded,
        more,
        together=agreed(together),
        ends=agreed(ends),
        gain=gain,
    )


def missed_pairs(statistic: Statistic, gradient: float, share: float) -> float:
    """What is missed at most if the pilot lacks this share of people, who lie in one place.

    Of errors e that add up to 0, people who lie elsewhere count twice, and tau's kernel, between -1 and 1,
    makes at most the square of that of them. An AUC has two classes, of each of which the pilot lacks a share
    d at the place p and has it at c and c' instead. With s for half of the sign of a difference, d^2 times
    s(p, p) - s(p, c') - s(c, p) + s(c, c') is missed: the first and the others together are 1/2 at most.
    """
    return abs(gradient) * (2 * share) ** 2 if len(statistic.domain_columns) > 1 else share**2


def imagined_remainders(
    statistic: Statistic, linearizer: Linearizer, linear: Linear, pilot: Pilot
) -> tuple[list[float], list[list[float]]]:
    """What the derivative at each imagined pilot misses of the statistic at the pilot, and corrects.

    The latter of each stratum.
    """
    linears = linearizer.every(pilot.imagined, nominal(statistic))
    # An imagined pilot at which a ratio has no value tells only that the pilot is poor.
    seen = [(masses, each) for masses, each in zip(pilot.imagined, linears, strict=True) if each is not None]
    corrections = moved_by(pilot, seen)
    missed = [
        linear.value - each.value - sum(moved) for (_, each), moved in zip(seen, corrections, strict=True)
    ]
    if len(missed) < len(pilot.imagined) / 2:
        raise NotEstimable(TOO_NOISY)
    return missed, corrections


def _uncut(
    statistic: Statistic, linearizer: Linearizer, linear: Linear, pilot: Pilot, missed: list[float]
) -> tuple[float, float]:
    """How much more the derivative would miss at pilots as they are measured, and its variance there.

    That is (z - h)'A(z - h) for noise z - h of covariance C, with mean tr(AC), whatever the people h are. To
    cut shares at 0 brings a pilot nearer to the people, by how much depends on them: imagined rounds start
    from a pilot that is cut already, and know it only there. What is missed lies between both. Where a kernel
    asks for equality alone, the nearest distribution is the nearest one in its own norm, and `_between` knows
    more.
    """
    uncut, _ = imagined_remainders(
        statistic, linearizer, linear, replace(pilot, imagined=list(pilot.measured))
    )
    # Digits that processors agree on come before a difference, of which there may be none.
    means = [agreed(float(np.mean(each))) for each in (uncut, missed)]
    return abs(means[0] - means[1]), float(np.var(uncut, ddof=1))


def _between(
    statistic: Statistic, linearizer: Linearizer, even: Pilot, mean: float, variance: float
) -> tuple[float, float, float]:
    """The middle of what is missed on average from the pilot and from an even one, half of what lies between.

    And the larger variance. Where a kernel asks for equality alone, what is missed is |h - g|^2. Of many
    cells a pilot has a few that noise chose. It is further from its imagined rounds than people are from it
    who lie evenly in all such cells. People lie between both.
    """
    (linear,) = linearizer.every([even.masses], nominal(statistic))
    if linear is None:
        raise NotEstimable(TOO_NOISY)
    missed, _ = imagined_remainders(statistic, linearizer, linear, even)
    ends = agreed(mean), agreed(float(np.mean(missed)))
    return sum(ends) / 2, abs(ends[0] - ends[1]) / 2, max(variance, float(np.var(missed, ddof=1)))


def moved_by(pilot: Pilot, others: Sequence[tuple[Masses, Linear]]) -> list[list[float]]:
    """What each stratum's second round adds to the value at other pilots, if this pilot is the truth."""
    if not others:
        return []
    moved = []
    for stratum, truth in pilot.masses.items():
        means = cell_means(pilot.grid, np.stack([linear.functions[stratum] for _, linear in others]))
        moved.append(
            [float(row @ (truth - masses[stratum])) for row, (masses, _) in zip(means, others, strict=True)]
        )
    return [list(each) for each in zip(*moved, strict=True)]


def allowed_variance(statistic: Statistic, pilot: Pilot, variance: float, half_range: float) -> float:
    """The variance that imagined rounds show, with allowances for what they do not show."""
    plane = len(statistic.domain_columns) > 1
    if half_range > 0:
        # Imagined rounds start from a pilot that is smoother than the truth, which matters in the plane;
        # those of a ratio on one column vary enough as they are.
        smooth = SMOOTH_PLANE if plane else SMOOTH if statistic.form_count == 1 else 0.0
        variance *= 1 + smooth * math.sqrt(variance) / half_range
    if statistic.needs != "numeric":
        # A kernel that jumps may do anything to a pair within one part.
        apart = FAR_APART if plane else 4 * FAR_APART
        line = len(pilot.grid.axes) == 1
        further = UNEVEN_LINE * pilot.uneven if line else ALL_TOGETHER * max(pilot.uneven - apart, 0.0)
        variance += (pilot.uneven * (UNEVEN + further) * half_range) ** 2
    return variance


def within_leaves(statistic: Statistic, pilot: Pilot) -> float:
    """How far the first form may be off where a tree has too few bits to say where in a leaf people lie.

    A deep tree needs no such allowance for distances: parts that are wider than its leaves hold few people.
    A comparison of two people in one leaf may come out anyhow, however narrow the leaf is.
    """
    if pilot.crowds is not None:
        there = pilot.grid if pilot.given is None else pilot.given
        return float(statistic.hidden(there, "average", tuple(pilot.crowds.values()))[0])
    if pilot.anyhow is None:
        return 0.0
    (masses,) = pilot.masses.values()
    return max(map(abs, statistic.uneven(pilot.grid, masses, pilot.anyhow)))
