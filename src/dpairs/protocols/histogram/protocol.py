"""The `histogram` protocol: quantize, randomize the bin, average the kernel over decoded reports.

Section 3 of the paper, for any mechanism whose channel is known. A report decodes to an unbiased
estimate of the indicator of its person's cell, so the kernel of two decoded reports is an unbiased
estimate of the kernel of the two people's cells. Everything is computed from the counts of symbols, so
it costs the same whatever the number of people: O(k^2) for the value once the study's matrices are made,
a few products of k x k matrices for the standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ... import mechanisms
from ...data.domains import Domain
from ...data.grids import MAX_BINS, ROUNDINGS, Grid
from ...errors import BadFile, BadParameter, NotEstimable
from ...estimate import Manipulation, Quantization
from ...formats.checks import choice, fields, integer, required
from ...mechanisms import Mechanism, mechanism_from_json
from ...mechanisms.optimize import optimize
from ...privacy import PrivacyClaim, local_claim
from ...randomness import Randomness
from ...randomness.coins import Coins
from ...statistics import KERNELS, Form, Statistic
from ...statistics.base import need_two
from ...statistics.fixed_length import reach
from ...statistics.labels import need_both
from ...statistics.ustatistics import OneSample, TwoSamples, Variances
from ..base import Alone, Answer, FirstRound, Setting
from ..counts import DenseCounts
from ..manipulation import Reach, at_vertices, of_forms, span
from ..shape import Prediction, Shape, onto
from ..theory import MAX_PEOPLE
from .binning import binning_bias
from .bins import axes_of, bins_of, usual_rounding
from .hidden_divisor import anywhere, caveat, lost_by_lies, not_defined, surely_defined, unknown
from .laws import laws
from .moments import variances
from .predict import Expected, candidates, predict
from .rounding import adds, excess, lower_end, middle_reach, shares, told
from .search import Search, kernels_of, prior_of
from .simplex import moved


@dataclass(frozen=True)
class Histogram(Alone, FirstRound):
    """Quantization and a mechanism on the cells, in one round."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    bins: tuple[int, ...]
    rounding: str
    kernel: str
    mechanism: Mechanism
    name: ClassVar[str] = "histogram"
    uses_coins: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ("bins", "mechanism", "kernel", "rounding", "n", "prior", "search")
    estimators: ClassVar[tuple[str, ...]] = ("paper", "middle", "simplex")
    also_rehearsed: ClassVar[tuple[str, ...]] = ("simplex",)

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        choice("rounding", self.rounding, ROUNDINGS)
        self.statistic.check_domains(self.domains, points=self.rounding == "random")
        choice("kernel", self.kernel, KERNELS)
        self.statistic.check_grid(self.grid, self.kernel)
        if self.mechanism.inputs != self.grid.cells:
            raise BadParameter(
                f"the mechanism has {self.mechanism.inputs} inputs and the study {self.grid.cells} cells"
            )

    @classmethod
    def create(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        epsilon: float,
        *,
        bins: int | Sequence[int] | None = None,
        mechanism: str = "projective",
        kernel: str = "average",
        rounding: str | None = None,
        n: int | None = None,
        prior: Sequence[float] | None = None,
        search: Search = optimize,
    ) -> Self:
        """Choose the bins from ``n`` where none are given, and the thresholds from ``epsilon``.

        Distances on an interval with edges are rounded at random to some of these, others as ``simple`` says.

        ``mechanism="krr"`` is the paper's; ``"projective"`` has less variance on many cells;
        ``"optimized"`` is searched for the kernel, at ``prior`` (a share for each cell; even by default),
        which takes seconds; ``search`` may remember what was found before.
        """
        statistic.check_domains(domains, points=rounding != "simple")
        if rounding is None:
            rounding = usual_rounding(statistic, domains)
        if n is not None:
            integer("n", n, 2, MAX_PEOPLE)
        counts = bins_of(statistic, domains, epsilon, bins, n)
        choice("kernel", kernel, KERNELS)
        axes = axes_of(statistic, domains, counts, rounding)
        grid = statistic.grid(axes)
        statistic = statistic.tabulate(grid, kernel)
        if mechanism == mechanisms.OPTIMIZED:
            shares = prior_of(prior, grid.cells)
            chosen = search(kernels_of(statistic, grid, kernel, shares), shares, epsilon)
        else:
            if prior is not None:
                raise BadParameter(f"only an optimized mechanism has a prior, not {mechanism!r}")
            chosen = mechanisms.mechanism(mechanism, grid.cells, epsilon)
        return cls(statistic, domains, counts, rounding, kernel, chosen)

    @classmethod
    def from_json(cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]) -> Self:
        names = ("bins", "rounding", "kernel", "mechanism")
        fields(f"protocol {cls.name!r}", spec, ("name", *names))
        required(f"protocol {cls.name!r}", spec, names)
        if not isinstance(spec["bins"], list) or len(spec["bins"]) != len(domains):
            raise BadFile(f"protocol {cls.name!r} needs a list of {len(domains)} bins")
        bins = tuple(integer("bins", count, 2, MAX_BINS) for count in spec["bins"])
        return cls(
            statistic, domains, bins, spec["rounding"], spec["kernel"], mechanism_from_json(spec["mechanism"])
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "bins": list(self.bins),
            "rounding": self.rounding,
            "kernel": self.kernel,
            "mechanism": self.mechanism.to_json(),
        }

    @cached_property
    def grid(self) -> Grid:
        return self.statistic.grid(axes_of(self.statistic, self.domains, self.bins, self.rounding))

    @property
    def default_estimator(self) -> str:
        return "middle" if adds(self) else "paper"

    @property
    def symbols(self) -> int:
        return self.mechanism.symbols

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        return candidates(setting)

    @cached_property
    def expected(self) -> dict[Shape, Expected]:
        """What `predict` has found of people of each shape."""
        return {}

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        return predict(self, shape, sizes)

    def predict_manipulation(self, shape: Shape, sizes: Mapping[str, int], liars: int) -> float:
        masses, channel = onto(shape, self.grid), self.mechanism.channel
        expected = [people * (masses[name] @ channel) for name, people in sizes.items()]
        try:
            return self.reach(expected, sizes, liars, self.default_estimator).change
        except NotEstimable:
            return math.inf

    def randomize(
        self, coins: Coins, stratum: int, first_index: int, columns: Sequence[Any], bits: Randomness
    ) -> NDArray[np.int64]:
        """Place each person in a cell and randomize the cell. No public coins: the index plays no part."""
        return self.mechanism.randomize(self.grid.place(columns, self.statistic.private_columns, bits), bits)

    def empty_counts(self, coins: Coins, stratum: int) -> DenseCounts:
        """A count for each symbol."""
        return DenseCounts(self.symbols)

    def estimate(self, counts: Mapping[str, DenseCounts], estimator: str) -> Answer:
        """The paper's unbiased estimator, its standard errors, and what quantization may have done.

        ``paper`` is the mean over decoded reports, ``middle`` takes off the middle of what random rounding
        may have added, and ``simplex`` moves that towards the value of the nearest distribution, within the
        sample's interval.
        """
        sizes = {stratum: count.people for stratum, count in counts.items()}
        _need_people(sizes)
        vectors = [count.array.astype(np.float64) for count in counts.values()]
        defined = surely_defined(self, vectors)
        if defined is False:
            raise NotEstimable(not_defined(self))
        try:
            return self._estimate(vectors, sizes, estimator)
        except NotEstimable:
            if defined is None:
                raise
            return unknown(self, vectors, sizes)

    def _estimate(
        self, vectors: list[NDArray[np.float64]], sizes: Mapping[str, int], estimator: str
    ) -> Answer:
        values = np.array([average.mean(vectors) for average, *_ in self._averages])
        finished = self.statistic.finish(values, sizes)
        kernel = self._along(finished.gradient)
        added = excess(self, shares(self, vectors[0]))
        bounds = None if added is None else told(self, added, vectors[0])
        most = np.zeros_like(kernel) if added is None else np.tensordot(finished.gradient, added, axes=1)
        errors = variances(self, kernel if estimator == "paper" else kernel - most / 2, vectors)

        error = partial(self._error, vectors)
        slack = self.statistic.divisor_slack(values, error)
        details = self.statistic.details(values, sizes, error)
        total, noise = (
            slack * math.sqrt(each) if math.isfinite(slack) else math.inf
            for each in (errors.population, errors.sample)
        )
        off = binning_bias(self, vectors, values, finished, sizes, error, bounds)
        centre = finished.value + off.middle
        value = finished.value if estimator == "paper" else centre
        if estimator == "simplex":
            value = moved(self, vectors, centre, off.middle, reach(noise, off.half, 0.95), sizes)
        law = None
        if added is not None and bounds is not None:
            lower = lower_end(self, values, added, bounds, sizes)
            law = laws(self, vectors, (kernel, lower), slack, off.half)
        elif self.statistic.needs == "numeric" and len(vectors) == 1:
            law = laws(self, vectors, (kernel,), slack, off.half)
        return Answer(
            value,
            total,
            noise,
            self._quantization(vectors, finished.gradient, off),
            details,
            bias=off.half,
            centre=centre,
            laws=law,
            caveats=() if math.isfinite(slack) else (caveat(self),),
        )

    def manipulation(self, counts: Mapping[str, DenseCounts], estimator: str, people: int) -> Manipulation:
        """A bound: the form's linear part exactly, its quadratic part and ratios from above."""
        sizes = {stratum: count.people for stratum, count in counts.items()}
        vectors = [count.array.astype(np.float64) for count in counts.values()]
        simplex = estimator == "simplex"
        if simplex or self.statistic.undefined_at(self.grid) is not None:
            try:
                answer = self._estimate(vectors, sizes, estimator)
            except NotEstimable:
                return anywhere(self, unknown(self, vectors, sizes).value, sizes, people)
            if not simplex and lost_by_lies(self, vectors, partial(self._error, vectors), people):
                return anywhere(self, answer.value, sizes, people)
        bound = self.reach(vectors, sizes, people, estimator)
        if not simplex:
            return bound
        # Lies change the noise that limits the move, so it may end anywhere between the value before it and
        # that of some distribution.
        low, high = self.statistic.bounds(self.domains, sizes)
        value = before = answer.value
        if answer.centre is not None:
            before = answer.centre
        down, up = value - min(before - bound.down, low), max(before + bound.up, high) - value
        return replace(bound, down=down, up=up)

    def reach(
        self, vectors: list[NDArray[np.float64]], sizes: Mapping[str, int], people: int, estimator: str
    ) -> Manipulation:
        """The same from counts that may be expected ones."""
        averages = [average for average, *_ in self._averages]
        values = np.array([average.mean(vectors) for average in averages])
        reaches = [of_forms(average, vectors, people) for average in averages]
        finished = self.statistic.finish(values, sizes)
        ends = [each for each, _ in reaches]
        if estimator != "paper":
            middle = middle_reach(self, vectors)
            values = values - [each.up for each in middle]
            ends = [each.plus(more) for each, more in zip(ends, middle, strict=True)]
        reach = at_vertices(lambda forms: self.statistic.finish(forms, sizes).value, values, ends)
        multiplier = 0.0
        for place in range(len(vectors)):
            along = np.tensordot(
                finished.gradient, np.array([weights[place] for _, weights in reaches]), axes=1
            )
            # What a false value does on average, when it is randomized as agreed.
            values_span = span(self.mechanism.channel @ along)
            multiplier = max(multiplier, span(along) / values_span if values_span > 0 else 0.0)
        return Manipulation(people, people, reach.down, reach.up, False, multiplier)

    def in_unit(self, counts: Mapping[str, DenseCounts], sizes: Mapping[str, int]) -> tuple[float, Variances]:
        """The estimate and its variances: of the form, where there is one, or of the finished statistic.

        Those of a ratio as long as its divisor's error makes them.
        """
        vectors = [count.array.astype(np.float64) for count in counts.values()]
        values = np.array([average.mean(vectors) for average, *_ in self._averages])
        if values.size == 1:
            return float(values[0]), variances(self, self.forms[0].matrix, vectors)
        finished = self.statistic.finish(values, sizes)
        errors = self._variances_along(finished.gradient, vectors)
        square = self.statistic.divisor_slack(values, partial(self._error, vectors)) ** 2
        return finished.value, Variances(square * errors.population, square * errors.sample)

    def _error(self, vectors: list[NDArray[np.float64]], gradient: NDArray[np.float64]) -> float:
        return math.sqrt(self._variances_along(gradient, vectors).population)

    def _variances_along(
        self, gradient: NDArray[np.float64], vectors: list[NDArray[np.float64]]
    ) -> Variances:
        return variances(self, self._along(gradient), vectors)

    def _along(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        # The delta method: along its gradient a smooth function of forms is one form.
        along: NDArray[np.float64] = np.tensordot(gradient, [form.matrix for form in self.forms], axes=1)
        return along

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        return self.statistic.forms(self.grid, self.kernel)

    def average(self, matrix: NDArray[np.float64]) -> OneSample | TwoSamples:
        kind = OneSample if len(self.statistic.strata) == 1 else TwoSamples
        return kind(self.mechanism.decoder, matrix)

    @cached_property
    def _averages(self) -> list[tuple[OneSample | TwoSamples, ...]]:
        """For each form the averages of its matrix, of its uncertainty and of its square."""
        return [
            tuple(map(self.average, (form.matrix, form.uncertainty, form.uncertainty**2)))
            for form in self.forms
        ]

    def _quantization(
        self, vectors: list[NDArray[np.float64]], gradient: NDArray[np.float64], off: Reach
    ) -> Quantization:
        slope = self.statistic.lipschitz(self.domains)
        binned = any(form.uncertainty.any() for form in self.forms)
        width = max(axis.width for axis in self.grid.axes)
        # Both arguments move inside their bins: half a width each from the middle, or on average.
        known = slope is not None and len(self.forms) == 1
        bound = abs(slope or 0.0) * width if known else None
        if self.rounding == "random":
            return Quantization(bound, off.down if adds(self) else None, None)
        shares = np.abs(gradient)
        moved = [max(uncertainty.mean(vectors), 0.0) for _, uncertainty, _ in self._averages]
        root_delta = [math.sqrt(max(square.mean(vectors), 0.0)) for _, _, square in self._averages]
        return Quantization(bound if binned else 0.0, float(shares @ moved), float(shares @ root_delta) ** 2)

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        """Pure epsilon-LDP in one round."""
        theorem = f"exact ratio of the {self.mechanism.name} probabilities, integers out of 2^64"
        return local_claim(self.epsilon, epsilon_asked, self.delta, self.statistic.private_columns, theorem)


def _need_people(sizes: Mapping[str, int]) -> None:
    if len(sizes) == 2:
        need_both(*sizes.values())
    else:
        need_two(sum(sizes.values()))
