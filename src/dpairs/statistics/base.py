"""What every statistic offers.

On cells, a statistic is a smooth function of *forms*. With one stratum a form is the U-statistic of a
symmetric matrix A, the mean of A over ordered pairs of different people; a linear form b is the
matrix (b 1' + 1 b')/2. With two strata it is the mean of A over pairs of one person from each. The
protocols estimate forms; `Statistic.finish` turns their values into the answer, with its gradient for
the delta method. That is how tau-b, the Gini coefficient, the entropy and the private-label AUC come
out of the same reports as the plain averages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain
from ..data.grids import Axis, Grid
from ..data.positions import placed
from ..data.tables import Table
from ..errors import BadParameter, NotEnoughData, NotEstimable
from ..formats.checks import fields as allowed
from ..garbled.encoding import FixedPoint
from ..garbled.kernels import PairKernel
from .bounded import Bounded
from .domains import WIDEST, check_domains
from .fixed_length import fieller
from .linear import Linearizer
from .separable import Separable

EVERYBODY = "everybody"
"""The name of the only stratum of statistics without public classes."""
TWO_SIDED, CERTAIN = 1.959963984540054, 3.090232306167813
"""The normal quantiles of 97.5%, and of 99.9%."""
CLEAR = 3.0
"""Standard deviations of noise beyond which a difference is believed."""
LARGEST = WIDEST**4
"""The variance of squared distances, and so the largest number in a file; its square is a number by far."""
KERNELS = ("average", "midpoint")
ErrorOf: TypeAlias = "Callable[[NDArray[np.float64]], float]"


@dataclass(frozen=True)
class Form:
    """A kernel on cells: its ``matrix``; ``uncertainty``, half of the true kernel's range over two cells."""

    matrix: NDArray[np.float64]
    uncertainty: NDArray[np.float64]


@dataclass(frozen=True)
class Finished:
    """A statistic's value at given forms, and its gradient with respect to them."""

    value: float
    gradient: NDArray[np.float64]


