"""What an experiment is: settings to try, one run of one setting, and what is read off all runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from .runs import Results, Row

Setting: TypeAlias = Row
"""The values of one setting: texts and numbers, by name."""
Measure: TypeAlias = Callable[[Setting, int, Path], list[Row]]
"""One run: from a setting, a seed and the folder of real data to rows of what was measured.

Experiments on made-up data need no folder and do not look at it.
"""


@dataclass(frozen=True)
class Check:
    """A statement, and what the runs say about it."""

    statement: str
    measured: str
    holds: bool
    why: str = ""
    """Where it does not hold: the reason, as far as it is known."""


@dataclass(frozen=True)
class Table:
    """Numbers for a reader, as text; the first column names the row."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Findings:
    """What an experiment found: checked statements and tables."""

    checks: Sequence[Check] = ()
    tables: Sequence[Table] = ()
    remarks: Sequence[str] = ()
    """Sentences that a reader needs beside the tables."""


@dataclass(frozen=True)
class Picture:
    """A figure, and the sentence below it."""

    name: str
    draw: Callable[[], Any]
    caption: str

    @cached_property
    def figure(self) -> Any:
        """Drawn when it is first looked at: the report names pictures that were drawn before."""
        return self.draw()


@dataclass(frozen=True)
class Experiment:
    """Runs whose rows are kept: of the paper's figures, or of a page of the documentation."""

    name: str
    title: str
    settings: Callable[[bool], list[Setting]]
    """All settings; the argument is whether the run is a quick one."""
    measure: Measure
    runs: int = 20
    """Of each setting."""
    needs: tuple[str, ...] = ()
    """Names of the real data without which it cannot be run."""
    wants: tuple[str, ...] = ()
    """Names of real data for some of its settings; where they are absent, `measure` returns no rows."""


@dataclass(frozen=True, kw_only=True)
class Figure(Experiment):
    """One figure or table of the paper, or one comparison of ours, with a section of the report."""

    paper: str
    """Where the paper has it."""
    says: str
    """What the paper says about it, in our words."""
    does: str
    """What is run here, and how it may differ from the paper's."""
    pictures: Callable[[Results], Iterable[Picture]]
    findings: Callable[[Results], Findings]
    quick_checks: bool = False
    """Whether its statements can be judged by a quick run too."""
