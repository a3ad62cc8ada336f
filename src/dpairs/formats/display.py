"""Facts as people read them: a plain table in a terminal, a small one in a notebook."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from html import escape
from itertools import zip_longest
from textwrap import wrap

Row = Sequence[str]
WIDTH = 80
"""A terminal's, at which texts and notes are broken."""
CELL = 20
"""The same of a cell in a table of several columns."""


def number(value: float | None) -> str:
    """A number with the digits that matter."""
    return "-" if value is None else f"{value:.5g}"


def printable(words: str) -> str:
    """Words that may be a stranger's, without a terminal's commands."""
    return "".join(letter if letter.isprintable() else " " for letter in words)


def text_table(title: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """The title, each row with its cells in columns, and the notes below.

    >>> print(text_table("auc", [("estimate", "0.83"), ("people", "400")], ["A note."]))
    auc
      estimate  0.83
      people    400
    A note.
    """
    room = WIDTH - 4 - max((len(row[0]) for row in rows if len(row) == 2), default=0)
    broken = [
        (row[0], *("\n".join(_fold(cell, room if len(row) == 2 else CELL)) for cell in row[1:]))
        for row in rows
    ]
    lines = [
        line for row in broken for line in zip_longest(*(cell.split("\n") for cell in row), fillvalue="")
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = ["  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    return "\n".join([title, *body, *(line for note in notes for line in _fold(note, WIDTH))])


def _fold(text: str, room: int) -> list[str]:
    return [
        line
        for whole in text.split("\n")
        for line in wrap(whole, max(room, 20), break_long_words=False, break_on_hyphens=False) or [""]
    ]


def html_table(title: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """The same as HTML that takes its colours from the page around it."""
    body = "".join(
        "<tr>"
        + "".join(
            f'<{tag} style="text-align:left{nowrap}">{escape(cell).replace(chr(10), "<br>")}</{tag}>'
            for cell, (tag, nowrap) in zip(
                row, [("th", ";white-space:pre"), *[("td", "")] * len(row)], strict=False
            )
        )
        + "</tr>"
        for row in rows
    )
    below = "".join(f'<div style="opacity:.75">{escape(note)}</div>' for note in notes)
    caption = f'<caption style="text-align:left;font-weight:bold">{escape(title)}</caption>'
    return f"<div><table>{caption}{body}</table>{below}</div>"


class Shown:
    """Something that prints as a table, and shows one in a notebook."""

    @property
    @abstractmethod
    def title(self) -> str: ...

    @abstractmethod
    def rows(self) -> Sequence[Row]: ...

    def notes(self) -> list[str]:
        """Sentences that stand below the table; none unless a class has some."""
        return []

    def __str__(self) -> str:
        return text_table(self.title, self.rows(), self.notes())

    def _repr_html_(self) -> str:
        return html_table(self.title, self.rows(), self.notes())
