"""What every protocol offers: the participant's side and the analyst's side, in one class.

`Protocol` is one round of a study as collector and analyst see it. People answer it alone (`Alone`) or two
people compute a report together (`InPairs`). `FirstRound` is what a study can begin with: only such a
protocol is registered by name, made from a user's keywords, and planned.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain, Integers, Interval
from ..estimate import Estimate, Explanation, Laws, Manipulation, Quantization
from ..garbled.function import PairFunction
from ..privacy import PrivacyClaim
from ..randomness import Randomness
from ..randomness.coins import Coins
from ..statistics import Statistic
from .counts import Cells, Counts, Sums

if TYPE_CHECKING:
    from ..study import Study
    from .pairwise.matching import Pairs
    from .shape import Prediction, Shape


PEOPLE, PAIRS, SITES = "people", "pairs", "sites"
"""Who answers a round: people for themselves, two people together, sites for all records that they hold."""
REPORTS, SHARES, NUMBERS = "reports", "shares", "numbers"
"""What an answer is: a symbol, shares for two servers, or noisy numbers of a site."""
SITE_COLUMN, PERSON_COLUMN = "site", "person"
"""Columns of records that sites hold, beside the statistic's."""


class Trust(StrEnum):
    """Whom a person has to trust with more than a randomized report."""

    NOBODY = "nobody"
    PARTNER = "a partner who follows the protocol"
    TWO_SERVERS = "two servers that do not work together"
    SITES = "the site that holds the record"


@dataclass(frozen=True)
class Answer:
    """What a protocol's estimator returns."""

    value: float
    standard_error: float
    sample_standard_error: float
    quantization: Quantization
    details: Mapping[str, float] = field(default_factory=dict)
    explanation: Explanation | None = None
    bounds: tuple[float, float] = (-math.inf, math.inf)
    """What the statistic can be, where the protocol knows more than the statistic itself."""
    bias: float = 0.0
    """The most that cells and remainders can have moved the value."""
    centre: float | None = None
    """Where the interval is centred, where that is not the value."""
    laws: Laws | None = None
    """How the errors are distributed, where that is known better than by standard errors."""
    caveats: tuple[str, ...] = ()
    """What must be said first, in sentences."""

    def within(
        self, statistic: Statistic, domains: tuple[Domain, ...], sizes: Mapping[str, int]
    ) -> tuple[float, tuple[float, float]]:
        """The value moved into the statistic's range, and that range."""
        ends = statistic.bounds(domains, sizes)
        low, high = max(ends[0], self.bounds[0]), min(ends[1], self.bounds[1])
        return min(max(self.value, low), high), (low, high)

    def at_most(self, most: float) -> Answer:
        """With a value that a population can have, and the same intervals."""
        if self.value <= most:
            return self
        return replace(self, value=most, centre=self.value if self.centre is None else self.centre)

    def estimate(self, study: Study, sizes: Mapping[str, int], estimator: str) -> Estimate:
        """What a user gets of it, without what liars can do."""
        value, bounds = self.within(study.statistic, study.domains, sizes)
        return Estimate(
            statistic=study.statistic.name,
            value=value,
            standard_error=self.standard_error,
            sample_standard_error=self.sample_standard_error,
            strata=sizes,
            privacy=study.privacy,
            protocol=study.protocol.name,
            estimator=estimator,
            study_id=study.id,
            quantization=self.quantization,
            details=self.details,
            explanation=self.explanation,
            bounds=bounds,
            most=study.statistic.most(study.domains),
            raw=self.value,
            bias=self.bias,
            logarithmic=study.statistic.logarithmic,
            centre=self.centre,
            laws=self.laws,
            caveats=self.caveats,
            study=study,
        )


