"""Report files for tests: good ones, and ones with every kind of bad row."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpairs
from dpairs.engines.files import FORMAT, ROW_GROUP, STUDY

PEOPLE = 10**7 if os.environ.get("DPAIRS_VALIDATE") else 10**6
TREE = dpairs.Study.create(
    "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=2**16, seed=1
)
OTHER = dpairs.Study.create(
    "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=2**16, seed=2
)


def write(path: Path, study: dpairs.Study, strata, indices, symbols, **metadata: str) -> None:
    """A file as another producer would write it."""
    names = {STUDY: study.id.encode(), FORMAT: b"1"}
    names |= {key.encode(): value.encode() for key, value in metadata.items()}
    columns = [pa.array(strata, pa.string()), pa.array(indices, pa.int64()), pa.array(symbols, pa.int64())]
    table = pa.table(columns, names=["stratum", "index", "symbol"]).replace_schema_metadata(names)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=ROW_GROUP)


def messy(folder: Path, people: int) -> tuple[dpairs.Tally, Counter[str]]:
    """Files with 1% of repeated rows and 0.1% of each kind of bad row; what must come of them."""
    rng = np.random.default_rng(8)
    some = people // 1000
    place = rng.integers(0, 2, people)
    index, symbol = np.arange(people), rng.integers(0, 2, people)
    repeated = rng.choice(people, 10 * some, replace=False)
    # Of those who contradict themselves some do so twice, and some repeat themselves as well.
    liars = rng.choice(people, some, replace=False)
    stranger, far, wild = (rng.choice(people, some, replace=False) for _ in range(3))
    none = rng.choice(people, 7, replace=False)
    parts = [
        (place, index, symbol),
        (place[repeated], index[repeated], symbol[repeated]),
        (place[liars], index[liars], 1 - symbol[liars]),
        (np.full(some, 2), index[stranger], symbol[stranger]),
        (place[far], np.where(far % 2, -1 - index[far], 2**53 + index[far]), symbol[far]),
        (place[wild], index[wild], np.where(wild % 2, 2 + symbol[wild], -1 - symbol[wild])),
        (np.full(7, 3), index[none], symbol[none]),
    ]
    columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
    order = rng.permutation(columns[0].size)
    strata = np.array([*TREE.strata, "other", None], dtype=object)[columns[0][order]]
    cut = order.size // 3
    for number, part in enumerate((slice(0, cut), slice(cut, None))):
        rows = (columns[1][order][part], columns[2][order][part])
        write(folder / f"day={number}" / "part.parquet", TREE, strata[part], *rows)
    write(folder / "strange.parquet", OTHER, [TREE.strata[0]] * some, index[:some], symbol[:some])
    good = np.ones(people, dtype=bool)
    good[liars] = False
    tally = dpairs.Tally(TREE)
    for number, stratum in enumerate(TREE.strata):
        who = np.flatnonzero(good & (place == number))
        tally.add_reports(stratum, index[who], symbol[who])
    reasons = {
        "counted": people - some,
        "repeated": 11 * some,
        "contradictory": some,
        "of an unknown stratum": some + 7,
        "index out of range": some,
        "symbol out of range": some,
        "of another study": some,
    }
    return tally, Counter(reasons)
