"""Reports: each participant's first one counts, once, and the same one again changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Connection,
    Select,
    any_,
    bindparam,
    cast,
    func,
    select,
)

from ..errors import BadValue, Closed, Conflict
from ..protocols.sides import of_symbols
from . import schema
from .changes import OnCommit, Reading, Row, Statement
from .database import direct, driven
from .lease import RENEWAL
from .live_study import OPEN, AboutStudy, Column, LiveStudy, Round, stored, two_columns

AGAIN, COUNTED = "again", "counted"
Where = tuple[int, int, int]
"""Round, stratum and index: whose report it is."""
SLICE = 2**15
"""Reports of a batch that are stored in one transaction."""
DENSE = 4
"""A batch that spans at most so many indices for each report is looked up as one stretch."""

# Built once: they are part of every commit.
NAMES = ("round", "stratum", "index", "symbol")
MINE = select(schema.reports.c.index, schema.reports.c.symbol).where(
    schema.reports.c.round == bindparam("serial"), schema.reports.c.stratum == bindparam("group")
)
KNOWN = MINE.where(schema.reports.c.index.in_(bindparam("indices", expanding=True)))
# One short statement however many reports there are, which says whose are new.
INSERT = 'insert into reports (round, stratum, "index", symbol)'
INTO = f"{INSERT} select "
COPY = 'copy reports (round, stratum, "index", symbol) from stdin (format binary)'
NEW = ' on conflict do nothing returning round, stratum, "index"'
ROWS = "unnest({}::bigint[], {}::bigint[], {}::bigint[], {}::bigint[]) as sent"
# With the lease in one statement; a row of nothing says that it holds.
STORE_FENCED = (
    f"with fence as ({RENEWAL} returning 1), new as ({INTO} sent.* from fence, {ROWS} {NEW}) "  # noqa: S608
    'select round, stratum, "index" from new union all select null, null, null from fence'
)
FENCE = (None, None, None)
STORE_LIST = (
    f"{INTO} json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'), "
    f"json_extract(value, '$[3]') from json_each({{}}) where true {NEW}"
)
COPY_HEAD, COPY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
COPY_ROW = np.dtype(
    [("fields", ">i2")]
    + [
        part
        for name, kind in zip(NAMES, (">i4", ">i2", ">i8", ">i8"), strict=True)
        for part in ((f"size of {name}", ">i4"), (name, kind))
    ]
)
"""A row of the table as `copy` takes it, with the kinds of the schema."""
KNOWN_COLUMN = MINE.where(schema.reports.c.index == any_(bindparam("indices", type_=ARRAY(BigInteger))))


@dataclass(frozen=True)
class Sent(AboutStudy):
    """One report that has passed all checks of its own."""

    live: LiveStudy
    round: Round
    stratum: int
    index: int
    symbol: int

    @property
    def where(self) -> Where:
        return self.round.serial, self.stratum, self.index


@dataclass(frozen=True)
class Batch(AboutStudy):
    """Many reports of one stratum, in ascending order of their indices, that have passed all checks."""

    live: LiveStudy
    round: Round
    stratum: int
    indices: Column
    symbols: Column

    @property
    def rows(self) -> int:  # type: ignore[override]
        return int(self.indices.size)

    def slices(self) -> Iterator[Batch]:
        """Parts that each fit into a transaction which nobody minds to wait for."""
        for start in range(0, max(1, self.indices.size), SLICE):
            part = slice(start, start + SLICE)
            yield replace(self, indices=self.indices[part], symbols=self.symbols[part])


def is_open(live: LiveStudy, asked: Round) -> bool:
    """Whether a round takes reports."""
    return live.state == OPEN and live.now is asked


def take(connection: Connection, reports: Sequence[Sent]) -> list[Any]:
    """Store those of open rounds; what was stored before is looked up for those alone that are not new.

    This is for SQLite: `take_at_once` does it for PostgreSQL.
    """
    asked = _asked(reports)
    rows = [(*where, symbol) for where, symbol in asked.items()]
    new = direct(connection, STORE_LIST, [json.dumps(rows)]).fetchall() if rows else []
    return _taken(reports, asked, new, _known(connection, reports, new))


def take_at_once(connection: Connection, renewal: Sequence[int], reports: Sequence[Sent]) -> list[Any] | None:
    """The same in one statement of PostgreSQL's; None if the lease is lost."""
    asked = _asked(reports)
    answer = direct(connection, STORE_FENCED, [*renewal, *_columns(asked)]).fetchall()
    new = _without_fence(answer)
    return None if new is None else _taken(reports, asked, new, _known(connection, reports, new))