class Statistic:
    """What is computed, apart from how."""

    name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    needs: ClassVar[str] = "numeric"
    """What a domain must be: "numeric" (distances), "ordered" (comparisons) or "discrete" (equality)."""
    arity: ClassVar[int] = 2
    """How many people the kernel is a function of."""
    counts_people: ClassVar[bool] = False
    """Whether the value depends on how many people there are, and not only on how they are spread."""
    from_table: ClassVar[bool] = False
    """Whether the kernel is known to others only by its table on a study's cells."""
    with_oneself: ClassVar[float] = 0.0
    """The kernel of a person's value with itself."""
    logarithmic: ClassVar[bool] = False
    """Whether the value is minus the logarithm of a form, whose error is the normal one."""
    integrated: ClassVar[bool] = False
    """Whether the form is an integral of F (1 - F) over the domain, F being the distribution function."""
    exact: Callable[[Table], float]
    """The statistic of all values, without privacy. Only what a study carries of a custom kernel has none."""
    forms: Callable[[Grid, str], tuple[Form, ...]]
    """The forms on the cells of a grid with the "average" or the "midpoint" kernel."""
    against: Callable[[Grid], dict[str, tuple[NDArray[np.float64], ...]]]
    """For each stratum, each form's average kernel between a person at a vertex and one in a cell of a grid.

    Rows are the vertices (see `vertices`), columns the cells of the other stratum, or of the same where there
    is only one. Only the name of a kernel, which a second round carries, has neither this nor `forms`.
    """

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """The options that the statistic is made with: the fields of its dataclass."""
        known: Any = cls if hasattr(cls, "__dataclass_fields__") else None
        return () if known is None else tuple(each.name for each in fields(known) if each.init)

    @property
    def own_domain(self) -> tuple[Domain, ...] | None:
        """The domains that the statistic brings along; None where a study gives them."""
        return None

    @property
    def order_ties(self) -> str | None:
        """How a tie counts where the statistic is P(x > y) for people of two strata; None elsewhere."""
        return None

    @property
    def form_count(self) -> int:
        """How many forms the statistic is made of."""
        return 1

    @property
    def is_mean(self) -> bool:
        """Whether the value is the mean of one kernel over pairs of people, and nothing more."""
        return self.form_count == 1 and self.arity == 2 and not self.counts_people

    @property
    def private_columns(self) -> tuple[str, ...]:
        """The columns that a person's report protects."""
        return self.columns

    @property
    def domain_columns(self) -> tuple[str, ...]:
        """The columns for which a study gives a domain."""
        return self.private_columns

    @property
    def strata(self) -> tuple[str, ...]:
        """The public classes people belong to."""
        return (EVERYBODY,)

    def options(self) -> dict[str, Any]:
        """The options that, with the name, make up the JSON form: the fields of the dataclass."""
        return {name: getattr(self, name) for name in self.option_names()}

    def to_json(self) -> dict[str, Any]:
        if self.own_domain is not None:
            raise BadParameter(
                f"a {self.name} that is a function has no JSON form of its own; "
                "create a Study, which carries its table"
            )
        return {"name": self.name, **self.options()}

    @classmethod
    def from_json(cls, spec: Mapping[str, Any]) -> Statistic:
        options = {key: value for key, value in spec.items() if key != "name"}
        allowed(f"statistic {cls.name!r}", options, cls.option_names())
        return cls(**options)

    def placed(self, domains: tuple[Domain, ...]) -> tuple[Domain, ...]:
        """The domains that a protocol works on: positions among edges, where only the order counts."""
        return domains if self.needs == "numeric" else placed(domains)

    def check_domains(self, domains: tuple[Domain, ...], points: bool = False) -> None:
        """Refuse domains on which the kernel has no meaning.

        Only where values are rounded to ``points`` do an interval's edges say what distances are.
        """
        check_domains(self, domains, points)

    def tabulate(self, grid: Grid, kernel: str) -> Statistic:
        """The statistic as a study on these cells carries it."""
        return self

    def kernel_uncertainty(self, masses: NDArray[np.float64]) -> float:
        """How far a kernel that is known only on cells can lie from its table, averaged over ``masses``."""
        return 0.0

    def pair_kernel(self, codes: tuple[FixedPoint, ...]) -> PairKernel | None:
        """The kernel as a circuit of two people's encoded values; None: its table on listed values."""
        if not self.is_mean:
            raise BadParameter(
                f"pairs compute the mean of one kernel, which {self.name} with these options is not"
            )
        return None

    def kernel_variance(
        self,
        grid: Grid,
        masses: tuple[NDArray[np.float64], NDArray[np.float64]],
        mean: float,
        low: float,
        extent: float,
    ) -> float:
        """The variance of a kernel of two values, ``low`` and ``low + extent``, whose mean is ``mean``."""
        share = (mean - low) / extent
        return extent**2 * share * (1 - share)

    def check_grid(self, grid: Grid, kernel: str) -> None:
        """Refuse cells for which the statistic has no forms."""

    def cell_domains(self, domains: tuple[Domain, ...]) -> tuple[Domain, ...]:
        """The domain of every private column."""
        return domains

    def grid(self, axes: tuple[Axis, ...]) -> Grid:
        """The cells of one person's private columns."""
        return Grid(axes)

    def split(self, table: Table) -> Iterator[tuple[str, tuple[NDArray[Any], ...]]]:
        """Each stratum's people: their private columns."""
        yield EVERYBODY, tuple(table[name] for name in self.private_columns)

    def exact_details(self, table: Table) -> dict[str, float]:
        """Further figures that go with the exact value."""
        return {}

    def hidden(self, grid: Grid, kernel: str, masses: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
        """For each form, how far it can lie from its binned value for people with these shares of the cells.

        For any kernel: every pair of cells at its worst (see `hidden`).
        """
        both = zip(self.forms(grid, kernel), self.forms(grid, "midpoint"), strict=True)
        farthest = [form.uncertainty + np.abs(form.matrix - middle.matrix) for form, middle in both]
        return np.array([float(masses[0] @ each @ masses[-1]) for each in farthest])

    def uneven(
        self, grid: Grid, masses: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> tuple[float, float]:
        """From where to where the first form may lie off what its derivative, linear within cells, sees.

        Of people with these shares of the cells, of each of which a share may lie anyhow in it.
        """
        return 0.0, 0.0

    def uneven_divisor(self, grid: Grid, masses: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
        """The same of what a ratio divides by, as a share of it, either way."""
        return 0.0

    @property
    def same_bin(self) -> dict[int, int]:
        """Forms that are shares of pairs with equal values of a column, by the column's place.

        `separable` has pairs in one bin in their stead, of which some are equal.
        """
        return {}

    def tied(self, equal: Sequence[float]) -> float:
        """By what share the value may grow if such shares of pairs are equal in the columns, unseen."""
        return 0.0

    def hidden_ratio(
        self,
        grid: Grid,
        kernel: str,
        masses: tuple[NDArray[np.float64], ...],
        finished: Finished,
        forms: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> float | None:
        """The same of the value, where several forms cannot all be off at once; None elsewhere.

        ``noise`` has the forms' standard errors.
        """
        return None

    def excess(self, axis: Axis, masses: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...] | None:
        """For each form, the form of the most that random rounding adds; None if it may take off."""
        return None

    def separable(self, grid: Grid) -> tuple[Separable, ...] | None:
        """The forms with the "average" kernel as comparisons of whole numbers; None where they are none."""
        return None

    def plain(self, grid: Grid) -> tuple[Separable, ...] | None:
        """The same without what makes up for the order that bins hide: noise is smaller, the bias larger."""
        return self.separable(grid)

    @property
    def ties_apart(self) -> bool:
        """Whether equal values count otherwise than near ones in either order, which cells do not tell."""
        return False

    def makes_up(self, axis: Axis) -> bool:
        """Whether `separable` makes up for what bins of this axis hide of smooth dependence."""
        return False

    def within(self, grid: Grid) -> Separable | None:
        """How far the first form's kernel may lie off its average over two bins; None where nobody knows."""
        return None

    def order(self, grid: Grid) -> Separable | None:
        """How much larger the first form is if pairs in one bin are as those beside; None where none hide."""
        return None

    def linearizer(self, grid: Grid) -> Linearizer:
        """What the `projection` protocol asks: derivatives at distributions on the cells of ``grid``."""
        return Linearizer(self, grid)

    def described(self) -> Statistic:
        """The statistic without anything that only its forms need: what a second round carries."""
        return self

    def finish(self, forms: NDArray[np.float64], sizes: Mapping[str, int]) -> Finished:
        """The statistic from the forms' values and the strata's sizes: the form itself by default."""
        return Finished(float(forms[0]), np.ones(1))

    def divisors(self, forms: NDArray[np.float64]) -> dict[str, tuple[float, int]]:
        """What the finished value divides by: its estimate and the form that it comes from, by name."""
        return {}

    def undefined_at(self, grid: Grid) -> NDArray[np.int64] | None:
        """The cells of which the value is not defined if all people are in one; None where nobody knows."""
        return None

    def divisor_slack(self, forms: NDArray[np.float64], error: ErrorOf) -> float:
        """By how much a ratio's error is larger than along its gradient, where what it divides by is noisy.

        A ratio whose divisor cannot be told from 0 is refused, and a ratio of nothing gets a number in one
        of a thousand studies.
        """
        reaches = []
        for name, (divisor, place) in self.divisors(forms).items():
            deviation = error(np.eye(len(forms))[place])
            if not divisor > CERTAIN * deviation:
                raise NotEstimable(
                    f"{name} is estimated as {divisor:.3g} with a standard error of {deviation:.3g}, so it "
                    f"may be 0: too few people for this epsilon, or {self.name} is not defined"
                )
            if len(forms) > 1:
                reaches.append(TWO_SIDED * deviation / divisor)
        return fieller(reaches)

    def details(
        self, forms: NDArray[np.float64], sizes: Mapping[str, int], error: ErrorOf
    ) -> dict[str, float]:
        """Further figures that go with an estimate; ``error`` gives the standard error along a gradient."""
        return {}

    def most_sampling(self, kernel: Bounded, sizes: Mapping[str, int]) -> float:
        """The largest variance that the choice of people can cause in the mean of a kernel.

        A kernel of range a..b and mean m has a variance of at most (m - a)(b - m); the mean over all pairs
        varies no more than over the disjoint pairs that people can be put into (Hoeffding, "Probability
        inequalities for sums of bounded random variables", JASA 1963, section 5). For tau that is
        Daniels and Kendall's 2 (1 - tau^2) / n, for the AUC theta (1 - theta) / min(n+, n-).
        """
        disjoint = min(sizes.values()) if len(sizes) > 1 else sum(sizes.values()) // 2
        return kernel.variance / disjoint

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        """The least and the greatest value the kernel takes."""
        return (0.0, 1.0)

    def bounds(self, domains: tuple[Domain, ...], sizes: Mapping[str, int]) -> tuple[float, float]:
        """The least and the greatest value that the statistic can have, of so many people."""
        return self.range(domains)

    def most(self, domains: tuple[Domain, ...]) -> float:
        """The greatest value that a population can have, where it is below that of its people."""
        return math.inf

    def lipschitz(self, domains: tuple[Domain, ...]) -> float | None:
        """The kernel's Lipschitz constant in each argument; None for a kernel with jumps."""
        return None


def need_two(count: int) -> None:
    """Refuse fewer than two people."""
    if count < 2:
        raise NotEnoughData(f"a statistic over pairs needs at least 2 people, not {count}")
