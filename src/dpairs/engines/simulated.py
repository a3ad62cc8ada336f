"""A simulated population's reports as files: streamed, and the same for any number of threads.

Nearly all the time is spent in numpy and Arrow, which let other threads work.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.tables import tables
from ..errors import BadFile, BadParameter
from ..protocols.sides import alone
from ..randomness import Randomness, SeededRandomness, SystemRandomness
from ..simulate import SLICE, randomize_asked
from ..study import Study
from ..tally import NO_CELLS
from . import places
from .files import ReportWriter, has_cells

PART = 2**21
"""People in one file."""
Task = tuple[int, int, int, tuple[NDArray[Any], ...]]
"""Number of the stratum, number of the file, first index, columns."""


def simulate_reports(
    study: Study,
    data: Any,
    folder: str | os.PathLike[str],
    seed: int | None = None,
    *,
    cells: bool | None = None,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> dict[str, int]:
    """Write what every person of ``data`` reports in this round; returns the number in each stratum.

    A stratum has a folder, with a file for every two million people. Indices begin at 0. The same seed gives
    the same files, for any number of ``workers`` (threads) and any chunks of data. With ``cells`` the file
    holds the reports' cells; that is the default if the study has cells that depend on coins.
    """
    alone(study)
    if cells is None:
        cells = has_cells(study)
    if cells and study.protocol.cell_codes is None:
        raise BadParameter(NO_CELLS)
    try:
        if places.occupied(folder):
            raise BadFile(f"give a new or an empty folder for the reports: {folder} has something in it")
    except OSError as error:
        raise BadFile(f"{folder} cannot be reached: {places.first_sentence(error)}") from None
    written = dict.fromkeys(study.strata, 0)

    def note(stratum: int, people: int, reports: int) -> None:
        written[study.strata[stratum]] += reports
        if progress is not None:
            progress(people)

    with ThreadPoolExecutor(workers) as pool:
        waiting: list[Future[tuple[int, int, int]]] = []
        for task in _tasks(study, data):
            waiting.append(pool.submit(_write_part, study, os.fspath(folder), seed, cells, task))
            if len(waiting) > workers:
                note(*waiting.pop(0).result())
        for future in waiting:
            note(*future.result())
    return written


def _tasks(study: Study, data: Any) -> Iterator[Task]:
    """The people of each stratum in parts of one size, as they come."""
    held: dict[str, list[tuple[NDArray[Any], ...]]] = {stratum: [] for stratum in study.strata}
    files = dict.fromkeys(study.strata, 0)

    def part(stratum: str, size: int) -> Task:
        columns = tuple(np.concatenate(column) for column in zip(*held[stratum], strict=True))
        held[stratum] = [tuple(column[size:].copy() for column in columns)]
        number = files[stratum]
        files[stratum] += 1
        return (
            study.strata.index(stratum),
            number,
            number * PART,
            tuple(column[:size] for column in columns),
        )

    for table in tables(data, study.statistic.columns):
        for stratum, columns in study.statistic.split(table):
            held[stratum].append(tuple(np.asarray(column) for column in columns))
            while sum(len(each[0]) for each in held[stratum]) >= PART:
                yield part(stratum, PART)
    for stratum, parts in held.items():
        if sum(len(each[0]) for each in parts):
            yield part(stratum, PART)


def _write_part(study: Study, folder: str, seed: int | None, cells: bool, task: Task) -> tuple[int, int, int]:
    """Randomize and write one file; the stratum, the people in it, and how many were asked."""
    stratum, number, first, columns = task
    bits: Randomness = SystemRandomness()
    if seed is not None:
        name = f"dpairs simulated reports/{seed}/{stratum}/{number}"
        bits = SeededRandomness(int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big"))
    people, indices, symbols = len(columns[0]), [], []
    for start in range(0, people, SLICE):
        some = tuple(column[start : start + SLICE] for column in columns)
        asked, said = randomize_asked(study, stratum, first + start, some, bits, cells)
        if said.size:
            who = np.arange(first + start, first + start + len(some[0]))
            indices.append(who if asked is None else who[asked])
            symbols.append(said)
    reports = sum(each.size for each in indices)
    if reports:
        path = places.join(folder, f"stratum-{stratum}/part-{number:05d}.parquet")
        with ReportWriter(path, study, cells=cells) as writer:
            writer.write_column(study.strata[stratum], np.concatenate(indices), np.concatenate(symbols))
    return stratum, people, reports
