"""`dpairs tally`: count reports, or add tallies up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..errors import BadFile, BadParameter, InvalidInput, NotAsked, WrongStudy
from ..protocols.base import NUMBERS
from ..report import Report
from ..study import Study
from ..tally import Tally
from .assignments import assignments
from .columnar import Engine, TableForm, is_columnar, tally_columns
from .show import errors, output, print_json, print_table
from .site import collect

MAX_LINE = 4096


def tally(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="STUDY REPORTS...",
            help="A study file, and its reports: Parquet files, folders, patterns like "
            "'reports/**/*.parquet' or addresses (s3:, gs:, abfss:, hdfs:), a collector's database "
            "(postgresql:), or files of one JSON line a report; with --merge, tally files.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The tally file to write; compact when it ends in .tally.")
    ],
    study_file: Annotated[
        Path | None,
        typer.Option(
            "--study",
            metavar="STUDY",
            help="The study of tables that do not name it: Parquet of any writer, Delta and Iceberg tables.",
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="--study: NAME=COLUMN, for stratum, index, symbol or study."),
    ] = None,
    cells: Annotated[bool, typer.Option("--cells", help="--study: the tables hold cells.")] = False,
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
        bool, typer.Option("--keep-going", help="Leave out files, or a table's rows, that cannot be used.")
    ] = False,
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute", help="Parquet: check every cell against the people's coins, instead of a sample."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts as JSON.")] = False,
) -> None:
    """Count the reports of a study by symbol.

    Reports that cannot be counted are left out and listed by reason: from another study, from a participant
    who is asked in another round, damaged, or from a participant who has already answered. If one participant
    gave different answers, the first counts; in tables, which have no order, none does.
    """
    tables = study_file is not None
    study = Study.load(inputs[0] if study_file is None else study_file)
    files = inputs[:] if tables else inputs[1:]
    if not files:
        raise BadParameter("reports are missing: name a study and then files, or --study and then tables")
    if (column or cells) and not tables:
        raise BadParameter("--column and --cells are for tables, whose study is given with --study")
    form = TableForm(assignments("--column", "COLUMN", column), cells) if tables else None
    asked = _Asked(study, files, out, form, merge, Engine(engine, master, keep_going, recompute), as_json)
    _COUNTED.get(study.protocol.sends, _reports)(asked, Path(inputs[0]))


@dataclass(frozen=True)
class _Asked:
    """What is to be counted, and how."""

    study: Study
    files: list[str]
    out: Path
    form: TableForm | None
    merge: bool
    engine: Engine
    as_json: bool

    @property
    def by_engine(self) -> bool:
        """Whether anything was said about the engine that counts tables."""
        return self.engine != Engine(None, None, False, False)


def _sites(asked: _Asked, study_file: Path) -> None:
    if asked.merge or asked.by_engine or asked.form is not None:
        raise BadParameter("a tally of sites is made of their answers' files: it takes --out and --json only")
    collect(study_file, asked.study, [Path(name) for name in asked.files], asked.out, asked.as_json)


def _reports(asked: _Asked, study_file: Path) -> None:
    study, files = asked.study, asked.files
    total = Tally(study)
    reasons: Counter[str] = Counter()
    refused: tuple[str, ...] = ()
    columnar = [name for name in files if asked.form is not None or is_columnar(name)]
    if not columnar and asked.by_engine:
        raise BadParameter("--engine, --master, --keep-going and --recompute are for reports in tables")
    if columnar and (asked.merge or len(columnar) < len(files)):
        raise BadParameter("count Parquet files and other report files in separate runs")
    if columnar:
        counted = tally_columns(study, files, asked.form, asked.engine)
        total, reasons, refused = counted.tally, counted.reasons, counted.refused
        for sentence in refused:
            errors.print(f"left out: {sentence}", highlight=False, markup=False, soft_wrap=True)
    elif asked.merge:
        for name in files:
            total = total + Tally.load(name, study)
    else:
        seen: dict[tuple[str, int], int] = {}
        for name in files:
            for report, reason in read_reports(Path(name), study, seen):
                reasons[reason] += 1
                if report is not None:
                    total.add(report)
    if total.n == 0 and not asked.merge:
        raise BadFile(f"none of the reports could be counted: {_listed(reasons)}")
    total.save(asked.out)
    if asked.as_json:
        content = {
            "tally": str(asked.out),
            "study": study.id,
            "people": total.sizes,
            "reports": dict(reasons),
        }
        print_json(content | ({"left_out": list(refused)} if asked.engine.keep_going else {}))
        return
    print_table(("stratum", "reports"), list(total.sizes.items()))
    if set(reasons) - {"counted"}:
        print_table(("reports", "number"), sorted(reasons.items()))
    output.print(f"written to {asked.out}", highlight=False)


_COUNTED = {NUMBERS: _sites}
"""By what a study's answers are; all others are reports."""


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
