"""Files of symbols: the SQL text that counts them on both engines, and how its answer becomes a tally.

Whether somebody reported twice must be known exactly, for billions of people, in little memory. Indices are
given out one after another, so the text does not group by person but by *block* of 64 people. It sets one bit
for each person and for each bit of the symbol: in one word for symbols with a 0 there, in another for those
with a 1. A person who said different things has both bits set somewhere; a person who said the same thing
again has no more bits than before, but the block has more rows than people.

That is one pass with a 64th of the groups, and the answer, 16 bytes for each 64 people and bit, is all that
the coins of the people have to be recomputed for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import BadParameter, BadValue
from ..protocols.sides import of_symbols
from ..study import Study
from ..tally import Tally
from .file_tally import CONTRADICTORY, COUNTED, REPEATED, ROUND, FileTally
from .row_sql import REFUSED, Dialect, Source, placed

BLOCK = 64
BLOCKS = 2**12
"""Blocks that are counted at once."""
SLICE = 2**16
"""People whose coins are made at once: few enough for the processor's caches."""
Words = NDArray[np.uint64]


def bits(study: Study) -> int:
    """How many bits a symbol of the study has."""
    return max(1, (of_symbols(study).symbols - 1).bit_length())


def sql(study: Study, source: Source, dialect: Dialect) -> str:
    """The text: for each stratum and block of 64 people, the words of zeros and ones, and the rows."""
    symbols = of_symbols(study).symbols
    if 2**63 < symbols != 2**64:
        raise BadParameter("report files hold symbols below 2^63, or of exactly 64 bits")
    allowed = f"symbol BETWEEN 0 AND {symbols - 1}" if symbols <= 2**63 else "symbol IS NOT NULL"
    person = dialect.bit.format(place="(index & 63)")
    block = dialect.right.format(number="index", bits=6)
    words = ",\n       ".join(
        f"bit_or({person}) FILTER (WHERE ({dialect.right.format(number='symbol', bits=bit)} & 1) = {value}) "
        f"AS {name}_{bit}"
        for bit in range(bits(study))
        for value, name in enumerate(("zeros", "ones"))
    )
    return f"""
SELECT place, block, count(*) AS row_count,
       {words}
FROM (SELECT index, symbol, place, CASE WHEN place < 0 THEN 0 ELSE {block} END AS block
      FROM {placed(study, source, allowed)}) AS blocked
GROUP BY place, block"""  # noqa: S608 - numbers, and names that were checked


def count(
    study: Study, batches: Iterable[Any], progress: Callable[[int], None] | None = None, threads: int = 1
) -> FileTally:
    """Count the text's answer, in Arrow batches, each sorted by place and block.

    Threads share the work: numpy lets others compute while it makes coins, sorts and counts.
    """
    parts = (part for batch in batches for part in slices(batch))
    turn = Lock()

    def work() -> FileTally:
        mine = FileTally(Tally(study))
        while True:
            with turn:
                part = next(parts, None)
            if part is None:
                return mine
            _count(study, part, mine)
            if progress is not None:
                with turn:
                    progress(int(_column(part, "row_count").sum()))

    total = FileTally(Tally(study))
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work) for _ in range(threads)]:
            total.add(future.result())
    return total


def slices(batch: Any) -> Iterator[Any]:
    """A batch in parts that are small enough to be unpacked."""
    for start in range(0, batch.num_rows, BLOCKS):
        yield batch.slice(start, BLOCKS)


def _column(batch: Any, name: str) -> NDArray[Any]:
    column = batch.column(name)
    if column.null_count:
        column = column.fill_null(0)
    return np.asarray(column)


def _count(study: Study, batch: Any, total: FileTally) -> None:
    places, blocks, rows = (_column(batch, name) for name in ("place", "block", "row_count"))
    words = {
        name: [
            _column(batch, f"{name}_{bit}")
            .astype(np.int64 if _signed(batch, name) else np.uint64)
            .view(np.uint64)
            for bit in range(bits(study))
        ]
        for name in ("zeros", "ones")
    }
    for place in np.unique(places).tolist():
        where = np.flatnonzero(places == place)
        if place < 0:
            total.reasons[REFUSED[place]] += int(rows[where].sum())
            continue
        zeros = [word[where] for word in words["zeros"]]
        ones = [word[where] for word in words["ones"]]
        _count_stratum(study, study.strata[place], blocks[where], int(rows[where].sum()), zeros, ones, total)


def _signed(batch: Any, name: str) -> bool:
    return bool(pa.types.is_signed_integer(batch.column(f"{name}_0").type))


def _count_stratum(
    study: Study,
    stratum: str,
    blocks: NDArray[np.int64],
    rows: int,
    zeros: list[Words],
    ones: list[Words],
    total: FileTally,
) -> None:
    seen = zeros[0] | ones[0]
    both = np.bitwise_or.reduce([zero & one for zero, one in zip(zeros, ones, strict=True)])
    people, contradictory = (int(np.count_nonzero(_unpacked(each))) for each in (seen, both))
    if rows < people:
        raise BadValue(f"{rows} rows cannot be of {people} people")
    who = np.flatnonzero(_unpacked(seen & ~both))
    indices = blocks[who >> 6] * BLOCK + (who & (BLOCK - 1))
    symbols = _unpacked(ones[0])[who].astype(np.uint64)
    for bit, word in enumerate(ones[1:], start=1):
        symbols |= _unpacked(word)[who].astype(np.uint64) << np.uint64(bit)
    if symbols.size and int(symbols.max()) < 2**63:
        symbols = symbols.view(np.int64)
    late = 0
    if study.protocol.rounds > 1:
        asked = study.asks_all(stratum, indices)
        late = int(asked.size - np.count_nonzero(asked))
        indices, symbols = indices[asked], symbols[asked]
    if study.protocol.rounds == 1 and indices.size and indices[-1] - indices[0] == indices.size - 1:
        # Nobody is missing: coins of consecutive people need no search for who is there.
        for start in range(0, indices.size, SLICE):
            total.tally.add_symbols(stratum, symbols[start : start + SLICE], int(indices[start]))
    else:
        total.tally.add_reports(stratum, indices, symbols)
    counted = {
        COUNTED: indices.size,
        ROUND: late,
        REPEATED: rows - people,
        CONTRADICTORY: contradictory,
    }
    total.note(counted)


def _unpacked(words: Words) -> NDArray[np.uint8]:
    """64 zeros or ones for each word, the lowest bit first."""
    return np.unpackbits(words.astype("<u8", copy=False).view(np.uint8), bitorder="little")
