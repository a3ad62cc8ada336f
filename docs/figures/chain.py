"""The chain of a fleet in files, with real reports of made-up people: front ends, consumers, the real tally.

Front ends write rows as they come, in no order, and some rows arrive at two of them. Consumers take one
window of time and one range of indices, sort it and write report files; some windows are written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import dpairs
from dpairs.engines import ReportWriter, simulate_reports

STUDY = dpairs.Study.create(
    "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=2**16, seed=1
)
Rows = NDArray[np.int64]
"""Number of the stratum, index and symbol in each row."""


@dataclass(frozen=True)
class Chain:
    """What went through, and where its files are."""

    people: Rows
    """One row for each person."""
    rows: Rows
    """All rows in the consumers' files."""
    front_ends: Path
    windows: tuple[Path, ...]
    """A folder for each window."""
    repeated: int
    """Rows beyond the first of the same person."""


def reported(folder: Path, people: int, seed: int) -> Rows:
    """What made-up people report, as the library simulates it, in order of stratum and index."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, people)
    score = np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1)
    simulate_reports(STUDY, {"score": score, "label": label}, folder, seed=seed)
    return read(sorted(folder.rglob("*.parquet")))


def read(paths: Sequence[Path]) -> Rows:
    """The rows of report files."""
    found = []
    for path in paths:
        table = pq.read_table(path)
        place = [STUDY.strata.index(name) for name in table["stratum"].to_pylist()]
        found.append(np.stack([place, table["index"].to_numpy(), table["symbol"].to_numpy()]))
    return np.concatenate(found, axis=1)


def write(path: Path, rows: Rows) -> None:
    """One report file."""
    with ReportWriter(path, STUDY) as writer:
        for place, stratum in enumerate(STUDY.strata):
            mine = rows[:, rows[0] == place]
            writer.write(stratum, mine[1], mine[2])


def run(
    folder: Path,
    people: int,
    seed: int,
    front_ends: int = 10,
    windows: int = 6,
    consumers: int = 4,
    redelivered: float = 0.01,
) -> Chain:
    """Send everybody's report through the chain; every window has one consumer that writes it twice."""
    everybody = reported(folder / "people", people, seed)
    rng = np.random.default_rng(seed + 1)
    again = rng.choice(people, round(people * redelivered), replace=False)
    arrived = np.concatenate([everybody, everybody[:, again]], axis=1)
    arrived = arrived[:, rng.permutation(arrived.shape[1])]
    taken_by = rng.integers(0, front_ends, arrived.shape[1])
    came = np.arange(arrived.shape[1]) * windows // arrived.shape[1]
    for front_end in range(front_ends):
        for window in range(windows):
            rows = arrived[:, (taken_by == front_end) & (came == window)]
            write(folder / "front-ends" / f"{front_end}" / f"{window}.parquet", rows)
    places = []
    for window in range(windows):
        waiting = read(sorted((folder / "front-ends").glob(f"*/{window}.parquet")))
        range_of = waiting[1] * consumers // (everybody[1].max() + 1)
        places.append(folder / "windows" / f"{window}")
        for consumer in range(consumers):
            mine = waiting[:, range_of == consumer]
            mine = mine[:, np.lexsort((mine[1], mine[0]))]
            write(places[-1] / f"{consumer}.parquet", mine)
            if consumer == window % consumers:  # died after the file, before it was marked as done
                write(places[-1] / f"{consumer}-again.parquet", mine)
    rows = read(sorted((folder / "windows").rglob("*.parquet")))
    return Chain(everybody, rows, folder / "front-ends", tuple(places), rows.shape[1] - people)


def tally(rows: Rows) -> dpairs.Tally:
    """Rows counted in memory, each as it is: nobody looks who reports twice."""
    found = dpairs.Tally(STUDY)
    for place, stratum in enumerate(STUDY.strata):
        mine = rows[:, rows[0] == place]
        found.add_reports(stratum, mine[1], mine[2])
    return found
