"""A tally: how often each symbol was reported. It stays small for any number of people, and adds up."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .data.tables import whole_numbers
from .errors import BadFile, BadParameter, BadValue, WrongStudy
from .estimate import Estimate, Manipulation
from .formats import files
from .formats.canonical import canonical, parse
from .formats.checks import choice, head, unaltered
from .formats.compact import compress, expand
from .formats.display import Shown
from .protocols.base import NUMBERS, REPORTS, SHARES, OfSymbols
from .protocols.counts import Counts
from .protocols.sides import estimable, of_symbols
from .release import Release
from .report import MAX_INDEX, Report, check_asked, check_study
from .sites import SiteTally
from .study import Study

NO_CELLS = "reports of this study cannot be told by one cell each: their files hold symbols"
FORMAT = "dpairs-tally"
VERSION = 1
_FIELDS = ("format", "version", "study", "counts")
_MAGIC = b"dpairs-tally\x00\x01"
"""How the compact form begins: its name, and its version."""
COMPACT = ".tally"
"""The ending of a file in the compact form."""


@dataclass(frozen=True)
class _Attack:
    """What liars can do to the estimate of a tally, computed when it is asked for."""

    protocol: OfSymbols
    counts: Mapping[str, Counts]
    estimator: str
    reports: int
    raw: float
    """The answer before it is moved into the statistic's range."""
    bounds: tuple[float, float]

    @property
    def participants(self) -> int:
        return self.protocol.participants(self.reports)

    def __call__(self, people: int) -> Manipulation:
        if sum(each.people for each in self.counts.values()) != self.reports:
            raise BadParameter("the tally has changed since it was estimated: estimate it again")
        attack = self.protocol.manipulation(self.counts, self.estimator, people)
        value = self._inside(self.raw)
        down = value - self._inside(self.raw - attack.down) if math.isfinite(attack.down) else attack.down
        up = self._inside(self.raw + attack.up) - value if math.isfinite(attack.up) else attack.up
        return replace(attack, down=down, up=up)

    def _inside(self, value: float) -> float:
        return min(max(value, self.bounds[0]), self.bounds[1])


