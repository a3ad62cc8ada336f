"""Tidy results: one row for each thing that was measured, in a file that says how it was made."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpairs.errors import BadFile
from dpairs.formats import files

Row: TypeAlias = "dict[str, str | int | float]"


@dataclass(frozen=True)
class Results:
    """Rows that all have the same columns."""

    rows: Sequence[Row]
    _groups: dict[tuple[str, ...], dict[tuple[Any, ...], list[Row]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def where(self, **equal: str | int | float) -> Results:
        """The rows with these values."""
        names = tuple(equal)
        if names not in self._groups:  # sorted into groups once: tables ask for all of them
            groups = self._groups[names] = {}
            for row in self.rows:
                groups.setdefault(tuple(row[name] for name in names), []).append(row)
        return Results(self._groups[names].get(tuple(equal.values()), []))

    def values(self, name: str) -> list[Any]:
        """The values of a column, each once, in the order of their first appearance."""
        return list(dict.fromkeys(row[name] for row in self.rows))

    def column(self, name: str) -> NDArray[np.float64]:
        return np.array([row[name] for row in self.rows], dtype=np.float64)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def error(self) -> Summary:
        """The absolute errors, from the columns ``value`` and ``truth``."""
        return Summary.of(np.abs(self.column("value") - self.column("truth")))

    @property
    def square(self) -> Summary:
        return Summary.of((self.column("value") - self.column("truth")) ** 2)


@dataclass(frozen=True)
class Summary:
    """The mean of some numbers, their standard deviation, and the standard error of the mean."""

    mean: float
    deviation: float
    standard_error: float

    @classmethod
    def of(cls, numbers: NDArray[np.float64]) -> Summary:
        """Of at least one number; with a single one nothing is known of the deviation."""
        if not numbers.size:
            raise ValueError("there are no runs to take a mean of")
        deviation = float(numbers.std(ddof=1)) if numbers.size > 1 else 0.0
        return cls(float(numbers.mean()), deviation, deviation / math.sqrt(numbers.size))

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.standard_error:.4f}"


def write(path: Path, facts: Mapping[str, str], rows: Sequence[Row]) -> None:
    """A CSV file whose first lines, after ``#``, say how it was made."""
    text = io.StringIO()
    for name, value in facts.items():
        text.write(f"# {name}: {value}\n")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)  # floats as repr writes them: they come back as they were
    files.write(path, text.getvalue().encode(), "the results")


def read(path: Path) -> tuple[dict[str, str], Results]:
    """The facts and the rows of a file that `write` made."""
    lines = files.read(path, "the results").decode(errors="replace").splitlines()
    start = next((place for place, line in enumerate(lines) if not line.startswith("# ")), len(lines))
    facts = dict(line[2:].split(": ", 1) for line in lines[:start] if ": " in line)
    rows = list(csv.DictReader(lines[start:]))
    if not rows or any(None in row or None in row.values() for row in rows):
        raise BadFile(f"the results {path} are not a table")
    columns = {name: _typed([row[name] for row in rows]) for name in rows[0]}
    return facts, Results(
        [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    )


def _typed(texts: Sequence[str]) -> list[Any]:
    """A column of whole numbers, of numbers, or of texts."""
    for kind in (int, float):
        try:
            return [kind(text) for text in texts]
        except ValueError:
            continue
    return list(texts)
