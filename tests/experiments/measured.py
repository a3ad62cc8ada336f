"""Results of a few runs of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.experiment import Figure, Setting
from experiments.runs import Results

NOWHERE = Path("no-such-folder")
FEW = 2_000


def run(experiment: Figure, settings: list[Setting], runs: int = 2) -> Results:
    return Results(
        [
            {**setting, "run": seed, **row}
            for setting in settings
            for seed in range(runs)
            for row in experiment.measure(setting, seed, NOWHERE)
        ]
    )


def changed(results: Results, change: Any) -> Results:
    return Results([change(dict(row)) for row in results])
