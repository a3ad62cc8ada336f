"""What only the analyst of a second round needs: the pilot's value, and how answers correct it.

Nobody who answers reads this, so it is no part of the study: it has a file of its own, which names the study,
and whoever has the first round's tally can make it again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadFile, BadParameter, NotEnoughData, NotEstimable
from ...estimate import Quantization
from ...formats.canonical import agreed
from ...formats.checks import fields, integer, real, required
from ...mechanisms import ScalarResponse
from ...statistics import Linear, Statistic
from ...statistics.influence import Influence
from ...statistics.linear import nominal
from ..base import Answer
from ..counts import MAX_COUNT, DenseCounts
from .pilot import Pilot
from .reading import by_stratum
from .remainder import Remainder

LARGEST = 1e100
ROUNDING = 1e-6
"""More than numbers of nine digits can be off, as a share."""
_FIELDS = (
    "people",
    "alone",
    "forms",
    "value",
    "ranges",
    "means",
    "variances",
    "remainder",
    "bias",
    "kernel_uncertainty",
)


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

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        pilot: Pilot,
        linear: Linear,
        influences: Mapping[str, tuple[Influence, tuple[float, float]]],
        remainder: Remainder,
        people: dict[str, int],
        alone: tuple[float, float] | None,
    ) -> Analysis:
        """Digits that processors agree on, so that the same tally gives the same file on all of them."""
        means, variances = {}, {}
        for name, masses in pilot.masses.items():
            cells = influences[name][0].cells
            mean = float(cells @ masses)
            means[name] = agreed(mean)
            variances[name] = agreed(max(float(cells**2 @ masses) - mean**2, 0.0))
        return cls(
            people,
            alone,
            tuple(map(agreed, linear.forms.tolist())),
            agreed(linear.value),
            {name: ends for name, (_, ends) in influences.items()},
            means,
            variances,
            remainder,
            agreed(statistic.kernel_uncertainty(next(iter(pilot.masses.values())))),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "alone": None if self.alone is None else list(self.alone),
            "forms": list(self.forms),
            "value": self.value,
            "ranges": {name: list(ends) for name, ends in self.ranges.items()},
            "means": self.means,
            "variances": self.variances,
            "remainder": [self.remainder.mean, self.remainder.variance],
            "bias": self.remainder.bias,
            "kernel_uncertainty": self.kernel_uncertainty,
        }

    @classmethod
    def from_json(cls, statistic: Statistic, spec: Any) -> Analysis:
        """Read it back; everything is checked before it is used."""
        what = "an analysis of a second round"
        if not isinstance(spec, Mapping):
            raise BadFile(f"{what} must be a JSON object, not {type(spec).__name__}")
        fields(what, spec, _FIELDS)
        # Files from before intervals allowed for a bias have none.
        required(what, spec, [name for name in _FIELDS if name != "bias"])
        by = {
            name: by_stratum(statistic, name, spec[name])
            for name in ("people", "ranges", "means", "variances")
        }
        if not isinstance(spec["forms"], list) or len(spec["forms"]) != statistic.form_count:
            raise BadFile(f"{what} of {statistic.name} has {statistic.form_count} form(s)")
        alone = None if spec["alone"] is None else _pair("first round's own estimate", spec["alone"])
        remainder = _pair("remainder", spec["remainder"])
        if remainder[1] < 0:
            raise BadFile(f"the remainder's variance cannot be negative, as {remainder[1]:g} is")
        if alone is not None and alone[1] <= 0:
            raise BadFile(f"the first round's own estimate has a variance above 0, not {alone[1]:g}")
        ranges = {name: _pair("range", each) for name, each in by["ranges"].items()}
        if any(low > high for low, high in ranges.values()):
            raise BadFile("a function's least value must not lie above its greatest")
        return cls(
            {
                name: integer("people of the first round", each, 1, MAX_COUNT)
                for name, each in by["people"].items()
            },
            alone,
            tuple(_number("form", each) for each in spec["forms"]),
            _number("value", spec["value"]),
            ranges,
            {name: _number("mean", each) for name, each in by["means"].items()},
            {name: _variance("variance", each) for name, each in by["variances"].items()},
            Remainder(*remainder, _variance("bias", spec.get("bias", 0.0))),
            _variance("kernel uncertainty", spec["kernel_uncertainty"]),
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
        value, slack = self.forms[0], 0.0
        if len(self.forms) > 1:
            forms = np.array(self.forms)
            try:
                at_pilot = statistic.finish(forms, nominal(statistic))
            except NotEstimable as error:
                raise BadParameter(f"the pilot's forms give no value: {error}") from None
            value = at_pilot.value
            slack = ROUNDING * (abs(value) + float(np.abs(at_pilot.gradient) @ np.abs(forms)))
        if not abs(self.value - value) <= slack:
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
        value, variance, sampling = self.value + self.remainder.mean, self.remainder.variance, 0.0
        decode = mechanism.decode
        for stratum, table in counts.items():
            people = table.people
            if people < 2:
                whose = "" if len(counts) == 1 else f" of the {stratum} class"
                raise NotEnoughData(f"fewer than 2 people{whose} answered in the second round")
            low, high = self.ranges[stratum]
            shares = table.array / people
            mean = float(shares @ decode)
            value += (high - low) * (mean - self.means[stratum])
            variance += (high - low) ** 2 * max(float(shares @ decode**2) - mean**2, 0.0) / (people - 1)
            # Of the people who took part in either round, their own choice is known, not random.
            sampling += (high - low) ** 2 * self.variances[stratum] / (people + self.people[stratum])
        if self.alone is not None and combined:
            weight = variance / (variance + self.alone[1])
            value += weight * (self.alone[0] - value)
            variance *= 1 - weight
        sizes = {stratum: table.people + self.people[stratum] for stratum, table in counts.items()}
        return self.finished(statistic, value, variance, max(variance - sampling, 0.0), sizes)

    def finished(
        self, statistic: Statistic, value: float, population: float, sample: float, sizes: dict[str, int]
    ) -> Answer:
        """From the unit of the functions to the statistic's own."""
        details: dict[str, float] = {}
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
            bias=scale * self.remainder.bias + off,
        )


def _number(name: str, value: Any) -> float:
    """A finite number that a statistic could have."""
    number = real(name, value)
    if abs(number) > LARGEST:
        raise BadFile(f"a {name} of {number:g} is beyond all values of a statistic")
    return number


def _variance(name: str, value: Any) -> float:
    number = _number(name, value)
    if number < 0:
        raise BadFile(f"a {name} cannot be negative, as {number:g} is")
    return number


def _pair(name: str, given: Any) -> tuple[float, float]:
    if not isinstance(given, list) or len(given) != 2:
        raise BadFile(f"a {name} is two numbers")
    return _number(name, given[0]), _number(name, given[1])
