"""What could be done: for each protocol that fits, its best parameters and the error to expect."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from ..data.domains import Domain, Interval, scaled
from ..errors import BadParameter, NotEstimable
from ..estimate import LIARS
from ..mechanisms import OPTIMIZED
from ..mechanisms.optimize import optimize
from ..protocols import PROTOCOLS, FirstRound, Histogram, Setting, Trust
from ..protocols.histogram.search import Search
from ..protocols.shape import Prediction, Shape, onto
from ..randomness import public_seed
from ..statistics import Statistic
from ..study import Study
from .outcomes import Rehearsal
from .ranges import possible, predicted
from .sample import Sample

SCALE = "scale"
"""A parameter that is the domain's, not the protocol's: its intervals have this scale."""
WORTH = 0.95
"""Where people come twice, the error must be below this times the same protocol's in one visit."""


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
    least: float
    """The smallest error among these shapes, where binning does nothing."""
    known: bool
    """Whether the people's distribution is known."""
    rehearsal: Rehearsal | None = None
    """Simulated runs on people drawn from data; None where there is only the formula."""
    estimator: str | None = None
    """What makes an answer of the counts with this error; None for the protocol's default."""

    @property
    def error(self) -> float:
        """The error to expect: of simulated runs where there are any, else by formula."""
        return self.prediction.total if self.rehearsal is None else self.rehearsal.error

    @cached_property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest error possible; equal if the people's distribution is known."""
        if self.known:
            return self.error, self.error
        least, most = possible(self.study, self.shape, self.prediction, self.least, self.sizes)
        return least, max(most, self.error)

    def begin(self) -> Study:
        """The study to run, with a fresh public seed, because one plan may begin several studies.

        ``study`` itself has seed 0, so that the same question always gets the same plan.
        """
        return replace(self.study, seed=public_seed())

    @property
    def people(self) -> int:
        return sum(self.sizes.values())

    @property
    def bits(self) -> int:
        return self.study.protocol.report_bits

    @property
    def rounds(self) -> int:
        """How often the collector asks; each person answers once."""
        return self.study.protocol.rounds

    @property
    def trust(self) -> str:
        """Whom a person has to trust."""
        return PROTOCOLS[self.protocol].trust.value

    @property
    def crowd(self) -> int:
        """The number of reports among which any report would hide in a shuffler, for any seed."""
        return min(map(self.study.protocol.crowd, self.sizes.values()))

    @cached_property
    def liars_change(self) -> float:
        """About how far 1% of dishonest people could move the answer; infinite where no bound is known."""
        return self.study.protocol.predict_manipulation(
            self.shape, self.sizes, math.floor(LIARS * sum(self.sizes.values()) + 1e-9)
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol,
            "parameters": self.parameters,
            **self.prediction.to_json(),
            "standard_error": self.error,
            "estimator": self.estimator,
            "by_formula": self.prediction.total,
            "simulated": None if self.rehearsal is None else self.rehearsal.to_json(),
            "range": list(self.range),
            "people": self.sizes,
            "epsilon": self.study.epsilon,
            "bits": self.bits,
            "rounds": self.rounds,
            "trust": self.trust,
            "liars_change": self.liars_change if math.isfinite(self.liars_change) else None,
        }


def _parameters(option: Option) -> str:
    given = {name: value for name, value in option.parameters.items() if name != "n"}
    return "\n".join(f"{name}={value}" for name, value in given.items()) or "-"


def _moved_by(option: Option) -> str:
    return f"{option.liars_change:.2g}" if math.isfinite(option.liars_change) else "no bound"


def _rehearsed(option: Option) -> str:
    if option.rehearsal is None:
        return "-"
    runs, refused = option.rehearsal.runs, option.rehearsal.refused
    return f"{runs} runs" + (f",\n{refused} without answer" if refused else "")


