"""What a study of two servers offers: a round that people answer in two shares."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...estimate import Manipulation
from ...formats.checks import choice
from ...randomness import Randomness
from ...randomness.coins import Coins
from ...vdaf.fields import FIELD64
from ...vdaf.measurements import Histogram, best_chunk
from ..base import PEOPLE, SHARES, SITES, Answer, Tallied
from .released import Numbers, SharedNumbers
from .rounds import Noisy
from .tally import ShareCounts

if TYPE_CHECKING:
    from ...vdaf.prio3 import Prio3


PROOFS, SEEDS = 3, 160
"""Proofs of a one-hot vector, and bytes of seeds and blinds for both servers."""
FEWEST = 2
"""People of a stratum below which nothing is released."""
ANSWERED_BY = "answered_by"


class Shared(Noisy, Tallied):
    """A round of shares: a person's measurement, the servers' totals and noise, the analyst's answer."""

    uses_coins: ClassVar[bool] = False
    sends: ClassVar[str] = SHARES
    has_crypto: ClassVar[bool] = True

    @abstractmethod
    def of_records(self, stratum: str, records: int) -> Prio3:
        """How a site's measurement of so many records is shared and verified."""

    def vdaf_of(self, stratum: str, records: int = 1) -> Prio3:
        """How an answer is shared and verified."""
        return self.of_records(stratum, records) if self.of_sites else self.vdaf[stratum]

    @abstractmethod
    def of_site(self, stratum: str, columns: Sequence[Any]) -> Any:
        """What a site shares of its records of a stratum."""

    @property
    @abstractmethod
    def vdaf(self) -> Mapping[str, Prio3]:
        """How a measurement of each stratum is shared and verified."""

    @abstractmethod
    def measure(self, stratum: str, columns: Sequence[Any]) -> NDArray[np.int64]:
        """What each person shares: the number of a cell, or a fixed-point number."""

    @abstractmethod
    def added(self, stratum: str, measurements: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum of all shared vectors."""

    @abstractmethod
    def totals(self, sums: Mapping[str, NDArray[np.int64]]) -> Numbers:
        """What is released but for the noise: computed by the servers on shares, here in the clear."""

    @abstractmethod
    def multiplicands(self, server: int, shares: Mapping[str, Sequence[int]]) -> list[list[int]]:
        """One server's side of the inner products that the two compute; none where sums are released."""

    @abstractmethod
    def share_totals(
        self, shares: Mapping[str, Sequence[int]], products: Sequence[int], sizes: Mapping[str, int]
    ) -> SharedNumbers:
        """One server's shares of what is released but for the noise."""

    @abstractmethod
    def noise(self, sizes: Mapping[str, int], bits: Randomness) -> Numbers:
        """One server's noise, enough for the whole claim."""

    @abstractmethod
    def shape(self, sizes: Mapping[str, int]) -> tuple[int, dict[str, int]]:
        """How many totals and, by stratum, counts are released."""

    def answer(self, sizes: Mapping[str, int], numbers: Numbers) -> Answer | None:
        """The answer from what was released; None for a pilot, which is none."""
        return None

    @property
    def sent(self) -> tuple[str, str]:
        if self.of_sites:
            return "a site sends", "two shares of its numbers and a proof, for each class"
        return "a person sends", f"two shares and a proof ({self.report_bits // 8:,} bytes)"

    def moved_by(self, sizes: Mapping[str, int], numbers: Numbers, people: int) -> Manipulation:
        """How far so many liars can move the answer; infinite where no bound is known."""
        return Manipulation(people, people, math.inf, math.inf, False, 1.0)

    def empty_counts(self, coins: Coins, stratum: int) -> ShareCounts:
        """One server's shares of nothing."""
        vdaf = self.vdaf[self.strata[stratum]]
        return ShareCounts(vdaf.circuit.sums, vdaf.circuit.field.modulus)


def one_hot_bits(cells: int) -> int:
    """What a person sends to both servers: one vector, three proofs, and seeds."""
    circuit = Histogram(FIELD64, best_chunk(cells), cells)
    return 8 * (FIELD64.size * (circuit.length + PROOFS * circuit.proof) + SEEDS)


def write_answered_by(answered_by: str) -> dict[str, str]:
    """A study's file says who answers where that is not everybody for oneself."""
    return {} if answered_by == PEOPLE else {ANSWERED_BY: answered_by}


def read_answered_by(spec: Mapping[str, Any]) -> str:
    return choice(ANSWERED_BY, spec[ANSWERED_BY], (SITES,)) if ANSWERED_BY in spec else PEOPLE
