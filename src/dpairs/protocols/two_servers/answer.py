"""From released numbers to an answer with its errors.

A standard error has three parts: the two servers' noise, which is known; what binning does; and for the
population the sampling of people. The last two come from coarse counts, as far as they are known, and
sampling is never taken for more than it can be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...data.grids import Grid
from ...errors import NotEstimable
from ...estimate import Laws, Quantization
from ...statistics import Statistic
from ...statistics.base import TWO_SIDED
from ...statistics.bounded import Bounded
from ...statistics.fixed_length import fieller
from ..base import Answer
from .hidden import crowded_bins
from .law import ErrorLaw
from .order import order_of
from .sampling import Rough
from .standing_out import widths
from .ties import Ties
from .within import (
    Within,
    at_few_values,
    crowded_pairs,
    near_in_two,
    noise_hides,
    order_hides,
    two_columns,
    unseen_in_table,
)

LEVEL = 0.95
"""Of the intervals by which two ways to know a sampling variance are compared."""
DIVISOR = (
    "What this value is divided by may be 0, and then it is not defined. So the interval is the whole range "
    "of the statistic: a narrower domain, more people or a larger epsilon would help, unless it is 0."
)
SEVERAL = (
    "Bins hold several values, and nothing tells equal values of a bin from others. The interval reaches "
    "from all pairs of a bin being equal to as few as can be. Up to 4,096 values are told apart."
)
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measured:
    """Forms with the variance of their noise, and what is roughly known of the people."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    sizes: Mapping[str, int]
    forms: Vector
    noise: Vector
    """The covariance of the forms' noise."""
    rough: Rough | None
    """None where no counts were released."""
    laplace: bool
    """Whether the noise of a form is the sum of two Laplace numbers, and not nearly normal."""
    within: Within | None = None
    """How much bins hide of pairs, where that was measured."""
    counted: Grid | None = None
    """The cells of the counts, where what bins hide of pairs is to be allowed for."""
    ties: Ties | None = None
    """The forms with the equal pairs that are possible, where pairs of one bin were counted for them."""
    order: Within | None = None
    """How pairs of neighbouring bins go together, where that was measured."""

    def answer(self) -> Answer:
        order, likely = order_of(self.order), self.forms if self.ties is None else self.ties.likely
        forms = self._within(likely)
        finished = self.statistic.finish(forms, self.sizes)
        centre = None
        if order.middle:
            moved = np.concatenate(([likely[0] + order.middle], likely[1:]))
            centre = self.statistic.finish(self._within(moved), self.sizes)
        # Of a single form with pairs of one bin for equal ones, only a range is known.
        ranged = self.ties is not None and forms.size == 1 and self.ties.fewer
        if self.ties is not None and ranged:
            centre = self.statistic.finish(self.ties.middle, self.sizes)
        gradient = finished.gradient if centre is None else centre.gradient
        noise = float(gradient @ self.noise @ gradient)
        tails = tuple((gradient**2 * np.diagonal(self.noise)).tolist()) if self.laplace else ()
        low, high = self._bounds()
        most, second_order = self._most(forms, gradient, noise)
        seen = self._rough(gradient, forms)
        binning = 0.0 if seen is None else seen.binning
        hidden = 0.0 if seen is None else seen.hidden
        hidden += 0.0 if self.ties is None else self.ties.bias(self.statistic, self.sizes)
        known, steep = (0.0 if self.laplace else noise) + binning, abs(float(gradient[0]))
        sample, around = (
            self._law(known, tails, max(hidden, steep * bias), steep**2 * variance)
            for bias, variance in (order.sample, order.population)
        )
        laws = [replace(around, sampling=most)] if math.isfinite(most) else []
        if seen is not None:
            laws.append(replace(around, sampling=seen.sampling + second_order).with_freedom(seen.deviation))
        # The narrower one: both cover.
        reaches = [law.reach(LEVEL) for law in laws]
        population = laws[int(np.argmin(reaches))] if laws else ErrorLaw(known=math.inf)
        if self.ties is not None and ranged:
            sample = replace(sample, bias=sample.bias + abs(float(gradient[0])) * self.ties.fewer)
        if order.sample[0] and laws and sample.reach(LEVEL) > min(reaches):
            # What the population's error allows for is more than noise and bins do to this sample.
            sample = population
        slack = self._slack(forms)
        sample, population = (law.wider(slack) for law in (sample, population))
        deviation = min(population.deviation, high - low)

        def error(direction: NDArray[np.float64]) -> float:
            length = float(gradient @ gradient)
            return deviation * abs(float(direction @ gradient)) / length if length else 0.0

        return Answer(
            min(max(finished.value, low), high),
            deviation,
            min(sample.deviation, deviation),
            Quantization(None, math.sqrt(binning), binning) if binning else Quantization(0.0, 0.0, 0.0),
            self.statistic.details(forms, self.sizes, error),
            bounds=(low, high),
            laws=Laws(population, sample),
            caveats=(SEVERAL,)
            if ranged
            else (*sample.caveats, *self._unseen(population, laws, sample))
            if math.isfinite(slack)
            else (DIVISOR,),
            centre=None if centre is None else centre.value,
        )

    def _law(self, known: float, tails: tuple[float, ...], bias: float, more: float) -> ErrorLaw:
        """An error without sampling, with the variance of one more number that noise was added to."""
        if self.laplace:
            return ErrorLaw(known, noise=(*tails, more) if more else tails, bias=bias)
        return ErrorLaw(known + more, noise=tails, bias=bias)

    def _unseen(self, law: ErrorLaw, laws: Sequence[ErrorLaw], sample: ErrorLaw) -> tuple[str, ...]:
        """Sentences where noise may hide crowds, or a curve, for which the interval is too short."""
        if self.rough is None or self.counted is None:
            return ()
        low, high = self.statistic.bounds(self.domains, self.sizes)
        unit = high - low if self.statistic.counts_people else 1.0
        most, said = min(noise_hides(self.rough) * unit, high - low), []
        if self.within is None and most > law.reach(LEVEL):
            said.append(
                "So few people at this epsilon do not show whether many of them share nearly one value. If "
                f"they do, the value may be off by up to {most:.2g}, which the interval does not allow for."
            )
        if len(laws) > 1 and self.rough.hides_curves:
            largest = min(laws[0].reach(LEVEL), high - low)
            if law.reach(LEVEL) < largest:
                said.append(
                    "So few people at this epsilon do not show whether columns follow a curve that turns, as "
                    f"a U does. If they do, the population's value may be up to {largest:.2g} away."
                )
        in_order = order_hides(self.rough) if self.order is None else 0.0
        if in_order > sample.reach(LEVEL):
            said.append(
                "So few people at this epsilon do not show whether those of a bin are in one order, as on "
                f"a curve that jumps. If they are, the value may be off by up to {in_order:.2g}, which the "
                "interval for this sample does not allow for."
            )
        return tuple(said)

    def _slack(self, forms: Vector) -> float:
        """How much longer Fieller's interval of a ratio is; without an end if everybody may have 0."""
        reaches, half = [], 0.0
        if self.rough is not None and self.statistic.needs == "numeric":
            # A mean has every value at the middle of its bin.
            half = float(widths(self.rough.bins.axes[0]).max()) / 2
        for divisor, place in self.statistic.divisors(forms).values() if forms.size > 1 else ():
            error = TWO_SIDED * math.sqrt(float(self.noise[place, place]))
            if abs(divisor) <= half + error:
                return math.inf
            reaches.append(error / abs(divisor))
        return fieller(reaches)

    def _within(self, forms: Vector) -> Vector:
        """A single form cannot leave the kernel's range."""
        if forms.size > 1:
            return forms
        low, high = self.statistic.range(self.domains)
        return np.clip(forms, low, high)

    def _bounds(self) -> tuple[float, float]:
        low, high = self.statistic.range(self.domains)
        if self.forms.size > 1:
            return low, high
        ends = []
        for end in (low, high):
            try:
                ends.append(self.statistic.finish(np.array([end]), self.sizes).value)
            except NotEstimable:
                ends.append(math.inf)
        return min(ends), max(ends)

    def _rough(self, gradient: Vector, forms: Vector) -> _Seen | None:
        """What the counts say, in the statistic's unit."""
        if self.rough is None or not self.rough.even:
            return None
        # With one form psi is in the form's unit, with several in the statistic's, without ties within bins.
        rough, released, scale = self.rough, float(forms[0]), abs(float(gradient[0]))
        if forms.size > 1:
            fewest = forms if self.ties is None else self.ties.least
            released = self.statistic.finish(fewest, self.sizes).value
            scale = 1.0 if self.ties is None else self.ties.stretch(self.statistic, self.sizes)
        try:
            share = scale**2 * self._calibrated(forms, rough)
            if self.counted is not None and two_columns(rough):
                hidden = near_in_two(rough, self.within, released)
            else:
                hidden = scale * rough.hidden(released)
            # Sites have a bound of their own.
            hidden += rough.tied(released) if self.ties is None else scale * crowded_bins(rough)
            pairs = 0.0
            if self.counted is not None:
                pairs = crowded_pairs(rough, self.counted, self.within, abs(float(gradient[0])))
            off = scale * rough.bias(released)
            # What is extrapolated is the same bias, where it is no larger than what is possible.
            binning = scale**2 * rough.places + (off**2 if off > pairs else 0.0)
            if self.counted is not None:
                binning += scale**2 * at_few_values(rough, self.counted)
            hidden += pairs
            sampling, deviation = share * rough.sampling, share * rough.sampling_deviation
            unseen = rough.unseen(released)
            if self.counted is not None:
                unseen = max(unseen, unseen_in_table(rough, self.counted))
            unseen *= scale**2
            if unseen > 0:
                # Two parts of a derivative vary together by at most the square of their deviations' sum.
                seen, hiding = math.sqrt(rough.sampling) * scale, math.sqrt(unseen)
                # At an end of the range a comparison does not vary, and its deviation has no share of that.
                sampling, deviation = (
                    (seen + hiding) ** 2,
                    (math.sqrt(rough.sampling_deviation) * scale + hiding) ** 2 - unseen,
                )
                if seen > 0:
                    deviation = rough.sampling_deviation * sampling / rough.sampling
            return _Seen(sampling, deviation, binning, hidden)
        except NotEstimable:
            return None

    def _calibrated(self, forms: Vector, rough: Rough) -> float:
        """How much less a comparison varies at its released mean than at that of the coarse cells.

        A kernel of two values a and b has the variance (m - a)(b - m), of which the choice of one person
        makes a share. Coarse cells hide how people compare within them, so their mean lies nearer to the
        middle; the share is taken from them, the mean from the release.
        """
        if forms.size > 1 or self.statistic.needs != "ordered":
            return 1.0
        low, high = self.statistic.range(self.domains)
        low, high = (low, high) if math.isfinite(high) else (0.0, 1.0)
        there, here = (Bounded(float(mean), low, high).variance for mean in (rough.linear.forms[0], forms[0]))
        return min(here / there, 1.0) if there > 0 else 1.0

    def _most(self, forms: Vector, gradient: Vector, noise: float) -> tuple[float, float]:
        """The largest sampling variance, and that of its second order, at the least favourable mean.

        Least favourable among those that the noise leaves possible: one standard deviation to the middle.
        """
        low, high = self.statistic.range(self.domains)
        # With pairs of one bin for equal ones, it is those that vary.
        counted = forms if self.ties is None or forms.size > 1 else self.ties.most
        scale, mean, deviation = 1.0, float(counted[0]), math.sqrt(float(self.noise[0, 0]))
        if forms.size > 1:
            if self.rough is None:
                return math.inf, 0.0
            kernels = self.statistic.forms(self.rough.grid, "average")
            along = np.tensordot(gradient, np.array([form.matrix for form in kernels]), axes=1)
            reach = np.tensordot(np.abs(gradient), np.array([form.uncertainty for form in kernels]), axes=1)
            low, high = float((along - reach).min()), float((along + reach).max())
            mean, deviation = float(gradient @ forms), math.sqrt(noise)
        else:
            scale = float(gradient[0]) ** 2
            # U counts pairs without an end; its form is a share of them.
            low, high = (low, high) if math.isfinite(high) else (0.0, 1.0)
        middle = (low + high) / 2
        towards = min(mean + deviation, middle) if mean < middle else max(mean - deviation, middle)
        kernel, sizes = Bounded(towards, low, high), list(self.sizes.values())
        pairs = math.prod(sizes) if len(sizes) > 1 else sizes[0] * (sizes[0] - 1) / 2
        return scale * self.statistic.most_sampling(kernel, self.sizes), scale * kernel.variance / pairs


