"""The second of two rounds: a verified sum of everybody's influence, in fixed point.

With the pilot g and psi, the statistic's derivative there, theta(h) = theta(g) + <psi, h> - <psi, g> + a rest of
second order in h - g. The sum of psi over all people gets noise of the size of one person; the rest is learnt
by imagining the pilot's noise again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...data.grids import CutAxis, Grid
from ...errors import BadFile, BadParameter, NotEnoughData, NotEstimable
from ...estimate import Quantization
from ...formats.canonical import agreed, big_integer
from ...formats.checks import fields, real, required, text
from ...privacy import PrivacyClaim
from ...randomness import Randomness
from ...statistics import Statistic
from ...statistics.influence import STEPS, Influence
from ...statistics.vertices import cell_means
from ..base import Answer
from ..projection.pilot import Pilot, _cut
from ..projection.reading import by_stratum, read_grid, read_number, read_variance
from ..projection.second_round import nominal
from .budget import Budget, Query
from .claim import two_servers_claim
from .goldilocks import MODULUS
from .released import Numbers, SharedNumbers
from .shared import FEWEST, Shared

if TYPE_CHECKING:
    from ...vdaf.prio3 import Prio3

LARGEST = STEPS
"""Influence is sent as a whole number from 0 to LARGEST."""
_FIELDS = ("rounds", "round", "first", "split", "noise", "epsilon", "delta", "edges", "functions", "pilot")
_PILOT = ("forms", "value", "means", "spreads", "rest")


@dataclass(frozen=True)
class AtPilot:
    """What the analyst knows of the pilot: forms, value, and by stratum the functions' means and variances."""

    forms: tuple[float, ...]
    value: float
    means: dict[str, float]
    spreads: dict[str, float]
    rest: tuple[float, float]
    """The second-order rest's mean and variance."""


