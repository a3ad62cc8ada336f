"""Prio3 for each kind of measurement: the draft's instances, and two of our own.

`one_hot` proves what `histogram` proves, over Field64 with three proofs instead of Field128 with one: fewer
bytes and less time for an error of (a few hundred / 2^64)^3. The draft asks for at least three proofs there.
`records` proves the same of a site's counts: none below 0, and together as many as the site declared.
"""

from __future__ import annotations

from ..errors import BadParameter
from .arguments import whole
from .fields import FIELD64, FIELD128
from .measurements import Count, Histogram, MultihotCountVec, Records, Sum, SumVec, best_chunk
from .prio3 import Prio3

PRIVATE_SUM_VEC = 0xFFFFFFFF
"""What the draft's vectors of `sum_vec_with_multiproof` use; no registered number."""
PRIVATE_ONE_HOT = 0xFFFF0001
"""A number for private use, since `one_hot` is not registered."""
PRIVATE_RECORDS = 0xFFFF0002
"""Likewise of `records`."""
FEWEST_PROOFS = 3
"""With joint randomness over Field64."""


def count(shares: int = 2) -> Prio3:
    """How many measurements are 1."""
    return Prio3(Count(FIELD64), 1, shares=shares)


def sum_up(largest: int, shares: int = 2) -> Prio3:
    """The sum of whole numbers in 0..largest."""
    return Prio3(Sum(FIELD64, largest), 2, shares=shares)


def sum_vec(entries: int, largest: int, chunk: int | None = None, shares: int = 2) -> Prio3:
    """The sum of lists of whole numbers in 0..largest."""
    chunk = best_chunk(_bits(entries, largest)) if chunk is None else chunk
    return Prio3(SumVec(FIELD128, chunk, entries, largest), 3, shares=shares)


def sum_vec_with_multiproof(
    entries: int, largest: int, chunk: int | None = None, shares: int = 2, proofs: int = FEWEST_PROOFS
) -> Prio3:
    """The same over Field64, with several proofs."""
    chunk = best_chunk(_bits(entries, largest)) if chunk is None else chunk
    circuit = SumVec(FIELD64, chunk, entries, largest)
    return Prio3(circuit, PRIVATE_SUM_VEC, _several(proofs), shares)


def histogram(cells: int, chunk: int | None = None, shares: int = 2) -> Prio3:
    """How many measurements fall into each cell."""
    chunk = best_chunk(whole("the number of cells", cells, 1, 2**20)) if chunk is None else chunk
    return Prio3(Histogram(FIELD128, chunk, cells), 4, shares=shares)


def multihot_count_vec(cells: int, most: int, chunk: int | None = None, shares: int = 2) -> Prio3:
    """How many measurements chose each cell, when each may choose at most ``most``."""
    cells = whole("the number of cells", cells, 1, 2**20)
    most = whole("the largest number of chosen cells", most, 1, cells)
    chunk = best_chunk(cells + most.bit_length()) if chunk is None else chunk
    return Prio3(MultihotCountVec(FIELD128, chunk, cells, most), 5, shares=shares)


def one_hot(cells: int, chunk: int | None = None, shares: int = 2, proofs: int = FEWEST_PROOFS) -> Prio3:
    """How many measurements fall into each cell, over Field64 with several proofs.

    >>> one_hot(256).report_size, histogram(256).report_size
    (3816, 5328)
    >>> one_hot(256).soundness_error() < 2**-170
    True
    """
    chunk = best_chunk(whole("the number of cells", cells, 1, 2**20)) if chunk is None else chunk
    return Prio3(Histogram(FIELD64, chunk, cells), PRIVATE_ONE_HOT, _several(proofs), shares)


def records(cells: int, size: int, shares: int = 2, proofs: int = FEWEST_PROOFS) -> Prio3:
    """Counts in cells of ``size`` records, over Field64 with several proofs.

    >>> vdaf = records(4, 5)
    >>> public, parts = vdaf.shard(b"survey", [1, 0, 4, 0], bytes(16), bytes(vdaf.rand_size))
    >>> vdaf.shard(b"survey", [5, 0, 1, 0], bytes(16), bytes(vdaf.rand_size))
    Traceback (most recent call last):
    dpairs.errors.BadValue: the counts of 5 records must add up to as many
    """
    circuit = Records(FIELD64, best_chunk(_bits(cells, size)), cells, size)
    return Prio3(circuit, PRIVATE_RECORDS, _several(proofs), shares)


def _bits(entries: int, largest: int) -> int:
    entries = whole("the number of entries", entries, 1, 2**20)
    return entries * whole("the largest measurement", largest, 1, FIELD128.modulus - 1).bit_length()


def _several(proofs: int) -> int:
    if whole("the number of proofs", proofs, 1, 255) < FEWEST_PROOFS:
        raise BadParameter(f"Field64 needs at least {FEWEST_PROOFS} proofs, not {proofs}")
    return proofs
