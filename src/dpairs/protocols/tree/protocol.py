"""The `tree` protocol: AUC on ordered domains of any size, with one bit from each person.

Section 4 of the paper: hierarchical histograms of both classes by Hadamard randomized response, and a
walk of the two trees. Participant's side in `answers`; the analyst's in `estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Integers, Interval
from ...errors import BadParameter
from ...estimate import Manipulation
from ...formats.checks import choice, fields, integer, real, required
from ...mechanisms import KaryResponse
from ...privacy import PrivacyClaim, local_claim
from ...privacy.composition import advanced_share, optimal_share
from ...statistics import Statistic
from ..base import Alone, Answer, FirstRound, Setting
from ..shape import Prediction, Shape
from ..theory import MAX_PEOPLE
from .answers import MAX_DEPTH, SPLITTINGS, TreeAnswers, composed_loss, responses_from_json
from .counts import TreeCounts
from .estimate import ESTIMATORS, Evidence, estimate
from .leaves import bits_of, leaf_codes
from .manipulation import tree_manipulation
from .parities import best_parities
from .predict import candidates, predict

DEFAULT_BINS = 2**16
ANSWERS = ("one-bit", "several-bits")


@dataclass(frozen=True)
class Tree(TreeAnswers, Alone, FirstRound):
    """The AUC from two trees, one of each class."""

    name: ClassVar[str] = "tree"
    uses_coins: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("bins", "splitting", "rows", "answer", "delta", "n")
    estimators: ClassVar[tuple[str, ...]] = ESTIMATORS

    def check_shape(self) -> None:
        """Refuse a statistic or a depth that the tree cannot have."""
        _check_statistic(self.statistic)
        _check_depth(self.depth, self.domains[0])

    @classmethod
    def create(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        epsilon: float,
        *,
        bins: int | None = None,
        splitting: str = "users",
        rows: str = "others",
        answer: str = "one-bit",
        delta: float | None = None,
        n: int | None = None,
    ) -> Tree:
        """A tree over ``bins`` = 2^depth leaves.

        Where none are given: all values of a list, and as many
        as ``n`` people are worth on an interval (65,536 without n).
        """
        _check_statistic(statistic)
        statistic.check_domains(domains)
        choice("splitting", splitting, SPLITTINGS)
        if n is not None:
            integer("n", n, 2, MAX_PEOPLE)
        depth = _depth(bins, domains[0], n)
        if "advanced" in splitting and delta is None:
            raise BadParameter(f"splitting {splitting!r} needs a delta, for example delta=1e-8")
        if "advanced" not in splitting and delta:
            raise BadParameter(f"splitting {splitting!r} is pure: it takes no delta")
        share = {
            "budget": lambda: math.nextafter(epsilon / depth, 0),
            "budget-advanced": lambda: _within(
                epsilon, delta or 0, depth, optimal_share(epsilon, delta or 0, depth)
            ),
            "budget-advanced-paper": lambda: advanced_share(epsilon, delta or 0, depth),
        }.get(splitting, lambda: epsilon)()
        several = choice("answer", answer, ANSWERS) == "several-bits"
        parities = best_parities(share, depth) if several else 1
        responses = tuple(KaryResponse.for_epsilon(2 << step, share) for step in range(parities))
        return cls(statistic, domains, depth, splitting, rows, responses, float(delta or 0))

    @classmethod
    def from_json(cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]) -> Tree:
        names = ("depth", "splitting", "rows", "floors", "delta")
        fields(f"protocol {cls.name!r}", spec, ("name", *names))
        required(f"protocol {cls.name!r}", spec, names)
        depth = integer("depth", spec["depth"], 1, MAX_DEPTH)
        delta = real("delta", spec["delta"])
        responses = responses_from_json(cls.name, spec["floors"])
        return cls(statistic, domains, depth, spec["splitting"], spec["rows"], responses, delta)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "depth": self.depth,
            "splitting": self.splitting,
            "rows": self.rows,
            "floors": [str(response.floor) for response in self.responses],
            "delta": self.delta,
        }

    def leaves(self, values: Any) -> NDArray[np.uint64]:
        """The leaf of each value."""
        return leaf_codes(self.domains[0], self.depth, values, "score")

    def people(self, columns: Sequence[Any]) -> NDArray[np.uint64]:
        """The leaf of each person."""
        return self.leaves(columns[0])

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        return candidates(setting)

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        return predict(self, shape, sizes)

    def evidence(self, counts: Mapping[str, TreeCounts]) -> Evidence:
        ties = self.statistic.order_ties or "half"
        return Evidence(
            tuple(counts.values()), self.depth, self.responses, self.rows, self.everybody_everywhere, ties
        )

    def estimate(self, counts: Mapping[str, TreeCounts], estimator: str) -> Answer:
        return estimate(self.evidence(counts), self.domains[0], estimator)

    def manipulation(self, counts: Mapping[str, TreeCounts], estimator: str, people: int) -> Manipulation:
        return tree_manipulation(self.evidence(counts), estimator, people)

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        """Pure epsilon-LDP in one round, or (epsilon, delta) under advanced composition."""
        theorem = "exact ratio of the answer's probabilities, integers out of 2^64"
        if self.splitting == "budget":
            theorem += f", composed over {self.depth} levels"
        elif self.everybody_everywhere:
            theorem += f", composed over {self.depth} levels by Kairouz, Oh and Viswanath's theorem"
        return local_claim(self.epsilon, epsilon_asked, self.delta, self.statistic.private_columns, theorem)


def _within(epsilon: float, delta: float, times: int, share: float) -> float:
    """A share found in floats, lowered by its last digits until the exact loss is within ``epsilon``."""
    step = 2.0**-52
    while composed_loss(KaryResponse.for_epsilon(2, share), times, delta) > epsilon:
        share, step = share * (1 - step), 2 * step
    return share


def _check_statistic(statistic: Statistic) -> None:
    if statistic.order_ties is None:
        raise BadParameter(
            "the tree protocol computes the AUC with public labels; histogram takes any statistic"
        )


def _depth(bins: Any, domain: Domain, n: int | None) -> int:
    if bins is None:
        return bits_of(_leaves(n) if isinstance(domain, Interval) else domain.size)
    count = integer("bins", bins, 2, 2**MAX_DEPTH)
    if count & (count - 1):
        raise BadParameter(f"bins of a tree must be a power of 2, not {bins}")
    return count.bit_length() - 1


def _leaves(n: int | None) -> int:
    """Of an interval: 4 sqrt(n), so that pairs of an even spread seldom share a leaf; 65,536 without n.

    Such pairs are 1/k of all. With k = 4 sqrt(n) they move the AUC by less than the choice of people does,
    which is about 1/sqrt(n), and a level more would only cost noise.
    """
    return DEFAULT_BINS if n is None else min(max(4 * math.isqrt(n), 16), DEFAULT_BINS)


def _check_depth(depth: int, domain: Domain) -> None:
    integer("depth", depth, 1, MAX_DEPTH)
    if isinstance(domain, Interval):
        if depth > 52:
            raise BadParameter(f"an Interval has at most 2^52 bins, not 2^{depth}; use Integers for more")
    elif isinstance(domain, Integers):
        if depth > bits_of(domain.size):
            raise BadParameter(f"bins must be at most 2^{bits_of(domain.size)} for {domain!r}, not 2^{depth}")
    elif depth != bits_of(domain.size):
        raise BadParameter(f"bins must be 2^{bits_of(domain.size)} for {domain.size} levels, not 2^{depth}")
