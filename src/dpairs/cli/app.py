"""The verbs, and how a run ends."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from typing import Any

import typer
from rich.text import Text

from .. import __version__
from ..errors import DpairsError
from ..formats.display import printable
from . import (
    backup,
    demo,
    doctor,
    estimate,
    join,
    ledger,
    pair,
    plan,
    report,
    serve,
    server,
    server_task,
    simulate,
    site,
    study,
    tally,
)
from .help import readable
from .show import errors

app = typer.Typer(
    name="dpairs",
    help="Pairwise statistics (AUC, Kendall's tau, Gini, ...) of people who keep their data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
study.app.command("pairs")(pair.list_pairs)
app.add_typer(study.app, name="study")
app.add_typer(ledger.app, name="ledger")
server.app.command("task")(server_task.task)
server.app.command("keys")(server_task.keys)
server.app.command("page")(server_task.page)
app.add_typer(server.app, name="server")
app.command("plan")(plan.plan)
app.command("simulate")(simulate.simulate)
app.command("report")(report.report)
app.command("pair")(pair.pair)
app.command("decode")(pair.decode)
app.command("tally")(tally.tally)
app.command("estimate")(estimate.estimate)
app.command("join")(join.join)
app.command("site")(site.site)
app.command("serve")(serve.serve)
app.command("collect")(server_task.collect)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"dpairs {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Pairwise statistics (AUC, Kendall's tau, Gini, ...) of people who keep their data."""


def with_flags(words: str) -> str:
    """A message with the command line's flags in place of Python's keywords.

    >>> with_flags("give bins=... or protocol='tree'")
    'give --bins ... or --protocol tree'
    """
    return re.sub(r"(?<![\w{'-])([a-z][a-z_]*)=(\.\.\.|'[^']*'|[\w.]+)", _flag, words)


def _flag(match: re.Match[str]) -> str:
    name, value = match[1].replace("_", "-"), match[2].strip("'")
    return f"--{FLAGS[name]} {value}" if name in FLAGS else match[0]


FLAGS = {
    name: name
    for name in (
        "answer",
        "bins",
        "bits",
        "columns",
        "delta",
        "domain",
        "epsilon",
        "kernel",
        "labels",
        "matching",
        "max-delta",
        "max-epsilon",
        "mechanism",
        "n",
        "noise",
        "pairs",
        "peers",
        "pilot",
        "pilot-fraction",
        "positive",
        "protocol",
        "release",
        "rounding",
        "rounds",
        "rows",
        "seed",
        "split",
        "splitting",
        "ties",
        "trust",
        "variant",
    )
} | {"columns": "column"}
"""Keywords of the library that the command line has as flags."""


def without_passwords(words: str) -> str:
    """A message without the passwords of addresses in it: standard error ends up in logs.

    >>> without_passwords("no study at postgresql://me:secret@host/x")
    'no study at postgresql://me:...@host/x'
    """
    hidden = re.sub(r"(:/+[^\s/:@]*):\S*@", r"\1:...@", words)
    return re.sub(r"(password=)[^\s&]+", r"\1...", hidden)


@cache
def command() -> Any:
    """All commands, which take longer to make than most take to run."""
    return readable(typer.main.get_command(app))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; wrong usage is 2, like any other wrong input."""
    try:
        command()(arguments, prog_name="dpairs")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except DpairsError as error:
        words = with_flags(without_passwords(printable(str(error))))
        errors.print(Text.assemble(("error: ", "bold red"), words), soft_wrap=True)
        return 2
    except BrokenPipeError:
        # The reader of our output went away: not an error of ours, and nothing is left to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return 0
