"""`dpairs simulate`: try a study out on data one already has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..data.tables import whole
from ..errors import BadParameter
from ..estimate import Estimate
from ..formats.checks import integer
from ..simulate import simulate as run_study
from ..statistics import exact
from ..study import Study
from .columns import batches, column_names, counted_in_lines, rows_of
from .show import output, print_estimate, print_json, print_table, progress


def simulate(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file.")],
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file with the statistic's columns.")],
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="NAME=COLUMN: if a column has another name in the file."),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="The label of the positive class, if labels are words.")
    ] = None,
    runs: Annotated[int, typer.Option(help="How often to repeat the whole study.")] = 1,
    seed: Annotated[
        int | None, typer.Option(help="Make the simulation repeatable; run r uses seed + r.")
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level.")] = 0.95,
    estimator: Annotated[str | None, typer.Option(help="How counts become an answer.")] = None,
    crypto: Annotated[
        str | None, typer.Option(help="Pairs and two servers: ideal (default), or real cryptography.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the runs (PNG, SVG or PDF).")] = None,
    reports: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Write everybody's report of this round into this new folder or address (s3:, gs:, abfss:, "
            "hdfs:), and estimate nothing.",
        ),
    ] = None,
    cells: Annotated[
        bool | None,
        typer.Option(
            "--cells/--symbols",
            help="--reports: write what each report counts in, which is counted faster (the default where a "
            "study has it), or what devices send.",
        ),
    ] = None,
    with_exact: Annotated[
        bool,
        typer.Option("--exact/--no-exact", help="Compare with the exact value; --no-exact streams the file."),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print results as JSON.")] = False,
) -> None:
    """Try a study on a file of data: every participant, every round.

    A simulation protects nobody: the person who runs it has the data.
    """
    integer("runs", runs, 1, 1_000_000)
    study = Study.load(study_file)
    names = column_names(study, column, study.protocol.record_columns)
    if reports is not None:
        if runs > 1 or plot is not None or estimator is not None or crypto is not None:
            raise BadParameter(
                "--reports writes one run's reports: it takes --seed, --column and --cells only"
            )
        _write_reports(study, _Stream(study, data, names, positive), reports, seed, cells, as_json)
        return
    if cells is not None:
        raise BadParameter("--cells and --symbols are for --reports")
    truth: float | None = None
    estimates: list[Estimate] = []
    with counted_in_lines(data):
        if with_exact or runs > 1:
            table: Any = whole(batches(study, data, names, positive), tuple(names))
            if with_exact and hasattr(study.statistic, "exact"):
                truth = exact(study.statistic, table, domain=study.domains)
        else:
            table = _Stream(study, data, names, positive)
        with progress("simulating", runs) as advance:
            for run in range(runs):
                estimates.append(
                    run_study(
                        study, table, None if seed is None else seed + run, estimator=estimator, crypto=crypto
                    )
                )
                advance(1)
    summary = summarize(estimates, truth, level)
    if plot is not None:
        from .plots import plot_runs  # drawing takes a second to load

        plot_runs(estimates, truth, level, plot)
    if as_json:
        print_json({"truth": truth, "summary": summary, "runs": [each.to_json() for each in estimates]})
        return
    if runs == 1:
        print_estimate(estimates[0], level)
        if truth is not None:
            output.print(f"exact value {truth:.6g}, error {estimates[0].value - truth:+.3g}", highlight=False)
    else:
        print_table(
            ("over all runs", "value"), [(name.replace("_", " "), value) for name, value in summary.items()]
        )
    if plot is not None:
        output.print(f"picture written to {plot}", highlight=False)


def _write_reports(
    study: Study, people: _Stream, folder: str, seed: int | None, cells: bool | None, as_json: bool
) -> None:
    from ..engines import simulate_reports  # with pyarrow and pandas, which nothing else here needs
    from ..engines.cpu import cores

    with progress("reporting", people.rows()) as advance:
        written = simulate_reports(
            study, people, folder, seed, cells=cells, workers=cores(), progress=advance
        )
    if as_json:
        print_json({"folder": str(folder), "study": study.id, "reports": written})
        return
    print_table(("stratum", "reports"), list(written.items()))
    output.print(f"written to {folder}", highlight=False)


@dataclass(frozen=True)
class _Stream:
    """A file that is read anew in every round."""

    study: Study
    data: Path
    names: dict[str, str]
    positive: str | None

    def __iter__(self) -> Iterator[Any]:
        return iter(batches(self.study, self.data, self.names, self.positive))

    def rows(self) -> int | None:
        """How many there are, where the file says so."""
        return rows_of(self.data)


def summarize(estimates: list[Estimate], truth: float | None, level: float) -> dict[str, Any]:
    """Mean, spread and, where the truth is known, error and coverage over runs."""
    if not 0 < level < 1:
        raise BadParameter(f"level must lie between 0 and 1, not {level!r}")
    values = np.array([each.value for each in estimates])
    summary: dict[str, Any] = {
        "runs": len(estimates),
        "people": estimates[0].n,
        "mean_estimate": float(values.mean()),
        "mean_standard_error": float(np.mean([each.standard_error for each in estimates])),
    }
    if len(estimates) > 1:
        summary["standard_deviation"] = float(values.std(ddof=1))
    if truth is not None:
        inside = [
            low <= truth <= high
            for low, high in (each.confidence_interval(level, "sample") for each in estimates)
        ]
        summary |= {
            "exact_value": truth,
            "mean_absolute_error": float(np.abs(values - truth).mean()),
            "intervals_for_this_sample_that_cover": f"{sum(inside)} of {len(inside)}",
        }
    return summary
