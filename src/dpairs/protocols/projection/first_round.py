"""The `projection` protocol, first round: a part of the people gives a pilot.

Two rounds, and each person acts in one. The first yields a rough distribution g; with it, the statistic
becomes the mean of a function of one person's value (see `statistics.linear`), which the people of
the second round send as one randomized bit (see `second_round`). Privacy is pure and local, and the
error hardly depends on the size of the domain. Ghazi, Kamath, Kumar, Manurangsi and Sealfon, "On computing
pairwise statistics with local differential privacy" (NeurIPS 2023), show in another form, of three
rounds, that interaction removes that dependence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Integers, Interval, Levels
from ...data.grids import Grid
from ...errors import BadFile, BadParameter, NotEnoughData, NotEstimable
from ...estimate import Manipulation
from ...formats.checks import choice, fields, integer, real, required
from ...mechanisms import count_variance, scalar_response
from ...mechanisms.optimize import optimize
from ...privacy import PrivacyClaim, local_claim
from ...randomness import Randomness
from ...randomness.coins import Coins
from ...statistics import Statistic
from ..base import Alone, Answer, FirstRound, Setting
from ..counts import Counts
from ..fitted import HISTOGRAM_ROUGHNESS
from ..histogram.search import Search
from ..rounds import BLOCK, asked_first, places_in_first
from ..shape import Prediction, Shape
from ..theory import MAX_PEOPLE
from ..tree.leaves import Leaves, bits_of
from .pilot import PublicNoise
from .pilot_histogram import PilotHistogram
from .pilot_levels import GRID_BITS, dealt_levels, deeper, tells_values
from .pilot_tree import PLANE_BITS, PilotTree
from .predict import WINDOWS, candidates, expected_response, predict
from .reading import Earlier
from .second_round import SecondRound

FEW_CELLS = 64
"""Up to so many cells the first round asks for the cell itself."""
MANY_CELLS = 1024
"""The same for a kernel that only knows whether two people agree."""
PILOTS = ("histogram", "tree")
EXPECTED = 10**5
"""How many people a study is made for when it is not said."""
MAX_USUAL = 32
"""Bits of whole numbers that are told apart when nothing is said."""
LEAST_SHARE, LARGEST_SHARE = 4, 24
"""The first round's people of every 64, when the study chooses."""


