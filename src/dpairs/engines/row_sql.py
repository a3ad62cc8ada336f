"""The part of the SQL that both ways of counting share: where a row belongs, or why it does not count."""

from __future__ import annotations

import re

from ..errors import BadParameter
from ..report import MAX_INDEX
from ..study import Study
from .file_tally import INDEX, SYMBOL, UNKNOWN

REFUSED = {-1: UNKNOWN, -2: INDEX, -3: SYMBOL}
"""Places of rows that do not count."""


def placed(study: Study, source: str, allowed: str, indexed: bool = True) -> str:
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
                   CASE WHEN stratum IS NULL OR stratum NOT IN ({names}) THEN -1
                        {out}
                        WHEN symbol IS NULL OR NOT ({allowed}) THEN -3
                        {places} END AS place
            FROM {source}) AS placed"""  # noqa: S608 - numbers, and names that were checked
