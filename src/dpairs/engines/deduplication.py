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
from .files import Opened, damaged, not_visible
from .inspecting import Inspected, Wanted


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
    """The files to be inspected: all but symbols that wait for coins, unless some have cells already."""
    if coded(study):
        return [Wanted(path, cells=False) for path in opened.paths]
    if not opened.cells:
        return []
    return [Wanted(path, path in opened.cells, recompute) for path in opened.paths]


def deduplication(study: Study, opened: Opened, inspected: Sequence[Inspected]) -> Deduplication:
    """Who goes where; an error if a person may be in files of both forms."""
    if not inspected:
        return Deduplication(symbols=opened.paths)
    always = coded(study)
    cells = {each.path: always or each.path in opened.cells for each in inspected}
    meeting: set[str] = set()
    for one, other in _meetings(inspected):
        if cells[one] != cells[other]:
            # A person's symbol and cell cannot be compared in SQL, which has no coins.
            raise BadFile(
                f"reports {one} and {other} share indices, and one has cells, the other symbols: "
                "whether a person is in both cannot be told, so write them in one form"
            )
        meeting |= {one, other}
    straight = {
        each.path: None
        for each in inspected
        if cells[each.path] and each.ascending and each.path not in meeting
    }
    rest = [each.path for each in inspected if each.path not in straight]
    return Deduplication(
        tuple(straight),
        tuple(path for path in rest if cells[path] and not always),
        # Symbols that are cells are few: packed, their people are told apart in less memory.
        tuple(path for path in rest if always or not cells[path]),
        {each.path: each.only for each in inspected if each.only is not None and each.path in straight},
    )


def _meetings(inspected: Sequence[Inspected]) -> list[tuple[str, str]]:
    """Pairs of files whose indices overlap in a stratum; every file that meets another is in one."""
    found = []
    for stratum in sorted({stratum for each in inspected for stratum in each.reach}):
        reaches = sorted((*each.reach[stratum], each.path) for each in inspected if stratum in each.reach)
        furthest, holder = -1, ""
        for first, last, path in reaches:
            if first <= furthest:
                found.append((holder, path))
            if last > furthest:
                furthest, holder = last, path
    return found


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
    for each in inspected:
        if each.unseen is not None:
            # Nothing is wrong with the file, so it is not left out.
            raise BadFile(not_visible(each.path, each.unseen))
    leave([each.wrong for each in inspected if each.wrong])
    usable = [each for each in inspected if not each.wrong]
    if inspected and not usable:
        return _ended(FileTally(Tally(study)), opened, refused)
    asked = deduplication(study, opened, usable)
    try:
        found = run(asked)
    except failures as error:
        bad = damaged(asked.paths)
        if not bad:
            raise BadFile(explain(error)) from None
        leave(list(bad.values()))
        straight, tangled, symbols = (
            tuple(path for path in paths if path not in bad)
            for paths in (asked.straight, asked.tangled, asked.symbols)
        )
        found = run(Deduplication(straight, tangled, symbols, asked.only))
    return _ended(found, opened, refused)


def _ended(found: FileTally, opened: Opened, refused: list[str]) -> FileTally:
    if opened.elsewhere:
        found.reasons[ELSEWHERE] += opened.elsewhere
    found.refused = tuple(refused)
    return found
