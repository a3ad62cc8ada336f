"""Tables of reports as users have them: which columns are meant, and whether they can be a study's reports.

A table says nothing about itself, so the study is given with it. Rows that cannot be reports of that study
are a sign of the wrong table or column: unless the caller wants them left out, nothing is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from typing import NamedTuple

from ..errors import BadParameter, BadValue
from ..protocols.sides import of_symbols
from ..study import Study
from .file_tally import ELSEWHERE, INDEX, SYMBOL, UNKNOWN, FileTally
from .row_sql import Dialect, Source

STRATUM, PERSON, ANSWER, STUDY = "stratum", "index", "symbol", "study"
ROLES = (STRATUM, PERSON, ANSWER, STUDY)
"""What a column may be: the first three are needed, the last says of which study each row is."""
MAX_COLUMNS = 10_000
TEXT, WHOLE, WIDE = "text", "whole numbers", "wide whole numbers"
"""Kinds of columns: texts, integers of at most 64 bits with a sign, and larger ones."""
ALLOWED = {STRATUM: "text", PERSON: "whole numbers", ANSWER: "whole numbers", STUDY: "text"}
Columns = Mapping[str, str | None]


class Field(NamedTuple):
    """A column of a table, as an engine describes it."""

    name: str
    type: str

    @property
    def kind(self) -> str | None:
        """One of the kinds above, or none of them; DuckDB's names of types and Spark's are understood."""
        name = self.type.lower()
        if name in ("varchar", "string") or name.startswith("enum("):
            return TEXT
        if name in ("tinyint", "smallint", "int", "integer", "bigint", "utinyint", "usmallint", "uinteger"):
            return WHOLE
        return WIDE if re.fullmatch(r"ubigint|u?hugeint|decimal\(\d+,\s*0\)", name) else None


def check_width(names: Sized) -> None:
    if len(names) > MAX_COLUMNS:
        raise BadValue(
            f"the table has {len(names):,} columns, more than the {MAX_COLUMNS:,} that are looked at: "
            "select stratum, index and symbol first"
        )


def named(study: Study, columns: Columns | None) -> dict[str, str]:
    """Each role's column. A study of one stratum needs no column for it: ``{"stratum": None}``."""
    given = dict(columns or {})
    unknown = [role for role in given if role not in ROLES]
    if unknown:
        raise BadParameter(f"columns are named for {', '.join(ROLES)}, not for {unknown[0]!r}")
    wanted = {role: given.get(role, role) for role in ROLES if role != STUDY or STUDY in given}
    for role, name in list(wanted.items()):
        if name is None:
            if role != STRATUM or len(study.strata) > 1:
                raise BadParameter(f"reports of this study need a column for the {role}")
            del wanted[role]
        elif not isinstance(name, str):
            raise BadParameter(f"a column's name is a text, not {name!r}")
    return {role: name for role, name in wanted.items() if name is not None}


def check_names(study: Study, names: Sequence[str], columns: Columns | None) -> None:
    """Refuse a table with two columns of a name that is meant; SQL takes capital letters for small ones."""
    times = Counter(name.lower() for name in names)
    for name in named(study, columns).values():
        if times[name.lower()] > 1 and name in names:
            raise BadValue(f"the table has {times[name.lower()]} columns called {name!r}")


def choose(study: Study, fields: Sequence[Field], columns: Columns | None) -> dict[str, Field]:
    """The fields that are meant, by role; an error unless all are there, once and of a kind that can be."""
    names = [field.name for field in fields]
    check_width(names)
    check_names(study, names, columns)
    chosen = {}
    for role, name in named(study, columns).items():
        exact = [field for field in fields if field.name == name]
        if not exact:
            listed = ", ".join(repr(field.name) for field in fields[:8]) or "none"
            more = ", ..." if len(fields) > 8 else ""
            raise BadValue(f"the table has no column {name!r} for the {role}; its columns are {listed}{more}")
        kinds = (TEXT,) if ALLOWED[role] == "text" else (WHOLE, WIDE)
        if exact[0].kind not in kinds:
            raise BadValue(
                f"column {name!r} holds {exact[0].type.lower()[:80]}, "
                f"but the {role} is told by {ALLOWED[role]}"
            )
        chosen[role] = exact[0]
    return chosen


def source(study: Study, chosen: Mapping[str, Field], table: str, dialect: Dialect) -> Source:
    """The rows of ``table`` as the texts of `grouping` and `packing` want them."""
    quoted = {role: _quoted(field.name, dialect) for role, field in chosen.items()}
    stratum = f"CAST({quoted[STRATUM]} AS {dialect.text})" if STRATUM in chosen else f"'{study.strata[0]}'"
    parts = [
        f"{stratum} AS stratum",
        f"{_whole(quoted[PERSON], chosen[PERSON])} AS index",
        f"{_symbol(study, quoted[ANSWER], chosen[ANSWER])} AS symbol",
    ]
    if STUDY in chosen:
        parts.append(f"coalesce(CAST({quoted[STUDY]} AS {dialect.text}) <> '{study.id}', true) AS elsewhere")
    text = f"(SELECT {', '.join(parts)} FROM {table}) AS named"  # noqa: S608 - quoted names, checked strata
    return Source(text, STUDY in chosen)


def _quoted(name: str, dialect: Dialect) -> str:
    return dialect.quote + name.replace(dialect.quote, 2 * dialect.quote) + dialect.quote


def _whole(name: str, field: Field) -> str:
    return name if field.type.lower() == "bigint" else f"try_cast({name} AS BIGINT)"


def _symbol(study: Study, name: str, field: Field) -> str:
    """A symbol in 64 bits with a sign; one of 64 bits without is stored as its value minus 2^64."""
    if of_symbols(study).symbols <= 2**63 or field.kind == WHOLE:
        return _whole(name, field)
    return (
        f"CASE WHEN {name} < 0 OR {name} >= {2**64} THEN NULL "
        f"WHEN {name} >= {2**63} THEN try_cast({name} - {2**64} AS BIGINT) "
        f"ELSE try_cast({name} AS BIGINT) END"
    )


def check_rows(total: FileTally, keep_going: bool) -> FileTally:
    """What was found, unless it holds rows that are no reports of the study and must not be left out."""
    wrong = {reason: total.reasons[reason] for reason in (UNKNOWN, INDEX, SYMBOL) if total.reasons[reason]}
    if wrong and not keep_going:
        raise BadValue(
            "the table holds rows that are no reports of this study, so nothing was counted: "
            f"{_listed(wrong)}; keep_going (--keep-going) leaves such rows out"
        )
    elsewhere = total.reasons[ELSEWHERE]
    if elsewhere and elsewhere == total.reasons.total():
        raise BadValue(f"none of the table's {elsewhere:,} rows is of this study")
    return total


def _listed(numbers: Mapping[str, int]) -> str:
    counted = Counter(numbers)
    return ", ".join(f"{number:,} {reason}" for reason, number in sorted(counted.items()))