@dataclass(frozen=True)
class Projection(Alone, FirstRound):
    """The first round: ``share`` of every 64 people answer ``pilot``."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    share: int
    pilot: PilotHistogram | PilotTree
    name: ClassVar[str] = "projection"
    rounds: ClassVar[int] = 2
    uses_coins: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = (
        "pilot_fraction",
        "pilot",
        "bins",
        "n",
        "mechanism",
        "prior",
        "search",
    )
    estimators: ClassVar[tuple[str, ...]] = ("pilot",)

    def __post_init__(self) -> None:
        """Refuse shares that leave a round empty."""
        integer("the share of people in the first round", self.share, 1, BLOCK - 1)

    @classmethod
    def create(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        epsilon: float,
        *,
        pilot_fraction: float | None = None,
        pilot: str | None = None,
        bins: int | Sequence[int] | None = None,
        n: int | None = None,
        mechanism: str | None = None,
        prior: Sequence[float] | None = None,
        search: Search = optimize,
    ) -> Projection:
        """Choose what the first round asks, and how many people it asks.

        ``mechanism`` (with ``prior`` and ``search``) is a histogram pilot's, as `Histogram.create` has
        it.
        """
        statistic.check_domains(domains)
        expected = EXPECTED if n is None else integer("n", n, 2, MAX_PEOPLE)
        kind = _kind(statistic, domains, bins) if pilot is None else choice("pilot", pilot, PILOTS)
        if kind == "histogram":
            whole = domains[0] if len(domains) == 1 else None
            asked = PilotHistogram.create(
                statistic,
                domains,
                epsilon,
                bins=whole.size if bins is None and isinstance(whole, Integers) else bins,
                n=expected,
                mechanism=mechanism or "projective",
                prior=prior,
                search=search,
            )
            free = pilot is None and mechanism is None and prior is None
            if free and _rougher_than_tree(asked, statistic, domains, epsilon):
                kind = "tree"
        if kind == "histogram":
            rough = HISTOGRAM_ROUGHNESS * asked.grid.cells / math.tanh(min(epsilon, 60.0) / 2) ** 2
            share = _share(pilot_fraction, expected, epsilon, lambda people: rough / people)
            return cls(asked.statistic, domains, share, asked)
        if mechanism is not None or prior is not None:
            raise BadParameter("mechanism is for pilot='histogram'; the first round of this study is a tree")
        bits = _bits(statistic, domains, bins)
        if statistic.from_table:
            leaves = Leaves(statistic.cell_domains(domains), bits)
            statistic = statistic.tabulate(Grid(tuple(map(leaves.axis, range(len(bits))))), "average")
        # Whoever says how many bins there are gets every level of them.
        dealt = dealt_levels(bits, epsilon) if bins is None and sum(bits) > GRID_BITS else ()
        tree = PilotTree.over(statistic, domains, epsilon, bits, 1, dealt)
        power = 0.75 if len(domains) > 1 else 1.0

        def best_share(tree: PilotTree) -> int:
            return _share(
                pilot_fraction, expected, epsilon, lambda people: tree.node_variance(people) ** power
            )

        deep, share = deeper(tree, epsilon) if dealt else None, best_share(tree)
        if deep is not None and tells_values(deep, expected * best_share(deep) / BLOCK):
            tree, share = deep, best_share(deep)
        return cls(statistic, domains, share, replace(tree, share=share))

    @classmethod
    def from_json(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
    ) -> Projection | SecondRound:
        """Read either round's parameters back."""
        if spec.get("round") == 2:
            return SecondRound.from_json(statistic, domains, spec)
        names = ("round", "share", "pilot")
        fields(f"protocol {cls.name!r}", spec, ("name", *names))
        required(f"protocol {cls.name!r}", spec, names)
        if spec["round"] != 1 or not isinstance(spec["pilot"], Mapping):
            raise BadFile(f"protocol {cls.name!r} has rounds 1 and 2, and a first round has a pilot")
        share = integer("share", spec["share"], 1, BLOCK - 1)
        if spec["pilot"].get("name") == PilotHistogram.name:
            return cls(statistic, domains, share, PilotHistogram.from_json(statistic, domains, spec["pilot"]))
        choice("pilot", spec["pilot"].get("name"), (PilotHistogram.name, PilotTree.name))
        return cls(statistic, domains, share, PilotTree.read(statistic, domains, spec["pilot"], share))

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "round": 1, "share": self.share, "pilot": self.pilot.to_json()}

    @property
    def symbols(self) -> int:
        return self.pilot.symbols

    @property
    def epsilon(self) -> float:
        return self.pilot.epsilon

    def asked(self, coins: Coins, stratum: int, first: int, count: int) -> NDArray[np.bool_]:
        """The people of the first round."""
        return asked_first(coins, stratum, first, count, self.share)

    def places(self, coins: Coins, stratum: int, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Among the people of the first round."""
        return places_in_first(coins, stratum, indices, self.share)

    def crowd(self, people: int) -> int:
        """The smaller of both rounds' crowds: the coins that say who is asked when leave all else alike."""
        whole = people // BLOCK
        return max(1, min(self.pilot.crowd(whole * self.share), whole * (BLOCK - self.share)))

    def randomize(
        self, coins: Coins, stratum: int, first_index: int, columns: Sequence[Any], bits: Randomness
    ) -> NDArray[Any]:
        return self.pilot.randomize(coins, stratum, first_index, columns, bits)

    def empty_counts(self, coins: Coins, stratum: int) -> Counts:
        return self.pilot.empty_counts(coins, stratum)

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        return candidates(setting)

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        return predict(self, shape, sizes)

    def predict_manipulation(self, shape: Shape, sizes: Mapping[str, int], liars: int) -> float:
        """Liars of both rounds are as many in a hundred; those of the second move the mean of its symbols."""
        response, *_ = expected_response(self.epsilon, shape, sizes)
        span = float(np.ptp(response.decode))
        ranges = {name: float(np.ptp(values)) for name, values in shape.linear.functions.items()}
        unit = shape.scale * shape.for_people(sizes)
        return unit * span * liars * max(ranges[name] / sizes[name] for name in sizes)

    def estimate(self, counts: Mapping[str, Any], estimator: str) -> Answer:
        """What the first round says alone."""
        answer = self.pilot.own_answer(counts)
        if answer is None:
            raise NotEstimable(
                "this is the tally of a first round, which gives a pilot and no answer of its own: "
                "make the second round with Study.next"
            )
        return answer

    def manipulation(self, counts: Mapping[str, Any], estimator: str, people: int) -> Manipulation:
        """Of the first round's own answer, where it has one."""
        return self.pilot.manipulation(counts, estimator, people)

    def next_round(
        self, study_id: str, coins: Coins, counts: Mapping[str, Any], epsilon: float
    ) -> SecondRound:
        """The second round: the pilot's function for each stratum, and how far it may be off."""
        people = {stratum: int(table.people) for stratum, table in counts.items()}
        for stratum, number in people.items():
            if number == 0:
                whose = "" if len(people) == 1 else f" of the {stratum} class"
                raise NotEnoughData(f"nobody{whose} answered in the first round, so there is no pilot")
        return SecondRound.of(
            self.statistic,
            self.domains,
            self.pilot.pilot(counts, PublicNoise(coins)),
            Earlier(study_id, self.share),
            epsilon,
            people,
            self.pilot.own_estimate(counts),
        )

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        """Pure epsilon-LDP in two rounds, of which each person acts in one.

        Whoever agrees here may be asked in the second round, whose mechanism is not known yet: the claim is
        the most that it may lose, however little this round's own loses.
        """
        theorem = "exact ratio of the answer's probabilities, integers out of 2^64"
        columns = self.statistic.private_columns
        return local_claim(epsilon_asked, epsilon_asked, 0.0, columns, theorem, self.rounds)


def _kind(statistic: Statistic, domains: tuple[Domain, ...], bins: Any) -> str:
    """A histogram where cells are few and the statistic joins pairs, else a tree."""
    columns = statistic.cell_domains(domains)
    cells = math.prod(math.inf if isinstance(domain, Interval) else domain.size for domain in columns)
    enough = MANY_CELLS if statistic.needs == "discrete" else FEW_CELLS
    asked = bins is not None and any(isinstance(domain, (Interval, Integers)) for domain in domains)
    return "histogram" if cells <= enough and not asked and len(statistic.strata) < 3 else "tree"


def _rougher_than_tree(
    asked: PilotHistogram, statistic: Statistic, domains: tuple[Domain, ...], epsilon: float
) -> bool:
    """Whether a tree over the same values misses less than this histogram, on one column in order.

    The remainder after a histogram is about `HISTOGRAM_ROUGHNESS` times the sum of its cells' variances of
    noise, which grows with their number; after a tree it is a node's variance, which grows with the number's
    logarithm. A ratio misses what each of its forms does. A tree takes distances between neighbours for
    equal.
    """
    (domain, *others), needs = domains, statistic.needs
    if others or statistic.from_table or needs == "discrete" or not isinstance(domain, (Integers, Levels)):
        return False
    if needs == "numeric" and isinstance(domain, Levels) and not _evenly_spaced(domain):
        return False
    tree = PilotTree.over(statistic, domains, epsilon, _bits(statistic, domains, None), 1, ())
    try:
        noise = asked.grid.cells * count_variance(asked.mechanism)
    except NotEstimable:  # so small an epsilon that nobody could decode a histogram
        return True
    return HISTOGRAM_ROUGHNESS * statistic.form_count * noise > tree.node_variance(1.0)


def _evenly_spaced(domain: Levels) -> bool:
    gaps = np.diff(np.array(domain.values, dtype=np.float64))
    return bool(np.allclose(gaps, gaps[0], atol=0.0))


def _bits(statistic: Statistic, domains: tuple[Domain, ...], bins: Any) -> tuple[int, ...]:
    """The bits of every private column: as asked, or as many as are of use."""
    asked = list(bins) if isinstance(bins, (list, tuple)) else [bins] * len(domains)
    if len(asked) != len(domains):
        raise BadParameter(f"bins must be one number for each column ({len(domains)}), not {len(asked)}")
    usual = _usual_bits(statistic, len(domains))
    bits = [
        _column_bits(domain, usual, usual if statistic.from_table else MAX_USUAL // len(domains), count)
        for domain, count in zip(statistic.cell_domains(domains), [*asked, None], strict=False)
    ]
    whole = statistic.from_table or not any(isinstance(each, (Interval, Integers)) for each in domains)
    most = GRID_BITS if whole else PLANE_BITS
    if len(bits) > 1 and sum(bits) > most:
        raise BadParameter(
            f"a pilot on several columns has at most 2^{most} cells, not 2^{sum(bits)}: give fewer bins"
        )
    return tuple(bits)


def _usual_bits(statistic: Statistic, domains: int) -> int:
    if statistic.from_table:
        return 8 // domains
    if domains > 1:
        return 10
    return MAX_USUAL if statistic.needs == "discrete" else 16


def _column_bits(domain: Domain, usual: int, whole: int, bins: Any) -> int:
    if not isinstance(domain, (Interval, Integers)):
        return bits_of(domain.size)
    most = 52 if isinstance(domain, Interval) else bits_of(domain.size)
    if bins is None:
        return min(most, whole if isinstance(domain, Integers) else usual)
    count = integer("bins", bins, 2, 2**most)
    if count & (count - 1):
        raise BadParameter(f"bins of a pilot tree must be a power of 2, not {bins}")
    return count.bit_length() - 1


def _share(fraction: float | None, n: int, epsilon: float, remainder: Callable[[float], float]) -> int:
    """The people of every 64 that the first round asks: as asked, or of least predicted error.

    Both parts in units of the function's range: the second round's variance if people's numbers fall evenly
    into it, and the second-order ``remainder`` after so many people of the first. After a tree that is about
    the variance v of a node's share, because contributions of single nodes are of that size and of either
    sign; in the plane, where some 1 / sqrt(v) cells are told apart, as many times more as their square root.
    The remainder of distances is twice the integral of (G - H)^2, of two distribution functions: over their
    function's range, which is up to twice the domain, the mean of (G - H)^2, which is about v as well.
    """
    if fraction is not None:
        wanted = real("pilot_fraction", fraction)
        if not 1 / BLOCK <= wanted <= 1 - 1 / BLOCK:
            raise BadParameter(
                f"pilot_fraction must lie between 1/{BLOCK} and {BLOCK - 1}/{BLOCK}, not {fraction!r}"
            )
        return round(wanted * BLOCK)
    even = np.linspace(0, 1, 65)
    response = scalar_response(epsilon, even, np.full(65, 1 / 65), WINDOWS)
    variance = float(response.variances(even).mean()) + 1 / 12

    def error(share: int) -> float:
        part = share / BLOCK
        return variance / (n * (1 - part)) + remainder(n * part) ** 2

    return min(range(LEAST_SHARE, LARGEST_SHARE + 1), key=error)
