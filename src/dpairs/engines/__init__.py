"""Tallies at scale: report files and tables, counted by DuckDB here or by Spark on a cluster.

    places         where files are: folders, object stores, HDFS
    files          what a report file is; writing and looking into one
    pages          reading what files hold, whatever they say of it
    tables         what a table of reports is that says nothing about itself
    lakes          plain Parquet, Delta and Iceberg tables
    postgresql     a collector's reports, where they lie
    inspecting     one pass over a file: who is there in what order, and whether its cells are right
    deduplication  which files are counted in which way
    grouping       the SQL text for files of cells, and what its answer means
    packing        the same for files of symbols
    on_duckdb      the texts run here: on files, and (duckdb_tables) on tables
    on_spark       the texts run on a cluster, which `cluster` prepares
    simulated      a simulated population's reports, as files

They need the extras ``duckdb`` and ``spark``. Both give the same tally and the same counts by reason.
"""

from __future__ import annotations

try:
    import pyarrow  # noqa: F401 - to say what is missing before anything below asks for it
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "files and tables of reports need pyarrow: pip install 'dpairs[duckdb]'", name="pyarrow"
    ) from None

from .file_tally import FileTally
from .files import Opened, ReportWriter, open_files
from .on_duckdb import tally_with_duckdb
from .simulated import simulate_reports

__all__ = ["FileTally", "Opened", "ReportWriter", "open_files", "simulate_reports", "tally_with_duckdb"]
