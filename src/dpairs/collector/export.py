"""A round's reports as a report file, for tallies elsewhere."""

from __future__ import annotations

import os

from sqlalchemy import Connection, select

from ..engines.files import ReportWriter
from . import schema
from .running import Round, two_columns

SLICE = 2**20


def write_reports(connection: Connection, asked: Round, path: str | os.PathLike[str]) -> None:
    """Write what was committed, by stratum and index, in slices."""
    table = schema.reports.c
    with ReportWriter(path, asked.study) as writer:
        for place, stratum in enumerate(asked.study.strata):
            after = -1
            while True:
                wanted = (
                    select(table.index, table.symbol)
                    .where(table.round == asked.serial, table.stratum == place, table.index > after)
                    .order_by(table.index)
                    .limit(SLICE)
                )
                indices, symbols = two_columns(connection, wanted)
                if indices.size == 0:
                    break
                writer.write(stratum, indices, symbols)
                after = int(indices[-1])
