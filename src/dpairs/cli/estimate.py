"""`dpairs estimate`: the statistic from a tally."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..formats import files
from ..study import Study
from ..tally import counted_in
from .show import output, print_estimate, print_json, print_table


def analysis_beside(study_file: Path) -> Path:
    """The analyst's file of a second round: that of the study, with another ending."""
    return study_file.with_suffix(".analysis.json")


def estimate(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file.")],
    tally_file: Annotated[
        Path, typer.Argument(metavar="TALLY", help="A tally file of that study, or a release.")
    ],
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    estimator: Annotated[str | None, typer.Option(help="How counts become an answer.")] = None,
    analysis: Annotated[
        Path | None,
        typer.Option(help="Second rounds: the analyst's file; by default the one next to the study."),
    ] = None,
    explain: Annotated[
        bool, typer.Option(help="Tree: show how many nodes of each level were examined.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Tree: write a picture of the two estimated distributions.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the estimate as JSON.")] = False,
) -> None:
    """Estimate the statistic, with its standard error and interval."""
    study, beside = Study.load(study_file), analysis or analysis_beside(study_file)
    if analysis is not None or (study.protocol.round > 1 and beside.exists()):
        study = study.with_analysis(files.read(beside, "the analysis"))
    answer = counted_in(study).load(tally_file, study).estimate(estimator)
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
