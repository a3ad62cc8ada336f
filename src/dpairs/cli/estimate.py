"""`dpairs estimate`: the statistic from a tally."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..study import Study
from ..tally import Tally
from .show import print_estimate, print_json


def estimate(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file.")],
    tally_file: Annotated[Path, typer.Argument(metavar="TALLY", help="A tally file of that study.")],
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    estimator: Annotated[str | None, typer.Option(help="How counts become an answer.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the estimate as JSON.")] = False,
) -> None:
    """Estimate the statistic, with its standard error and interval."""
    answer = Tally.load(tally_file, Study.load(study_file)).estimate(estimator)
    if as_json:
        low, high = answer.confidence_interval(level)
        print_json({**answer.to_json(), "level": level, "confidence_interval": [low, high]})
    else:
        print_estimate(answer, level)
