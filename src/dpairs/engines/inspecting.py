"""One pass over a report file before it is counted: who is there in what order, and whether cells are right.

It reads every page with its checksum, in batches. What it finds lets `deduplication` say exactly, without
comparing people with each other, whether anybody can be there twice.
"""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import BadFile
from ..protocols.sides import alone
from ..randomness import SystemRandomness
from ..report import MAX_INDEX
from ..study import Study
from .files import damage
from .grouping import cell_codes
from .pages import batches
from .places import first_sentence, parquet

SAMPLE = 1024
"""Rows of a file whose cells are compared with the coins, unless all are."""
NONE = -1
"""Stands for a missing index or symbol: neither is ever negative."""


@dataclass(frozen=True)
class Wanted:
    """A file, and what is to be found out about it."""

    path: str
    cells: bool
    """Whether it holds cells that coins can show to be wrong."""
    recompute: bool = False
    """Compare all cells, not a sample."""


@dataclass
class Inspected:
    """What one file is like."""

    path: str
    rows: int = 0
    ascending: bool = True
    """Whether indices are in range and ascend strictly within each stratum: then nobody is there twice."""
    reach: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The first and the last index of each stratum of the study."""
    only: str | None = None
    """The stratum of the study that all rows have, if they have one."""
    wrong: str | None = None
    """A sentence on why the file cannot be used."""
    unseen: str | None = None
    """The machine on which the file is not there, or may not be read."""

    def to_json(self) -> str:
        """As text, for another machine."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Inspected:
        file = cls(**json.loads(text))
        file.reach = {stratum: (first, last) for stratum, (first, last) in file.reach.items()}
        return file


def inspect(study: Study, wanted: Wanted) -> Inspected:
    file = Inspected(wanted.path)
    checked = wrong = 0
    try:
        with parquet(wanted.path) as pages:
            picked = _sample(pages.metadata.num_rows)
        sampled: list[tuple[NDArray[Any], ...]] = []
        for batch in batches(wanted.path):
            columns = _arrays(study, batch)
            _order(study, file, columns[0], columns[1])
            _alone(study, file, columns[0])
            if wanted.cells and wanted.recompute:
                looked, bad = compare(study, *columns)
                checked, wrong = checked + looked, wrong + bad
            elif wanted.cells:
                start, end = np.searchsorted(picked, (file.rows, file.rows + batch.num_rows))
                here = picked[start:end] - file.rows
                sampled.append(tuple(column[here] for column in columns))
            file.rows += batch.num_rows
    except (FileNotFoundError, PermissionError):
        file.unseen = platform.node()
        return file
    except BadFile as error:
        file.wrong = str(error)
        return file
    except (pa.ArrowException, OSError) as error:
        file.wrong = damage(wanted.path, first_sentence(error))
        return file
    if sampled:
        checked, wrong = compare(study, *(np.concatenate(column) for column in zip(*sampled, strict=True)))
    if wrong:
        file.wrong = f"reports {wanted.path} hold {differing(wrong, checked)}"
    return file


def differing(wrong: int, checked: int) -> str:
    return f"cells that are not those of the study's coins: {wrong:,} of {checked:,} that were compared"


class Comparison:
    """Compares the cells of a table's batches with the coins: a sample of each batch, or all."""

    def __init__(self, study: Study, whole: bool) -> None:
        self._study, self._whole = study, whole
        self.checked = self.wrong = 0

    def add(self, batch: Any) -> None:
        columns = _arrays(self._study, batch)
        if not self._whole:
            picked = _sample(batch.num_rows)
            columns = tuple(column[picked] for column in columns)
        checked, wrong = compare(self._study, *columns)
        self.checked, self.wrong = self.checked + checked, self.wrong + wrong

    @property
    def sentence(self) -> str:
        """What is wrong, if anything is."""
        return differing(self.wrong, self.checked)


def _sample(rows: int) -> NDArray[np.int64]:
    """Rows to be compared. Nobody can know them before, so nobody can write the wrong cells elsewhere."""
    if rows <= SAMPLE:
        return np.arange(rows)
    return np.unique(SystemRandomness().words(SAMPLE) % np.uint64(rows)).astype(np.int64)


def _arrays(study: Study, batch: Any) -> tuple[NDArray[Any], ...]:
    """Each row's place among the study's strata (-1: none of them), index and symbol."""
    text = batch.column("stratum")
    if not isinstance(text.type, pa.DictionaryType):
        text = text.dictionary_encode()
    # As bytes: a table's texts may be no UTF-8, and so no stratum.
    known = {name.encode(): place for place, name in enumerate(study.strata)}
    spellings = text.dictionary.cast(pa.large_binary()).to_pylist()
    places = np.array([known.get(name, NONE) for name in spellings] + [NONE])
    spelt = text.indices.fill_null(len(places) - 1) if text.null_count else text.indices
    numbers = (batch.column(name) for name in ("index", "symbol"))
    filled = (each.fill_null(NONE) if each.null_count else each for each in numbers)
    return _placed(places, np.asarray(spelt)), *(np.asarray(each) for each in filled)


def _placed(places: NDArray[np.int64], spelt: NDArray[Any]) -> NDArray[np.int64]:
    """Places of a dictionary's codes; all alike in most batches, which is faster to see than to look up."""
    if spelt.size and (spelt == spelt[0]).all():
        return np.broadcast_to(places[spelt[0]], spelt.shape)
    looked: NDArray[np.int64] = places[spelt]
    return looked


def _alike(places: NDArray[np.int64]) -> bool:
    return bool(places.size and places.strides == (0,))


def _alone(study: Study, file: Inspected, places: NDArray[np.int64]) -> None:
    """Whether all rows so far, and these, have one stratum."""
    here = study.strata[places[0]] if _alike(places) and places[0] != NONE else None
    file.only = here if file.rows == 0 or file.only == here else None


def _order(study: Study, file: Inspected, places: NDArray[np.int64], indices: NDArray[np.int64]) -> None:
    alike = _alike(places)
    for place, stratum in enumerate(study.strata):
        if alike and places[0] != place:
            continue
        mine = indices if alike else indices[places == place]
        if mine.size == 0:
            continue
        first, last = file.reach.get(stratum, (MAX_INDEX + 1, NONE))
        steady = mine[0] > last and mine[-1] <= MAX_INDEX and bool((mine[1:] > mine[:-1]).all())
        file.ascending &= bool(steady)
        if not steady:
            mine = np.sort(mine[(mine >= 0) & (mine <= MAX_INDEX)])
        if mine.size:
            file.reach[stratum] = (min(first, int(mine[0])), max(last, int(mine[-1])))


def compare(
    study: Study, places: NDArray[np.int64], indices: NDArray[np.int64], cells: NDArray[np.int64]
) -> tuple[int, int]:
    """How many of these rows could be compared with the coins, and how many of them are wrong.

    Rows that are not counted anyway, for another reason, are not compared.
    """
    good = (places != NONE) & (indices >= 0) & (indices <= MAX_INDEX) & cell_codes(study).has(cells)
    wrong = 0
    for place in range(len(study.strata)):
        mine = np.flatnonzero(good & (places == place))
        said = alone(study).symbols_of(cells[mine])
        right = alone(study).cells_of(study.coins, place, indices[mine], said)
        wrong += int(np.count_nonzero(right != cells[mine]))
    return int(np.count_nonzero(good)), wrong
