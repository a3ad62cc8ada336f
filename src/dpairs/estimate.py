"""An answer with its error: what an analyst gets from a tally."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .errors import BadParameter
from .formats.checks import choice, integer, real
from .formats.display import Shown, number
from .formats.numeric import Numeric
from .privacy import PrivacyClaim
from .statistics.fixed_length import reach

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .study import Study

TARGETS = ("population", "sample")
LIARS = 0.01
"""The share of liars that tables and pages show."""


class ConfidenceInterval(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """The two estimated distributions, on parts of the domain from the lowest to the highest.

    The walk did not split ``discarded`` parts: their pairs count as half won.
    ``recursed_nodes`` and ``discarded_nodes`` are by level, the root first.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    positive: NDArray[np.float64]
    negative: NDArray[np.float64]
    discarded: NDArray[np.bool_]
    recursed_nodes: tuple[int, ...]
    discarded_nodes: tuple[int, ...]

    def rows(self) -> list[tuple[int, int, int]]:
        """(level, recursed nodes, discarded nodes), for a table."""
        pairs = zip(self.recursed_nodes, self.discarded_nodes, strict=True)
        return [(level, recursed, discarded) for level, (recursed, discarded) in enumerate(pairs)]


@dataclass(frozen=True)
class Quantization:
    """How far binning may have moved the value; the interval allows for it through `Estimate.bias`.

    ``bound`` holds for any data (it is known when the kernel has a Lipschitz constant). ``estimate`` is for
    this data, from the same reports: how far the kernel can be from its binned value, averaged over
    pairs. ``delta`` is the paper's Delta, the average of the square of that distance, so
    ``estimate <= sqrt(delta)`` up to noise. Under random rounding ``delta`` is None, and
    ``estimate`` is the most that rounding can have added to distances, and None for other kernels. All are
    zero on domains that were not binned.
    """

    bound: float | None
    estimate: float | None
    delta: float | None


@dataclass(frozen=True)
class Manipulation:
    """How far ``people`` liars can move an answer: down to ``value - down``, up to ``value + up``.

    The liars see everything and replace ``reports`` reports of their choice by whatever they like. If
    ``exact``, an attack reaches both ends; otherwise ``down`` and ``up`` are bounds that no attack exceeds.
    ``multiplier`` is what privacy gives to liars: how many times further a false report moves the answer
    than a false value, randomized as agreed, does on average.
    """

    people: int
    reports: int
    down: float
    up: float
    exact: bool
    multiplier: float

    @property
    def change(self) -> float:
        """The largest change either way."""
        return max(self.down, self.up)

    def to_json(self) -> dict[str, Any]:
        """As plain values; null where there is no bound."""
        numbers = {name: _finite(getattr(self, name)) for name in ("down", "up", "change", "multiplier")}
        return {"people": self.people, "reports": self.reports, "exact": self.exact, **numbers}


class Attack(Protocol):
    """What liars can do to one answer."""

    @property
    def participants(self) -> int:
        """How many people answered in this round."""
        ...

    def __call__(self, people: int) -> Manipulation: ...


class Law(Protocol):
    """How an error is distributed."""

    def reach(self, level: float) -> float:
        """The half-length of an interval that covers with the chance ``level``."""
        ...


@runtime_checkable
class Leaning(Law, Protocol):
    """One whose interval goes further to one side."""

    def lean(self, level: float) -> tuple[float, float]:
        """How much further than `reach` it goes down, and up."""
        ...


class Laws(NamedTuple):
    """The errors around the population's value and around the sample's."""

    population: Law
    sample: Law


class WithoutPrivacy(NamedTuple):
    """The same people's answer if somebody has all their values."""

    value: float
    standard_error: float