@dataclass(frozen=True, eq=False)
class SumRound(Shared):
    """The second round of a study of two servers."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    first: str
    split: float
    budget: Budget
    influences: dict[str, Influence]
    pilot: AtPilot
    name: ClassVar[str] = "two_servers"
    round: ClassVar[int] = 2
    rounds: ClassVar[int] = 2
    options: ClassVar[tuple[str, ...]] = ()
    estimators: ClassVar[tuple[str, ...]] = ("two rounds",)

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        self.statistic.check_domains(self.domains)
        if len(self.pilot.forms) != self.statistic.form_count:
            raise BadParameter(f"{self.statistic.name} has {self.statistic.form_count} form(s)")
        if not 0.01 <= self.split <= 0.9:
            raise BadParameter(f"split must be from 0.01 to 0.9, not {self.split!r}")

    @classmethod
    def create(cls, *given: Any, **options: Any) -> Shared:
        """A second round follows a first: see `Study.next`."""
        raise TypeError("a second round is made by Study.next")

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        pilot: Pilot,
        first: str,
        split: float,
        budget: Budget,
    ) -> SumRound:
        """Linearize the statistic at the pilot, and imagine how far that may be off."""
        grid = _cut(pilot.grid)
        linearizer, many = statistic.linearizer(grid), nominal(statistic)
        linear = linearizer.at(pilot.masses, many)
        influences = {name: Influence.of(grid, values) for name, values in linear.functions.items()}
        cells = {name: influence.cells for name, influence in influences.items()}
        means = {name: float(cells[name] @ masses) for name, masses in pilot.masses.items()}
        spreads = {
            name: max(float(cells[name] ** 2 @ masses) - means[name] ** 2, 0.0)
            for name, masses in pilot.masses.items()
        }
        rests = []
        for masses in pilot.imagined:
            try:
                other = linearizer.at(masses, many)
            except NotEstimable:
                # An imagined pilot at which a ratio has no value tells only that the pilot is poor.
                continue
            seen = other.value + sum(
                float(cell_means(grid, function) @ (pilot.masses[name] - masses[name]))
                for name, function in other.functions.items()
            )
            rests.append(linear.value - seen)
        if len(rests) < len(pilot.imagined) / 2:
            raise NotEstimable("the first round is too noisy for a pilot: more people are needed in it")
        rest = agreed(float(np.mean(rests))), agreed(float(np.var(rests, ddof=1)))
        at = AtPilot(
            tuple(map(agreed, linear.forms.tolist())),
            agreed(linear.value),
            {name: agreed(each) for name, each in means.items()},
            {name: agreed(each) for name, each in spreads.items()},
            rest,
        )
        return cls(statistic.described(), domains, first, split, budget, influences, at)

    @classmethod
    def from_json(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
    ) -> SumRound:
        what = "a second round"
        fields(what, spec, ("name", *_FIELDS))
        required(what, spec, _FIELDS)
        first = text("first study", spec["first"])
        if len(first) != 64 or not set(first) <= set("0123456789abcdef"):
            raise BadFile("a first round is named by the 64 hexadecimal digits of its study's id")
        grid = read_grid(statistic, domains, spec["edges"])
        functions = by_stratum(statistic, "functions", spec["functions"])
        pilot = spec["pilot"]
        if not isinstance(pilot, Mapping):
            raise BadFile(f"{what} needs its pilot")
        fields("a pilot", pilot, _PILOT)
        required("a pilot", pilot, _PILOT)
        means, spreads = (by_stratum(statistic, each, pilot[each]) for each in ("means", "spreads"))
        rest, forms = pilot["rest"], pilot["forms"]
        if not isinstance(rest, list) or len(rest) != 2 or not isinstance(forms, list) or not forms:
            raise BadFile(f"{what} needs the forms at the pilot, and the rest's mean and variance")
        at = AtPilot(
            tuple(read_number("form", each) for each in forms),
            read_number("value", pilot["value"]),
            {name: read_number("mean", each) for name, each in means.items()},
            {name: read_variance("spread", each) for name, each in spreads.items()},
            (read_number("rest", rest[0]), read_variance("rest's variance", rest[1])),
        )
        budget = Budget(spec["noise"], real("epsilon", spec["epsilon"]), real("delta", spec["delta"]))
        read = {name: Influence.from_json(grid, each) for name, each in functions.items()}
        return cls(statistic, domains, first, real("split", spec["split"]), budget, read, at)

    def to_json(self) -> dict[str, Any]:
        at = self.pilot
        return {
            "name": self.name,
            "rounds": 2,
            "round": 2,
            "first": self.first,
            "split": self.split,
            "noise": self.budget.noise,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "edges": [
                [big_integer(edge) if isinstance(edge, int) else edge for edge in axis.edges]
                if isinstance(axis, CutAxis)
                else None
                for axis in self._grid.axes
            ],
            "functions": {name: influence.to_json() for name, influence in self.influences.items()},
            "pilot": {
                "forms": list(at.forms),
                "value": at.value,
                "means": at.means,
                "spreads": at.spreads,
                "rest": list(at.rest),
            },
        }

    @property
    def _grid(self) -> Grid:
        return next(iter(self.influences.values())).grid

    @property
    def first_study(self) -> str:
        """The id of the first round's study."""
        return self.first

    @cached_property
    def vdaf(self) -> Mapping[str, Prio3]:
        """A whole number in a range over Field64."""
        from ...vdaf.instances import sum_up

        return dict.fromkeys(self.strata, sum_up(LARGEST))

    def measure(self, stratum: str, columns: Sequence[Any]) -> NDArray[np.int64]:
        """The influence function at each person's value, to the nearest step."""
        heights = self.influences[stratum](columns, self.statistic.private_columns)
        return np.rint(heights * LARGEST).astype(np.int64)

    def added(self, stratum: str, measurements: NDArray[np.int64]) -> NDArray[np.int64]:
        return measurements.sum(keepdims=True)

    def query(self, sizes: Mapping[str, int]) -> Query:
        """The sum of one stratum; a person is in one."""
        if set(sizes) != set(self.strata) or min(sizes.values()) < FEWEST:
            raise NotEnoughData(f"nothing is released of fewer than {FEWEST} people of each class")
        return Query.number(LARGEST, 1 - Fraction(self.split))

    def totals(self, sums: Mapping[str, NDArray[np.int64]]) -> Numbers:
        return Numbers(tuple(int(sums[name][0]) for name in self.strata))

    def multiplicands(self, server: int, shares: Mapping[str, Sequence[int]]) -> list[list[int]]:
        return []

    def share_totals(
        self, shares: Mapping[str, Sequence[int]], products: Sequence[int], sizes: Mapping[str, int]
    ) -> SharedNumbers:
        return SharedNumbers([shares[name][0] % MODULUS for name in self.strata], {})

    def noise(self, sizes: Mapping[str, int], bits: Randomness) -> Numbers:
        query = self.query(sizes)
        return Numbers(tuple(int(self.budget.draw(query, bits)[0]) for _ in self.strata))

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, dict[str, int]]:
        return len(self.strata), {}

    def answer(self, sizes: Mapping[str, int], numbers: Numbers) -> Answer:
        """The pilot's value, corrected by the mean of the functions."""
        at, variance = self.pilot, self.budget.variance(self.query(sizes))
        value, noise, sampling = at.value + at.rest[0], at.rest[1], 0.0
        for name, total in zip(self.strata, numbers.totals, strict=True):
            influence, people = self.influences[name], sizes[name]
            extent = influence.high - influence.low
            value += extent * (total / (LARGEST * people) - at.means[name])
            noise += extent**2 * variance / (LARGEST * people) ** 2
            sampling += extent**2 * at.spreads[name] / people
        return self._finished(value, noise, sampling, sizes)

    def _finished(self, value: float, noise: float, sampling: float, sizes: Mapping[str, int]) -> Answer:
        """From the unit of the functions to the statistic's own."""
        low, high = self.statistic.range(self.domains)
        details: dict[str, float] = {}
        if len(self.pilot.forms) == 1:
            forms = np.array([min(max(value, low), high)])
            finished = self.statistic.finish(forms, sizes)
            final, scale, bounds = finished.value, abs(float(finished.gradient[0])), (-math.inf, math.inf)
            details = self.statistic.details(
                forms, sizes, lambda gradient: abs(float(gradient[0])) * math.sqrt(noise + sampling)
            )
        else:
            # People enter a ratio only as a common factor of value and gradient.
            here, there = (
                self.statistic.finish(np.array(self.pilot.forms), each)
                for each in (sizes, nominal(self.statistic))
            )
            largest = int(np.argmax(np.abs(there.gradient)))
            scale = abs(float(here.gradient[largest] / there.gradient[largest]))
            final, bounds = here.value + scale * (value - self.pilot.value), (low, high)
            final = min(max(final, low), high)
        error, sample = scale * math.sqrt(noise + sampling), scale * math.sqrt(noise)
        return Answer(final, error, sample, Quantization(None, None, None), details, bounds=bounds)

    @property
    def epsilon(self) -> float:
        """The loss of both rounds."""
        if self.budget.delta:
            return self.budget.epsilon
        return float(self.budget.loss(Fraction(self.split)) + self.budget.loss(1 - Fraction(self.split)))

    @property
    def delta(self) -> float:  # type: ignore[override]
        return self.budget.delta

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        return two_servers_claim(self.statistic, self.budget, self.epsilon, epsilon_asked, False, 2)
