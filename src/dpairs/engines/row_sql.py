"""The part of the SQL that both ways of counting share: where a row belongs, or why it does not count."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import BadParameter
from ..report import MAX_INDEX
from ..study import Study
from .file_tally import ELSEWHERE, INDEX, SYMBOL, UNKNOWN

REFUSED = {-1: UNKNOWN, -2: INDEX, -3: SYMBOL, -4: ELSEWHERE}
"""Places of rows that do not count."""


class Dialect(NamedTuple):
    """What DuckDB and Spark spell differently."""

    bit: str
    """An integer of 64 bits in which only the bit ``place`` is set, also the highest."""
    right: str
    """``number`` without its ``bits`` lowest bits."""
    quote: str
    """What stands around a column's name."""
    text: str
    """The type of texts."""


DUCKDB = Dialect("(CAST(1 AS UBIGINT) << CAST({place} AS UBIGINT))", "({number} >> {bits})", '"', "VARCHAR")
SPARK = Dialect(
    "shiftleft(CAST(1 AS BIGINT), CAST({place} AS INT))", "shiftright({number}, {bits})", "`", "STRING"
)


class Source(NamedTuple):
    """Where rows with a stratum, an index and a symbol come from."""

    text: str
    foreign: bool = False
    """Whether a column ``elsewhere`` says which rows are another study's."""


def placed(study: Study, source: Source, allowed: str, indexed: bool = True) -> str:
    """A subquery: each row's index, symbol and place, which is its stratum's number or one of `REFUSED`.

    ``allowed`` is the condition for a symbol to count. Without ``indexed`` there is no index, because it
    was looked at already.
    """
    for name in study.strata:
        if not re.fullmatch(r"[\w .:+-]+", name):
            raise BadParameter(f"stratum {name!r} has a character that report files cannot have")
    names = ", ".join(f"'{name}'" for name in study.strata)
    places = " ".join(f"WHEN stratum = '{name}' THEN {place}" for place, name in enumerate(study.strata))
    out = f"WHEN index IS NULL OR index NOT BETWEEN 0 AND {MAX_INDEX} THEN -2" if indexed else ""
    return f"""(SELECT {"index, " if indexed else ""}symbol,
                   CASE {"WHEN elsewhere THEN -4" if source.foreign else ""}
                        WHEN stratum IS NULL OR stratum NOT IN ({names}) THEN -1
                        {out}
                        WHEN symbol IS NULL OR NOT ({allowed}) THEN -3
                        {places} END AS place
            FROM {source.text}) AS placed"""  # noqa: S608 - numbers, and names that were checked