def take_new(reports: Sequence[Sent]) -> tuple[list[str], Reading]:
    """The same for those alone that are new: to look the others up takes another statement."""
    asked = _asked(reports)

    def read(count: int, rows: Callable[[], list[Row]]) -> list[Any] | None:
        if count == len(reports) + 1 == len(asked) + 1:  # all are new, and the lease holds
            return _taken(reports, asked, list(asked), {})
        new = _without_fence(rows())
        if new is None:
            return None
        first = {report.where: place for place, report in reversed(list(enumerate(reports)))}
        places = sorted(first[where] for where in new)
        outcomes: list[Any] = [None] * len(reports)
        for place, outcome in zip(
            places, _taken([reports[place] for place in places], asked, new, {}), strict=True
        ):
            outcomes[place] = outcome
        return outcomes

    return _columns(asked), read


def _asked(reports: Sequence[Sent]) -> dict[Where, int]:
    asked: dict[Where, int] = {}
    for report in reports:
        if is_open(report.live, report.round):
            asked.setdefault(report.where, stored(report.symbol))
    return asked


def _columns(asked: Mapping[Where, int]) -> list[str]:
    """Arrays as PostgreSQL reads them: the driver takes a sixth of a commit's time to write lists so."""
    rows = [(*where, symbol) for where, symbol in asked.items()]
    return [f"{{{','.join([str(row[place]) for row in rows])}}}" for place in range(len(NAMES))]


def _without_fence(answer: Sequence[Row]) -> list[Where] | None:
    """Whose reports are new, if the lease holds."""
    new = [row for row in answer if row != FENCE]
    return new if len(new) < len(answer) else None  # type: ignore[return-value]


def _taken(
    reports: Sequence[Sent], asked: Mapping[Where, int], stored_now: Sequence[Where], known: dict[Where, int]
) -> list[Any]:
    """What came of each report, if these were new and those were known before."""
    rows = [(*where, asked[where]) for where in stored_now]
    new = set(stored_now)
    outcomes: list[Any] = []
    for report in reports:
        if report.where in new:
            new.remove(report.where)
            known[report.where] = asked[report.where]
            outcomes.append(OnCommit(COUNTED, _nothing))
        elif report.where in known:
            same = known[report.where] == stored(report.symbol)
            outcomes.append(
                AGAIN if same else Conflict("another report of this participant was counted before")
            )
        else:
            outcomes.append(Closed("this round takes no more reports"))
    if rows:
        # All that was stored is counted at once, after the last.
        place = max(place for place, outcome in enumerate(outcomes) if isinstance(outcome, OnCommit))
        outcomes[place] = OnCommit(
            COUNTED, _count({report.round.serial: report.round for report in reports}, rows)
        )
    return outcomes


def _known(connection: Connection, reports: Sequence[Sent], stored_now: Sequence[Where]) -> dict[Where, int]:
    """The symbols of those that are not new."""
    symbols: dict[Where, int] = {}
    new = set(stored_now)
    reports = [report for report in reports if report.where not in new]
    wanted = KNOWN if connection.dialect.name == "sqlite" else KNOWN_COLUMN
    for serial, stratum in {(each.round.serial, each.stratum) for each in reports}:
        indices = [each.index for each in reports if (each.round.serial, each.stratum) == (serial, stratum)]
        asked = {"serial": serial, "group": stratum, "indices": indices}
        for index, symbol in connection.execute(wanted, asked):
            symbols[serial, stratum, index] = symbol
    return symbols


def _nothing() -> None:
    pass


def _count(rounds: dict[int, Round], rows: Sequence[tuple[int, int, int, int]]) -> Callable[[], None]:
    columns: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    for serial, stratum, index, symbol in rows:
        indices, symbols = columns.setdefault((serial, stratum), ([], []))
        indices.append(index)
        symbols.append(symbol)

    def then() -> None:
        for (serial, stratum), mine in columns.items():
            rounds[serial].count(stratum, *np.array(mine, dtype=np.int64))

    return then


AT_ONCE = Statement(take, STORE_FENCED, take_new)


