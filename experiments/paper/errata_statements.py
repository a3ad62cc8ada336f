"""Which errata the runs bear out: checks and a table."""

from __future__ import annotations

from ..experiment import Check, Table
from ..runs import Results, Summary
from .errata import ERRATA, LIMIT, Erratum


def judged(erratum: Erratum, summary: Summary, printed: float, right: float) -> tuple[bool, bool]:
    """Whether the printed value is refuted, and whether the corrected one is not."""
    if erratum.limit:
        return summary.mean > printed, summary.mean <= right
    reach = LIMIT * summary.standard_error + erratum.slack + 1e-9 * abs(right)
    return abs(summary.mean - printed) > reach, abs(summary.mean - right) <= reach


def rows(results: Results) -> list[tuple[Erratum, Summary, float, float]]:
    """Every erratum that was run, with what was measured, printed and right."""
    told = []
    for erratum in ERRATA:
        part = results.where(case=f"erratum {erratum.number}")
        if len(part):
            told.append(
                (
                    erratum,
                    Summary.of(part.column("measured")),
                    part.column("printed")[0],
                    part.column("right")[0],
                )
            )
    return told


def checks(results: Results) -> list[Check]:
    statements = []
    for erratum, summary, printed, right in rows(results):
        refuted, holds = judged(erratum, summary, printed, right)
        statements.append(
            Check(
                f"Erratum {erratum.number}, {erratum.about}: {erratum.statement}.",
                f"{erratum.quantity}: measured {short(summary)}, printed {printed:.5g}, "
                f"corrected {right:.5g}",
                refuted and holds,
                f"printed refuted: {refuted}; corrected holds: {holds}",
            )
        )
    return statements


def table(results: Results) -> Table:
    """The list of errata with numbers."""
    lines = []
    for erratum, summary, printed, right in rows(results):
        away = ["", ""]
        if varies(summary) and not erratum.limit:
            away = [f"{abs(summary.mean - value) / summary.standard_error:.1f}" for value in (printed, right)]
        lines.append(
            [
                f"{erratum.number}. {erratum.about}",
                erratum.quantity,
                f"{printed:.5g}",
                f"{right:.5g}",
                short(summary),
                *away,
            ]
        )
    head = ["", "what", "printed", "corrected", "measured", "z of printed", "z of corrected"]
    return Table(
        "Errata; z counts standard errors from the measured value, where there is chance in it", head, lines
    )


def varies(summary: Summary) -> bool:
    """Whether runs differ by more than rounding."""
    return summary.standard_error > 1e-9 * abs(summary.mean)


def short(summary: Summary) -> str:
    """A mean and, where there is chance in it, its standard error."""
    return f"{summary.mean:.5g}" + (f" ± {summary.standard_error:.2g}" if varies(summary) else "")
