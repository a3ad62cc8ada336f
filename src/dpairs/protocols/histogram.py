"""The `histogram` protocol: quantize, randomize the bin, average the kernel over decoded reports.

Section 3 of the paper, for any mechanism whose channel is known. A report decodes to an unbiased
estimate of the indicator of its person's cell, so the kernel of two decoded reports is an unbiased
estimate of the kernel of the two people's cells. Everything is computed from the counts of symbols, so
it costs the same whatever the number of people: O(k^2) for the value once the study's matrices are made,
a few products of k x k matrices for the standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import mechanisms
from ..data.domains import Domain, Integers, Interval
from ..data.grids import MAX_BINS, ROUNDINGS, Axis, Grid
from ..errors import BadFile, BadParameter
from ..estimate import Manipulation, Quantization
from ..formats.checks import choice, fields, integer, required
from ..mechanisms import Mechanism, mechanism_from_json
from ..mechanisms.cache import optimized
from ..privacy import PrivacyClaim, local_claim
from ..randomness import Randomness
from ..randomness.coins import Coins
from ..statistics import KERNELS, Form, Kernel, Statistic
from ..statistics.base import need_two
from ..statistics.labels import need_both
from ..statistics.ustatistics import OneSample, Spread, TwoSamples
from . import theory
from .base import Answer, Protocol
from .counts import DenseCounts
from .manipulation import at_corners, of_forms, span


@dataclass(frozen=True)
class Histogram(Protocol):
    """Quantization and a mechanism on the cells, in one round."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    bins: tuple[int, ...]
    rounding: str
    kernel: str
    mechanism: Mechanism
    name: ClassVar[str] = "histogram"
    uses_coins: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ("bins", "mechanism", "kernel", "rounding", "n", "prior", "progress")
    estimators: ClassVar[tuple[str, ...]] = ("paper",)

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        self.statistic.check_domains(self.domains)
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
        rounding: str = "simple",
        n: int | None = None,
        prior: Sequence[float] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Histogram:
        """Choose the bins from ``n`` where none are given, and the thresholds from ``epsilon``.

        ``mechanism="krr"`` is the paper's; ``"projective"`` has less variance on many cells;
        ``"optimized"`` is searched for the kernel, at ``prior`` (a share for each cell; even by default),
        which takes seconds, and is kept in a cache.
        """
        statistic.check_domains(domains)
        if n is not None:
            integer("n", n, 2, theory.MAX_PEOPLE)
        counts = _bins(statistic, domains, epsilon, bins, n)
        choice("kernel", kernel, KERNELS)
        axes = _axes(domains, counts, rounding)
        grid = statistic.grid(axes)
        if isinstance(statistic, Kernel):
            statistic = statistic.tabulate(grid, kernel)
        if mechanism == mechanisms.OPTIMIZED:
            shares = _prior(prior, grid.cells)
            chosen = optimized(_kernels(statistic, grid, kernel, shares), shares, epsilon, progress)
        else:
            if prior is not None:
                raise BadParameter(f"only an optimized mechanism has a prior, not {mechanism!r}")
            chosen = mechanisms.mechanism(mechanism, grid.cells, epsilon)
        return cls(statistic, domains, counts, rounding, kernel, chosen)

    @classmethod
    def from_json(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
    ) -> Histogram:
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
        return self.statistic.grid(_axes(self.domains, self.bins, self.rounding))

    @property
    def symbols(self) -> int:
        return self.mechanism.symbols

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    def randomize(
        self, coins: Coins, stratum: int, first_index: int, columns: Sequence[Any], bits: Randomness
    ) -> NDArray[np.int64]:
        """Place each person in a cell and randomize the cell. No public coins: the index plays no part."""
        return self.mechanism.randomize(self.grid.place(columns, self.statistic.private_columns, bits), bits)

    def empty_counts(self, coins: Coins, stratum: int) -> DenseCounts:
        """A count for each symbol."""
        return DenseCounts(self.symbols)

    def estimate(self, counts: Mapping[str, DenseCounts], estimator: str) -> Answer:
        """The paper's unbiased estimator, its standard errors, and what quantization may have done."""
        sizes = {stratum: count.people for stratum, count in counts.items()}
        _need_people(sizes)
        vectors = [count.array.astype(np.float64) for count in counts.values()]
        values = np.array([average.mean(vectors) for average, *_ in self._averages])
        finished = self.statistic.finish(values, sizes)
        spread = self._spread_along(finished.gradient, vectors)
        details = self.statistic.details(
            values, sizes, lambda gradient: math.sqrt(self._spread_along(gradient, vectors).population)
        )
        return Answer(
            finished.value,
            math.sqrt(spread.population),
            math.sqrt(spread.sample),
            self._quantization(vectors, finished.gradient),
            details,
        )

    def manipulation(self, counts: Mapping[str, DenseCounts], estimator: str, people: int) -> Manipulation:
        """A bound: the form's linear part exactly, its quadratic part and ratios from above."""
        sizes = {stratum: count.people for stratum, count in counts.items()}
        return self.reach([count.array.astype(np.float64) for count in counts.values()], sizes, people)

    def reach(
        self, vectors: list[NDArray[np.float64]], sizes: Mapping[str, int], people: int
    ) -> Manipulation:
        """The same from counts that may be expected ones."""
        averages = [average for average, *_ in self._averages]
        values = np.array([average.mean(vectors) for average in averages])
        found = [of_forms(average, vectors, people) for average in averages]
        finished = self.statistic.finish(values, sizes)
        reach = at_corners(
            lambda forms: self.statistic.finish(forms, sizes).value, values, [each for each, _ in found]
        )
        multiplier = 0.0
        for place in range(len(vectors)):
            along = np.tensordot(
                finished.gradient, np.array([weights[place] for _, weights in found]), axes=1
            )
            # What a false value does on average, when it is randomized as agreed.
            values_span = span(self.mechanism.channel @ along)
            multiplier = max(multiplier, span(along) / values_span if values_span > 0 else 0.0)
        return Manipulation(people, people, reach.down, reach.up, False, multiplier)

    def in_unit(self, counts: Mapping[str, DenseCounts], sizes: Mapping[str, int]) -> tuple[float, float]:
        """The estimate and its variance: of the form, where there is one, or of the finished statistic."""
        vectors = [count.array.astype(np.float64) for count in counts.values()]
        values = np.array([average.mean(vectors) for average, *_ in self._averages])
        if values.size == 1:
            return float(values[0]), self._averages[0][0].spread(vectors).population
        finished = self.statistic.finish(values, sizes)
        return finished.value, self._spread_along(finished.gradient, vectors).population

    def _spread_along(self, gradient: NDArray[np.float64], vectors: list[NDArray[np.float64]]) -> Spread:
        # The delta method: along its gradient a smooth function of forms is one form.
        matrices = np.array([form.matrix for form in self._forms])
        return self._average(np.tensordot(gradient, matrices, axes=1)).spread(vectors)

    @cached_property
    def _forms(self) -> tuple[Form, ...]:
        return self.statistic.forms(self.grid, self.kernel)

    def _average(self, matrix: NDArray[np.float64]) -> OneSample | TwoSamples:
        kind = OneSample if len(self.statistic.strata) == 1 else TwoSamples
        return kind(self.mechanism.decoder, matrix)

    @cached_property
    def _averages(self) -> list[tuple[OneSample | TwoSamples, ...]]:
        """For each form the averages of its matrix, of its spread and of the spread's square."""
        return [tuple(map(self._average, (form.matrix, form.spread, form.spread**2))) for form in self._forms]

    def _quantization(
        self, vectors: list[NDArray[np.float64]], gradient: NDArray[np.float64]
    ) -> Quantization:
        slope = self.statistic.lipschitz(self.domains)
        binned = any(form.spread.any() for form in self._forms)
        width = max(axis.width for axis in self.grid.axes)
        # Both arguments move inside their bins: half a width each from the middle, or on average.
        known = slope is not None and len(self._forms) == 1
        bound = abs(slope or 0.0) * width if known else None
        if self.rounding == "random":
            return Quantization(bound, None, None)
        shares = np.abs(gradient)
        moved = [max(spread.mean(vectors), 0.0) for _, spread, _ in self._averages]
        root_delta = [math.sqrt(max(square.mean(vectors), 0.0)) for _, _, square in self._averages]
        return Quantization(bound if binned else 0.0, float(shares @ moved), float(shares @ root_delta) ** 2)

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        """Pure epsilon-LDP in one round."""
        theorem = f"exact ratio of the {self.mechanism.name} probabilities, integers out of 2^64"
        return local_claim(self.epsilon, epsilon_asked, self.delta, self.statistic.private_columns, theorem)


