"""`dpairs estimate`: the statistic from a tally."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..study import Study
from ..tally import Tally
from .show import output, print_estimate, print_json, print_table


def estimate(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file.")],
    tally_file: Annotated[Path, typer.Argument(metavar="TALLY", help="A tally file of that study.")],
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    estimator: Annotated[str | None, typer.Option(help="How counts become an answer.")] = None,
    explain: Annotated[bool, typer.Option(help="Tree: show how closely each level was looked at.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Tree: write a picture of the two estimated distributions.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the estimate as JSON.")] = False,
) -> None:
    """Estimate the statistic, with its standard error and interval."""
    answer = Tally.load(tally_file, Study.load(study_file)).estimate(estimator)
    if plot is not None:
        from .plots import plot_distributions  # drawing takes a second to load

        plot_distributions(answer.explain(), plot)
    if as_json:
        low, high = answer.confidence_interval(level)
        print_json({**answer.to_json(), "level": level, "confidence_interval": [low, high]})
    else:
        print_estimate(answer, level)
        if explain:
            print_table(("level", "recursed nodes", "discarded nodes"), answer.explain().rows())
        if plot is not None:
            output.print(f"picture written to {plot}", highlight=False)
