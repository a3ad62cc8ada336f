"""The second of two rounds: a verified sum of everybody's influence, in fixed point.

With the pilot g and psi, the statistic's derivative there, theta(h) = theta(g) + <psi, h> - <psi, g> + a rest
of second order in h - g. The sum of psi over all people gets noise of the size of one person; the rest is
learnt by imagining the pilot's noise again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...errors import BadFile, BadParameter, NotEnoughData
from ...estimate import Laws
from ...formats.canonical import agreed
from ...formats.checks import fields, real, required
from ...privacy import PrivacyClaim
from ...randomness import Randomness
from ...statistics import Statistic
from ...statistics.influence import STEPS, Influence
from ...statistics.linear import nominal
from ...vdaf.fields import FIELD64
from ...vdaf.measurements import Sum
from ..base import Answer
from ..projection.analysis import Analysis
from ..projection.pilot import Pilot
from ..projection.reading import by_stratum, read_first, read_grid, write_edges
from ..projection.remainder import remainder_of
from .budget import LAPLACE, NoiseBudget, Query
from .claim import two_servers_claim
from .divided import Divided
from .goldilocks import MODULUS
from .hidden import compared_within, hidden_by, together_within, uneven_within
from .law import ErrorLaw
from .released import Numbers, SharedNumbers
from .sampling import moments
from .shared import FEWEST, Shared

if TYPE_CHECKING:
    from ...vdaf.prio3 import Prio3

SEED = 32
LARGEST = STEPS
"""Influence is sent as a whole number from 0 to LARGEST."""
MOST_HIDDEN = 1e100
_FIELDS = ("rounds", "round", "first", "split", "noise", "epsilon", "delta", "edges", "functions")


@dataclass(frozen=True, eq=False)
class SumRound(Shared):
    """The second round of a study; ``analysis`` is the analyst's, and no part of the study's file."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    first: str
    split: float
    budget: NoiseBudget
    influences: dict[str, Influence]
    analysis: Analysis | None = None
    hidden: float = 0.0
    """The largest bias that the pilot's cells may cause by what they hide; the analyst's, too."""
    divided: Divided | None = None
    """Of a ratio: what its divisor does; the analyst's, too."""
    name: ClassVar[str] = "two_servers"
    round: ClassVar[int] = 2
    rounds: ClassVar[int] = 2
    estimators: ClassVar[tuple[str, ...]] = ("two rounds",)

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        self.statistic.check_domains(self.domains)
        if not 0.01 <= self.split <= 0.9:
            raise BadParameter(f"split must be from 0.01 to 0.9, not {self.split!r}")

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        pilot: Pilot,
        imagined: Pilot,
        first: str,
        split: float,
        budget: NoiseBudget,
        people: dict[str, int],
        noise: Mapping[str, float],
    ) -> SumRound:
        """Linearize the statistic at the pilot, and imagine how far that may be off.

        ``imagined`` has a distribution from which rounds yield pilots such as this one, and some of those;
        ``noise`` is the standard deviation of the noise on every mass of a stratum.
        """
        linearizer = statistic.linearizer(pilot.grid)
        linear = linearizer.at(pilot.masses, nominal(statistic))
        there = linearizer.at(imagined.masses, nominal(statistic))
        influences = {name: Influence.of(pilot.grid, values) for name, values in linear.functions.items()}
        steepness = 1.0
        if statistic.form_count > 1:
            steepness = float(statistic.finish(linear.forms, nominal(statistic)).gradient[0])
        extents = [high - low for _, (low, high) in influences.values()]
        half_range = max(extents) / (4 if len(extents) == 1 else 2)
        hidden = hidden_by(statistic, pilot.grid, pilot.masses)
        hidden += compared_within(statistic, pilot.grid, pilot.masses, noise)
        hidden += together_within(statistic, pilot.grid, pilot.masses, noise, linear.value)
        remainder = remainder_of(statistic, linearizer, there, imagined, half_range)
        uneven = uneven_within(statistic, pilot.grid, pilot.masses, noise)
        divided = Divided.of(statistic, linearizer, there, imagined, remainder, uneven.divisor)
        hidden += steepness * (uneven.most - uneven.least) / 2
        shift = steepness * (uneven.most + uneven.least) / 2
        remainder = replace(remainder, mean=agreed(remainder.mean + shift))
        analysis = Analysis.of(statistic, pilot, linear, influences, remainder, people, None)
        variances = {
            # Of people who lie evenly in cells; the analysis has them in the middle.
            name: agreed(moments(pilot.grid, linear.functions[name], each)[0] / extent**2) if extent else 0.0
            for (name, each), extent in zip(pilot.masses.items(), extents, strict=True)
        }
        analysis = replace(analysis, variances=variances)
        return cls(
            statistic.described(),
            domains,
            first,
            split,
            budget,
            {name: influence for name, (influence, _) in influences.items()},
            analysis.checked(statistic),
            agreed(hidden),
            divided,
        )

    @classmethod
    def from_json(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
    ) -> SumRound:
        what = "a second round"
        fields(what, spec, ("name", *_FIELDS))
        required(what, spec, _FIELDS)
        first = read_first(spec["first"])
        grid = read_grid(statistic, domains, spec["edges"])
        functions = by_stratum(statistic, "functions", spec["functions"])
        budget = NoiseBudget(spec["noise"], real("epsilon", spec["epsilon"]), real("delta", spec["delta"]))
        read = {name: Influence.from_json(grid, each) for name, each in functions.items()}
        return cls(statistic, domains, first, real("split", spec["split"]), budget, read)

    def analysis_to_json(self) -> dict[str, Any] | None:
        if self.analysis is None:
            return None
        divided = None if self.divided is None else self.divided.to_json()
        return {**self.analysis.to_json(), "hidden": self.hidden, "divided": divided}

    def with_analysis(self, spec: Any) -> SumRound:
        own = dict(spec) if isinstance(spec, Mapping) else {}
        hidden = real("hidden", own.pop("hidden", None))
        if not 0 <= hidden <= MOST_HIDDEN:
            raise BadFile(f"what cells hide is a number from 0 to {MOST_HIDDEN:g}, not {hidden!r}")
        divided = Divided.from_json(self.statistic, own.pop("divided", None))
        analysis = Analysis.from_json(self.statistic, own)
        return replace(self, analysis=analysis, hidden=hidden, divided=divided)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rounds": 2,
            "round": 2,
            "first": self.first,
            "split": self.split,
            "noise": self.budget.noise,
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "edges": write_edges(self.influences),
            "functions": {name: influence.to_json() for name, influence in self.influences.items()},
        }

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

    @property
    def report_bits(self) -> int:
        circuit = Sum(FIELD64, LARGEST)
        return 8 * (FIELD64.size * (circuit.length + circuit.proof) + 2 * SEED)

    def added(self, stratum: str, measurements: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array([measurements.sum()], dtype=np.int64)

    def query(self, sizes: Mapping[str, int]) -> Query:
        """The sum of one stratum; a person is in one."""
        if set(sizes) != set(self.strata) or min(sizes.values()) < FEWEST:
            raise NotEnoughData(f"nothing is released about fewer than {FEWEST} people of each class")
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
        at, variance = self.analysis, self.budget.variance(self.query(sizes))
        if at is None:
            raise BadParameter("the second round's answer needs its analysis: see Study.with_analysis")
        correction, noise, sampling, known = 0.0, [], 0.0, at.remainder.variance
        for name, total in zip(self.strata, numbers.totals, strict=True):
            (low, high), people = at.ranges[name], sizes[name]
            correction += (high - low) * (total / (LARGEST * people) - at.means[name])
            noise.append(((high - low) / (LARGEST * people)) ** 2 * variance)
            sampling += (high - low) ** 2 * at.variances[name] / people
        if self.divided is not None:
            known, sampling = self.divided.variance(correction), self.divided.stretch * sampling
            noise = [self.divided.stretch * part for part in noise]
        value, sample = at.value + at.remainder.mean + correction, known + sum(noise)
        answer = at.finished(self.statistic, value, sample + sampling, sample, dict(sizes))
        square = answer.standard_error**2 / (sample + sampling)
        parts = tuple(square * each for each in noise)
        law = ErrorLaw(square * known, noise=parts, bias=math.sqrt(square) * self.hidden)
        if self.budget.noise != LAPLACE:
            law = replace(law, known=law.known + sum(parts), noise=())
        if self.divided is not None:
            law, sampling = law.wider(self.divided.slack), self.divided.slack**2 * sampling
        whole = replace(law, sampling=square * sampling)
        low, high = self.statistic.bounds(self.domains, sizes)
        return replace(
            answer,
            standard_error=min(whole.deviation, high - low),
            sample_standard_error=min(law.deviation, high - low),
            laws=Laws(whole, law),
            caveats=(*law.caveats, *(() if self.divided is None else self.divided.caveats)),
        )

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
