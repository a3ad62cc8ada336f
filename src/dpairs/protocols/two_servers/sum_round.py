"""The second of two rounds: a verified sum of everybody's influence, in fixed point.

With the pilot g and psi, the statistic's derivative there, theta(h) = theta(g) + <psi, h> - <psi, g> + a rest
of second order in h - g. The sum of psi over all people gets noise of the size of one person; the rest is
learnt by imagining the pilot's noise again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...data.grids import Grid
from ...errors import BadFile, BadParameter, NotEnoughData
from ...formats.canonical import agreed
from ...formats.checks import fields, real, required
from ...privacy import PrivacyClaim
from ...randomness import Randomness
from ...statistics import Statistic
from ...statistics.influence import Influence
from ...statistics.linear import nominal
from ...vdaf.fields import FIELD64
from ...vdaf.measurements import Sum
from ..base import Answer
from ..projection.analysis import Analysis
from ..projection.pilot import Pilot
from ..projection.reading import by_stratum, read_first, read_grid, write_edges
from ..projection.remainder import remainder_of
from .budget import BUDGET_FIELDS, LAPLACE, SERVERS, NoiseBudget, Query
from .claim import two_servers_claim
from .corrected import LARGEST, corrected
from .goldilocks import MODULUS
from .released import Numbers, SharedNumbers
from .rounds import TwoRounds
from .sampling import coarsened
from .shared import ANSWERED_BY, FEWEST, PEOPLE, Shared, read_answered_by, write_answered_by
from .standing_out import Vector, cut_places, undecided

if TYPE_CHECKING:
    from ...vdaf.prio3 import Prio3

SEED = 32
MOST_HIDDEN = 1e100
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
    answered_by: str = PEOPLE
    name: ClassVar[str] = "two_servers"
    round: ClassVar[int] = 2
    rounds: ClassVar[int] = 2
    estimators: ClassVar[tuple[str, ...]] = ("two rounds",)

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        self.statistic.check_domains(self.domains)
        self.check_split()

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        pilot: Pilot,
        first: str,
        split: float,
        budget: NoiseBudget,
        people: dict[str, int],
        noise: Mapping[str, float],
    ) -> SumRound:
        """Linearize the statistic at the pilot, and imagine how far that may be off.

        ``noise`` is the standard deviation of the noise on every mass of a stratum.
        """
        linearizer = statistic.linearizer(pilot.grid)
        linear = linearizer.at(pilot.masses, nominal(statistic))
        influences = {name: Influence.of(pilot.grid, values) for name, values in linear.functions.items()}
        extents = [high - low for _, (low, high) in influences.values()]
        half_range = max(extents) / (4 if len(extents) == 1 else 2)
        hidden = hidden_by(statistic, pilot.grid, pilot.masses)
        hidden += compared_within(statistic, pilot.grid, pilot.masses, noise)
        remainder = remainder_of(statistic, linearizer, linear, pilot, half_range)
        analysis = Analysis.of(statistic, pilot, linear, influences, remainder, people, None)
        return cls(
            statistic.described(),
            domains,
            first,
            split,
            budget,
            {name: influence for name, (influence, _) in influences.items()},
            analysis.checked(statistic),
            hidden,
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
        return None if self.analysis is None else {**self.analysis.to_json(), "hidden": self.hidden}

    def with_analysis(self, spec: Any) -> SumRound:
        own = dict(spec) if isinstance(spec, Mapping) else {}
        hidden = real("hidden", own.pop("hidden", None))
        if not 0 <= hidden <= MOST_HIDDEN:
            raise BadFile(f"what cells hide is a number from 0 to {MOST_HIDDEN:g}, not {hidden!r}")
        return replace(self, analysis=Analysis.from_json(self.statistic, own), hidden=hidden)

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
        return corrected(self.statistic, at, means, noise, sizes, self.hidden, draws)

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        return two_servers_claim(self, epsilon_asked, False)


def hidden_by(statistic: Statistic, grid: Grid, masses: Mapping[str, Vector]) -> float:
    """The bias that may be left of how two columns go together within the pilot's cells.

    On cells of width w the pilot's value is off by about c w^2; merging neighbours moves it by 3 c w^2. The
    influence function makes up for some of that, how much is not known. One column has no such
    dependence to hide.
    """
    if len(cut_places(grid)) < 2 or statistic.arity > 2:
        return 0.0
    wider, place = coarsened(grid)
    merged = {
        name: np.bincount(place, weights=each, minlength=wider.cells).astype(np.float64)
        for name, each in masses.items()
    }
    people = nominal(statistic)
    fine, coarse = (
        statistic.linearizer(cells).at(each, people).value
        for cells, each in ((grid, masses), (wider, merged))
    )
    return agreed(abs(fine - coarse) / 3)


def compared_within(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], noise: Mapping[str, float]
) -> float:
    """A bound of what comparisons within cells of one column may do: see `undecided`.

    The function follows people within cells, but not how those who stand out compare with each other.
    """
    if len(cut_places(grid)) != 1 or statistic.arity > 2:
        return 0.0
    classes = compared_classes(statistic, grid, masses, noise)
    return 0.0 if classes is None else agreed(undecided(grid, *classes))


def compared_classes(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], noise: Mapping[str, float]
) -> tuple[tuple[Vector, Vector], tuple[float, float]] | None:
    """The two classes that a statistic compares, on cells of a line, and the noise of their masses."""
    if statistic.needs != "ordered":
        return None
    if len(masses) == 2:
        one, two = masses
        return (masses[one], masses[two]), (noise[one], noise[two])
    (name,) = masses
    (place,) = cut_places(grid)
    table = np.moveaxis(masses[name].reshape([axis.bins for axis in grid.axes]), place, 0)
    table = table.reshape(table.shape[0], -1)
    shares = table.sum(axis=0)
    if table.shape[1] != 2 or not shares.all():
        return None
    lower, upper = (table / shares).T
    return (lower, upper), (noise[name] / float(shares[0]), noise[name] / float(shares[1]))
