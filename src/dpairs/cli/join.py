"""`dpairs join`: take part in a collector's study."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from ..errors import BadParameter
from .report import private_values
from .show import output, print_json, print_table


def join(
    link: Annotated[str, typer.Argument(help="The link to the study: https://HOST/take-part/STUDY.")],
    stratum: Annotated[
        str | None, typer.Option(help="This participant's public class, where there are classes.")
    ] = None,
    code: Annotated[str | None, typer.Option(help="The code of an invitation.")] = None,
    score: Annotated[str | None, typer.Option(help="The private score.")] = None,
    label: Annotated[str | None, typer.Option(help="The private label (0 or 1).")] = None,
    x: Annotated[str | None, typer.Option("--x", help="The private x.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="The private y.")] = None,
    value: Annotated[str | None, typer.Option(help="The private value.")] = None,
    max_epsilon: Annotated[float | None, typer.Option(help="Refuse a study that loses more.")] = None,
    limit: Annotated[
        float | None, typer.Option(help="This person's limit over all studies, kept in the ledger.")
    ] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for a partner.", min=0)] = 0.0,
    patience: Annotated[
        float, typer.Option(help="Seconds to try while the collector cannot be reached.", min=0)
    ] = 60.0,
    home: Annotated[
        Path | None, typer.Option(help="This person's folder; by default ~/.dpairs.", envvar="DPAIRS_HOME")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what happened as JSON.")] = False,
) -> None:
    """Take part in a study: enrol, randomize on this device, send one report, or compute with a partner.

    Run it again with the same folder to go on: after a crash, in the next round, or for a pair. A value that
    is not given as an option is asked for without being shown.
    """
    try:
        importlib.import_module("dpairs.client")
    except ImportError as error:
        raise BadParameter(
            f"taking part needs {error.name}, which is not here: install the extra 'client' of dpairs"
        ) from None
    from ..client import Device, Link, Transport
    from ..client import join as take_part
    from ..client.reporter import API, read_study
    from ..client.transport import part

    where = Link.parse(link)
    line = Transport(where.base, patience=patience)
    public = line.json("GET", f"{API}/{where.study}")
    study = read_study(where.study, part(public, "study", dict))
    title, promise = part(public, "title", str), part(public, "promise", str)
    given = {"score": score, "label": label, "x": x, "y": y, "value": value}
    found = take_part(
        where,
        private_values(study, given),
        stratum=stratum,
        code=code,
        device=Device(home),
        limit=limit,
        max_epsilon=max_epsilon,
        transport=line,
        wait=wait,
    )
    if as_json:
        print_json(
            {
                "state": found.state,
                "message": found.message,
                "index": found.index,
                "stratum": found.stratum,
                "report": None if found.report is None else found.report.to_json(),
                "pairs": found.pairs,
                "safety_numbers": found.safety,
            }
        )
        return
    rows = [("study", _shown(title)), ("participant", f"{found.index} of {found.stratum}")]
    rows.append(("promise", _shown(promise)))
    if found.report is not None:
        rows.append(("what left this device", f"symbol {found.report.symbol}"))
    for number, state in (found.pairs or {}).items():
        rows.append((f"pair {number}", state))
        rows.append(("safety number", (found.safety or {}).get(number, "")))
    rows.append(("state", f"{found.state}: {found.message}"))
    print_table(("your part", "in this study"), rows)
    if found.pairs:
        output.print(
            "Your partner sees the same safety number, unless somebody changed the keys on their way.",
            style="dim",
        )


def _shown(words: str) -> str:
    """A collector's words as they are: neither rich's markup nor a terminal's commands."""
    return escape("".join(letter if letter.isprintable() else " " for letter in words))
