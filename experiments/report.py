"""The report, in Markdown: every figure, what the paper says of it, what was measured, whether they agree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .experiment import Check, Figure, Findings, Table

AGREE, DISAGREE, UNJUDGED = "agrees", "does not agree", "not judged by a quick run"
PLURALS = {
    AGREE: "agree",
    DISAGREE: "do not agree",
    UNJUDGED: "were not judged, since the run was a quick one",
}
TITLE = """# Results: the paper's experiments, and how far we are past them

For each figure and table of the paper (Private Protocols for U-Statistics in the Local Model and Beyond) \
this report says what the paper states about it, in our words, what we measured, and whether the two agree. \
Lines and rows that are called the paper's are its own protocol; ours are named so. The numbers behind each \
picture are in a CSV file of its name in experiments/results, one row for each thing that was measured."""
NUMBER = re.compile(r"[-+±]?\$?\d.*|-|none|")


@dataclass(frozen=True)
class Section:
    """One experiment's part of the report, or the sentence that says why it was not run."""

    experiment: Figure
    command: str = ""
    findings: Findings = field(default_factory=Findings)
    pictures: Sequence[tuple[str, str]] = ()
    """Names of pictures, without their endings, and captions."""
    judged: bool = True
    skipped: str = ""


def verdict(check: Check, judged: bool) -> str:
    return UNJUDGED if not judged else AGREE if check.holds else DISAGREE


def markdown(sections: Sequence[Section], command: str, version: str, pictures: str = "") -> str:
    """The whole report; ``pictures`` is the folder of the pictures as the report sees it."""
    rows = [
        [section.experiment.name, check.statement, check.measured, verdict(check, section.judged)]
        for section in sections
        for check in section.findings.checks
    ]
    verdicts = Counter(row[-1] for row in rows)
    counted = ", ".join(f"{count} {PLURALS[each]}" for each, count in verdicts.most_common())
    parts = [
        TITLE,
        code(command),
        f"dpairs {version}.",
        "## All statements",
        f"Of {len(rows)} statements {counted}." if rows else "Nothing was run.",
    ]
    if rows:
        parts.append(table(Table("", ["experiment", "statement", "measured", "verdict"], rows)))
    parts += [part for section in sections for part in _section(section, pictures)]
    return "\n\n".join(parts) + "\n"


def _section(section: Section, pictures: str) -> Iterator[str]:
    experiment = section.experiment
    yield f"## {experiment.title} ({experiment.name})"
    yield f"**In the paper.** {experiment.paper}"
    yield f"**What the paper says.** {experiment.says}"
    yield f"**What is run here.** {experiment.does}"
    if section.skipped:
        yield f"**Not run.** {section.skipped}"
        return
    yield code(section.command)
    for name, caption in section.pictures:
        yield f"![{caption}]({pictures}{name}.png)\n\n*{caption}*"
    yield from map(table, section.findings.tables)
    yield from section.findings.remarks
    checks = section.findings.checks
    if checks:
        lines = [[check.statement, check.measured, verdict(check, section.judged)] for check in checks]
        yield table(Table("Statements", ["statement", "measured", "verdict"], lines))
    for check in checks:
        if section.judged and not check.holds and check.why:
            yield f"**Why not: {check.statement.rstrip('.')}.** {check.why}"


def code(text: str) -> str:
    return f"```console\n{text}\n```"


def table(given: Table) -> str:
    """A Markdown table; columns of numbers are to the right."""
    right = [all(NUMBER.fullmatch(row[place]) for row in given.rows) for place in range(len(given.head))]
    rule = ["---:" if place and numeric else "---" for place, numeric in enumerate(right)]
    lines = "\n".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |"
        for line in (given.head, rule, *given.rows)
    )
    return f"{given.caption}:\n\n{lines}" if given.caption else lines
