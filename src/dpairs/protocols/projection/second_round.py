"""The `projection` protocol, second round: everybody else sends one randomized bit of a function.

A person evaluates the pilot's function at the exact value, maps its range to [0, 1] and sends a bit
whose mean is that number; where several symbols are better than one bit, a symbol. The mean over people,
less the function's mean over the pilot, corrects the pilot's value to second order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...data.grids import CutAxis, Grid
from ...errors import BadFile, BadParameter, NotEnoughData, NotEstimable
from ...estimate import Manipulation, Quantization
from ...formats.canonical import agreed, big_integer
from ...formats.checks import fields, required
from ...mechanisms import ScalarResponse, scalar_from_json, scalar_response
from ...privacy import PrivacyClaim, local_claim
from ...randomness import Randomness
from ...randomness.coins import Coins
from ...statistics import Linear, Statistic, TabulatedKernel
from ...statistics.influence import Influence
from ...statistics.vertices import Vertices, cell_means
from ..base import Answer, Protocol
from ..counts import DenseCounts
from ..rounds import BLOCK, asked_first
from .manipulation import second_round_manipulation
from .pilot import Masses, Pilot
from .reading import Earlier, by_stratum, read_earlier, read_grid, read_number, read_variance

UNEVEN, UNEVEN_LINE = 0.15, 0.37
"""How far pairs within one part are from even, as a share of the most; and on one column how much further for
each share of pairs that lie within one part. Measured on normal populations."""
FAR_APART, ALL_TOGETHER = 0.1, 1.5
"""The same where nearly all pairs lie in one part, and the pilot says nothing about them."""
SMOOTH, SMOOTH_PLANE = 6.0, 37.0
"""How much more than imagined the rest varies when the pilot is poor: measured likewise."""
_FIELDS = (
    "round",
    "first",
    "mechanism",
    "edges",
    "functions",
    "forms",
    "value",
    "means",
    "spreads",
    "rest",
    "doubt",
)


@dataclass(frozen=True)
class Rest:
    """The second-order rest: what it is on average, and its variance."""

    mean: float
    variance: float


@dataclass(frozen=True, eq=False)
class SecondRound(Protocol):
    """The second round of a study."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    earlier_round: Earlier
    mechanism: ScalarResponse
    influences: dict[str, Influence]
    forms: tuple[float, ...]
    """The forms at the pilot."""
    value: float
    """The statistic at the pilot, in the unit of the functions."""
    means: dict[str, float]
    """Each function's mean over the pilot, as a share of its range."""
    spreads: dict[str, float]
    """Each function's variance over the pilot, likewise."""
    rest: Rest
    doubt: float
    """How far a kernel that is known only on cells can lie from its table, averaged over the pilot."""
    name: ClassVar[str] = "projection"
    round: ClassVar[int] = 2
    rounds: ClassVar[int] = 2
    uses_coins: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ()
    estimators: ClassVar[tuple[str, ...]] = ("combined", "second-round")

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        self.statistic.check_domains(self.domains)
        if len(self.forms) != self.statistic.form_count:
            raise BadParameter(
                f"{self.statistic.name} has {self.statistic.form_count} form(s), not {len(self.forms)}"
            )
        if len(self.forms) > 1:
            try:
                self.statistic.finish(np.array(self.forms), nominal(self.statistic))
            except NotEstimable as error:
                raise BadParameter(f"the pilot's forms give no value: {error}") from None

    @classmethod
    def create(cls, *given: Any, **options: Any) -> Protocol:
        """A second round follows a first: see `Study.next`."""
        raise TypeError("a second round is made by Study.next")

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        pilot: Pilot,
        earlier: Earlier,
        epsilon: float,
    ) -> SecondRound:
        """Linearize the statistic at the pilot, and imagine how far that may be off."""
        linearizer = statistic.linearizer(pilot.grid)
        many = nominal(statistic)
        linear = linearizer.at(pilot.masses, many)
        influences = {
            name: Influence.of(pilot.grid, _level(pilot, values)) for name, values in linear.functions.items()
        }
        cells = {name: influence.cells for name, influence in influences.items()}
        means = {name: float(cells[name] @ masses) for name, masses in pilot.masses.items()}
        spreads = {
            name: max(float(cells[name] ** 2 @ masses) - means[name] ** 2, 0.0)
            for name, masses in pilot.masses.items()
        }
        # Strata count by what they add to the variance: the square of their range over their people.
        scales = {
            name: (each.high - each.low) ** 2 / earlier.people[name] for name, each in influences.items()
        }
        total = sum(scales.values()) or 1.0
        weights = np.concatenate([pilot.masses[name] * (scales[name] / total) for name in influences])
        mechanism = scalar_response(epsilon, np.concatenate(list(cells.values())), weights)
        imagined = []
        for masses in pilot.imagined:
            try:
                imagined.append(_rest(linear, pilot, linearizer.at(masses, many), masses))
            except NotEstimable:
                # An imagined pilot at which a ratio has no value tells only that the pilot is poor.
                continue
        if len(imagined) < len(pilot.imagined) / 2:
            raise NotEstimable("the first round is too noisy for a pilot: more people are needed in it")
        extent = max(each.high - each.low for each in influences.values()) / (
            2 if len(influences) == 1 else 1
        )
        rest = _allowed(statistic, pilot, imagined, extent / 2)
        # Digits that processors agree on, so that the same tally gives the same study on all of them.
        return cls(
            statistic.described(),
            domains,
            earlier,
            mechanism,
            influences,
            tuple(map(agreed, linear.forms.tolist())),
            agreed(linear.value),
            {name: agreed(each) for name, each in means.items()},
            {name: agreed(each) for name, each in spreads.items()},
            Rest(agreed(rest.mean), agreed(rest.variance)),
            agreed(_doubt(statistic, pilot)),
        )

    @classmethod
    def from_json(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
    ) -> SecondRound:
        what = "a second round"
        fields(what, spec, ("name", *_FIELDS))
        required(what, spec, _FIELDS)
        grid = read_grid(statistic, domains, spec["edges"])
        functions, means, spreads = (
            by_stratum(statistic, each, spec[each]) for each in ("functions", "means", "spreads")
        )
        if not isinstance(spec["forms"], list) or not spec["forms"]:
            raise BadFile(f"{what} needs the forms at the pilot")
        rest = spec["rest"]
        if not isinstance(rest, list) or len(rest) != 2:
            raise BadFile(f"{what} needs the mean and the variance of the rest")
        return cls(
            statistic,
            domains,
            read_earlier(statistic, spec["first"]),
            scalar_from_json(spec["mechanism"]),
            {name: Influence.from_json(grid, each) for name, each in functions.items()},
            tuple(read_number("form", each) for each in spec["forms"]),
            read_number("value", spec["value"]),
            {name: read_number("mean", each) for name, each in means.items()},
            {name: read_variance("spread", each) for name, each in spreads.items()},
            Rest(read_number("rest", rest[0]), read_variance("rest's variance", rest[1])),
            read_variance("doubt", spec["doubt"]),
        )

    def to_json(self) -> dict[str, Any]:
        first = self.earlier_round
        return {
            "name": self.name,
            "round": 2,
            "first": {
                "study": first.study_id,
                "share": first.share,
                "people": first.people,
                "alone": None if first.alone is None else list(first.alone),
            },
            "mechanism": self.mechanism.to_json(),
            "edges": [
                [big_integer(edge) if isinstance(edge, int) else edge for edge in axis.edges]
                if isinstance(axis, CutAxis)
                else None
                for axis in self._grid.axes
            ],
            "functions": {name: influence.to_json() for name, influence in self.influences.items()},
            "forms": list(self.forms),
            "value": self.value,
            "means": self.means,
            "spreads": self.spreads,
            "rest": [self.rest.mean, self.rest.variance],
            "doubt": self.doubt,
        }

    @property
    def _grid(self) -> Grid:
        return next(iter(self.influences.values())).grid

    @property
    def symbols(self) -> int:
        return self.mechanism.symbols

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    @property
    def first_study(self) -> str:
        """The id of the first round's study."""
        return self.earlier_round.study_id

    @property
    def earlier(self) -> Mapping[str, int]:
        """The people of the first round."""
        return self.earlier_round.people

    @cached_property
    def _first_coins(self) -> Coins:
        return Coins.of(self.earlier_round.study_id)

    def asked(self, coins: Coins, stratum: int, first: int, count: int) -> NDArray[np.bool_]:
        """Everybody whom the first round did not ask."""
        return ~asked_first(self._first_coins, stratum, first, count, self.earlier_round.share)

    def crowd(self, people: int) -> int:
        """Everybody of the stratum whom the first round did not ask."""
        return max(1, people // BLOCK * (BLOCK - self.earlier_round.share))

    def randomize(
        self, coins: Coins, stratum: int, first_index: int, columns: Sequence[Any], bits: Randomness
    ) -> NDArray[np.int64]:
        """The function at each person's value, as a randomized symbol."""
        influence = self.influences[self.statistic.strata[stratum]]
        return self.mechanism.randomize(influence(columns, self.statistic.private_columns), bits)

    def empty_counts(self, coins: Coins, stratum: int) -> DenseCounts:
        """A count for each symbol."""
        return DenseCounts(self.symbols)

    def estimate(self, counts: Mapping[str, DenseCounts], estimator: str) -> Answer:
        """The pilot's value, corrected by the mean of the functions."""
        value, variance, sampling = self.value + self.rest.mean, self.rest.variance, 0.0
        decode = self.mechanism.decode
        for stratum, each in counts.items():
            people = each.people
            if people < 2:
                whose = "" if len(counts) == 1 else f" of the {stratum} class"
                raise NotEnoughData(f"fewer than 2 people{whose} answered in the second round")
            influence = self.influences[stratum]
            extent = influence.high - influence.low
            shares = each.array / people
            mean = float(shares @ decode)
            value += extent * (mean - self.means[stratum])
            variance += extent**2 * max(float(shares @ decode**2) - mean**2, 0.0) / (people - 1)
            # Of the people who took part in either round, their own choice is known, not random.
            sampling += extent**2 * self.spreads[stratum] / (people + self.earlier[stratum])
        alone = self.earlier_round.alone
        if alone is not None and estimator == "combined":
            weight = variance / (variance + alone[1])
            value += weight * (alone[0] - value)
            variance *= 1 - weight
        return self.finished(value, variance, max(variance - sampling, 0.0), counts)

    def manipulation(self, counts: Mapping[str, DenseCounts], estimator: str, people: int) -> Manipulation:
        return second_round_manipulation(self, counts, estimator, people)

    def finished(
        self, value: float, population: float, sample: float, counts: Mapping[str, DenseCounts]
    ) -> Answer:
        """From the unit of the functions to the statistic's own."""
        sizes = {stratum: each.people + self.earlier[stratum] for stratum, each in counts.items()}
        details: dict[str, float] = {}
        if len(self.forms) == 1:
            forms = np.array([value])
            finished = self.statistic.finish(forms, sizes)
            final, scale = finished.value, abs(float(finished.gradient[0]))
            details = self.statistic.details(
                forms, sizes, lambda gradient: abs(float(gradient[0])) * math.sqrt(population)
            )
        else:
            # People enter a ratio only as a common factor of value and gradient.
            forms = np.array(self.forms)
            here, there = (self.statistic.finish(forms, each) for each in (sizes, nominal(self.statistic)))
            largest = int(np.argmax(np.abs(there.gradient)))
            scale = abs(float(here.gradient[largest] / there.gradient[largest]))
            final = here.value + scale * (value - self.value)
        return Answer(
            final,
            scale * math.sqrt(population),
            scale * math.sqrt(sample),
            Quantization(None if self.doubt else 0.0, self.doubt, self.doubt * self.doubt),
            details,
        )

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        """Pure epsilon-LDP in two rounds, of which each person acts in one."""
        theorem = f"exact ratio of the {self.mechanism.name} probabilities, integers out of 2^64"
        columns = self.statistic.private_columns
        return local_claim(self.epsilon, epsilon_asked, 0.0, columns, theorem, self.rounds)


def nominal(statistic: Statistic) -> dict[str, int]:
    """People of each stratum that functions are made for: their number enters only as a common factor."""
    return dict.fromkeys(statistic.strata, 1_000_000)


def _level(pilot: Pilot, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A function that does not rise within a leaf of a deep tree.

    Where many people share a leaf they share one value, anywhere in it. A function that rose there would tell
    them apart from the pilot, who lies evenly, by an amount of first order; one that does not ties with it.
    """
    if pilot.single is None:
        return values
    vertices = Vertices(pilot.grid.axes[0])
    means = cell_means(pilot.grid, values)
    return np.where(pilot.single[vertices.bins], means[vertices.bins], values)


def _rest(linear: Linear, pilot: Pilot, other: Linear, masses: Masses) -> float:
    """What the derivative at another pilot misses, if this pilot is the truth."""
    seen = other.value
    for stratum, function in other.functions.items():
        means = cell_means(pilot.grid, function)
        seen += float(means @ (pilot.masses[stratum] - masses[stratum]))
    return linear.value - seen


def _allowed(statistic: Statistic, pilot: Pilot, imagined: list[float], half_range: float) -> Rest:
    """The rest that imagined rounds show, with allowances for what they do not show."""
    mean, variance = float(np.mean(imagined)), float(np.var(imagined, ddof=1))
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
        within = UNEVEN + further
        variance += (pilot.uneven * within * half_range) ** 2
    return Rest(mean, variance)


def _doubt(statistic: Statistic, pilot: Pilot) -> float:
    if not isinstance(statistic, TabulatedKernel):
        return 0.0
    (masses,) = pilot.masses.values()
    return float(masses @ statistic.spread @ masses)
