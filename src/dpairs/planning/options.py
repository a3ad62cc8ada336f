"""What could be done: for each protocol that fits, its best parameters and the error to expect."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..data.domains import Domain, Integers, Interval
from ..errors import BadParameter, NotEstimable
from ..estimate import LIARS
from ..mechanisms import OPTIMIZED
from ..protocols import Histogram
from ..randomness import public_seed
from ..statistics import AUC, Kernel, Statistic
from ..study import Study
from .liars import liars_change
from .predict import Prediction, onto, predict
from .shapes import Shape

BINS, BINS_PAIR = (4, 8, 16, 32, 64), (3, 4, 6, 8, 12)
BINS_SEARCHED, BINS_PAIR_SEARCHED = (16, 32), (6,)
"""The same where a mechanism is searched, which takes seconds for each."""
SHARES = (0.08, 0.12, 0.2, 0.3)
PARTNERS = (1, 2, 4, 8, 16)
TREE_BINS = 2**10
TRUST = {
    "histogram": "nobody",
    "tree": "nobody",
    "projection": "nobody",
    "pairwise": "a partner who follows the protocol",
}


@dataclass(frozen=True)
class Option:
    """One way to run the study, its error in parts, and what it asks of people."""

    protocol: str
    parameters: dict[str, Any]
    prediction: Prediction
    study: Study
    sizes: dict[str, int]
    shape: Shape
    """Of the shapes looked at, the one at which this option does worst."""

    @property
    def error(self) -> float:
        return self.prediction.total

    def begin(self) -> Study:
        """The study to run: with a public seed of its own, since one plan may begin several studies.

        ``study`` itself has the seed 0, so that the same question always gets the same plan.
        """
        return replace(self.study, seed=public_seed())

    @property
    def bits(self) -> int:
        return max(1, (self.study.protocol.symbols - 1).bit_length())

    @property
    def rounds(self) -> int:
        """How often the collector asks; each person answers once."""
        return self.study.protocol.rounds

    @property
    def trust(self) -> str:
        """Whom a person has to trust."""
        return TRUST[self.protocol]

    @property
    def crowd(self) -> int:
        """Among how many a report would hide in a shuffler, whoever's it is and whatever the seed."""
        return min(map(self.study.protocol.crowd, self.sizes.values()))

    @cached_property
    def liars_change(self) -> float:
        """About how far 1% of dishonest people could move the answer; infinite where no bound is known."""
        return liars_change(self.study.protocol, self.shape, self.sizes, LIARS)

    def to_json(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol,
            "parameters": self.parameters,
            **self.prediction.to_json(),
            "people": self.sizes,
            "epsilon": self.study.epsilon,
            "bits": self.bits,
            "rounds": self.rounds,
            "trust": self.trust,
            "liars_change": self.liars_change if math.isfinite(self.liars_change) else None,
        }


@dataclass(frozen=True)
class Question:
    """What is asked for, but for the number of people and epsilon."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    shapes: tuple[Shape, ...]
    rounds: int
    peers: bool
    optimized: bool = False
    progress: Callable[[int], None] | None = None

    def options(
        self, epsilon: float, sizes: Mapping[str, int], only: str | None = None
    ) -> tuple[list[Option], dict[str, str]]:
        """The best of each protocol, the smallest error first; and why the others do not fit."""
        found: dict[str, Option] = {}
        reasons: dict[str, str] = {}
        for protocol, parameters in self._candidates(epsilon, sizes):
            if only is not None and protocol != only:
                continue
            try:
                made = self.option(protocol, parameters, epsilon, sizes)
            except (BadParameter, NotEstimable) as error:
                reasons.setdefault(protocol, str(error))
                continue
            if protocol not in found or made.error < found[protocol].error:
                found[protocol] = made
        left = {name: why for name, why in reasons.items() if name not in found}
        return sorted(found.values(), key=lambda each: each.error), left

    def option(
        self, protocol: str, parameters: Mapping[str, Any], epsilon: float, sizes: Mapping[str, int]
    ) -> Option:
        """One way to do it; of several shapes the worst counts."""
        study = self._study(protocol, parameters, epsilon)
        worst, shape = max(
            ((predict(study.protocol, shape, sizes), shape) for shape in self.shapes),
            key=lambda pair: pair[0].total,
        )
        return Option(protocol, dict(parameters), worst, study, dict(sizes), shape)

    def same(self, option: Option, epsilon: float, sizes: Mapping[str, int]) -> float:
        """The error of an option's parameters, at its shape, with other people or another epsilon."""
        parameters = option.parameters | ({"n": sum(sizes.values())} if "n" in option.parameters else {})
        return predict(self._study(option.protocol, parameters, epsilon).protocol, option.shape, sizes).total

    def _study(self, protocol: str, parameters: Mapping[str, Any], epsilon: float) -> Study:
        more: dict[str, Any] = {}
        if parameters.get("mechanism") == OPTIMIZED:
            more = {"prior": self._prior(parameters.get("bins")), "progress": self.progress}
        return Study.create(
            self.statistic,
            protocol=protocol,
            epsilon=epsilon,
            domain=None if isinstance(self.statistic, Kernel) else self.domains,
            seed=0,
            **parameters,
            **more,
        )

    def _prior(self, bins: int | None) -> list[float] | None:
        """The shape that is known, in the cells of a histogram, all strata alike."""
        if len(self.shapes) > 1:
            return None
        given: dict[str, Any] = {"bins": bins} if bins else {}
        like = Histogram.create(self.statistic, self.domains, 1.0, **given)
        shares: list[float] = np.mean(list(onto(self.shapes[0], like.grid).values()), axis=0).tolist()
        return shares

    def _candidates(self, epsilon: float, sizes: Mapping[str, int]) -> Iterator[tuple[str, dict[str, Any]]]:
        statistic, domains, n = self.statistic, self.domains, sum(sizes.values())
        numbers = any(isinstance(domain, (Interval, Integers)) for domain in domains)
        if statistic.name != "vus":
            if numbers:
                for bins in BINS if len(domains) == 1 else BINS_PAIR:
                    yield "histogram", {"bins": bins}
                for bins in (BINS_SEARCHED if len(domains) == 1 else BINS_PAIR_SEARCHED) * self.optimized:
                    yield "histogram", {"bins": bins, "mechanism": OPTIMIZED}
            else:
                yield "histogram", {}
                yield "histogram", {"mechanism": "krr"}
                if self.optimized:
                    yield "histogram", {"mechanism": OPTIMIZED}
        leaves = {"bins": TREE_BINS} if isinstance(domains[0], Interval) else {}
        if isinstance(statistic, AUC) and statistic.name == "auc" and statistic.labels == "public":
            yield "tree", leaves
            if epsilon > 1:
                yield "tree", {"answer": "several-bits"} | leaves
        if self.rounds > 1:
            for share in SHARES:
                yield "projection", {"pilot_fraction": share, "n": n}
                if self.optimized and not numbers:
                    yield "projection", {"pilot_fraction": share, "n": n, "mechanism": OPTIMIZED}
        if self.peers:
            for partners in PARTNERS:
                yield "pairwise", {"pairs": partners}
