"""Two servers that do not collude hold everybody's answers in shares, and release a few noisy numbers.

`release="value"`: the forms that the statistic needs, and coarse counts with a share of the loss, from which
an interval for the population follows. `release="counts"`: the counts of all cells. Either way people come
once, and the noise is that of a curator: its error falls like 1 / n.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...data.grids import Grid
from ...errors import BadFile, BadParameter, NotEnoughData
from ...estimate import Manipulation
from ...formats.checks import choice, fields, integer, real, required
from ...privacy import PrivacyClaim
from ...randomness import Randomness
from ...statistics import Statistic
from ..base import PEOPLE, SITES, Answer, FirstRound, Setting, Trust
from ..shape import Prediction, Shape
from .answer import Measured, from_counts
from .bins import MOST_COUNTED, WHOLE, chosen_bins, form_weights, near_pairs, with_measured
from .budget import BUDGET_FIELDS, LAPLACE, NoiseBudget, Query
from .claim import two_servers_claim
from .coarse import MOST_LINE, coarse_cells, coarse_grid
from .forms import IntegerForm, integer_forms, multiplicands, order_form, pairs, total_shares, within_form
from .goldilocks import MODULUS
from .one_hot import OneHot, as_table, grid_of
from .predict import candidates, gradient, predict_counts, predict_value
from .released import Numbers, SharedNumbers
from .sampling import Rough
from .shared import ANSWERED_BY, FEWEST, Shared, read_answered_by, write_answered_by
from .ties import counted_kernels, ties_of, ties_of_counts
from .within import Within

VALUE, COUNTS = "value", "counts"
SPLIT = 0.2
"""The share of the loss that coarse counts take: see docs/two-servers.md for others."""
NEAR = "near"
PILOT_OPTIONS = ("bins", "split", "noise", "delta", "n", ANSWERED_BY)
FAR = 64
"""Scales of noise that a field must have room for: more have a chance of e^-64."""


@dataclass(frozen=True, eq=False)
class TwoServers(OneHot, FirstRound):
    """One visit: a one-hot vector in two shares from everybody."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    release: str
    bins: tuple[int, ...]
    split: float
    weights: tuple[int, ...]
    """Each form's share of what coarse counts leave of the loss, in 1024ths.

    Those beyond the statistic's forms are of what bins hide of pairs (see `within`), and then of their order
    (see `order`).
    """
    budget: NoiseBudget
    answered_by: str = PEOPLE
    near: bool = True
    """Whether near pairs make up for those that bins hide, which adds to the noise."""
    name: ClassVar[str] = "two_servers"
    options: ClassVar[tuple[str, ...]] = ("release", "rounds", *PILOT_OPTIONS)
    estimators: ClassVar[tuple[str, ...]] = ("plug-in",)
    trust: ClassVar[Trust] = Trust.TWO_SERVERS

    @classmethod
    def create(cls, *given: Any, **options: Any) -> FirstRound:
        if integer("rounds", options.pop("rounds", 1), 1, 2) == 1:
            return cls._create(*given, **options)
        from .pilot_round import PilotRound

        return PilotRound.create(*given, **options)

    @classmethod
    def _create(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        epsilon: float,
        release: str = VALUE,
        bins: int | Sequence[int] | None = None,
        split: float = SPLIT,
        noise: str = LAPLACE,
        delta: float = 0.0,
        n: int | None = None,
        answered_by: str = PEOPLE,
    ) -> TwoServers:
        statistic.check_domains(domains)
        choice(ANSWERED_BY, answered_by, (PEOPLE, SITES))
        choice("release", release, (VALUE, COUNTS))
        budget = NoiseBudget(noise, epsilon, delta)
        counted = release == COUNTS
        chosen = chosen_bins(statistic, domains, bins, n, epsilon if counted else None)
        statistic = as_table(statistic, domains, chosen)
        share = 0.0 if counted else _share(split)
        weights: tuple[int, ...] = (WHOLE,)
        near = True
        if not counted:
            grid = grid_of(statistic, domains, chosen)
            weights = form_weights(statistic, grid, noise)
            weights = with_measured(weights, statistic, grid, budget, 1 - Fraction(share), n)
            near = near_pairs(statistic, grid, budget, 1 - Fraction(share), n)
        return cls(statistic, domains, release, chosen, share, weights, budget, answered_by, near)

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        self.check_statistic()
        self.statistic.check_grid(self.grid, "average")
        if self.release == COUNTS and self.grid.cells > MOST_COUNTED:
            raise BadParameter(f"a release of counts has at most {MOST_COUNTED} cells, not {self.grid.cells}")
        count = 1 if self.release == COUNTS else self.statistic.form_count
        more = len(self.weights) - count if self.release == VALUE else 0
        if more > len(self._measurable):
            raise BadParameter("bins hide nothing of pairs in this study: leave out the last weight")
        if len(self.weights) - max(more, 0) != count or sum(self.weights) > WHOLE or min(self.weights) < 1:
            raise BadParameter(f"the weights of {count} form(s) are whole numbers that add up to {WHOLE}")
        # The order of near pairs is the last of what is measured.
        if not self.near and (self.release == COUNTS or self._order is None or more == len(self._measurable)):
            raise BadParameter("near pairs make up for those in one bin in this study, or nothing does")

    @classmethod
    def from_json(cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]) -> Shared:
        if spec.get("rounds") == 2:
            from .pilot_round import read_round

            return read_round(statistic, domains, spec)
        names = ("name", "release", "bins", "split", "weights", *BUDGET_FIELDS)
        fields("a two_servers study", spec, (*names, ANSWERED_BY, NEAR))
        required("a two_servers study", spec, names)
        bins, weights = spec["bins"], spec["weights"]
        if not isinstance(bins, list) or not isinstance(weights, list):
            raise BadFile("the bins and weights of a two_servers study are lists")
        return cls(
            statistic,
            domains,
            choice("release", spec["release"], (VALUE, COUNTS)),
            chosen_bins(statistic, domains, bins, None, None),
            0.0 if spec["release"] == COUNTS else _share(spec["split"]),
            tuple(integer("a weight", weight, 1, WHOLE) for weight in weights),
            NoiseBudget.from_json(spec),
            read_answered_by(spec),
            _near(spec),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "release": self.release,
            "bins": list(self.bins),
            "split": self.split,
            "weights": list(self.weights),
            **self.budget.to_json(),
            **write_answered_by(self.answered_by),
            **({} if self.near else {NEAR: False}),
        }

    @cached_property
    def forms(self) -> tuple[IntegerForm, ...]:
        """What the servers compute between them: nothing for a release of counts."""
        if self.release == COUNTS:
            return ()
        more = len(self.weights) - self.statistic.form_count
        return *integer_forms(self.statistic, self.grid, self.near), *self._measurable[:more]

    @cached_property
    def _within(self) -> IntegerForm | None:
        return within_form(self.statistic, self.grid)

    @cached_property
    def _order(self) -> IntegerForm | None:
        return order_form(self.statistic, self.grid)

    @cached_property
    def _measurable(self) -> tuple[IntegerForm, ...]:
        """What bins hide of pairs, and of their order."""
        both = (self._within, self._order)
        return tuple(form for form in both if form is not None)

    def _measured(self, forms: NDArray[np.float64], noise: NDArray[np.float64]) -> list[Within | None]:
        """What bins hide of pairs, and of their order, as far as it was released."""
        laplace, count = self.budget.noise == LAPLACE, self.statistic.form_count
        measured = [
            Within(value, variance, laplace)
            for value, variance in zip(forms[count:], np.diagonal(noise)[count:], strict=True)
        ]
        first = [None] if self._within is None else []
        return [*first, *measured, None, None][:2]

    @property
    def own_forms(self) -> tuple[IntegerForm, ...]:
        """The forms that the statistic's value is made of; what follows them serves intervals."""
        return self.forms[: self.statistic.form_count]

    def coarse(self, sizes: Mapping[str, int]) -> tuple[Grid, NDArray[np.int64]]:
        """The cells that are counted in a release of so many people, and the one that each cell lies in."""
        if self.release == COUNTS:
            return self.grid, np.arange(self.grid.cells)
        noise = math.sqrt(self.budget.variance(Query.counts(1, Fraction(self.split)))) if self.split else 1.0
        # Who shares a cell is not who shares a value: these are counted one by one, as far as they can be.
        equal = self.statistic.needs == "discrete"
        cells = MOST_LINE if equal else coarse_cells(self.grid, min(sizes.values()), noise)
        return coarse_grid(self.grid, cells)

    # ------------------------------------------------------------ servers

    def queries(self, sizes: Mapping[str, int]) -> tuple[list[Query], Query | None]:
        """What is released of so many people: a number for each form, and counts of each stratum.

        A person is in one stratum only, so counts of all strata lose as much as those of one.
        """
        few = [name for name, people in sizes.items() if people < FEWEST]
        if few or set(sizes) != set(self.strata):
            raise NotEnoughData(f"nothing is released about fewer than {FEWEST} people of each class")
        coarse = Fraction(1) if self.release == COUNTS else Fraction(self.split)
        people = list(sizes.values())
        numbers = [
            Query.number(form.sensitivity(people), (1 - coarse) * Fraction(weight, WHOLE))
            for form, weight in zip(self.forms, self.weights, strict=False)
        ]
        for form, query in zip(self.forms, numbers, strict=True):
            if form.largest * pairs(people) + FAR * math.sqrt(self.budget.variance(query)) > MODULUS // 2:
                raise BadParameter(f"{max(people):,} people are too many for sums in a field of 64 bits")
        counts = Query.counts(self.coarse(sizes)[0].cells, coarse) if coarse else None
        return numbers, counts

    def totals(self, histograms: Mapping[str, NDArray[np.int64]]) -> Numbers:
        """What is released but for the noise: computed by the servers on shares, here in the clear."""
        people = [histograms[name] for name in self.strata]
        sizes = {name: int(histograms[name].sum()) for name in self.strata}
        grid, place = self.coarse(sizes)
        counts = {}
        if self.split or self.release == COUNTS:
            for name in self.strata:
                coarse = np.zeros(grid.cells, dtype=np.int64)
                np.add.at(coarse, place, histograms[name])
                counts[name] = coarse
        return Numbers(tuple(form.total(people) for form in self.forms), counts)

    def multiplicands(self, server: int, shares: Mapping[str, Sequence[int]]) -> list[list[int]]:
        return multiplicands(self.forms, server, [shares[name] for name in self.strata], MODULUS)

    def share_totals(
        self, shares: Mapping[str, Sequence[int]], products: Sequence[int], sizes: Mapping[str, int]
    ) -> SharedNumbers:
        people = [shares[name] for name in self.strata]
        totals = total_shares(self.forms, people, products, MODULUS)
        grid, place = self.coarse(sizes)
        counts: dict[str, list[int]] = {}
        for name in self.shape(sizes)[1]:
            coarse = [0] * grid.cells
            for cell, share in zip(place.tolist(), shares[name], strict=True):
                coarse[cell] = (coarse[cell] + share) % MODULUS
            counts[name] = coarse
        return SharedNumbers(totals, counts)

    def noise(self, sizes: Mapping[str, int], bits: Randomness) -> Numbers:
        """One server's noise, enough for the whole claim."""
        numbers, counts = self.queries(sizes)
        totals = tuple(int(self.budget.draw(query, bits)[0]) for query in numbers)
        drawn = {} if counts is None else {name: self.budget.draw(counts, bits) for name in self.strata}
        return Numbers(totals, drawn)

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, dict[str, int]]:
        """How many totals and, by stratum, counts are released."""
        counted = bool(self.split) or self.release == COUNTS
        return len(self.forms), dict.fromkeys(self.strata, self.coarse(sizes)[0].cells) if counted else {}

    # ------------------------------------------------------------ analyst

    def answer(self, sizes: Mapping[str, int], numbers: Numbers) -> Answer:
        queries, counts = self.queries(sizes)
        people, number = list(sizes.values()), pairs(list(sizes.values()))
        variance = 0.0 if counts is None else self.budget.variance(counts)
        rough = None if counts is None else self._rough(sizes, numbers, variance)
        if self.release == COUNTS:
            kernels = counted_kernels(self.statistic, self.grid)
            counted = [numbers.counts[name].astype(np.float64) for name in self.strata]
            totals, covariance = from_counts(counted, kernels, variance)
            forms, form_noise = totals / number, covariance / number**2
            ties = ties_of_counts(self.statistic, self.grid, forms, counted[0], variance, people[0])
            within = self._counted_within(sizes, counted, variance)
            return Measured(
                self.statistic, self.domains, sizes, forms, form_noise, rough, False, within, self.grid, ties
            ).answer()
        units = np.array([form.unit for form in self.forms])
        forms = units * np.array([float(total) for total in numbers.totals]) / number
        form_noise = units**2 * np.array([self.budget.variance(query) for query in queries]) / number**2
        rounding = np.array([form.rounding for form in self.forms]) ** 2 / (3 * min(people))
        noise, laplace = np.diag(form_noise + rounding), self.budget.noise == LAPLACE
        (within, order), coarse = self._measured(forms, noise), self.coarse(sizes)[0]
        own = self.statistic.form_count
        forms, noise = forms[:own], noise[:own, :own]
        shares = numbers.counts[self.strata[0]] / people[0] if counts is not None else None
        ties = ties_of(self.statistic, self.grid, forms, coarse, shares, variance / people[0] ** 2, people[0])
        return Measured(
            self.statistic, self.domains, sizes, forms, noise, rough, laplace, within, coarse, ties, order
        ).answer()

    def _counted_within(
        self, sizes: Mapping[str, int], people: Sequence[NDArray[np.float64]], variance: float
    ) -> Within | None:
        """What bins hide of pairs, by their noisy counts."""
        if self._within is None:
            return None
        (total,), ((noise,),) = from_counts(people, [self._within.matrix], variance)
        number = pairs(list(sizes.values()))
        return Within(float(total) / number, float(noise) / number**2, False)

    def _rough(self, sizes: Mapping[str, int], numbers: Numbers, variance: float) -> Rough:
        """What the released counts say; a table's kernel is known on the study's own cells alone."""
        coarse, place = self.coarse(sizes)
        if self.statistic.from_table:
            return Rough(self.statistic, self.grid, numbers.counts, sizes, variance, self.grid, place)
        merging = self.release == COUNTS
        return Rough(
            self.statistic, coarse, numbers.counts, sizes, variance, self.grid, None, merging, self.near
        )

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        return candidates(setting)

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        return (predict_counts if self.release == COUNTS else predict_value)(self, shape, sizes)

    def moved_by(self, sizes: Mapping[str, int], numbers: Numbers, people: int) -> Manipulation:
        """A valid answer weighs one person: so many liars move a form by so many times its sensitivity."""
        if len(self.own_forms) != 1:
            return super().moved_by(sizes, numbers, people)
        (form,), count = self.own_forms, list(sizes.values())
        mean = form.unit * numbers.totals[0] / pairs(count)
        reach = people * form.unit * form.sensitivity(count) / pairs(count)
        low, high = self.statistic.range(self.domains)
        places = np.clip([mean - reach, mean, mean + reach], low, high)
        values = [self.statistic.finish(np.array([at]), sizes).value for at in places]
        down, up = values[1] - min(values), max(values) - values[1]
        return Manipulation(people, people, down, up, False, 1.0)

    def predict_manipulation(self, shape: Shape, sizes: Mapping[str, int], liars: int) -> float:
        if not self.own_forms:
            return math.inf
        people = list(sizes.values())
        weights = [form.unit * form.sensitivity(people) / pairs(people) for form in self.own_forms]
        unit = shape.scale * shape.for_people(sizes)
        return liars * unit * float(np.abs(gradient(shape)) @ np.array(weights))

    # ------------------------------------------------------------ what is promised

    @property
    def epsilon(self) -> float:
        """What all released numbers lose together, with either server's noise alone."""
        if self.delta:
            return self.budget.epsilon
        numbers, counts = self.queries(dict.fromkeys(self.strata, FEWEST))
        return float(self.budget.spent([*numbers, *([counts] if counts else [])]))

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        curious = self.release == VALUE
        return two_servers_claim(self, epsilon_asked, curious)


def _near(spec: Mapping[str, Any]) -> bool:
    if spec.get(NEAR, False) is not False:
        raise BadFile(f"{NEAR!r} of a two_servers study is false, or left out")
    return NEAR not in spec


def _share(split: Any) -> float:
    share = real("split", split)
    if not (share == 0 or 0.01 <= share <= 0.9):
        raise BadParameter(
            f"split, the coarse counts' share of epsilon, must be 0 or from 0.01 to 0.9, not {split!r}"
        )
    return share
