"""Tables of other writers: plain Parquet files, a Delta table's folder, an Iceberg table's metadata file.

A Delta folder also holds files of rows that were deleted since, and an Iceberg table is what its metadata
say: both are read through their own libraries, never file by file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from ..errors import BadFile, BadParameter, InvalidInput
from ..study import Study
from . import places
from .duckdb_queries import connected
from .duckdb_tables import check_metadata
from .files import check_ends
from .pages import batches
from .places import first_sentence
from .tables import STRATUM, TEXT, WHOLE, Columns, check_width, named
from .tables import STUDY as OF

DELTA, ICEBERG = "_delta_log", ".metadata.json"


@contextmanager
def table(study: Study, names: Sequence[str], columns: Columns, cells: bool) -> Iterator[Any]:
    """What `tally_with_duckdb` counts of these names: one lake's table, or Parquet files together."""
    kinds = [kind(name) for name in names]
    if any(kinds) and len(names) > 1:
        raise BadParameter("a Delta or Iceberg table is counted on its own, not with other files")
    if kinds[0] == "delta":
        yield _delta(names[0])
    elif kinds[0] == "iceberg":
        yield _iceberg(names[0], tuple(named(study, columns).values()))
    else:
        paths = files(study, names, columns, cells)
        if all(map(places.literal, paths)):
            with connected() as connection:
                yield connection.read_parquet(paths, hive_partitioning=False)
            return
        if len({places.place(path)[2:] for path in paths}) > 1:
            raise BadParameter("keep all tables of one run in one place: one folder, or one store")
        import pyarrow.dataset as ds  # imports pandas: only where it is needed

        here = [places.place(path) for path in paths]
        form = ds.ParquetFileFormat(dictionary_columns=_texts(named(study, columns)))
        yield ds.dataset([file.path for file in here], filesystem=here[0].filesystem, format=form)


def kind(name: str) -> str | None:
    """Whether a name is that of a Delta or of an Iceberg table."""
    places.place(name)  # an error if it is no name of ours
    if name.endswith(ICEBERG):
        return "iceberg"
    return "delta" if places.exists(places.join(name, DELTA)) else None


def files(study: Study, names: Sequence[str], columns: Columns, cells: bool) -> list[str]:
    """The Parquet files of these names; an error if one is none, differs, or says it is another study's."""
    paths = list(dict.fromkeys(path for name in names for path in places.find(name)))
    for name in names:
        _check_no_lake(name, paths)
    meant = named(study, columns)
    first: dict[str, str] = {}
    for path in paths:
        try:
            with places.opened(path) as file:
                check_ends(path, file)
            with places.parquet(path) as parquet:
                schema = parquet.schema_arrow
            check_width(schema.names)
            check_metadata(study, schema, cells)
            kinds = {name: _kind(schema, name) for name in meant.values()}
            spelt = [name for name in _texts(meant) if kinds[name] == TEXT]
            for _ in batches(path, spelt, spelt) if spelt else ():
                pass
        except InvalidInput:
            raise
        except (pa.ArrowException, OSError) as error:
            raise BadFile(f"reports {path} cannot be read: {first_sentence(error)}") from None
        for name, held in (first := first or kinds).items():
            # An engine would convert what the first file does not have, and round fractions.
            if kinds[name] != held:
                raise BadFile(
                    f"column {name!r} holds {kinds[name]} in reports {path}, and {held} in {paths[0]}"
                )
    return paths


def _texts(meant: dict[str, str]) -> list[str]:
    """The columns that hold texts, by the names of the roles."""
    return [meant[role] for role in (STRATUM, OF) if role in meant]


def _kind(schema: Any, name: str) -> str:
    """What a column holds: texts, whole numbers, or whatever Arrow calls it."""
    if (times := schema.names.count(name)) != 1:
        return "two columns" if times else "nothing"
    kind = schema.field(name).type
    if isinstance(kind, pa.DictionaryType):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return TEXT
    whole = pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)
    return WHOLE if whole else str(kind)


def _check_no_lake(name: str, paths: Sequence[str]) -> None:
    """Refuse to read a Delta or Iceberg table file by file: deleted rows would count."""
    for path in places.beside(name):
        mark = re.search(rf"/{DELTA}/|/metadata/[^/]*{re.escape(ICEBERG)}$", path)
        if mark and any(file.startswith(f"{path[: mark.start()]}/") for file in paths):
            how = "folder alone" if DELTA in mark[0] else "newest metadata file"
            raise BadParameter(
                f"{path[: mark.start()]} is a table that may still have files of deleted rows: name its {how}"
            )


def _delta(name: str) -> Any:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        raise BadParameter("a Delta table is read with deltalake: pip install 'dpairs[delta]'") from None
    try:
        return DeltaTable(name).to_pyarrow_dataset()
    except (DeltaError, pa.ArrowException, OSError, ValueError) as error:
        raise BadFile(f"the Delta table {name} cannot be read: {first_sentence(error)}") from None


def _iceberg(name: str, wanted: tuple[str, ...]) -> Any:
    try:
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.exceptions import ValidationError
        from pyiceberg.io.pyarrow import PyArrowFileIO
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import Table
    except ImportError:
        raise BadParameter("an Iceberg table is read with pyiceberg: pip install 'dpairs[iceberg]'") from None
    # Not `StaticTable`: it lets the metadata's properties say which Python code and which server to use.
    files = PyArrowFileIO()
    try:
        metadata = FromInputFile.table_metadata(files.new_input(name))
        table = Table(("read", name), metadata, name, files, NoopCatalog("read"))
        scan = table.scan()
        there = {field.name for field in scan.projection().fields}
        return scan.select(*(column for column in wanted if column in there)).to_arrow_batch_reader()
    except ValidationError:
        raise BadFile(f"{name} holds no metadata of an Iceberg table") from None
    except Exception as error:  # pyiceberg's readers of metadata and manifests raise errors of many types
        raise BadFile(f"the Iceberg table {name} cannot be read: {first_sentence(error)}") from None