RANGE, SIMULATED, BY_FORMULA = "  may be", "  simulated in", "  by formula"
READ_BY = "estimator"
SOMETIMES = (RANGE, SIMULATED, BY_FORMULA, READ_BY)
"""Rows that a table has only where they say something."""
FACTS: list[tuple[str, Callable[[Option], str]]] = [
    ("parameters", _parameters),
    (READ_BY, lambda option: option.estimator or "-"),
    ("people", lambda option: f"{sum(option.sizes.values()):,}"),
    ("epsilon", lambda option: f"{option.study.epsilon:.4g}"),
    ("standard error", lambda option: f"{option.error:.3g}"),
    (RANGE, lambda option: "-" if option.known else "{:.2g} to {:.2g}".format(*option.range)),
    (SIMULATED, _rehearsed),
    (BY_FORMULA, lambda option: f"{option.prediction.total:.3g}" if option.rehearsal else "-"),
    ("  from privacy", lambda option: f"{option.prediction.privacy:.2g}"),
    ("  from sampling", lambda option: f"{option.prediction.sampling:.2g}"),
    ("  second order", lambda option: f"{option.prediction.second_order:.2g}"),
    ("  from bins", lambda option: f"{option.prediction.quantization:.2g}"),
    (f"if {LIARS:.0%} lie, it moves", _moved_by),
    ("bits sent", lambda option: f"{option.bits:,}"),
    ("rounds", lambda option: str(option.rounds)),
    ("trusts", lambda option: option.trust),
]
"""What a table says of an option: rows of it."""


def chosen(options: Sequence[Option]) -> Option:
    """The smallest error, but fewer rounds unless more are worth it."""
    best = min(options, key=lambda each: each.error)
    fewer = [each for each in options if each.rounds < best.rounds]
    plain = min(fewer, key=lambda each: each.error, default=best)
    return plain if plain.error * WORTH <= best.error else best


def _no_longer(options: list[Option]) -> list[Option]:
    """Without scales that make the interval longer than that of the best option on the domain as given.

    Few points far apart may have no error where what they hide happens to cancel, and hide everything else.
    """
    longest = next((each.prediction.half_width for each in options if SCALE not in each.parameters), math.inf)
    return [each for each in options if SCALE not in each.parameters or each.prediction.half_width <= longest]