def take_batches(connection: Connection, batches: Sequence[Batch]) -> list[Any]:
    """Store batches: a count of what is new, was there before, and was there otherwise."""
    return [_take_batch(connection, each) for each in batches]


def _take_batch(connection: Connection, batch: Batch) -> Any:
    outcome = {COUNTED: 0, AGAIN: 0, "different": 0}
    if batch.indices.size == 0:
        return outcome
    there, before = two_columns(connection, _stored(connection, batch))
    known, place, of_batch = np.intersect1d(there, batch.indices, assume_unique=True, return_indices=True)
    same = int((before[place] == batch.symbols[of_batch]).sum())
    outcome[AGAIN], outcome["different"] = same, known.size - same
    fresh = np.ones(batch.indices.size, dtype=bool)
    fresh[of_batch] = False
    indices, symbols = batch.indices[fresh], batch.symbols[fresh]
    if indices.size == 0:
        return outcome
    if not is_open(batch.live, batch.round):
        raise Closed("this round takes no more reports")
    _insert(connection, batch.round.serial, batch.stratum, indices, symbols)
    outcome[COUNTED] = indices.size
    return OnCommit(outcome, lambda: batch.round.count(batch.stratum, indices, symbols))


def _stored(connection: Connection, batch: Batch) -> Select[Any]:
    """What is stored of a batch's participants: as much work as the batch has rows, wherever they lie."""
    table = schema.reports.c
    mine = (table.round == batch.round.serial, table.stratum == batch.stratum)
    first, last = int(batch.indices[0]), int(batch.indices[-1])
    if last - first < DENSE * batch.indices.size:
        return select(table.index, table.symbol).where(*mine, table.index.between(first, last))
    asked = batch.indices.tolist()
    if connection.dialect.name == "sqlite":
        listed = select(func.json_each(json.dumps(asked)).table_valued("value").c.value)
    else:
        listed = select(func.unnest(cast(bindparam("asked", asked), ARRAY(BigInteger))).column_valued())
    return select(table.index, table.symbol).where(*mine, table.index.in_(listed))


def _insert(connection: Connection, serial: int, stratum: int, indices: Column, symbols: Column) -> None:
    """Insert many rows the way the driver is fastest."""
    cursor = connection.connection.cursor()
    if connection.dialect.name == "sqlite":
        statement = f"{INSERT} values ({serial}, {stratum}, ?, ?)"
        rows = list(zip(indices.tolist(), symbols.tolist(), strict=True))
        with driven(connection, statement):
            cursor.executemany(statement, rows)
    else:
        with driven(connection, COPY), cursor.copy(COPY) as copy:
            copy.write(COPY_HEAD + _copied(serial, stratum, indices, symbols) + COPY_END)


def _copied(serial: int, stratum: int, indices: Column, symbols: Column) -> bytes:
    """Rows in PostgreSQL's binary form: the number of fields, then each field's size and value."""
    rows = np.empty(indices.size, dtype=COPY_ROW)
    rows["fields"] = len(NAMES)
    for name, column in zip(NAMES, (serial, stratum, indices, symbols), strict=True):
        rows[name] = column
        rows[f"size of {name}"] = rows.dtype[name].itemsize
    return rows.tobytes()


def checked_batch(live: LiveStudy, asked: Round, stratum: int, indices: Column, symbols: Column) -> Batch:
    """A batch in order, or one sentence about the first row that cannot be."""
    study, name = asked.study, live.strata[stratum]
    order = np.argsort(indices, kind="stable")
    indices, symbols = indices[order], symbols[order]
    last = of_symbols(study).symbols - 1
    bad = np.flatnonzero((symbols < 0) | (symbols > last))
    if bad.size:
        row = int(order[bad[0]])
        raise BadValue(f"row {row} has symbol {int(symbols[bad[0]])}; symbols of this study are 0 to {last}")
    twice = np.flatnonzero(indices[1:] == indices[:-1])
    if twice.size:
        raise BadValue(f"participant {int(indices[twice[0]])} of {name!r} appears twice in this batch")
    others = np.flatnonzero(~study.asks_all(name, indices))
    if others.size:
        row, index = int(order[others[0]]), int(indices[others[0]])
        raise BadValue(f"row {row} belongs to participant {index} of {name!r}, who is asked in another round")
    return Batch(live, asked, stratum, indices, symbols.view(np.int64))
