"""Tables counted by DuckDB: its own relations, and whatever hands its rows on as Arrow does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sized
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import BadParameter, BadValue, WrongStudy
from ..randomness import SystemRandomness
from ..study import Study
from . import grouping, packing
from .cpu import cores
from .deduplication import coded
from .duckdb_queries import BELIEVING, connected, imported
from .file_tally import FileTally
from .files import CELLS, STUDY, SYMBOLS
from .inspecting import SAMPLE, Comparison
from .pages import BATCH
from .places import first_sentence
from .row_sql import DUCKDB, Source
from .tables import Columns, Field, check_names, check_rows, check_width, choose, named, source

TABLE = "dpairs_table"


def is_table(data: Any) -> bool:
    """Whether these are rows, not names of files."""
    import pyarrow.dataset as ds  # imports pandas: only where it is needed

    arrow = (pa.Table, pa.RecordBatch, ds.Dataset, ds.Scanner)
    return isinstance(data, (*arrow, Mapping)) or hasattr(data, "__arrow_c_stream__")


def tally_table(
    study: Study, data: Any, columns: Columns | None, *, cells: bool, keep_going: bool, recompute: bool
) -> FileTally:
    """The tally of one table: DuckDB's relation, Arrow's table, reader or dataset, or a data frame."""
    duckdb = imported()
    if cells and not coded(study):
        grouping.cell_codes(study)
    try:
        with ExitStack() as stack:
            compared: Comparison | None = None
            if isinstance(data, duckdb.DuckDBPyRelation):
                relation = stack.enter_context(_disbelieving(data))
            else:
                connection = stack.enter_context(connected())
                rows = _arrow(data)
                check_width(rows.schema.names)
                # Here, because DuckDB gives another name to a column whose name is there twice.
                check_names(study, rows.schema.names, columns)
                check_metadata(study, rows.schema, cells)
                if isinstance(rows, pa.RecordBatchReader):
                    # It can be read once: its cells are compared in passing.
                    compared = Comparison(study, recompute) if cells and not coded(study) else None
                    rows = _passing(study, rows, columns, compared)
                connection.register(TABLE, rows)
                relation = connection.table(TABLE)
            total = _counted(study, relation, columns, cells, recompute, compared)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise BadValue(f"the table cannot be read: {_cause(error)}") from None
    return check_rows(total, keep_going)


@contextmanager
def _disbelieving(relation: Any) -> Iterator[Any]:
    """A user's relation, whose files are not believed about their smallest and largest values either.

    It is read by the user's own connection, which gets its setting back.
    """
    name = "disabled_optimizers"
    ((before,),) = relation.query(TABLE, f"SELECT current_setting('{name}')").fetchall()

    def told(optimizers: str) -> None:
        relation.query(TABLE, f"SET {name} = '{optimizers}'")

    told(",".join(filter(None, (before, BELIEVING))))
    try:
        yield relation
    finally:
        told(before)


def _cause(error: Exception) -> str:
    """What went wrong, without the frames that DuckDB and Arrow put around it."""
    said = first_sentence(error)
    inner = re.sub(r"^[A-Z][A-Za-z ]* Error: (?:reading the stream registered as '\w+' failed: )?", "", said)
    return re.sub(r"\.+ Detail: .*", "", inner)


def _counted(
    study: Study,
    relation: Any,
    columns: Columns | None,
    cells: bool,
    recompute: bool,
    compared: Comparison | None,
) -> FileTally:
    fields = [Field(name, str(kind)) for name, kind in zip(relation.columns, relation.types, strict=True)]
    rows = source(study, choose(study, fields, columns), TABLE, DUCKDB)
    if not cells or coded(study):
        text = f"{packing.sql(study, rows, DUCKDB)}\nORDER BY place, block"
        return packing.count(study, _read(relation, text), threads=cores())
    if compared is None:
        _compare(study, relation, rows, recompute)
    total = grouping.count(study, _read(relation, grouping.sql(study, rows, straight=False)))
    if compared is not None:
        _right(compared)
    return total


def _read(relation: Any, text: str) -> Any:
    return pa.RecordBatchReader.from_stream(relation.query(TABLE, text))


def _compare(study: Study, relation: Any, rows: Source, recompute: bool) -> None:
    """Compare a sample of the cells with the coins, or all of them."""
    (seed,) = SystemRandomness().words(1).tolist()
    wanted = f"SELECT stratum, index, symbol FROM {rows.text}"  # noqa: S608 - our own text
    wanted += " WHERE NOT elsewhere" if rows.foreign else ""
    if not recompute:
        # Nobody can know the seed before, so nobody can write the wrong cells elsewhere. It stands inside:
        # hash(index, seed) is a number for the index XOR one for the seed, and keeps neighbours together.
        wanted += f" ORDER BY hash(xor(index, {seed >> 1})) LIMIT {SAMPLE}"
    compared = Comparison(study, recompute)
    for batch in _read(relation, wanted):
        compared.add(batch)
    _right(compared)


def _right(compared: Comparison) -> None:
    if compared.wrong:
        raise BadValue(f"the table holds {compared.sentence}")


def _arrow(data: Any) -> Any:
    """A table or dataset, which can be read again, or else a reader."""
    import pyarrow.dataset as ds  # imports pandas: only where it is needed

    if isinstance(data, (pa.Table, ds.Dataset, pa.RecordBatchReader)):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, ds.Scanner):
        return data.to_reader()
    columns = data if isinstance(data, Mapping) else getattr(data, "columns", None)
    if isinstance(columns, Sized):
        # Before anything is converted, which takes its time for each column.
        check_width(columns)
    try:
        if isinstance(data, Mapping):
            return pa.table({name: _column(column) for name, column in data.items()})
        return pa.RecordBatchReader.from_stream(data)
    except Exception as error:  # whoever exports Arrow's columns raises errors of any type
        raise BadValue(f"the table cannot be read as Arrow's: {first_sentence(error)}") from None


def _column(values: Any) -> Any:
    return pa.array(values if np.ma.isMaskedArray(values) else np.asarray(values))


def check_metadata(study: Study, schema: Any, cells: bool) -> None:
    """A table that says of which study it is, and in which form, is believed."""
    said = (schema.metadata or {}).get(STUDY)
    if said is not None and said != study.id.encode():
        of = said.decode(errors="replace")[:16]
        raise WrongStudy(f"the table's reports belong to study {of}..., not to {study.id[:16]}...")
    form = (schema.metadata or {}).get(SYMBOLS)
    if form == CELLS and not cells:
        raise BadParameter("the table holds cells, as its metadata say: count it with cells=True (--cells)")


def _passing(study: Study, rows: Any, columns: Columns | None, compared: Comparison | None) -> Any:
    """A reader's wanted columns, batch by batch; cells are compared as they come."""
    roles = named(study, columns)
    wanted = [name for name in rows.schema.names if name in roles.values()]
    if len(wanted) < len(set(roles.values())):
        return rows  # `choose` says what is wrong
    schema = pa.schema([rows.schema.field(name) for name in wanted])

    def batches() -> Iterator[Any]:
        for batch in rows:
            part = batch.select(wanted)
            if compared is not None:
                for start in range(0, part.num_rows, BATCH):
                    compared.add(_ours(study, part.slice(start, BATCH), roles))
            yield part

    return pa.RecordBatchReader.from_batches(schema, batches())


def _ours(study: Study, batch: Any, roles: Mapping[str, str]) -> Any:
    """The rows of this study with the columns of a report file."""
    if "study" in roles:
        batch = batch.filter(pc.equal(batch.column(roles["study"]).cast(pa.string()), study.id))
    strata = (
        batch.column(roles["stratum"]).cast(pa.string())
        if "stratum" in roles
        else pa.array([study.strata[0]] * batch.num_rows, pa.string())
    )
    numbers = (_narrow(batch.column(roles[role])) for role in ("index", "symbol"))
    return pa.record_batch([strata, *numbers], names=["stratum", "index", "symbol"])


def _narrow(column: Any) -> Any:
    """Numbers in 64 bits; what needs more is missing, as for SQL's try_cast."""
    if pa.types.is_decimal(column.type):
        column = pc.if_else(pc.less(pc.abs(column), pa.scalar(2**63, pa.decimal128(19, 0))), column, None)
    return column.cast(pa.int64(), safe=False)