class Tally(Shown):
    """Counts by stratum and symbol for one study.

    >>> from dpairs import Categories, Participant
    >>> study = Study.create("collision_entropy", epsilon=2.0, domain=Categories(["a", "b", "c"]))
    >>> tally = Tally(study)
    >>> tally.add(Participant(study, index=0).report(value="b"))
    >>> (tally + tally).n
    2
    """

    def __init__(self, study: Study) -> None:
        """An empty tally of ``study``."""
        check_study(study)
        self._study = study
        self._counts: dict[str, Any] = {stratum: study.empty_counts(stratum) for stratum in study.strata}

    @property
    def study(self) -> Study:
        """The study that the reports belong to."""
        return self._study

    @property
    def n(self) -> int:
        """How many reports were counted."""
        return sum(self.sizes.values())

    @property
    def sizes(self) -> dict[str, int]:
        """How many reports each stratum has."""
        return {stratum: counts.people for stratum, counts in self._counts.items()}

    def counts(self, stratum: str) -> Counts:
        counts: Counts = self._counts[choice("stratum", stratum, self._study.strata)]
        return counts

    @property
    def title(self) -> str:
        return f"tally of study {self._study.id[:16]}..."

    def rows(self) -> list[tuple[str, str]]:
        """How many reports each stratum has: a table."""
        return [(stratum, f"{people:,} reports") for stratum, people in self.sizes.items()]

    def to_dict(self) -> dict[str, Any]:
        """The tally's file as plain values."""
        return parse(self.to_json(), "the tally", files.MAX_BYTES)

    def __repr__(self) -> str:
        """The sizes, not the counts."""
        return f"Tally(study={self._study.id[:16]!r}, sizes={self.sizes})"

    def __eq__(self, other: object) -> bool:
        """Equal when of the same study with the same counts."""
        return isinstance(other, Tally) and other._study == self._study and other.to_json() == self.to_json()

    __hash__ = None  # type: ignore[assignment]

    def add(self, report: Report) -> None:
        """Count one report. Check for repeated indices yourself: a tally does not know who reported."""
        if not isinstance(report, Report):
            raise BadValue(
                f"a tally adds a Report, as Participant(study, index).report(...) makes one or "
                f"Report.from_bytes reads one, not {type(report).__name__}"
            )
        if report.study != self._study:
            raise WrongStudy(
                f"this report belongs to study {report.study.id[:16]}..., not to {self._study.id[:16]}..."
            )
        of_symbols(self._study)
        self._counts[report.stratum].add(report.index, np.array([report.symbol]))

    def add_symbols(self, stratum: str, symbols: ArrayLike, first_index: int = 0) -> None:
        """Count the symbols of consecutive participants of one stratum at once."""
        of_symbols(self._study)
        self.counts(stratum).add(first_index, whole_numbers(symbols, "symbols"))

    def add_reports(self, stratum: str, indices: ArrayLike, symbols: ArrayLike) -> None:
        """Count the symbols of participants of one stratum with these indices, in any order, at once.

        Both are arrays, or columns of a data frame or of an Arrow table, without missing values.
        People who act in another round are refused; check for repeated indices yourself.
        """
        of_symbols(self._study)
        counts = self.counts(stratum)
        indices, symbols = whole_numbers(indices, "indices"), whole_numbers(symbols, "symbols")
        if indices.size != symbols.size:
            raise BadValue(f"{indices.size} indices cannot have {symbols.size} symbols")
        if indices.size and (indices.min() < 0 or indices.max() > MAX_INDEX):
            raise BadValue(f"an index must lie between 0 and {MAX_INDEX}")
        order = np.argsort(indices, kind="stable")
        ascending = indices[order].astype(np.int64, copy=False)
        asked = self._study.asks_all(stratum, ascending)
        if not asked.all():
            check_asked(self._study, stratum, int(ascending[~asked][0]))
        place = self._study.strata.index(stratum)
        places = self._study.protocol.places(self._study.coins, place, ascending)
        counts.add_at(ascending, places, symbols[order])

    def add_cells(
        self, stratum: str, cells: NDArray[np.int64], counts: NDArray[np.int64] | None = None
    ) -> None:
        """Count reports of one stratum by their cells: each once, or as often as ``counts`` says.

        A cell is what a report counts in once its coins are known: the symbol where there are no coins, and
        the code of level, row and bit for a tree that asks everybody for one bit.
        """
        table = self.counts(stratum)
        if self._study.protocol.cell_codes is None:
            raise BadParameter(NO_CELLS)
        if counts is not None:
            counts = counts.astype(np.int64, copy=False)
        table.add_cells(cells.astype(np.int64, copy=False), counts)

    def __add__(self, other: Tally) -> Tally:
        """The tally of both sets of reports."""
        if not isinstance(other, Tally):
            return NotImplemented
        if other._study != self._study:
            raise WrongStudy(
                f"a tally of study {other._study.id[:16]}... cannot be added to one of "
                f"{self._study.id[:16]}..."
            )
        both = Tally(self._study)
        both._counts = {
            stratum: counts.plus(other._counts[stratum]) for stratum, counts in self._counts.items()
        }
        return both

    def estimate(self, estimator: str | None = None) -> Estimate:
        """The statistic with its standard error, from the counts alone."""
        protocol = estimable(self._study)
        chosen = (
            protocol.default_estimator
            if estimator is None
            else choice("estimator", estimator, protocol.estimators)
        )
        answer = protocol.estimate(self._counts, chosen)
        earlier = protocol.earlier
        sizes = {name: people + earlier.get(name, 0) for name, people in self.sizes.items()}
        made = answer.estimate(self._study, sizes, chosen)
        return replace(made, attack=_Attack(protocol, self._counts, chosen, self.n, made.raw, made.bounds))

    def to_json(self) -> str:
        return canonical(
            {
                "format": FORMAT,
                "version": VERSION,
                "study": self._study.id,
                "counts": {stratum: counts.to_json() for stratum, counts in self._counts.items()},
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes, study: Study) -> Tally:
        """Read a tally of ``study``; refuse another study's and counts that cannot be."""
        spec = parse(text, "the tally", files.MAX_BYTES)
        head("tally", spec, (FORMAT, VERSION), _FIELDS, study.id)
        if not isinstance(spec["counts"], Mapping) or set(spec["counts"]) != set(study.strata):
            raise BadFile(f"the tally must have counts for {', '.join(study.strata)}")
        tally = cls(study)
        for stratum, table in spec["counts"].items():
            if not isinstance(table, Mapping):
                raise BadFile("each stratum of a tally is an object")
            tally._counts[stratum].read(table)
        unaltered("the tally", canonical(spec) == tally.to_json())
        return tally

    def to_bytes(self) -> bytes:
        """The compact form: the study's id and the counts that are not 0, compressed.

        >>> from dpairs import Interval
        >>> study = Study.create("auc", epsilon=1.0, protocol="tree", domain=Interval(0, 1), bins=2**40)
        >>> tally = Tally(study)
        >>> Tally.from_bytes(tally.to_bytes(), study) == tally
        True
        """
        body = compress([counts.to_json() for counts in self._counts.values()])
        return _MAGIC + bytes.fromhex(self._study.id) + body

    @classmethod
    def from_bytes(cls, content: bytes, study: Study) -> Tally:
        """Read the compact form of a tally of ``study``, with all the checks of `from_json`."""
        head = len(_MAGIC) + len(study.id) // 2
        if not content.startswith(_MAGIC):
            raise BadFile("this is not a tally in the compact form of version 1")
        if len(content) < head:
            raise BadFile("the tally is cut short")
        of = content[len(_MAGIC) : head].hex()
        if of != study.id:
            raise WrongStudy(f"this tally belongs to study {of[:16]}..., not to {study.id[:16]}...")
        tally = cls(study)
        tables = expand(content[head:], [counts.to_json() for counts in tally._counts.values()])
        for counts, table in zip(tally._counts.values(), tables, strict=True):
            counts.read(table)
            unaltered("the tally", counts.to_json() == table)
        return tally

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tally's file: JSON, or the compact form when its name ends in ``.tally``."""
        compact = os.fspath(path).endswith(COMPACT)
        files.write(path, self.to_bytes() if compact else self.to_json().encode() + b"\n", "the tally")

    @classmethod
    def load(cls, path: str | os.PathLike[str], study: Study) -> Tally:
        """Read a tally's file, of either form."""
        content = files.read(path, "the tally")
        if content.startswith(_MAGIC[:-1]):
            return cls.from_bytes(content, study)
        return cls.from_json(content, study)


_COUNTED_IN: dict[str, type[Tally | Release | SiteTally]] = {
    REPORTS: Tally,
    SHARES: Release,
    NUMBERS: SiteTally,
}


def counted_in(study: Study) -> type[Tally | Release | SiteTally]:
    """What an estimate is made from: a tally, what two servers released, or sites' answers."""
    return _COUNTED_IN[study.protocol.sends]