@dataclass(frozen=True)
class _Seen:
    """From coarse counts: the sampling variance and its deviation, what binning does, and may do at most."""

    sampling: float
    deviation: float
    binning: float
    hidden: float
    """A bound of the bias, by those who stand out of coarse cells."""


def from_counts(
    people: Sequence[Vector], kernels: Sequence[Vector], variance: float
) -> tuple[Vector, NDArray[np.float64]]:
    """Forms' totals from noisy counts, without the noise's bias, and the covariance of their noise.

    With one stratum E (h + e)'A(h + e) = h'Ah + v tr A for noise e of variance v.
    """
    covariance = noise_covariance(people, kernels, variance, noisy=True)
    if len(people) == 2:
        first, second = people
        return np.array([first @ kernel @ second for kernel in kernels]), covariance
    (one,) = people
    diagonals = np.array([np.diagonal(kernel) for kernel in kernels])
    along = np.array([kernel @ one for kernel in kernels])
    return along @ one - variance * diagonals.sum(axis=1) - diagonals @ one, covariance


def noise_covariance(
    people: Sequence[Vector], kernels: Sequence[Vector], variance: float, noisy: bool = False
) -> NDArray[np.float64]:
    """The covariance of forms' totals under noise of variance v on every count.

    One stratum: 4 v (Ah)'Bh + 2 v^2 <A, B> for forms A and B and, since the sum of two Laplace numbers has an
    excess kurtosis of 3/2, 3/2 v^2 of their diagonals. Two strata: v ((Ab)'Bb + (A'a)'B'a) + v^2 <A, B>. With
    ``noisy`` counts what their noise adds to (Ah)'Bh is taken off.
    """
    alike = np.array([[float((one * other).sum()) for other in kernels] for one in kernels])
    extra = variance * alike if noisy else np.zeros_like(alike)
    if len(people) == 2:
        first, second = people
        right = np.array([kernel @ second for kernel in kernels])
        left = np.array([first @ kernel for kernel in kernels])
        linear = variance * (right @ right.T + left @ left.T - 2 * extra)
        return no_less(linear) + variance**2 * alike
    (one,) = people
    along = np.array([kernel @ one for kernel in kernels])
    diagonals = np.array([np.diagonal(kernel) for kernel in kernels])
    linear = 4 * variance * (along @ along.T - extra)
    second = variance**2 * (2 * alike + 1.5 * diagonals @ diagonals.T)
    return np.asarray(no_less(linear) + second)


def no_less(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest covariance without negative variances."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
