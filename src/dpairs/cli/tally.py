"""`dpairs tally`: count reports, or add tallies up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ..errors import BadFile, InvalidInput, NotAsked, WrongStudy
from ..report import Report
from ..study import Study
from ..tally import Tally
from .show import output, print_json, print_table

MAX_LINE = 4096


def tally(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file.")],
    files: Annotated[
        list[Path], typer.Argument(help="Report files, one JSON line a report; with --merge, tally files.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The tally file to write.")],
    merge: Annotated[bool, typer.Option(help="Add up tallies instead of counting reports.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts as JSON.")] = False,
) -> None:
    """Count the reports of a study by symbol.

    Reports that cannot be counted are left out and counted by reason: of another study, of a
    participant whose turn is another round, damaged, or of a participant who has answered already (the
    first answer stays).
    """
    study = Study.load(study_file)
    total = Tally(study)
    reasons: Counter[str] = Counter()
    if merge:
        for path in files:
            total = total + Tally.load(path, study)
    else:
        seen: dict[tuple[str, int], int] = {}
        for path in files:
            for report, reason in read_reports(path, study, seen):
                reasons[reason] += 1
                if report is not None:
                    total.add(report)
        if total.n == 0:
            raise BadFile(f"none of the reports could be counted: {_listed(reasons)}")
    total.save(out)
    if as_json:
        print_json({"tally": str(out), "study": study.id, "people": total.sizes, "reports": dict(reasons)})
        return
    print_table(("stratum", "reports"), list(total.sizes.items()))
    if set(reasons) - {"counted"}:
        print_table(("reports", "number"), sorted(reasons.items()))
    output.print(f"written to {out}", highlight=False)


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
