"""The report: every figure, what the paper says about it, what was measured, and whether they agree.

One list of parts, written twice: as Markdown, and as one HTML file that holds its pictures.
"""

from __future__ import annotations

import base64
import html
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dpairs.formats import files

from .experiment import Check, Experiment, Findings, Table

AGREE, DISAGREE, UNJUDGED = "agrees", "does not agree", "not judged by a quick run"
PLURALS = {
    AGREE: "agree",
    DISAGREE: "do not agree",
    UNJUDGED: "were not judged, since the run was a quick one",
}


@dataclass(frozen=True)
class Section:
    """One experiment's part of the report, or the sentence that says why it was not run."""

    experiment: Experiment
    command: str = ""
    findings: Findings = field(default_factory=Findings)
    pictures: Sequence[tuple[str, str]] = ()
    """Names of pictures in the experiment's folder, without their endings, and captions."""
    judged: bool = True
    skipped: str = ""


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the whole report's."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """One paragraph of plain text, perhaps with a label before it."""

    text: str
    label: str = ""


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Image:
    """A picture: its place beside the report, without the ending, and its caption."""

    place: str
    caption: str


Part = Heading | Paragraph | Code | Image | Table


def verdict(check: Check, judged: bool) -> str:
    return UNJUDGED if not judged else AGREE if check.holds else DISAGREE


def parts(sections: Sequence[Section], command: str, version: str) -> list[Part]:
    found: list[Part] = [
        Heading(1, "Results: the paper's experiments, and how far we are past them"),
        Paragraph(
            "Every figure and table here was made by one command, from data to picture. For each, the report "
            "says what the paper (Private Protocols for U-Statistics in the Local Model and Beyond) states "
            "about it, in our words, what we measured, and whether the two agree. The numbers behind each "
            "picture are in the file runs.csv of its folder, one row for each run."
        ),
        Code(command),
        Paragraph(f"dpairs {version}."),
        Heading(2, "All statements"),
    ]
    rows = [
        [section.experiment.name, check.statement, check.measured, verdict(check, section.judged)]
        for section in sections
        for check in section.findings.checks
    ]
    verdicts = Counter(row[-1] for row in rows)
    counted = ", ".join(f"{count} {PLURALS[each]}" for each, count in verdicts.most_common())
    found.append(Paragraph(f"Of {len(rows)} statements {counted}." if rows else "Nothing was run."))
    if rows:
        found.append(Table("", ["experiment", "statement", "measured", "verdict"], rows))
    for section in sections:
        found += _section(section)
    return found


def _section(section: Section) -> Iterable[Part]:
    experiment = section.experiment
    yield Heading(2, f"{experiment.title} ({experiment.name})")
    yield Paragraph(experiment.paper, "In the paper")
    yield Paragraph(experiment.says, "What the paper says")
    yield Paragraph(experiment.does, "What is run here")
    if section.skipped:
        yield Paragraph(section.skipped, "Not run")
        return
    yield Code(section.command)
    for name, caption in section.pictures:
        yield Image(f"{experiment.name}/{name}", caption)
    yield from section.findings.tables
    for remark in section.findings.remarks:
        yield Paragraph(remark)
    checks = section.findings.checks
    if checks:
        yield Table(
            "Statements",
            ["statement", "measured", "verdict"],
            [[check.statement, check.measured, verdict(check, section.judged)] for check in checks],
        )
    for check in checks:
        if section.judged and not check.holds and check.why:
            yield Paragraph(check.why, f"Why not: {check.statement.rstrip('.')}")


# ---------------------------------------------------------------- Markdown


def markdown(report: Sequence[Part]) -> str:
    """For the documentation and for terminals."""
    return "\n\n".join(_markdown(part) for part in report) + "\n"


def _markdown(part: Part) -> str:
    match part:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Paragraph(text, label):
            return f"**{label}.** {text}" if label else text
        case Code(text):
            return f"```console\n{text}\n```"
        case Image(place, caption):
            return f"![{caption}]({place}.png)\n\n*{caption}*"
        case Table(caption, head, rows):
            lines = [head, ["---"] * len(head), *rows]
            drawn = "\n".join(
                f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines
            )
            return f"{caption}:\n\n{drawn}" if caption else drawn


# ---------------------------------------------------------------- HTML

STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto;
       padding: 1.5rem 1rem 4rem; max-width: 62rem; }
h1 { font-size: 1.7rem; line-height: 1.25; }
h2 { margin-top: 3rem; border-top: 1px solid #ccc; padding-top: 1.2rem; }
table { border-collapse: collapse; font-size: .88rem; margin: 1rem 0; display: block; overflow-x: auto; }
caption { text-align: left; color: #555; padding-bottom: .3rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
figure { margin: 1.2rem 0; } img { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: .9rem; }
pre { background: #f4f4f4; padding: .7rem 1rem; overflow-x: auto; }
.agrees { color: #00603f; font-weight: 600; } .does-not-agree { color: #a03c00; font-weight: 600; }
nav ol { columns: 2; }
"""


def page(report: Sequence[Part], folder: Path) -> str:
    """One HTML file; the pictures are inside it, so that it can be sent as it is."""
    title = next(part.text for part in report if isinstance(part, Heading))
    contents = "".join(
        f'<li><a href="#part-{place}">{html.escape(part.text)}</a></li>'
        for place, part in enumerate(report)
        if isinstance(part, Heading) and part.level == 2
    )
    body = [_element(place, part, folder) for place, part in enumerate(report)]
    body.insert(1, f'<nav aria-label="Contents"><ol>{contents}</ol></nav>')
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _element(place: int, part: Part, folder: Path) -> str:
    match part:
        case Heading(level, text):
            return f'<h{level} id="part-{place}">{html.escape(text)}</h{level}>'
        case Paragraph(text, label):
            before = f"<strong>{html.escape(label)}.</strong> " if label else ""
            return f"<p>{before}{html.escape(text)}</p>"
        case Code(text):
            return f"<pre><code>{html.escape(text)}</code></pre>"
        case Image(where, caption):
            inside = base64.b64encode(files.read(folder / f"{where}.png", "the picture")).decode()
            words = html.escape(caption)
            return (
                f'<figure><img alt="{words}" src="data:image/png;base64,{inside}">'
                f"<figcaption>{words}</figcaption></figure>"
            )
        case Table(caption, head, rows):
            top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
            lines = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in rows)
            above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
            return f"<table>{above}<thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(text: str) -> str:
    if text in (AGREE, DISAGREE):
        return f'<td class="{text.replace(" ", "-")}">{text}</td>'
    return f"<td>{html.escape(text)}</td>"
