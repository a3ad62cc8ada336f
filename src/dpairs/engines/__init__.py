"""Tallies at scale: report files in Parquet, counted by DuckDB here or by Spark on a cluster.

    files       what a report file is; writing and looking into one
    packing     the one SQL text, and what its answer means
    on_duckdb   the text run here
    on_spark    the text run on a cluster
    simulated   a simulated population's reports, as files

The engines need the extra ``scale``. Both give the same tally and the same counts by reason.
"""

from __future__ import annotations

from .files import Opened, ReportWriter, open_files
from .on_duckdb import tally_with_duckdb
from .packing import Counted
from .simulated import simulate_reports

__all__ = ["Counted", "Opened", "ReportWriter", "open_files", "simulate_reports", "tally_with_duckdb"]
