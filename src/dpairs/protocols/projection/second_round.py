"""The `projection` protocol, second round: everybody else sends one randomized bit of a function.

A person evaluates the pilot's function at the exact value, maps its range to [0, 1] and sends a bit
whose mean is that number; where several symbols are better than one bit, a symbol. The mean over people,
less the function's mean over the pilot, corrects the pilot's value to second order (see `analysis`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Integers, Interval
from ...errors import NotEstimable
from ...estimate import Manipulation
from ...formats.checks import fields, required
from ...mechanisms import ScalarResponse, scalar_from_json, spaced_response
from ...privacy import PrivacyClaim, local_claim
from ...randomness import Randomness
from ...randomness.coins import Coins
from ...statistics import Statistic
from ...statistics.influence import Influence, variance_shares
from ...statistics.linear import nominal
from ...statistics.vertices import Vertices
from ..base import Alone, Answer
from ..counts import DenseCounts
from ..rounds import BLOCK, asked_first
from .analysis import Analysis
from .divided import Divided
from .far import NOBODY_FAR, Far
from .heavier import NO_TAIL, Heavier
from .manipulation import second_round_manipulation
from .narrowing import narrowed
from .one_part import between_parts
from .pilot import Pilot
from .pilot_cells import at_vertices
from .reading import Earlier, by_stratum, read_earlier, read_grid, write_edges
from .remainder import remainder_of, within_leaves
from .tied import UnseenTies
from .winsorize import left_out, levelled

TIES = (
    "This value leaves out ties, and a first round sees only values that very many people share. The "
    "interval allows for as many ties as there may be. If a column has few values, list them as Levels: then "
    "the value is nearer and the interval shorter."
)
NEARBY = (
    "Not covered: columns that depend otherwise over short stretches than as a whole, as a sawtooth does. "
    "The first round does not tell people who are near each other in both columns."
)
_FIELDS = ("round", "first", "mechanism", "edges", "functions")


@dataclass(frozen=True, eq=False)
class SecondRound(Alone):
    """The second round of a study; ``analysis`` is the analyst's, and no part of the study's file."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    earlier_round: Earlier
    mechanism: ScalarResponse
    influences: dict[str, Influence]
    analysis: Analysis | None = None
    name: ClassVar[str] = "projection"
    round: ClassVar[int] = 2
    rounds: ClassVar[int] = 2
    uses_coins: ClassVar[bool] = True
    estimators: ClassVar[tuple[str, ...]] = ("combined", "second-round")

    def __post_init__(self) -> None:
        self.statistic.check_domains(self.domains)

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        pilot: Pilot,
        earlier: Earlier,
        epsilon: float,
        people: dict[str, int],
        alone: tuple[float, float, float] | None,
    ) -> SecondRound:
        """Linearize the statistic at the pilot, and imagine how far that may be off."""
        later = min(people.values()) * (BLOCK / earlier.share - 1)
        linearizer = statistic.linearizer(pilot.grid)
        pilot, linear, ends = narrowed(statistic, linearizer, pilot, epsilon, later)
        given = pilot.grid if pilot.given is None else pilot.given
        gradient = 1.0
        if statistic.form_count > 1:
            gradient = float(statistic.finish(linear.forms, nominal(statistic)).gradient[0])
        unseen = gradient * pilot.inside
        linear = between_parts(statistic, linear, pilot, gradient)
        beyond, heavier, far, influences = 0.0, NO_TAIL, NOBODY_FAR, {}
        for name, values in linear.functions.items():
            if ends is not None:
                axis = pilot.grid.axes[0]
                beyond += left_out(axis, values, (ends.first, ends.last), ends.heavier)
                level = levelled(axis, values, ends.first, ends.last)
                heavier = Heavier.of(pilot.grid, pilot.masses[name], values, level, ends.tails, beyond)
                far = Far.of(Vertices(axis), level, ends, beyond)
                values = level
            influences[name] = Influence.of(given, at_vertices(pilot.grid, given, values))
        extents = {name: high - low for name, (_, (low, high)) in influences.items()}
        half_range = max(extents.values()) / (4 if len(extents) == 1 else 2)
        hidden = abs(beyond) + abs(gradient) * (pilot.alike + within_leaves(statistic, pilot))
        remainder = remainder_of(statistic, linearizer, linear, pilot, half_range, gradient, unseen, hidden)
        remainder = replace(remainder, heavier=heavier, far=far)
        measured = pilot.means or None if ends is None else ends.means
        divided = Divided.of(statistic, linearizer, linear, pilot, remainder, 0.0, measured=measured)
        if divided is not None:
            divided = divided.by_shares(statistic, linearizer, linear, pilot, remainder.mean)
        weights, _ = variance_shares(pilot.masses, extents, people)
        cells = np.concatenate([influence.cells for influence, _ in influences.values()])
        mechanism = spaced_response(epsilon, cells, weights)
        ties = UnseenTies.of(statistic, linear.forms, pilot.room)
        analysis = Analysis.of(
            statistic, pilot, linear, influences, remainder, people, alone, divided, mechanism, ties
        )
        return cls(
            statistic.described(),
            domains,
            earlier,
            mechanism,
            {name: influence for name, (influence, _) in influences.items()},
            analysis.checked(statistic),
        )

    @classmethod
    def from_json(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
    ) -> SecondRound:
        what = "a second round"
        fields(what, spec, ("name", *_FIELDS))
        required(what, spec, _FIELDS)
        grid = read_grid(statistic, domains, spec["edges"])
        functions = by_stratum(statistic, "functions", spec["functions"])
        return cls(
            statistic,
            domains,
            read_earlier(spec["first"]),
            scalar_from_json(spec["mechanism"]),
            {name: Influence.from_json(grid, each) for name, each in functions.items()},
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "round": 2,
            "first": {"study": self.earlier_round.study_id, "share": self.earlier_round.share},
            "mechanism": self.mechanism.to_json(),
            "edges": write_edges(self.influences),
            "functions": {name: influence.to_json() for name, influence in self.influences.items()},
        }

    def analysis_to_json(self) -> dict[str, Any] | None:
        return None if self.analysis is None else self.analysis.to_json()

    def with_analysis(self, spec: Any) -> SecondRound:
        return replace(self, analysis=Analysis.from_json(self.statistic, spec))

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
        return self._known.people

    @property
    def _known(self) -> Analysis:
        if self.analysis is None:
            raise NotEstimable(
                "this is the participants' file of a second round: an estimate also needs the analyst's, "
                "which Study.next makes from the first round's tally"
            )
        return self.analysis

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
        answer = self._known.estimate(self.statistic, self.mechanism, counts, estimator == "combined")
        caveats = answer.caveats
        if self.statistic.same_bin and any(isinstance(each, Interval) for each in self.domains):
            caveats = (*caveats, TIES)
        plane = len(self.domains) > 1 and self.statistic.needs == "ordered"
        if plane and all(isinstance(each, (Interval, Integers)) for each in self.domains):
            caveats = (*caveats, NEARBY)
        return replace(answer, caveats=caveats)

    def manipulation(self, counts: Mapping[str, DenseCounts], estimator: str, people: int) -> Manipulation:
        mixed = estimator == "combined"
        return second_round_manipulation(self._known, self.statistic, self.mechanism, counts, mixed, people)

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        """Pure epsilon-LDP in two rounds, of which each person acts in one."""
        theorem = f"exact ratio of the {self.mechanism.name} probabilities, integers out of 2^64"
        columns = self.statistic.private_columns
        return local_claim(self.epsilon, epsilon_asked, 0.0, columns, theorem, self.rounds)
