"""The second of two rounds: a verified sum of everybody's influence, in fixed point.

With the pilot g and psi, the statistic's derivative there, theta(h) = theta(g) + <psi, h> - <psi, g> + a rest
of second order in h - g. The sum of psi over all people gets noise of the size of one person; the rest is
learnt by imagining the pilot's noise again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...errors import BadFile, BadParameter, NotEnoughData, NotEstimable
from ...formats.canonical import agreed
from ...formats.checks import fields, real, required
from ...privacy import PrivacyClaim
from ...randomness import Randomness
from ...statistics import Statistic
from ...statistics.base import LARGEST as MOST
from ...statistics.influence import Influence
from ...statistics.linear import Linearizer, nominal
from ...vdaf.fields import FIELD64
from ...vdaf.measurements import Sum
from ..base import PEOPLE, Answer
from ..projection.analysis import Analysis
from ..projection.divided import Divided
from ..projection.pilot import Pilot
from ..projection.reading import by_stratum, read_first, read_grid, write_edges
from ..projection.remainder import remainder_of
from .budget import BUDGET_FIELDS, LAPLACE, SERVERS, NoiseBudget, Query
from .claim import two_servers_claim
from .corrected import LARGEST, corrected, with_oneself
from .goldilocks import MODULUS
from .hidden import (
    compared_within,
    crowd_variance,
    hidden_by,
    table_within,
    together_within,
    uneven_within,
    variance_at_most,
)
from .released import Numbers, SharedNumbers
from .rounds import TwoRounds
from .shared import ANSWERED_BY, FEWEST, Shared, read_answered_by, write_answered_by

if TYPE_CHECKING:
    from ...vdaf.prio3 import Prio3

SEED = 32
_FIELDS = ("rounds", "round", "first", "split", *BUDGET_FIELDS, "edges", "functions")


@dataclass(frozen=True, eq=False)
class SumRound(Shared, TwoRounds):
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
    nearer: float = 0.0
    """The functions' mean over the nearest distributions less that over the noisy shares; the analyst's."""
    answered_by: str = PEOPLE
    name: ClassVar[str] = "two_servers"
    round: ClassVar[int] = 2
    rounds: ClassVar[int] = 2
    estimators: ClassVar[tuple[str, ...]] = ("two rounds",)

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        self.check_statistic()
        self.check_split()

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        pilot: Pilot,
        start: Mapping[str, NDArray[np.float64]],
        imagined: Pilot,
        first: str,
        split: float,
        budget: NoiseBudget,
        people: dict[str, int],
        noise: Mapping[str, float],
    ) -> SumRound:
        """Linearize the statistic at the shares ``start``, and imagine how far that may be off.

        Some of them may be below 0; ``pilot`` has the distributions nearest to them, which tell where people
        are. ``imagined`` has a truth from which rounds yield shares such as these, and some of those.
        ``noise`` has the standard deviations of the noise in the shares.
        """
        linearizer = statistic.linearizer(pilot.grid)
        linear = linearizer.at(start, nominal(statistic))
        there = linearizer.at(imagined.masses, nominal(statistic))
        influences = {name: Influence.of(pilot.grid, values) for name, values in linear.functions.items()}
        steepness = 1.0
        if statistic.form_count > 1:
            steepness = float(statistic.finish(linear.forms, nominal(statistic)).gradient[0])
        extents = [high - low for _, (low, high) in influences.values()]
        half_range = max(extents) / (4 if len(extents) == 1 else 2)
        hidden = hidden_by(statistic, pilot.grid, start, imagined.imagined, noise)
        hidden += compared_within(statistic, pilot.grid, pilot.masses, noise)
        hidden += together_within(statistic, pilot.grid, pilot.masses, linear.value, noise)
        hidden += table_within(statistic, pilot.grid, pilot.masses, noise)
        remainder = remainder_of(statistic, linearizer, there, imagined, half_range)
        uneven = uneven_within(statistic, pilot.grid, pilot.masses, start, noise)
        crowd = crowd_variance(pilot.grid, there.functions, _functions(linearizer, imagined), pilot.masses)
        divided = Divided.of(statistic, linearizer, there, imagined, remainder, uneven.divisor, crowd)
        hidden += steepness * uneven.most
        shift = steepness * uneven.shift + with_oneself(statistic, linear, pilot, people)
        remainder = replace(
            remainder,
            mean=agreed(remainder.mean + shift),
            variance=agreed(remainder.variance + crowd),
        )
        analysis = Analysis.of(statistic, pilot, linear, influences, remainder, people, None)
        variances = {}
        for (name, masses), extent in zip(pilot.masses.items(), extents, strict=True):
            # Of people who lie evenly in cells or stand out; the analysis has them in the middle.
            variance = variance_at_most(pilot.grid, linear.functions[name], masses, statistic)
            mean = analysis.means[name]
            variances[name] = agreed(min(variance / extent**2, mean * (1 - mean))) if extent else 0.0
        analysis = replace(analysis, variances=variances)
        nearer = sum(
            (high - low) * float(influence.cells @ (pilot.masses[name] - start[name]))
            for name, (influence, (low, high)) in influences.items()
        )
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
            agreed(nearer),
        )

    @classmethod
    def from_json(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
    ) -> SumRound:
        what = "a second round"
        fields(what, spec, ("name", *_FIELDS, ANSWERED_BY))
        required(what, spec, _FIELDS)
        first = read_first(spec["first"])
        grid = read_grid(statistic, domains, spec["edges"])
        functions = by_stratum(statistic, "functions", spec["functions"])
        split, budget = real("split", spec["split"]), NoiseBudget.from_json(spec)
        read = {name: Influence.from_json(grid, each) for name, each in functions.items()}
        return cls(statistic, domains, first, split, budget, read, answered_by=read_answered_by(spec))

    def analysis_to_json(self) -> dict[str, Any] | None:
        if self.analysis is None:
            return None
        divided = None if self.divided is None else self.divided.to_json()
        return {**self.analysis.to_json(), "hidden": self.hidden, "divided": divided, "nearer": self.nearer}

    def with_analysis(self, spec: Any) -> SumRound:
        own = dict(spec) if isinstance(spec, Mapping) else {}
        hidden = real("hidden", own.pop("hidden", None))
        if not 0 <= hidden <= MOST:
            raise BadFile(f"what cells hide is a number from 0 to {MOST:g}, not {hidden!r}")
        nearer = real("nearer", own.pop("nearer", None))
        if not abs(nearer) <= MOST:
            raise BadFile(f"a mean over noisy shares is at most {MOST:g}, not {nearer!r}")
        divided = Divided.from_json(self.statistic, own.pop("divided", None))
        analysis = Analysis.from_json(self.statistic, own)
        return replace(self, analysis=analysis, hidden=hidden, divided=divided, nearer=nearer)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rounds": 2,
            "round": 2,
            "first": self.first,
            "split": self.split,
            **self.budget.to_json(),
            **write_answered_by(self.answered_by),
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

    def of_records(self, stratum: str, records: int) -> Prio3:
        """A sum of so many whole numbers."""
        from ...vdaf.instances import sum_up

        return sum_up(LARGEST * records)

    def of_site(self, stratum: str, columns: Sequence[Any]) -> int:
        return int(self.measure(stratum, columns).sum())

    @property
    def terms(self) -> tuple[object, ...]:
        return *super().terms, self.answered_by

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
        totals = dict(zip(self.strata, numbers.totals, strict=True))
        means = {name: total / (LARGEST * sizes[name]) for name, total in totals.items()}
        noise = dict.fromkeys(self.strata, variance)
        draws = SERVERS if self.budget.noise == LAPLACE else None
        answer = corrected(
            self.statistic, at, means, noise, sizes, self.hidden, draws, self.divided, self.nearer
        )
        low, high = self.statistic.bounds(self.domains, sizes)
        return replace(
            answer,
            standard_error=min(answer.standard_error, high - low),
            sample_standard_error=min(answer.sample_standard_error, high - low),
        )

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        return two_servers_claim(self, epsilon_asked, False)


def _functions(linearizer: Linearizer, imagined: Pilot) -> list[dict[str, NDArray[np.float64]]]:
    """The derivatives at imagined pilots, where a ratio has one."""
    functions = []
    for masses in imagined.imagined:
        with suppress(NotEstimable):
            functions.append(linearizer.at(masses, nominal(linearizer.statistic)).functions)
    return functions
