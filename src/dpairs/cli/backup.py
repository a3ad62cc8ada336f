"""`dpairs backup` and `dpairs restore`: a collector's studies in one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .extras import need
from .show import output, print_json

DATABASE = typer.Option(help="The collector's database.", envvar="DPAIRS_DATABASE")
JSON = typer.Option("--json", help="Print how many rows each table has, as JSON.")
DEFAULT = "sqlite:///dpairs.sqlite"


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist yet.")],
    database: Annotated[str, DATABASE] = DEFAULT,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Copy a collector into a file, even while it runs. The file holds the key of everybody's secrets."""
    need("a collector", "service", "dpairs.collector")
    from ..collector.backup import back_up

    _say(back_up(database, file), f"backed up to {file}", as_json)


def restore(
    file: Annotated[Path, typer.Argument(help="A backup.")],
    database: Annotated[str, DATABASE] = DEFAULT,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Fill an empty database from a backup. All earlier secrets of participants become invalid."""
    need("a collector", "service", "dpairs.collector")
    from ..collector.backup import restore as bring_back

    _say(bring_back(file, database), f"restored from {file}", as_json)


def _say(rows: dict[str, int], what: str, as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        said = f"{what}: {rows['studies']} studies, {rows['reports']} reports"
        output.print(said, highlight=False, soft_wrap=True)
