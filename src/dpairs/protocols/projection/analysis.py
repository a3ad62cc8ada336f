"""What only the analyst of a second round needs: the pilot's value, and how answers correct it.

Nobody who answers reads this, so it is no part of the study: it has a file of its own, which names the study,
and whoever has the first round's tally can make it again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadFile, BadParameter, NotEnoughData, NotEstimable
from ...estimate import Quantization
from ...formats.canonical import agreed
from ...formats.checks import fields, integer, required
from ...mechanisms import ScalarResponse
from ...statistics import Linear, Statistic
from ...statistics.base import CLEAR, LARGEST
from ...statistics.influence import Influence
from ...statistics.linear import nominal
from ..base import Answer
from ..counts import MAX_COUNT, DenseCounts
from .divided import Divided
from .pilot import Pilot
from .reading import by_stratum, not_negative, number, two_numbers
from .remainder import REMAINDER, Remainder
from .tied import NO_TIES, UnseenTies

VALUES = np.linspace(0.0, 1.0, 65)
"""Values of a function, as shares of its range."""
ROUNDING = 1e-6
"""More than numbers of nine digits can be off, as a share."""
_NEEDED = ("people", "alone", "forms", "value", "ranges", "means", "variances", "kernel_uncertainty")
_LATER = ("divided", "noises", "alone_noise", "ties")
"""What files from before intervals allowed for it do not have."""


@dataclass(frozen=True)
class Analysis:
    """The statistic at the pilot, and each stratum's influence function over it."""

    people: dict[str, int]
    """Who answered in the first round, by stratum."""
    alone: tuple[float, float] | None
    """The first round's own estimate and its variance, in the unit of the functions."""
    forms: tuple[float, ...]
    """The forms at the pilot."""
    value: float
    """The statistic at the pilot, in the unit of the functions."""
    ranges: dict[str, tuple[float, float]]
    """Each function's least and greatest value."""
    means: dict[str, float]
    """Each function's mean over the pilot, as a share of its range."""
    variances: dict[str, float]
    """Each function's variance over the pilot, likewise."""
    remainder: Remainder
    kernel_uncertainty: float
    """How far a kernel that is known only on cells can lie from its table, averaged over the pilot."""
    divided: Divided | None = None
    """What the divisor of a ratio does."""
    noises: dict[str, float] | None = None
    """The mechanism's variance averaged over the pilot, in the unit of ``variances``."""
    alone_noise: float | None = None
    """The variance of the first round's own estimate around the value of its people."""
    ties: UnseenTies = NO_TIES
    """What more ties than the pilot has do to the value."""

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        pilot: Pilot,
        linear: Linear,
        influences: Mapping[str, tuple[Influence, tuple[float, float]]],
        remainder: Remainder,
        people: dict[str, int],
        alone: tuple[float, float, float] | None,
        divided: Divided | None = None,
        mechanism: ScalarResponse | None = None,
        ties: UnseenTies = NO_TIES,
    ) -> Analysis:
        """Digits that processors agree on, so that the same tally gives the same file on all of them."""
        means, variances, noises = {}, {}, {}
        for name, masses in pilot.masses.items():
            cells = influences[name][0].cells
            mean = float(cells @ masses)
            means[name] = agreed(mean)
            variances[name] = agreed(max(float(cells**2 @ masses) - mean**2, 0.0))
            if mechanism is not None:
                noises[name] = agreed(max(float(mechanism.variances(cells) @ masses), 0.0))
        forms = tuple(map(agreed, linear.forms.tolist()))
        if len(forms) > 1:
            # Of digits that processors agree on a divisor may be 0, which the pilot's own is not.
            statistic.finish(np.array(forms), nominal(statistic))
        return cls(
            people,
            None if alone is None else alone[:2],
            forms,
            agreed(linear.value),
            {name: ends for name, (_, ends) in influences.items()},
            means,
            variances,
            remainder,
            agreed(statistic.kernel_uncertainty(next(iter(pilot.masses.values())))),
            divided,
            noises or None,
            None if alone is None else alone[2],
            ties,
        )

    def to_json(self) -> dict[str, Any]:
        divided = {} if self.divided is None else {"divided": self.divided.to_json()}
        noises = {} if self.noises is None else {"noises": self.noises}
        alone = {} if self.alone_noise is None else {"alone_noise": self.alone_noise}
        ties = {} if self.ties == NO_TIES else {"ties": self.ties.to_json()}
        return {
            **self.remainder.to_json(self.ranges),
            **divided,
            **noises,
            **alone,
            **ties,
            "people": self.people,
            "alone": None if self.alone is None else list(self.alone),
            "forms": list(self.forms),
            "value": self.value,
            "ranges": {name: list(ends) for name, ends in self.ranges.items()},
            "means": self.means,
            "variances": self.variances,
            "kernel_uncertainty": self.kernel_uncertainty,
        }

    @classmethod
    def from_json(cls, statistic: Statistic, spec: Any) -> Analysis:
        """Read it back; everything is checked before it is used."""
        what = "an analysis of a second round"
        if not isinstance(spec, Mapping):
            raise BadFile(f"{what} must be a JSON object, not {type(spec).__name__}")
        fields(what, spec, (*_NEEDED, *REMAINDER, *_LATER))
        required(what, spec, (*_NEEDED, "remainder"))
        by = {
            name: by_stratum(statistic, name, spec[name])
            for name in ("people", "ranges", "means", "variances")
        }
        noises = by_stratum(statistic, "noises", spec["noises"]) if "noises" in spec else None
        if not isinstance(spec["forms"], list) or len(spec["forms"]) != statistic.form_count:
            raise BadFile(f"{what} of {statistic.name} has {statistic.form_count} form(s)")
        alone = None if spec["alone"] is None else two_numbers("first round's own estimate", spec["alone"])
        remainder = Remainder.from_json(statistic, spec)
        if alone is not None and alone[1] <= 0:
            raise BadFile(f"the first round's own estimate has a variance above 0, not {alone[1]:g}")
        ranges = {name: two_numbers("range", each) for name, each in by["ranges"].items()}
        if any(low > high for low, high in ranges.values()):
            raise BadFile("a function's least value must not lie above its greatest")
        return cls(
            {
                name: integer("people of the first round", each, 1, MAX_COUNT)
                for name, each in by["people"].items()
            },
            alone,
            tuple(number("form", each) for each in spec["forms"]),
            number("value", spec["value"]),
            ranges,
            {name: number("mean", each) for name, each in by["means"].items()},
            {name: not_negative("variance", each) for name, each in by["variances"].items()},
            remainder,
            not_negative("kernel uncertainty", spec["kernel_uncertainty"]),
            Divided.from_json(statistic, spec["divided"]) if "divided" in spec else None,
            {name: not_negative("noise", each) for name, each in noises.items()} if noises else None,
            not_negative("first round's own noise", spec["alone_noise"]) if "alone_noise" in spec else None,
            UnseenTies.from_json(spec["ties"]) if "ties" in spec else NO_TIES,
        ).checked(statistic)

    def checked(self, statistic: Statistic) -> Analysis:
        """Itself, if the functions lie within their ranges and the forms give the value, up to rounding."""
        for stratum, mean in self.means.items():
            if not -ROUNDING <= mean <= 1 + ROUNDING:
                raise BadParameter(f"a mean is a share of its function's range, from 0 to 1, not {mean:g}")
            if self.variances[stratum] > mean * (1 - mean) + ROUNDING:
                raise BadParameter(
                    f"a function from 0 to 1 of mean {mean:g} cannot have a variance of "
                    f"{self.variances[stratum]:g}"
                )
        if self.divided is not None:
            widest = max(1.0, *(high - low for low, high in self.ranges.values()))
            if max(map(abs, self.divided.to_json())) * widest**2 > LARGEST:
                raise BadParameter(f"what a divisor does is too large for functions {widest:g} wide")
        value, slack = self.forms[0], 0.0
        if len(self.forms) > 1:
            forms = np.array(self.forms)
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    at_pilot = statistic.finish(forms, nominal(statistic))
            except NotEstimable as error:
                raise BadParameter(f"the pilot's forms give no value: {error}") from None
            value = at_pilot.value
            slack = ROUNDING * (abs(value) + float(np.abs(at_pilot.gradient) @ np.abs(forms)))
        if not abs(self.value - value) <= slack < math.inf:
            raise BadParameter(f"the pilot's forms give the value {value:g}, not {self.value:g}")
        return self

    def estimate(
        self,
        statistic: Statistic,
        mechanism: ScalarResponse,
        counts: Mapping[str, DenseCounts],
        combined: bool,
    ) -> Answer:
        """The pilot's value, corrected by the mean of the functions."""
        corrections, noises, totals = [], [], {}
        decode = mechanism.decode
        for stratum in self.ranges:
            table = counts[stratum]
            people = table.people
            if people < 2:
                whose = "" if len(counts) == 1 else f" of the {stratum} class"
                raise NotEnoughData(f"fewer than 2 people{whose} answered in the second round")
            low, high = self.ranges[stratum]
            shares = table.array / people
            mean = float(shares @ decode)
            corrections.append((high - low) * (mean - self.means[stratum]))
            varied = max(float(shares @ decode**2) - mean**2, self.least_varied(stratum))
            totals[stratum] = varied * people / (people - 1), people
            noises.append((high - low) ** 2 * varied / (people - 1))
        correction, noise = sum(corrections), sum(noises)
        value = self.value + self.remainder.mean + correction
        further = self.remainder.further(corrections, noises)
        divided = None if self.divided is None else self.divided.further(further)
        missed = self._missed(correction, further, divided)
        noisier = 1.0 if divided is None else divided.noisier
        variance, weight = missed + noisier * noise, 0.0
        if self.alone is not None and combined:
            # The weight is that of what was imagined: who answers must not move it.
            both, alone = self.pooled(totals)
            usual = self.remainder.variance + both
            weight = usual / (usual + alone)
            value += weight * (self.alone[0] - value)
            variance = (1 - weight) ** 2 * (missed + noisier * both) + weight**2 * alone
        sizes = {stratum: table.people + self.people[stratum] for stratum, table in counts.items()}
        sample = min(self.around_sample(mechanism, counts, weight, missed, noisier), variance)
        beyond = self.remainder.heavier.more(correction, math.sqrt(noise))
        beyond += self.remainder.ends * abs(correction)
        beyond -= sum(self.remainder.far.less(mechanism, table) for table in counts.values())
        answer = self.finished(statistic, value, variance, sample, sizes, beyond)
        answer = answer if divided is None else _divided_by(answer, divided)
        return self.ties.allowed(answer, self.at_ends(mechanism, counts))

    def least_varied(self, stratum: str) -> float:
        """Answers vary by noise at least, also where it is so rare that they happen to show none."""
        return 0.0 if self.noises is None else self.noises[stratum]

    def at_ends(self, mechanism: ScalarResponse, counts: Mapping[str, DenseCounts]) -> float:
        """The share of people who surely lie at an end of a column of the plane, if the pilot lacks them.

        By the pilot's own ranks u and w of both columns, tau's function is (2u - 1)(2w - 1) or nearly so. At
        an end of one column it has any value, evenly: a larger variance, and more noise, than elsewhere. So
        if a share p of the people is there, and the pilot takes them for others, the variance of all answers
        lies p of the way from the pilot's to that of even values.
        """
        even = 1 / 12 + float(mechanism.variances(VALUES).mean())
        share = 0.0
        for stratum, table in counts.items():
            if self.noises is not None:
                total, chance = _variance_of(mechanism, table)
                usual = self.variances[stratum] + self.noises[stratum]
                more = total - CLEAR * chance - usual
                share = max(share, more / (even - usual) if even > usual else float(more > 0))
        return min(share, 1.0)

    def pooled(self, totals: Mapping[str, tuple[float, int]]) -> tuple[float, float]:
        """The variances of the second round's correction and of the first round's own estimate.

        From the variance of each stratum's answers in the second round, and how many they are. Coins decide
        who answers when, so people differ alike in both rounds. If one happens to ask none of a few
        people far from the others, its value and its variance are small: by its own variance it would have
        nearly all of the weight. Older files do not have what this needs.
        """
        squares = {stratum: (high - low) ** 2 for stratum, (low, high) in self.ranges.items()}
        variance = sum(squares[stratum] * total / second for stratum, (total, second) in totals.items())
        if self.noises is None or self.alone_noise is None:
            return variance, math.inf if self.alone is None else self.alone[1]
        own = self.alone_noise
        for stratum, (total, second) in totals.items():
            first, seen = self.people[stratum], max(total - self.noises[stratum], 0.0)
            differ = (first * self.variances[stratum] + second * seen) / (first + second)
            variance += squares[stratum] * (differ - seen) / second
            own += squares[stratum] * differ / first
        return variance, own

    def around_sample(
        self,
        mechanism: ScalarResponse,
        counts: Mapping[str, DenseCounts],
        weight: float,
        missed: float,
        noisier: float = 1.0,
    ) -> float:
        """The variance around the value of the people who took part, the first round having this weight.

        Their own choice is known, not random: what is left is noise, and that rounds count by their weights
        and not by their people. Each part is added up for itself. The difference between the variance around
        the population's value and that of the people would be of the size of its own error where there is
        hardly any noise. Noise and the choice of people have a variance so many times ``noisier``.
        """
        noise = chosen = drawn = 0.0
        for stratum, table in counts.items():
            first, second = self.people[stratum], table.people
            low, high = self.ranges[stratum]
            square, people = (high - low) ** 2, first + second
            total, chance = _variance_of(mechanism, table)
            own = total - self.variances[stratum]
            if self.noises is not None:
                # What the answers say instead counts where it is beyond their own chance.
                own = max(self.noises[stratum], own - CLEAR * chance)
            noise += square * max(own, 0.0) / second
            drawn += square * self.variances[stratum] / first
            chosen += (
                square
                * self.variances[stratum]
                * ((weight - first / people) ** 2 / first + (1 - weight - second / people) ** 2 / second)
            )
        sample = (1 - weight) ** 2 * (missed + noisier * noise) + noisier * chosen
        if self.alone is not None and weight > 0:
            alone = max(self.alone[1] - drawn, 0.0) if self.alone_noise is None else self.alone_noise
            sample += weight**2 * alone
        return sample

    def _missed(self, correction: float, further: float, divided: Divided | None) -> float:
        """The variance of the remainder, quadratic in how far the pilot is off."""
        if divided is not None:
            return divided.variance(correction)
        imagined = self.remainder.variance + self.remainder.uncut
        unseen = self.remainder.gain * correction**2
        return unseen + further**2 * imagined + ((further - 1) * self.remainder.mean) ** 2

    def finished(
        self,
        statistic: Statistic,
        value: float,
        population: float,
        sample: float,
        sizes: dict[str, int],
        beyond: float = 0.0,
    ) -> Answer:
        """From the unit of the functions to the statistic's own; ``beyond`` adds to the bias."""
        details: dict[str, float] = {}
        hidden = self.remainder.hidden(value)
        population, sample = (each * self.remainder.slope(value, each) ** 2 for each in (population, sample))
        crowds = self.remainder.crowded.unseen(value, math.sqrt(population))
        value += hidden
        forms: NDArray[np.float64]
        if len(self.forms) == 1:
            forms = np.array([value])
            finished = statistic.finish(forms, sizes)
            final, scale = finished.value, abs(float(finished.gradient[0]))
            details = statistic.details(
                forms, sizes, lambda gradient: abs(float(gradient[0])) * math.sqrt(population)
            )
        else:
            # People enter a ratio only as a common factor of value and gradient.
            forms = np.array(self.forms)
            here, there = (statistic.finish(forms, each) for each in (sizes, nominal(statistic)))
            largest = int(np.argmax(np.abs(there.gradient)))
            scale = abs(float(here.gradient[largest] / there.gradient[largest]))
            final = here.value + scale * (value - self.value)
        off = self.kernel_uncertainty
        return Answer(
            final,
            scale * math.sqrt(population),
            scale * math.sqrt(sample),
            Quantization(None if off else 0.0, off, off * off),
            details,
            bias=scale * (self.remainder.bias + abs(hidden) + crowds + beyond) + off,
        )


def _variance_of(mechanism: ScalarResponse, table: DenseCounts) -> tuple[float, float]:
    """The variance of the answers and its standard error."""
    people = table.people
    squares = (mechanism.decode - table.array / people @ mechanism.decode) ** 2
    total = float(table.array @ squares) / (people - 1)
    return total, math.sqrt(max(float(table.array @ squares**2) / people - total**2, 0.0) / people)


def _divided_by(answer: Answer, divided: Divided) -> Answer:
    """Fieller's interval; where the divisor may be 0, all that the statistic can be."""
    slack = divided.slack
    if not math.isfinite(slack):
        return replace(answer, bias=math.inf, caveats=(*answer.caveats, *divided.caveats))
    return replace(
        answer,
        standard_error=slack * answer.standard_error,
        sample_standard_error=slack * answer.sample_standard_error,
    )
