"""Files of cells: the SQL text that counts them, and how its answer becomes a tally.

A cell is all that a report counts in, so a count by cell is a tally. Where nobody can be there twice (see
`deduplication`) that is one `GROUP BY`; elsewhere people are told apart first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import BadParameter
from ..protocols.counts import Cells
from ..study import Study
from ..tally import NO_CELLS, Tally
from .file_tally import CONTRADICTORY, COUNTED, REPEATED, SYMBOL, FileTally
from .row_sql import REFUSED, Source, placed

GROUPS = 2**18
"""Groups that are added to a tally at once."""


def cell_codes(study: Study) -> Cells:
    """The codes of the study's cells."""
    codes = study.protocol.cell_codes
    if codes is None:
        raise BadParameter(NO_CELLS)
    return codes


def sql(study: Study, source: Source, straight: bool) -> str:
    """The text: for each stratum and cell, the people and their rows.

    ``straight``: nobody is there twice. Otherwise people are grouped first, and those whose rows differ are
    in no cell. It is written in what DuckDB and Spark have in common.
    """
    codes = cell_codes(study)
    allowed = f"symbol BETWEEN {codes.first} AND {codes.last}"
    if straight:
        # Holes are few, and are found in the answer.
        return f"""
SELECT place, cell, count(*) AS people, count(*) AS row_count
FROM (SELECT place, CASE WHEN place < 0 THEN 0 ELSE symbol END AS cell
      FROM {placed(study, source, allowed, indexed=False)}) AS reports
GROUP BY place, cell"""  # noqa: S608 - numbers, and names that were checked
    if codes.holes:
        allowed += f" AND symbol NOT IN ({', '.join(map(str, codes.holes))})"
    return f"""
SELECT place, cell, count(*) AS people, CAST(sum(rows_each) AS BIGINT) AS row_count
FROM (SELECT place, CASE WHEN min(symbol) = max(symbol) THEN min(symbol) END AS cell, count(*) AS rows_each
      FROM (SELECT place, CASE WHEN place < 0 THEN 0 ELSE symbol END AS symbol,
                   CASE WHEN place < 0 THEN 0 ELSE index END AS person
            FROM {placed(study, source, allowed)}) AS reports
      GROUP BY place, person) AS everybody
GROUP BY place, cell"""  # noqa: S608 - numbers, and names that were checked


def count(study: Study, batches: Iterable[Any]) -> FileTally:
    """Count the text's answer, in Arrow batches of any order."""
    total, codes = FileTally(Tally(study)), cell_codes(study)
    for table in _joined(batches):
        places, people, rows = (np.asarray(table[name]) for name in ("place", "people", "row_count"))
        differ = np.asarray(table["cell"].is_null())
        cell = np.asarray(table["cell"].fill_null(codes.first), dtype=np.int64)
        good = codes.has(cell) & ~differ
        for place in np.unique(places).tolist():
            here = places == place
            if place < 0:
                total.reasons[REFUSED[place]] += int(rows[here].sum())
                continue
            counted, liars = here & good, here & differ
            hole = here & ~(good | differ)
            total.tally.add_cells(study.strata[place], cell[counted], people[counted])
            numbers = {
                COUNTED: int(people[counted].sum()),
                CONTRADICTORY: int(people[liars].sum()),
                REPEATED: int((rows - people)[counted | liars].sum()),
                SYMBOL: int(rows[hole].sum()),
            }
            total.note(numbers)
    return total


def _joined(batches: Iterable[Any]) -> Iterator[Any]:
    """The batches as tables of many groups: each costs a sort, however small."""
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(batch.num_rows for batch in held) >= GROUPS:
            yield pa.Table.from_batches(held).combine_chunks()
            held = []
    if any(batch.num_rows for batch in held):
        yield pa.Table.from_batches(held).combine_chunks()