def _prior(given: Sequence[float] | None, cells: int) -> NDArray[np.float64]:
    """The shares of people in the cells, as far as anybody knows before the study."""
    if given is None:
        return np.full(cells, 1 / cells)
    try:
        shares = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadParameter("prior must be a list of numbers, one for each cell") from None
    if shares.shape != (cells,) or not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() <= 0:
        raise BadParameter(f"prior must be {cells} numbers, one for each cell, none below 0 and not all 0")
    # Nobody is quite sure of a prior, and a cell that cannot occur would never be decoded.
    sure: NDArray[np.float64] = 0.99 * shares / shares.sum() + 0.01 / cells
    return sure


def _kernels(
    statistic: Statistic, grid: Grid, kernel: str, prior: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """The kernel that matters at the prior: of several forms, their sum along the gradient."""
    matrices = np.array([form.matrix for form in statistic.forms(grid, kernel)])
    gradient = np.ones(1)
    if len(matrices) > 1:
        values = np.array([prior @ matrix @ prior for matrix in matrices])
        gradient = statistic.finish(values, dict.fromkeys(statistic.strata, 1000)).gradient
    along: NDArray[np.float64] = np.tensordot(gradient, matrices, axes=1)
    return [along] if len(statistic.strata) == 1 else [along, along.T]


def _need_people(sizes: Mapping[str, int]) -> None:
    if len(sizes) == 2:
        need_both(*sizes.values())
    else:
        need_two(sum(sizes.values()))


def _axes(domains: tuple[Domain, ...], bins: tuple[int, ...], rounding: str) -> tuple[Axis, ...]:
    choice("rounding", rounding, ROUNDINGS)
    if rounding == "random" and not any(isinstance(domain, Interval) for domain in domains):
        raise BadParameter("rounding='random' needs an Interval domain; other values are not rounded")
    return tuple(
        Axis(domain, count, rounding if isinstance(domain, Interval) else "simple")
        for domain, count in zip(domains, bins, strict=True)
    )


def _bins(
    statistic: Statistic,
    domains: tuple[Domain, ...],
    epsilon: float,
    bins: int | Sequence[int] | None,
    n: int | None,
) -> tuple[int, ...]:
    """One count of bins for each domain: as given, or one for each value, or by the paper's rule."""
    if bins is not None and not isinstance(bins, (tuple, list)):
        given: list[Any] = [bins if _cuttable(domain) else domain.size for domain in domains]  # type: ignore[union-attr]
        if not any(map(_cuttable, domains)):
            given = [bins] * len(domains)
    elif bins is not None:
        given = list(bins)
        if len(given) != len(domains):
            raise BadParameter(
                f"bins must be one number for each of the {len(domains)} domain(s), not {len(given)}"
            )
    else:
        given = [_default_bins(statistic, domains, domain, epsilon, n) for domain in domains]
    return tuple(integer("bins", count, 2, MAX_BINS) for count in given)


def _cuttable(domain: Domain) -> bool:
    return isinstance(domain, (Interval, Integers))


def _default_bins(
    statistic: Statistic, domains: tuple[Domain, ...], domain: Domain, epsilon: float, n: int | None
) -> int:
    size = None if isinstance(domain, Interval) else domain.size
    if size is not None and (not isinstance(domain, Integers) or size <= 64):
        return size
    if n is None:
        raise BadParameter(
            f"say how many bins {domain!r} is cut into (bins=...), or how many people there are (n=...)"
        )
    low, high = statistic.range(domains)
    slope = statistic.lipschitz(domains)
    # The paper's rule is for values and kernels scaled to [0, 1]; without a slope it takes L = 1.
    extent = float(domain.high) - float(domain.low) if isinstance(domain, (Interval, Integers)) else 1.0
    scaled = 1.0 if slope is None else slope * extent / (high - low)
    chosen = theory.best_bins(n, epsilon, scaled)
    if len(domains) > 1:
        # The rule counts cells; a pair of columns shares them.
        chosen = max(2, round(math.sqrt(chosen)))
    return min(chosen, MAX_BINS if size is None else size)
