"""`dpairs reproduce`: the paper's experiments, from data to picture, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..engines.cpu import cores
from ..errors import BadParameter
from ..formats.checks import integer
from .show import errors, output, print_json, print_table, progress


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments; all of them without a name.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small form of everything, in about a minute.")
    ] = False,
    runs: Annotated[int | None, typer.Option(help="Runs of each setting: 20, or 3 with --quick.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="The folder of the real data; without it, what DPAIRS_DATA names.")
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="First get the hospital data from OpenML into the folder of data.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="The folder to write to; a run that was interrupted goes on.")
    ] = Path("reproduced"),
    seed: Annotated[int, typer.Option(help="Run r uses seed + r.")] = 0,
    processes: Annotated[int | None, typer.Option(help="How many at once; all cores without it.")] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Say which experiments there are, and end.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checked statements as JSON.")] = False,
) -> None:
    """Regenerate every experiment of the paper: data, pictures, and a report in HTML and Markdown."""
    from experiments import EXPERIMENTS, Scale, named, sources
    from experiments.report import verdict
    from experiments.reproduce import reproduce as run
    from experiments.runner import QUICK_RUNS, RUNS

    if show_list:
        if as_json:
            print_json(
                [{"name": each.name, "title": each.title, "paper": each.paper} for each in EXPERIMENTS]
            )
        else:
            print_table(("name", "what", "in the paper"), [(e.name, e.title, e.paper) for e in EXPERIMENTS])
        return
    chosen = [named(name) for name in dict.fromkeys(names)] if names else list(EXPERIMENTS)
    count = integer("runs", (QUICK_RUNS if quick else RUNS) if runs is None else runs, 2, 100_000)
    scale = Scale(quick, count, integer("seed", seed, 0, 2**53 - 1))
    at_once = cores() if processes is None else integer("processes", processes, 1, 1024)
    if fetch:
        place = sources.folder(data)
        if place is None:
            raise BadParameter("--fetch needs a folder to put the data in: name it with --data")
        sources.fetch_hospital(place)
    try:
        made = run(chosen, out, scale, data, at_once, progress)
    except KeyboardInterrupt:
        errors.print(
            f"interrupted; what ended is kept in {out}, and the same command goes on", highlight=False
        )
        raise typer.Exit(130) from None
    if as_json:
        print_json(
            {
                "folder": str(made.folder),
                "statements": [
                    {
                        "experiment": section.experiment.name,
                        "statement": check.statement,
                        "measured": check.measured,
                        "verdict": verdict(check, section.judged),
                    }
                    for section, check in made.checks
                ],
                "skipped": {section.experiment.name: section.skipped for section in made.skipped},
            }
        )
        return
    if made.checks:
        print_table(
            ("experiment", "statement", "measured", "verdict"),
            [
                (section.experiment.name, check.statement, check.measured, verdict(check, section.judged))
                for section, check in made.checks
            ],
        )
    for section in made.skipped:
        output.print(f"{section.experiment.name} was left out. {section.skipped}", highlight=False)
    output.print(f"report written to {out / 'report.html'} and {out / 'report.md'}", highlight=False)
