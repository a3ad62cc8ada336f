"""A round's reports as a report file, for tallies elsewhere."""

from __future__ import annotations

import os

from sqlalchemy import Connection

from ..engines.files import ROW_GROUP, ReportWriter
from .live_study import Round, committed


def write_reports(
    connection: Connection, asked: Round, path: str | os.PathLike[str], cells: bool = False
) -> None:
    """Write what was committed, by stratum and index, a row group at a time; as symbols, or as cells."""
    with ReportWriter(path, asked.study, cells=cells) as writer:
        for stratum, indices, symbols in committed(connection, asked, ROW_GROUP):
            writer.write(asked.study.strata[stratum], indices, symbols)
