"""`dpairs ledger`: what a person has spent over studies, kept in a file of the person's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadFile
from ..formats import files
from ..privacy.ledger import Ledger
from ..study import Study
from .show import output, print_json, print_table

app = typer.Typer(help="Keep a ledger of what this person has spent.", no_args_is_help=True)
File = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@app.command()
def create(
    file: File,
    limit: Annotated[float, typer.Option(help="The largest epsilon of all studies together.")],
    delta: Annotated[
        float,
        typer.Option(
            help="The delta of all studies together: half for studies' deltas, half for a privacy filter."
        ),
    ] = 0.0,
) -> None:
    """Create a ledger; an existing file is left alone."""
    book = Ledger(limit=limit, delta=delta)
    with files.locked(file, "the ledger"):
        if file.exists():
            raise BadFile(f"the file {file} already exists; a ledger never overwrites it")
        book.save(file)
    output.print(f"ledger with a limit of {book.limit:g} written to {file}", highlight=False)


@app.command()
def show(file: File, as_json: AsJson = False) -> None:
    """Say what was spent, and what is left."""
    book = Ledger.load(file)
    if as_json:
        print_json(_described(book))
        return
    rows: list[tuple[str, float, float]] = [
        (name[:16] + "...", each.epsilon, each.delta) for name, each in book.spent.items()
    ]
    if rows:
        print_table(("answer to", "epsilon", "delta"), rows)
    how = f"a privacy filter at delta {book.delta:g}" if book.delta else "their sum"
    output.print(
        f"{len(rows)} answers, {book.total:.4g} of {book.limit:.4g} spent by {how}; a study of up to "
        f"{book.room:.4g} may still be answered",
        highlight=False,
    )


@app.command()
def limit(
    file: File,
    number: Annotated[float, typer.Argument(metavar="LIMIT", help="The new limit.")],
    delta: Annotated[float | None, typer.Option(help="The new delta; unchanged if not given.")] = None,
) -> None:
    """Change the limit.

    A limit below what is spent refuses every further study. A higher limit allows all answers together, past
    and future, to reveal that much more.
    """
    with files.locked(file, "the ledger"):
        old = Ledger.load(file)
        book = Ledger(number, old.delta if delta is None else delta, old.spent)
        book.save(file)
    output.print(f"the limit is {book.limit:g} now; {book.total:.4g} is spent", highlight=False)


@app.command()
def spend(file: File, study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file.")]) -> None:
    """Record a study that was answered elsewhere, as in a browser."""
    book = Ledger.record(file, Study.load(study))
    output.print(f"{book.total:.4g} of {book.limit:.4g} is spent now", highlight=False)


def _described(book: Ledger) -> dict[str, Any]:
    return {
        "limit": book.limit,
        "delta": book.delta,
        "total": book.total,
        "total_delta": book.total_delta,
        "room": book.room,
        "studies": {
            name: {"epsilon": each.epsilon, "delta": each.delta} for name, each in book.spent.items()
        },
    }
