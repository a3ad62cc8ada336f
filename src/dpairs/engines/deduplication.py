"""Which files are counted in which way, so that nobody counts twice.

Files in which people ascend, and whose people no other file can have because their indices lie apart, need no
de-duplication: they go *straight*. All others are *tangled*, and are de-duplicated together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import BadFile
from ..study import Study
from ..tally import Tally
from .file_tally import ELSEWHERE, FileTally
from .files import Opened, not_visible
from .inspecting import Inspected, Wanted
from .pages import damaged


@dataclass(frozen=True)
class Deduplication:
    """The files by how they are counted."""

    straight: tuple[str, ...] = ()
    """Cells of people who are all different."""
    tangled: tuple[str, ...] = ()
    """Cells of people who may be there twice."""
    symbols: tuple[str, ...] = ()
    """Symbols, whose people may be there twice and whose coins are recomputed if there are any."""
    only: Mapping[str, str] = field(default_factory=dict)
    """The stratum of each straight file whose rows all have the same one: it need not be read again."""

    @property
    def paths(self) -> tuple[str, ...]:
        return self.straight + self.tangled + self.symbols

    @property
    def ways(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """The files of each way of counting cells, with its name; and symbols, without one."""
        return (self.straight, "straight"), (self.tangled, "tangled"), (self.symbols, "")


def coded(study: Study) -> bool:
    """Whether all files of the study hold cells, because its symbols are cells."""
    return study.protocol.cell_codes is not None and not study.protocol.uses_coins


def wanted(study: Study, opened: Opened, recompute: bool) -> list[Wanted]:
    """What is to be found out about each file: symbols that are cells cannot be wrong."""
    return [Wanted(path, path in opened.cells and not coded(study), recompute) for path in opened.paths]


def deduplication(study: Study, opened: Opened, inspected: Sequence[Inspected]) -> Deduplication:
    """Who goes where; an error if a person may be in files of both forms."""
    always = coded(study)
    holds_cells = {file.path: always or file.path in opened.cells for file in inspected}
    meeting: set[str] = set()
    for one, other in _meetings(inspected):
        if holds_cells[one] != holds_cells[other]:
            # A person's symbol and cell cannot be compared in SQL, which has no coins.
            raise BadFile(
                f"reports {one} and {other} share indices, and one has cells, the other symbols: "
                "write both as cells, or both as symbols, so that a person who is in both counts once"
            )
        meeting |= {one, other}
    straight = {
        file.path: None
        for file in inspected
        if holds_cells[file.path] and file.ascending and file.path not in meeting
    }
    rest = [file.path for file in inspected if file.path not in straight]
    return Deduplication(
        tuple(straight),
        tuple(path for path in rest if holds_cells[path] and not always),
        # Symbols that are cells are few: packed, their people are told apart in less memory.
        tuple(path for path in rest if always or not holds_cells[path]),
        {file.path: file.only for file in inspected if file.only is not None and file.path in straight},
    )


def _meetings(inspected: Sequence[Inspected]) -> list[tuple[str, str]]:
    """Pairs of files whose indices overlap in a stratum; every file that meets another is in one."""
    meetings = []
    for stratum in sorted({stratum for file in inspected for stratum in file.reach}):
        reaches = sorted((*file.reach[stratum], file.path) for file in inspected if stratum in file.reach)
        furthest, holder = -1, ""
        for first, last, path in reaches:
            if first <= furthest:
                meetings.append((holder, path))
            if last > furthest:
                furthest, holder = last, path
    return meetings


def whole(
    explain: Callable[[Exception], str],
    study: Study,
    opened: Opened,
    look: Callable[[list[Wanted]], list[Inspected]],
    run: Callable[[Deduplication], FileTally],
    failures: tuple[type[Exception], ...],
    *,
    keep_going: bool,
    recompute: bool,
) -> FileTally:
    """What an engine finds in all files; files that cannot be used are named, or left out and named."""
    refused = list(opened.refused)

    def leave(bad: Sequence[str]) -> None:
        if bad and not keep_going:
            raise BadFile(bad[0])
        refused.extend(bad)

    inspected = look(wanted(study, opened, recompute))
    for file in inspected:
        if file.unseen is not None:
            # Nothing is wrong with the file, so it is not left out.
            raise BadFile(not_visible(file.path, file.unseen))
    leave([file.wrong for file in inspected if file.wrong])
    usable = [file for file in inspected if not file.wrong]
    if not usable:
        return _ended(FileTally(Tally(study)), opened, refused)
    asked = deduplication(study, opened, usable)
    rows = {file.path: file.rows for file in usable}
    try:
        total = run(asked)
    except failures as error:
        bad = damaged(asked.paths)
        if not bad:
            raise BadFile(explain(error)) from None
        leave(list(bad.values()))
        rows = {path: number for path, number in rows.items() if path not in bad}
        straight, tangled, symbols = (
            tuple(path for path in paths if path not in bad)
            for paths in (asked.straight, asked.tangled, asked.symbols)
        )
        total = run(Deduplication(straight, tangled, symbols, asked.only))
    if total.reasons.total() != sum(rows.values()):
        raise BadFile(
            f"{sum(rows.values()):,} rows were looked at and {total.reasons.total():,} were counted: "
            "were the files changed meanwhile?"
        )
    return _ended(total, opened, refused)


def _ended(total: FileTally, opened: Opened, refused: list[str]) -> FileTally:
    if opened.elsewhere:
        total.reasons[ELSEWHERE] += opened.elsewhere
    total.refused = tuple(refused)
    return total
