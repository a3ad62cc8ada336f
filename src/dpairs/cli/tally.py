"""`dpairs tally`: count reports, or add tallies up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..engines.cpu import cores
from ..errors import BadFile, BadParameter, InvalidInput, NotAsked, WrongStudy
from ..formats.checks import choice
from ..report import Report
from ..study import Study
from ..tally import Tally
from .show import errors, output, print_json, print_table, progress
from .site import collect

if TYPE_CHECKING:
    from ..engines import FileTally

MAX_LINE = 4096
SUFFIXES = (".parquet", ".pq")
ENGINES = ("duckdb", "spark")
MANY = 2**25
"""From so many reports on, other processes help."""


def tally(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORTS",
            help="Report files: Parquet, also as a pattern like 'reports/**/*.parquet', or one JSON line a "
            "report; with --merge, tally files.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The tally file to write; compact when it ends in .tally.")
    ],
    merge: Annotated[
        bool, typer.Option(help="Add up tallies instead of counting reports; nobody may be in two.")
    ] = False,
    engine: Annotated[
        str | None, typer.Option(help="Parquet: duckdb (default), or spark for a cluster.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="Spark: where it runs, for example spark://host:7077.")
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Parquet: leave out files that cannot be read.")
    ] = False,
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute", help="Parquet: check every cell against the people's coins, not a sample."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts as JSON.")] = False,
) -> None:
    """Count the reports of a study by symbol.

    Reports that cannot be counted are left out and counted by reason: of another study, of a
    participant whose turn is another round, damaged, or of a participant who has answered already. Of
    different answers of one participant the first stays, and none in Parquet files, which have no order.
    """
    study = Study.load(study_file)
    if study.protocol.by_sites is not None:
        if merge or engine is not None or master is not None or keep_going or recompute:
            raise BadParameter(
                "a tally of sites is made of their answers' files: it takes --out and --json only"
            )
        collect(study_file, study, files, out, as_json)
        return
    total = Tally(study)
    reasons: Counter[str] = Counter()
    refused: tuple[str, ...] = ()
    columnar = [path for path in files if path.name.lower().endswith(SUFFIXES)]
    if not columnar and (engine is not None or master is not None or keep_going or recompute):
        raise BadParameter(
            "--engine, --master, --keep-going and --recompute are for reports in Parquet files"
        )
    if columnar and (merge or len(columnar) < len(files)):
        raise BadParameter("Parquet files hold reports: they are counted apart from other files")
    if columnar:
        found = _columnar(study, [str(path) for path in files], engine, master, keep_going, recompute)
        total, reasons, refused = found.tally, found.reasons, found.refused
        for sentence in refused:
            errors.print(f"left out: {sentence}", highlight=False, markup=False, soft_wrap=True)
    elif merge:
        for path in files:
            total = total + Tally.load(path, study)
    else:
        seen: dict[tuple[str, int], int] = {}
        for path in files:
            for report, reason in read_reports(path, study, seen):
                reasons[reason] += 1
                if report is not None:
                    total.add(report)
    if total.n == 0 and not merge:
        raise BadFile(f"none of the reports could be counted: {_listed(reasons)}")
    total.save(out)
    if as_json:
        content = {"tally": str(out), "study": study.id, "people": total.sizes, "reports": dict(reasons)}
        print_json(content | ({"left_out": list(refused)} if keep_going else {}))
        return
    print_table(("stratum", "reports"), list(total.sizes.items()))
    if set(reasons) - {"counted"}:
        print_table(("reports", "number"), sorted(reasons.items()))
    output.print(f"written to {out}", highlight=False)


def _columnar(
    study: Study,
    patterns: list[str],
    engine: str | None,
    master: str | None,
    keep_going: bool,
    recompute: bool,
) -> FileTally:
    chosen = choice("engine", engine or ("duckdb" if master is None else "spark"), ENGINES)
    if master is not None and chosen != "spark":
        raise BadParameter("--master is for --engine spark")
    from ..engines import on_duckdb, open_files

    opened = open_files(patterns, study, keep_going)
    if chosen == "spark":
        from ..engines import on_spark

        spark = on_spark.session(master)
        try:
            return on_spark.tally_with_spark(study, opened, spark, keep_going=keep_going, recompute=recompute)
        finally:
            spark.stop()
    # Processes help to recompute coins; files of cells need none.
    many = opened.rows >= MANY and len(opened.cells) < len(opened.paths)
    workers = cores() if many else 1
    with progress("counting", opened.rows) as advance:
        return on_duckdb.tally_with_duckdb(
            study,
            opened,
            keep_going=keep_going,
            recompute=recompute,
            workers=workers,
            progress=advance,
        )


def read_reports(
    path: Path, study: Study, seen: dict[tuple[str, int], int]
) -> Iterator[tuple[Report | None, str]]:
    """Each line's report, if it can be counted, and what became of it."""
    for line in _lines(path):
        try:
            if len(line) > MAX_LINE:
                raise ValueError
            spec = json.loads(line)
            if not isinstance(spec, dict):
                raise TypeError
            report = Report.from_json(spec, study)
        except WrongStudy:
            yield None, "of another study"
            continue
        except NotAsked:
            yield None, "of another round"
            continue
        except (InvalidInput, ValueError, TypeError, RecursionError):
            yield None, "damaged"
            continue
        person = (report.stratum, report.index)
        if person in seen:
            yield None, "repeated" if seen[person] == report.symbol else "second answer"
            continue
        seen[person] = report.symbol
        yield report, "counted"


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE + 1):
                if line.strip():
                    yield line
                # The rest of an overlong line belongs to it, not to the next report.
                while len(line) > MAX_LINE and not line.endswith(b"\n"):
                    line = file.readline(MAX_LINE + 1)
                    if len(line) <= MAX_LINE:
                        break
    except OSError as error:
        raise BadFile(f"reports {path} cannot be read: {error.strerror or error}") from None


def _listed(reasons: Counter[str]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())) or "there are none"