@dataclass(frozen=True, repr=False)
class Estimate(Shown, Numeric):
    """A statistic's value with its standard error and its privacy claim. It computes like its value.

    ``standard_error`` is around the value in the *population* that the people come from: it includes the
    sampling of people and the privacy noise. ``sample_standard_error`` is around the exact statistic of the
    people who took part: the privacy noise alone. ``bias`` bounds errors that do not average out over
    repetitions: cells do not show where people are within them, and a derivative misses a remainder.
    """

    statistic: str
    value: float
    standard_error: float
    sample_standard_error: float
    strata: Mapping[str, int]
    privacy: PrivacyClaim
    protocol: str
    estimator: str
    study_id: str
    quantization: Quantization
    details: Mapping[str, float] = field(default_factory=dict)
    explanation: Explanation | None = field(default=None, repr=False, compare=False)
    bounds: tuple[float, float] = (-math.inf, math.inf)
    """The range of the statistic, which the interval never leaves."""
    most: float = math.inf
    """What the population's value can be at most."""
    raw: float = field(default=math.nan, repr=False, compare=False)
    """The value before it is moved into ``bounds``: what the paper's figures are about."""
    bias: float = 0.0
    logarithmic: bool = False
    """Whether e^-value, and not the value itself, has a normal error, as with entropies."""
    centre: float | None = None
    """The centre of the interval, if it is not the value."""
    laws: Laws | None = field(default=None, repr=False, compare=False)
    """How the errors are distributed, if they are known not to be normal."""
    attack: Attack | None = field(default=None, repr=False, compare=False)
    study: Study = field(default=None, repr=False, compare=False)  # type: ignore[assignment]
    """The study that people answered; after a simulation, its first round."""
    caveats: tuple[str, ...] = ()
    """Warnings that come before all other notes, such as that the domain was taken from the data."""
    without_privacy: WithoutPrivacy | None = field(default=None, repr=False, compare=False)
    """The exact value with its standard error, if the data was available."""

    def __getstate__(self) -> dict[str, Any]:
        """Everything except the tally behind it, which does not travel."""
        return {**self.__dict__, "attack": None}

    def __hash__(self) -> int:
        return hash((self.study_id, self.value, self.standard_error))

    @property
    def n(self) -> int:
        """How many people took part."""
        return sum(self.strata.values())

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        """``f"{estimate:.3f}"`` formats the value; without a format, `str`."""
        return format(self.value, spec) if spec else str(self)

    def __repr__(self) -> str:
        low, high = self.confidence_interval()
        return (
            f"Estimate({self.statistic}={number(self.value)}, standard_error={number(self.standard_error)}, "
            f"interval=({number(low)}, {number(high)}), n={self.n}, protocol={self.protocol!r}, "
            f"epsilon={self.privacy.epsilon_asked:g})"
        )

    @property
    def title(self) -> str:
        return self.statistic

    def rows(self, level: float = 0.95) -> list[tuple[str, str]]:
        """The estimate as a table of names and texts."""
        low, high = self.confidence_interval(level)
        rows = [
            ("estimate", number(self.value)),
            ("standard error", number(self.standard_error)),
            (f"{level:.0%} interval", f"{number(low)} to {number(high)}"),
            ("people", counted_people(self.strata)),
            ("privacy", str(self.privacy)),
        ]
        if self.without_privacy is not None:
            value, error = self.without_privacy
            rows.append(("without privacy", f"{number(value)}, standard error {number(error)}"))
        if self.attack is not None:
            liars = self._few_liars(self.attack)
            moved = f"at most {liars.change:.2g}" if math.isfinite(liars.change) else "no bound is known"
            if math.isfinite(liars.multiplier):
                moved += f"; a lie counts {liars.multiplier:.3g} times"
            who = "one person lies" if liars.people == 1 else f"{LIARS:.0%} lie"
            rows.append((f"if {who}, it moves", moved))
        return rows + [(name.replace("_", " "), number(value)) for name, value in self.details.items()]

    @property
    def pvalue(self) -> float:
        """The p-value of a test, under the name that scipy gives it."""
        if "p_value" not in self.details:
            raise AttributeError(f"an estimate of {self.statistic} has no pvalue; mann_whitney has one")
        return self.details["p_value"]

    def plot(self, level: float = 0.95) -> Figure:
        """Draw the interval, next to the one without privacy if the data was available."""
        from .pictures.intervals import Bar, draw_intervals

        bars = [
            Bar(
                f"private, epsilon {self.privacy.epsilon_asked:g}",
                self.value,
                *self.confidence_interval(level),
            )
        ]
        if self.without_privacy is not None:
            value, error = self.without_privacy
            far = reach(error, 0.0, level)
            bars.append(Bar("without privacy", value, value - far, value + far))
        return draw_intervals(
            bars, self.statistic.replace("_", " "), f"{self.n:,} people, {level:.0%} intervals"
        )

    def confidence_interval(
        self, level: float = 0.95, target: str = "population", *, confidence_level: float | None = None
    ) -> ConfidenceInterval:
        """An interval that covers the target with probability at least about ``level``.

        ``target="population"`` is the value in the population that the people come from,
        ``target="sample"`` the exact statistic of the people who took part; for both, values outside the
        domain count as its nearest end. The interval covers the privacy noise and any bias that the data
        leave possible: value +- cv(b/s) s for the standard error s and the bound b on the bias (see
        `statistics.fixed_length`), and further to one side where error and standard error go together. It
        does not cover dishonest answers, or who chose to take part. ``confidence_level`` is scipy's name for
        ``level``.
        """
        share = real("level", level if confidence_level is None else confidence_level)
        if not 0 < share <= 1 - 1e-12:
            raise BadParameter(f"level must lie between 0 and 1, not {share!r}")
        whole = choice("target", target, TARGETS) == "population"
        more = (0.0, 0.0)
        if self.laws is None:
            far = reach(self.standard_error if whole else self.sample_standard_error, self.bias, share)
        else:
            law = self.laws.population if whole else self.laws.sample
            far = law.reach(share) + self.bias
            more = law.lean(share) if isinstance(law, Leaning) else more
        down, up = far + more[0], far + more[1]
        if self.logarithmic:
            # e^-value +- far e^-value, back on the scale of the value.
            down, up = math.log1p(far), -math.log1p(-far) if far < 1 else math.inf
        low, high = self.bounds
        around = self.value if self.centre is None else min(max(self.centre, low), high)
        most = min(high, self.most) if whole else high
        first, last = min(max(around - down, low), most), min(around + up, most)
        # A sample's value may lie above all of a population's, and then above the estimate.
        return ConfidenceInterval(min(first, self.value) if around > self.most else first, last)

    def manipulation(self, people: int | None = None, *, share: float | None = None) -> Manipulation:
        """How far so many liars, or such a share of this round's people, can move this answer."""
        if self.attack is None:
            raise BadParameter("this estimate does not come from a tally, so the effect of liars is unknown")
        there = self.attack.participants
        if (people is None) == (share is None):
            raise BadParameter("say how many liars there are: either people or share")
        if share is not None:
            part = real("share", share)
            if not 0 <= part <= 1:
                raise BadParameter(f"share must lie between 0 and 1, not {share!r}")
            return self.attack(math.floor(part * there + 1e-9))
        return self.attack(integer("people", people, 0, there))

    def explain(self) -> Explanation:
        """Which parts of the domain a tree study examined closely."""
        if self.explanation is None:
            raise BadParameter(f"an estimate of the {self.protocol} protocol has nothing to explain")
        return self.explanation

    def notes(self) -> list[str]:
        """What the interval covers and does not cover, in sentences."""
        return self._notes(None if self.attack is None else self._few_liars(self.attack))

    def _few_liars(self, attack: Attack) -> Manipulation:
        """What 1% of the people of this round can do, or one of them where they are fewer than a hundred."""
        there = attack.participants
        return attack(min(max(math.floor(LIARS * there + 1e-9), 1), there))

    def _notes(self, liars: Manipulation | None) -> list[str]:
        said = [*self.caveats, "The interval covers the privacy noise and the sampling of people."]
        if 0 < self.bias < math.inf:
            where = "cells" if self.explanation is None else "leaves"
            said.append(
                f"It also covers a bias of up to {self.bias:.3g}: "
                f"{where} do not show where people are within them."
            )
        known = math.isfinite(self.standard_error)
        if known and self.quantization.estimate is None and self.bias == 0:
            said.append("Not covered: binning may shift the value, by an amount that is not estimated.")
        said.append("Not covered: people who answer falsely, and who chose to take part.")
        if liars is not None:
            said.append(self._liars(liars))
        return said

    def _liars(self, lie: Manipulation) -> str:
        everybody = self.attack is None or self.attack.participants == self.n
        whose = "participants" if everybody else "this round's participants"
        several = f"If {LIARS:.0%} of {whose} ({lie.people:,}) lie"
        who = "If one participant lies" if lie.people == 1 else several
        times = ""
        if math.isfinite(lie.multiplier):
            times = (
                f"; at epsilon {self.privacy.epsilon:.3g} privacy multiplies a lie by {lie.multiplier:.3g}"
            )
        if not math.isfinite(lie.change):
            return f"{who}, no limit is known on how far this answer moves{times}."
        return f"{who}, this answer moves by at most {lie.change:.2g}{times}."

    def to_dict(self) -> dict[str, Any]:
        """`to_json` under the name that data frames use."""
        return self.to_json()

    def to_json(self) -> dict[str, Any]:
        """The estimate as plain values; a number that does not exist becomes null."""
        low, high = self.confidence_interval()
        liars = None if self.attack is None else self._few_liars(self.attack)
        return {
            "statistic": self.statistic,
            "value": _finite(self.value),
            "standard_error": _finite(self.standard_error),
            "sample_standard_error": _finite(self.sample_standard_error),
            "bias": _finite(self.bias),
            "confidence_interval_95": [_finite(low), _finite(high)],
            "n": self.n,
            "strata": dict(self.strata),
            "protocol": self.protocol,
            "estimator": self.estimator,
            "study": self.study_id,
            "privacy": self.privacy.to_json(),
            "quantization": asdict(self.quantization),
            "details": {name: _finite(value) for name, value in self.details.items()},
            "manipulation": None if liars is None else liars.to_json(),
            "notes": self._notes(liars),
        }


def counted_people(strata: Mapping[str, int]) -> str:
    """How many people each class has.

    >>> counted_people({"positive": 1200, "negative": 90}), counted_people({"everybody": 1200})
    ('1,200 positive, 90 negative', '1,200')
    """
    named = len(strata) > 1
    return ", ".join(f"{count:,} {stratum}" if named else f"{count:,}" for stratum, count in strata.items())


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
