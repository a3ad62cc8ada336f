"""The `pairwise` protocol: two people compute the noisy kernel of their values in a garbled circuit.

Section 5 of the paper. Pairs come from public coins; each pair's circuit computes the kernel and the noise,
from random bits of both, and only the collector can read the result. A person in P pairs has epsilon / P for
each of them. The estimate is the mean over pairs, so it costs nothing to compute and needs no bins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Integers, Interval
from ...data.grids import Axis, Grid
from ...errors import BadFile, BadParameter, NotEnoughData
from ...estimate import Manipulation, Quantization
from ...formats.checks import choice, fields, integer, required
from ...garbled.arithmetic import MAX_BITS
from ...garbled.custom import MAX_TABLE
from ...garbled.function import PairFunction
from ...garbled.noise import Noise
from ...garbled.noise_registry import NOISES, best_noise, noise, noise_from_json
from ...mechanisms.thresholds import log_above
from ...privacy import PrivacyClaim
from ...privacy.composition import check_delta, composed_ratio, optimal_share
from ...randomness import Randomness
from ...randomness.coins import Coins
from ...statistics import Statistic
from ..base import Answer, FirstRound, InPairs, Setting, Trust
from ..manipulation import at_vertices, linear, span
from ..shape import Prediction, Shape
from .code import PairCode, pair_code
from .counts import PairCounts
from .matching import Pairs, match
from .predict import candidates, predict

PAIRS = "pairs"
"""The only stratum of a study of pairs: what is counted is pairs, not people."""
MAX_PAIRS = 64
RATIO = 2**40
"""A ratio of probabilities is rounded up to a multiple of 1 over this."""
MATCHINGS = ("permutations", "disjoint", "uncoordinated")
"""Of people of one stratum; people of two meet across them."""


@dataclass(frozen=True)
class Pairwise(InPairs, FirstRound):
    """Every person computes with ``pairs`` others, one in each pairing."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    pairs: int
    matching: str
    bits: int
    bins: tuple[int, ...]
    """Of each column, where the kernel is a table; none otherwise."""
    noise: Noise
    delta: float = 0.0
    name: ClassVar[str] = "pairwise"
    uses_coins: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("pairs", "noise", "bits", "matching", "bins", "delta")
    estimators: ClassVar[tuple[str, ...]] = ("mean",)
    trust: ClassVar[Trust] = Trust.PARTNER

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        self.statistic.check_domains(self.domains)
        integer("pairs", self.pairs, 1, MAX_PAIRS)
        integer("bits", self.bits, 1, MAX_BITS)
        choice("matching", self.matching, _matchings(self.statistic))
        if self.matching == "uncoordinated" and self.pairs % 2:
            raise BadParameter(f"everybody draws half of the pairs, so they must be even, not {self.pairs}")
        if self.delta != 0:
            check_delta(self.delta)
            integer("pairs of a study with a delta", self.pairs, 2, MAX_PAIRS)
        self.function  # noqa: B018 - refuses noise that was made for another kernel

    @classmethod
    def create(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        epsilon: float,
        *,
        pairs: int = 1,
        noise: str | None = None,
        bits: int = 32,
        matching: str | None = None,
        bins: int | None = None,
        delta: float | None = None,
    ) -> Pairwise:
        """Choose the noise of least variance where none is named; a value has at most ``bits`` bits.

        With a ``delta`` a person's pairs are composed optimally, which allows each of them more than
        epsilon / pairs. All pairs of n people, the paper's baseline, are ``pairs`` = n - 1 that are disjoint.
        """
        statistic.check_domains(domains)
        integer("pairs", pairs, 1, MAX_PAIRS)
        integer("bits", bits, 1, MAX_BITS)
        counts: tuple[int, ...] = ()
        if statistic.from_table:
            counts = _bins(domains, bins)
            axes = tuple(Axis(domain, count) for domain, count in zip(domains, counts, strict=True))
            statistic = statistic.tabulate(Grid(axes), "average")
        elif bins is not None:
            raise BadParameter("only a custom kernel has bins here; other kernels are computed on bits")
        code = pair_code(statistic, domains, bits, counts)
        way = matching or _matchings(statistic)[0]
        return cls(
            statistic,
            domains,
            pairs,
            way,
            bits,
            counts,
            _noise(noise, code.kernel.top, epsilon, pairs, float(delta or 0)),
            float(delta or 0),
        )

    @classmethod
    def from_json(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]
    ) -> Pairwise:
        names = ("pairs", "matching", "bits", "bins", "noise")
        fields(f"protocol {cls.name!r}", spec, ("name", *names, "delta"))
        required(f"protocol {cls.name!r}", spec, names)
        if not isinstance(spec["bins"], list):
            raise BadFile(f"protocol {cls.name!r} needs a list of bins")
        bins = tuple(integer("bins", count, 2, MAX_TABLE) for count in spec["bins"])
        made = noise_from_json(spec["noise"])
        # Pure studies are written without a delta.
        delta = check_delta(spec["delta"]) if "delta" in spec else 0.0
        return cls(statistic, domains, spec["pairs"], spec["matching"], spec["bits"], bins, made, delta)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "pairs": self.pairs,
            "matching": self.matching,
            "bits": self.bits,
            "bins": list(self.bins),
            "noise": self.noise.to_json(),
            **({"delta": self.delta} if self.delta else {}),
        }

    @property
    def strata(self) -> tuple[str, ...]:
        return (PAIRS,)

    @cached_property
    def code(self) -> PairCode:
        """The kernel, and how values go into it."""
        return pair_code(self.statistic, self.domains, self.bits, self.bins)

    @cached_property
    def function(self) -> PairFunction:
        return PairFunction(self.code.kernel, self.noise)

    @property
    def symbols(self) -> int:
        return self.noise.symbols

    @property
    def epsilon(self) -> float:
        """The loss of one pair, as often as a person is in one; with a delta, composed optimally."""
        return _composed(self.noise, self.pairs, self.delta)

    def match(self, coins: Coins, sizes: Mapping[str, int], first: int = 0) -> Pairs:
        """All pairs of so many people of each stratum, the first of whom has the index ``first``."""
        return match(coins, sizes, self.pairs, self.matching, first)

    def encode(self, columns: Sequence[Any], bits: Randomness) -> NDArray[np.uint64]:
        return self.code.encode(columns, self.statistic.private_columns, bits)

    @property
    def tells_apart(self) -> bool:
        """Two people compute their own kernel, unless that is a table of bins."""
        return not self.bins or super().tells_apart

    @classmethod
    def candidates(cls, setting: Setting) -> Iterable[dict[str, Any]]:
        return candidates(setting)

    def predict(self, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
        return predict(self, shape, sizes)

    def predict_manipulation(self, shape: Shape, sizes: Mapping[str, int], liars: int) -> float:
        least = min(sizes.values())
        pairs = self.pairs * (least if len(sizes) > 1 else least / 2)
        spoiled = min(liars * self.pairs / pairs, 1.0)
        return abs(shape.scale) * spoiled * float(np.ptp(self.function.decode))

    def empty_counts(self, coins: Coins, stratum: int) -> PairCounts:
        """Counts by group and symbol."""
        return PairCounts(self.symbols)

    def estimate(self, counts: Mapping[str, PairCounts], estimator: str) -> Answer:
        """The mean of the pairs' decoded symbols."""
        table = counts[PAIRS].by_group.astype(np.float64)
        people = table.sum(axis=1)
        total = float(people.sum())
        if total < 2:
            raise NotEnoughData(f"a standard error needs at least 2 pairs, not {total:.0f}")
        decode = self.function.decode
        symbols = table.sum(axis=0)
        mean = float(symbols @ decode) / total
        variance = float(symbols @ (decode - mean) ** 2) / (total - 1)
        population, sample = self._variances(table, decode - mean, variance)
        finished = self.statistic.finish(np.array([mean]), {})
        scale = abs(float(finished.gradient[0]))
        details = self.statistic.details(
            np.array([mean]), {}, lambda gradient: abs(float(gradient[0])) * math.sqrt(population)
        )
        return Answer(
            finished.value,
            scale * math.sqrt(population),
            scale * math.sqrt(sample),
            self._quantization(),
            details,
            bias=scale * (self._quantization().bound or 0.0),
        )

    def participants(self, reports: int) -> int:
        """Two people to a pair, each in as many pairs as the study has pairings."""
        return -(-2 * reports // self.pairs)

    def manipulation(self, counts: Mapping[str, PairCounts], estimator: str, people: int) -> Manipulation:
        """Exact where everybody is in one pair, whose symbol a liar decides.

        Where people are in several, it is a bound: the reports that would move the answer most need not be
        the pairs of so few people.
        """
        symbols = counts[PAIRS].by_group.sum(axis=0).astype(np.float64)
        return self.reach(symbols, people)

    def reach(self, symbols: NDArray[np.float64], people: int) -> Manipulation:
        """The same from counts of symbols that may be expected ones."""
        decode, total = self.function.decode, float(symbols.sum())
        spoiled = min(people * self.pairs, int(total))
        form = linear([(decode / total, symbols)], spoiled)
        mean = float(symbols @ decode) / total
        reach = at_vertices(lambda forms: self.statistic.finish(forms, {}).value, np.array([mean]), [form])
        kernel = self.code.kernel
        multiplier = span(decode) / (float(kernel.step) * kernel.top)
        return Manipulation(people, spoiled, reach.down, reach.up, self.pairs == 1, multiplier)

    def _variances(
        self, table: NDArray[np.float64], decode: NDArray[np.float64], variance: float
    ) -> tuple[float, float]:
        """The mean's variance around the population's value, and around the sample's.

        Pairs of one pairing share nobody. Pairs of several do, which adds 4 (P - 1) zeta_1 / (P n), and the
        variance between groups tells how much. Around the sample's value it is 4 zeta_1 / (P n) below that
        of pairs that share nobody; zeta_1 is not known well enough to take it off.
        """
        sizes = table.sum(axis=1)
        total = float(sizes.sum())
        top, step = self.code.kernel.top, float(self.code.kernel.step)
        noise = step**2 * min(self.noise.variance(level) for level in (0, top // 2, top))
        # The noise is known to be there, however alike the few symbols are.
        apart = max(variance, noise) / total
        groups = np.flatnonzero(sizes)
        if self.pairs == 1:
            return apart, apart
        # zeta_1 lies between 0 and zeta_2 / 2.
        most = apart + (self.pairs - 1) * max(variance - noise, 0.0) / total
        if groups.size < 2:
            return most, apart
        freedom = groups.size - 1
        between = float(((table[groups] @ decode) ** 2).sum()) / total**2 * groups.size / freedom
        # Student's quantile over the normal one, about: few groups know their spread badly.
        between *= (1 + 1.21 / freedom) ** 2
        return min(max(between, apart), most), apart

    def _quantization(self) -> Quantization:
        if self.code.cells is not None:
            off = self.code.rounding
            return Quantization(None, None, None) if self._binned else Quantization(off, off, off**2)
        slope = self.statistic.lipschitz(self.domains)
        coarse = self.code.coarseness
        extent = max(
            (domain.high - domain.low for domain in self.domains if isinstance(domain, Interval)), default=0.0
        )
        bound = coarse * extent * slope if slope is not None else 0.0 if coarse == 0 else None
        return Quantization(bound, coarse if slope is None else bound, None if coarse else 0.0)

    @property
    def _binned(self) -> bool:
        return any(isinstance(domain, (Interval, Integers)) for domain in self.domains)

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        """Computational differential privacy towards a partner and a collector who follow the protocol."""
        return PrivacyClaim(
            epsilon=self.epsilon,
            epsilon_asked=epsilon_asked,
            delta=self.delta,
            neighbours=f"any change of one person's {' and '.join(self.statistic.private_columns)}",
            rounds=1,
            trust="a partner and the collector who follow the protocol learn no more, unless they collude "
            "or break AES and ristretto255",
            theorem=f"exact ratio of the {self.noise.name} noise's probabilities, "
            + (
                f"{self.pairs} pairs composed by Kairouz, Oh and Viswanath's theorem"
                if self.delta
                else f"times {self.pairs} pair(s)"
            ),
            not_promised=(
                "anything against a partner who leaves the protocol, or colludes with the collector",
                "that several studies of the same value add up to no more than one",
                "that people answer truthfully",
                "that taking part, with whom, or a public class, stays secret",
            ),
            kind="computational",
        )


def _matchings(statistic: Statistic) -> tuple[str, ...]:
    """With public classes people meet across them; else within the only stratum."""
    return ("classes",) if len(statistic.strata) > 1 else MATCHINGS


def _noise(name: str | None, top: int, epsilon: float, pairs: int, delta: float) -> Noise:
    share = optimal_share(epsilon, delta, pairs) if delta else epsilon / pairs
    step = 2.0**-53
    while True:
        made = best_noise(top, share) if name is None else noise(choice("noise", name, NOISES), top, share)
        if _composed(made, pairs, delta) <= epsilon:
            return made
        # A pure share is off by its last digit at most; an optimal one by a little more.
        share, step = (share * (1 - step), 2 * step) if delta else (math.nextafter(share, 0), step)


def _composed(noise: Noise, pairs: int, delta: float) -> float:
    if not delta:
        return pairs * noise.epsilon
    ratio = math.exp(noise.epsilon) * (1 + 1e-12)
    return log_above(composed_ratio(math.ceil(ratio * RATIO), RATIO, pairs, delta))


def _bins(domains: tuple[Domain, ...], bins: int | None) -> tuple[int, ...]:
    """Listed values are their own bins; numbers are cut so that the table fits into a circuit."""
    listed = math.prod(domain.size for domain in domains if not isinstance(domain, (Interval, Integers)))
    free = sum(isinstance(domain, (Interval, Integers)) for domain in domains)
    most = int((MAX_TABLE / listed) ** (1 / free) + 1e-9) if free else 0
    count = most if bins is None else integer("bins", bins, 2, MAX_TABLE)
    return tuple(
        min(count, domain.size)
        if isinstance(domain, Integers)
        else count
        if isinstance(domain, Interval)
        else domain.size
        for domain in domains
    )
