"""`dpairs report`: one person's answer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..data.domains import Domain
from ..errors import BadFile, BadParameter, BadValue
from ..formats.canonical import canonical
from ..participant import Participant
from ..privacy.ledger import Ledger
from ..protocols.sides import of_symbols, shared
from ..study import Study
from .show import output
from .study import as_number


def report(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file.")],
    index: Annotated[int, typer.Option(help="This participant's number in the study.")],
    stratum: Annotated[
        str | None, typer.Option(help="This participant's public class, if the study has classes.")
    ] = None,
    score: Annotated[str | None, typer.Option(help="The private score.")] = None,
    label: Annotated[str | None, typer.Option(help="The private label (0 or 1).")] = None,
    x: Annotated[str | None, typer.Option("--x", help="The private x.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="The private y.")] = None,
    value: Annotated[str | None, typer.Option(help="The private value.")] = None,
    first: Annotated[
        Path | None,
        typer.Option(help="For a second round: the study file of the first, as agreed to."),
    ] = None,
    max_epsilon: Annotated[float | None, typer.Option(help="Refuse studies with a larger epsilon.")] = None,
    max_delta: Annotated[float, typer.Option(help="Refuse studies with a larger delta.")] = 0.0,
    ledger: Annotated[
        Path | None,
        typer.Option(help="This person's ledger: refuse a study above its limit, and record the answer."),
    ] = None,
    append: Annotated[Path | None, typer.Option(help="Add the report to this file, one JSON line.")] = None,
    shares: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Two servers: add each server's share to its own file in this folder."
        ),
    ] = None,
    wire: Annotated[bool, typer.Option(help="Print the wire form in hexadecimal instead of JSON.")] = False,
) -> None:
    """Randomize one person's values on this device; print the report.

    Nothing else leaves.

    If you leave a value out, the command asks for it without showing it, which also keeps it out of the
    shell's history.
    """
    study = Study.load(study_file, first=None if first is None else Study.load(first))
    if study.protocol.round > 1 and study.first is None:
        raise BadParameter("this is a second round: give the first, as agreed to, with --first FILE")
    if shares is not None:
        shared(study)
    if append is not None:
        of_symbols(study)
    me = Participant(study, index, stratum, max_epsilon=max_epsilon, max_delta=max_delta)
    if ledger is not None:
        Ledger.load(ledger).check(study)
    values = private_values(study, {"score": score, "label": label, "x": x, "y": y, "value": value})
    answer = me.report(**values)
    if ledger is not None:
        # Before anything leaves: a report that is lost then costs the person nothing but the entry.
        Ledger.record(ledger, study)
    for number, message in enumerate(answer.messages):
        # A file for each server: anybody who gets both shares learns the value.
        file = append if shares is None else shares / f"server-{number}.jsonl"
        line = bytes(message).hex() if wire else canonical(message.to_json())
        if file is None:
            print(line)
        else:
            _add(line, file, new_folder=shares is not None)
    if append is not None:
        output.print(f"report {index} added to {append}", highlight=False)


def _add(line: str, file: Path, new_folder: bool) -> None:
    try:
        if new_folder:
            file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as lines:
            lines.write(line + "\n")
    except OSError as error:
        raise BadFile(f"the report cannot be added to {file}: {error.strerror or error}") from None


def private_values(study: Study, given: dict[str, str | None]) -> dict[str, Any]:
    """A person's values by column, from options or asked for without being shown."""
    wanted = study.statistic.private_columns
    extra = sorted(name for name, text in given.items() if text is not None and name not in wanted)
    if extra:
        raise BadValue(f"a report of this study needs {' and '.join(wanted)}, not {' and '.join(extra)}")
    domains = dict(zip(study.statistic.domain_columns, study.domains, strict=True))
    return {name: _value(name, given.get(name), domains.get(name)) for name in wanted}


def _value(name: str, text: str | None, domain: Domain | None) -> Any:
    if text is None:
        if not sys.stdin.isatty():
            raise BadValue(f"{name} is missing: give --{name}")
        text = str(typer.prompt(name, hide_input=True))
    number = as_number(text)
    return text if number is None or (domain is not None and not domain.numeric) else number