class Protocol(ABC):
    """One round of one way of computing a statistic without seeing anybody's value."""

    name: ClassVar[str]
    estimators: ClassVar[tuple[str, ...]]
    """The names of the estimators."""
    also_rehearsed: ClassVar[tuple[str, ...]] = ()
    """Those that a plan with data tries beside the default; formulas say nothing of their error."""
    uses_coins: ClassVar[bool]
    """Whether a report depends on the participant's public coins, and so on the index."""
    round: ClassVar[int] = 1
    rounds: ClassVar[int] = 1
    """Which round this is, and of how many; each person acts in one of them, unless it ``asks_again``."""
    statistic: Statistic
    domains: tuple[Domain, ...]
    delta: float = 0.0
    """The chance that epsilon is exceeded; 0 for pure privacy."""
    answered_by: str = PEOPLE
    sends: ClassVar[str] = REPORTS
    asks_again: ClassVar[bool] = False
    """Whether both rounds ask everybody: then their `losses` add up."""
    has_crypto: ClassVar[bool] = False
    """Whether several parties compute together, so that a simulation can do without their cryptography."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The parameters, with the protocol's name."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """What a person sends in this round."""

    @property
    @abstractmethod
    def sent(self) -> tuple[str, str]:
        """Who sends what in this round, in words."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The exact loss by all that one person sends in this round; with a delta, in all rounds."""

    @property
    def losses(self) -> tuple[float, ...]:
        """What a person loses in each round, where all ask everybody; with a delta in rho: `total_loss`."""
        return (self.epsilon,) * self.rounds

    @property
    def default_estimator(self) -> str:
        return self.estimators[0]

    @property
    def strata(self) -> tuple[str, ...]:
        """What reports are counted by: the public classes people belong to."""
        return self.statistic.strata

    @property
    def of_sites(self) -> bool:
        """Whether sites answer, each for all its records."""
        return self.answered_by == SITES

    @property
    def record_columns(self) -> tuple[str, ...]:
        """Columns that everybody's records need beside the statistic's: the site, perhaps the person."""
        return (SITE_COLUMN,) if self.of_sites else ()

    @property
    def planned_sites(self) -> int | None:
        """How many sites the study was planned for, where it says so."""
        return None

    @property
    def symbols(self) -> int | None:
        """How many symbols a report can hold, where reports are symbols."""
        return None

    def continues(self, first: Protocol) -> bool:
        """Whether this later round, which asks everybody again, keeps what ``first`` said of its noise."""
        return False

    @property
    def first_study(self) -> str | None:
        """The id of the first round's study, in a later round."""
        return None

    @property
    def earlier(self) -> Mapping[str, int]:
        """How many people of each stratum took part in earlier rounds."""
        return {}

    def analysis_to_json(self) -> dict[str, Any] | None:
        """What only the analyst of this round needs, from earlier rounds; None where that is nothing."""
        return None

    def with_analysis(self, spec: Any) -> Protocol | None:
        """The same round with what its analyst needs, read back; None where that is nothing."""
        return None

    def asked(self, coins: Coins, stratum: int, first: int, count: int) -> NDArray[np.bool_] | None:
        """Which of ``count`` consecutive indices are asked in this round; None means everybody."""
        return None

    def places(self, coins: Coins, stratum: int, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each of these ascending indices among those who are asked in this round."""
        return indices

    def next_round(
        self, study_id: str, coins: Coins, counts: Mapping[str, Any], epsilon: float
    ) -> Protocol | None:
        """The protocol of the round that follows this one's counts; None after the last."""
        return None

    def crowd(self, people: int) -> int:
        """Among how many reports one of a stratum of so many people surely hides, if all are shuffled.

        Only reports that look alike but for their symbol hide each other. Public coins are known to
        everybody, so a report whose coins nobody shares hides among none but itself.
        """
        return 1 if self.uses_coins else people

    def predict_manipulation(self, shape: Shape, sizes: Mapping[str, int], liars: int) -> float:
        """About what `manipulation` will say of so many liars; infinite, unless a protocol knows."""
        return math.inf

    @property
    def cell_codes(self) -> Cells | None:
        """The codes of what a report counts in, where that is one cell; None where it is not."""
        return None

    @abstractmethod
    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        """What is promised to each person."""


class Tallied(Protocol):
    """A round whose answers add up: tallies of parts make the tally of all."""

    @abstractmethod
    def empty_counts(self, coins: Coins, stratum: int) -> Sums:
        """Counts of one stratum with no report in them."""


class OfSymbols(Tallied):
    """A round whose reports are symbols, and whose answer needs only how often each came."""

    @property
    @abstractmethod
    def symbols(self) -> int:
        """How many symbols a report can hold."""

    @property
    def report_bits(self) -> int:
        return max(1, (self.symbols - 1).bit_length())

    @property
    def sent(self) -> tuple[str, str]:
        bits = self.report_bits
        return "a person sends", f"one of {self.symbols} symbols ({bits} bit{'s' if bits > 1 else ''})"

    @property
    def cell_codes(self) -> Cells | None:
        """Without coins, and with one round, the cell is the symbol."""
        return None if self.uses_coins or self.rounds > 1 else Cells(0, self.symbols - 1)

    @abstractmethod
    def empty_counts(self, coins: Coins, stratum: int) -> Counts: ...

    @abstractmethod
    def estimate(self, counts: Mapping[str, Any], estimator: str) -> Answer:
        """The answer from the counts of each stratum."""

    def participants(self, reports: int) -> int:
        """How many people made so many reports."""
        return reports

    def manipulation(self, counts: Mapping[str, Any], estimator: str, people: int) -> Manipulation:
        """How far so many liars can move the answer of ``estimate``; infinite, unless a protocol knows."""
        return Manipulation(people, people, math.inf, math.inf, False, math.nan)


class Alone(OfSymbols):
    """A round that each person answers alone."""

    @abstractmethod
    def randomize(
        self, coins: Coins, stratum: int, first_index: int, columns: Sequence[Any], bits: Randomness
    ) -> NDArray[Any]:
        """The symbols of consecutive participants of one stratum, the first being ``first_index``.

        Consecutive among those who are asked in this round.
        """

    def cells_of(
        self, coins: Coins, stratum: int, indices: NDArray[np.int64], symbols: NDArray[Any]
    ) -> NDArray[np.int64]:
        """The cell that each of these reports counts in; for protocols that have `cell_codes`."""
        return symbols.astype(np.int64)

    def symbols_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The symbols of reports that count in these cells."""
        return cells

    def randomize_cells(
        self, coins: Coins, stratum: int, first_index: int, columns: Sequence[Any], bits: Randomness
    ) -> NDArray[np.int64]:
        """The cells of the reports that `randomize` gives for the same people and the same bits."""
        return self.randomize(coins, stratum, first_index, columns, bits).astype(np.int64)


class InPairs(OfSymbols):
    """A round in which two people compute one report together; what is counted is pairs."""

    pairs: int
    """In how many pairs each person is."""
    answered_by = PAIRS
    has_crypto: ClassVar[bool] = True

    @property
    @abstractmethod
    def function(self) -> PairFunction:
        """What two people compute of their encoded values."""

    @abstractmethod
    def encode(self, columns: Sequence[Any], bits: Randomness) -> NDArray[np.uint64]:
        """People's values as the circuit takes them: a row for each person."""

    @abstractmethod
    def match(self, coins: Coins, sizes: Mapping[str, int], first: int = 0) -> Pairs:
        """All pairs of so many people of each stratum, the first of whom has the index ``first``."""


@dataclass(frozen=True)
class Setting:
    """What a protocol is to be planned for."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    epsilon: float
    n: int
    optimized: bool = False
    """Whether mechanisms may be searched, which takes seconds for each."""
    rounds: int = 2
    """How many rounds there may be at most."""
    sites: int | None = None
    """How many sites hold the people's records, if that is known."""

    @property
    def numbers(self) -> bool:
        """Whether some column holds numbers, which can be cut into few bins or many."""
        return any(isinstance(domain, (Interval, Integers)) for domain in self.domains)


class FirstRound(Protocol):
    """A round that a study can begin with."""

    options: ClassVar[tuple[str, ...]]
    """The keywords that `create` takes."""
    trust: ClassVar[Trust] = Trust.NOBODY

    @classmethod
    @abstractmethod
    def create(cls, *given: Any, **options: Any) -> FirstRound:
        """From a statistic, its domains and epsilon: choose what is not given, check what is."""

    @classmethod
    @abstractmethod
    def from_json(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
    ) -> Protocol:
        """Read any round's parameters back."""

    @classmethod
    @abstractmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        """The options worth comparing for a plan; none where the protocol does not fit."""

    @property
    def tells_apart(self) -> bool:
        """Whether no two values look alike to it, so that nothing is hidden however people lie."""
        return not any(isinstance(domain, (Interval, Integers)) for domain in self.domains)

    @abstractmethod
    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        """The error of the whole study when so many people of each stratum look like ``shape``."""