@dataclass(frozen=True)
class Question:
    """What is asked for, except the number of people and epsilon."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    shapes: tuple[Shape, ...]
    rounds: int
    trusted: frozenset[Trust]
    """Whom people may be asked to trust."""
    optimized: bool = False
    search: Search = optimize
    sites: int | None = None
    """How many sites hold the people's records."""
    sample: Sample | None = None
    """People whose data is known, to rehearse studies on."""

    def options(
        self, epsilon: float, sizes: Mapping[str, int], only: str | None = None
    ) -> tuple[list[Option], dict[str, str]]:
        """The best of each protocol, the smallest error first; and why the others do not fit."""
        ranked, left = self.ranked(epsilon, sizes, only)
        return sorted(map(chosen, ranked.values()), key=lambda each: each.error), left

    def ranked(
        self, epsilon: float, sizes: Mapping[str, int], only: str | None = None
    ) -> tuple[dict[str, list[Option]], dict[str, str]]:
        """Each protocol's options, the smallest error by formula first; and why others do not fit."""
        made: dict[str, list[Option]] = {}
        reasons: dict[str, str] = {}
        for protocol, parameters in self._candidates(epsilon, sizes):
            if only is not None and protocol != only:
                continue
            try:
                option = self.option(protocol, parameters, epsilon, sizes)
            except (BadParameter, NotEstimable) as error:
                reasons.setdefault(protocol, str(error))
                continue
            made.setdefault(protocol, []).append(option)
        left = {name: why for name, why in reasons.items() if name not in made}
        return {
            name: _no_longer(sorted(each, key=lambda one: one.error)) for name, each in made.items()
        }, left

    def option(
        self, protocol: str, parameters: Mapping[str, Any], epsilon: float, sizes: Mapping[str, int]
    ) -> Option:
        """One way to do it; of several shapes the worst counts."""
        study, first = self._begun(protocol, tuple(sorted(parameters.items())), epsilon)
        shapes = self._shapes(parameters.get(SCALE))
        predictions = [(predicted(first, shape, sizes), shape) for shape in shapes]
        worst, shape = max(predictions, key=lambda pair: pair[0].total)
        least = min(each.noise for each, _ in predictions) if len(predictions) > 1 else worst.total
        known = len(predictions) == 1
        return Option(protocol, dict(parameters), worst, study, dict(sizes), shape, least, known)

    def same(self, option: Option, epsilon: float, sizes: Mapping[str, int]) -> float:
        """The error of an option's parameters, at its shape, with other people or another epsilon."""
        parameters = option.parameters | ({"n": sum(sizes.values())} if "n" in option.parameters else {})
        _, first = self._begun(option.protocol, tuple(sorted(parameters.items())), epsilon)
        return predicted(first, option.shape, sizes).total

    @cached_property
    def _begun(self) -> Callable[..., tuple[Study, FirstRound]]:
        """`_begin`, kept: a search for the number of people asks for each study again."""
        return cache(self._begin)

    def _begin(
        self, protocol: str, given: Iterable[tuple[str, Any]], epsilon: float
    ) -> tuple[Study, FirstRound]:
        options = dict(given)
        scale = options.pop(SCALE, None)
        domains = scaled(self.domains, scale)
        placed = self.statistic.placed(domains)
        if options.get("mechanism") == OPTIMIZED:
            options |= {"prior": self._prior(placed, self._shapes(scale), options), "search": self.search}
        first = PROTOCOLS[protocol].create(self.statistic, placed, epsilon, **options)
        return Study(first.statistic, domains, first, epsilon, first.delta, 0), first

    def _prior(
        self, domains: tuple[Domain, ...], shapes: tuple[Shape, ...], parameters: Mapping[str, Any]
    ) -> list[float] | None:
        """The shape that is known, in the cells of a histogram, all strata alike."""
        if len(shapes) > 1:
            return None
        given = {name: parameters[name] for name in ("bins", "rounding") if name in parameters}
        like = Histogram.create(self.statistic, domains, 1.0, **given)
        shares: list[float] = np.mean(list(onto(shapes[0], like.grid).values()), axis=0).tolist()
        return shares

    def _shapes(self, scale: str | None) -> tuple[Shape, ...]:
        if scale is None or self.sample is None:
            return self.shapes
        return (self.sample.on(scaled(self.domains, scale)),)

    @property
    def _scales(self) -> tuple[str | None, ...]:
        """Scales to try where people's data is known and values may crowd at 0.

        Elsewhere a scale costs as much as it saves: who knows nothing of them keeps the domain as given.
        """
        plain = [each for each in self.domains if isinstance(each, Interval) and not each.edges]
        apart = self.statistic.needs in ("ordered", "numeric")
        crowded = self.sample is not None and apart and any(each.low <= 0 <= each.high for each in plain)
        return (None, "asinh") if crowded else (None,)

    def _candidates(self, epsilon: float, sizes: Mapping[str, int]) -> Iterator[tuple[str, dict[str, Any]]]:
        for scale in self._scales:
            setting = Setting(
                self.statistic,
                self.statistic.placed(scaled(self.domains, scale)),
                epsilon,
                sum(sizes.values()),
                self.optimized,
                self.rounds,
                self.sites,
            )
            more = {} if scale is None else {SCALE: scale}
            for name, kind in PROTOCOLS.usable():
                if kind.rounds <= self.rounds and kind.trust in self.trusted:
                    for parameters in kind.candidates(setting):
                        if parameters.get("rounds", kind.rounds) <= self.rounds:
                            yield name, {**parameters, **more}
