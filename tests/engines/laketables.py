"""Tables as Delta and Iceberg keep them, made by their own libraries."""

from pathlib import Path

import pyarrow as pa
import pytest


def delta(folder: Path, *parts: pa.Table) -> str:
    """The folder of a Delta table of these rows, written one part after another."""
    deltalake = pytest.importorskip(
        "deltalake", reason="deltalake is not installed: the extra 'delta' has it."
    )
    for part in parts:
        deltalake.write_deltalake(str(folder / "delta"), part, mode="append")
    return str(folder / "delta")


def iceberg(folder: Path, table: pa.Table) -> str:
    """The newest metadata file of an Iceberg table of these rows."""
    catalogs = pytest.importorskip(
        "pyiceberg.catalog.sql", reason="pyiceberg is not installed: the extra 'iceberg' has it."
    )
    address = f"sqlite:///{folder}/catalog.db"
    catalog = catalogs.SqlCatalog("mine", uri=address, warehouse=(folder / "iceberg").as_uri())
    catalog.create_namespace("warehouse")
    made = catalog.create_table("warehouse.reports", schema=table.schema)
    made.append(table)
    catalog.close()
    return str(made.metadata_location)
