"""Of the page on the internet's scale: sizes that were measured, and arithmetic from them."""

from __future__ import annotations

import tempfile
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import dpairs

from ..exhibits import results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row
from .pairs import SHAPES, pair_function, session
from .scale import engines

ROWS, PEOPLE, STUDIES, DAY = 10**6, 10**9, 10, 86_400
UNIT = dpairs.Interval(0, 1)
WINDOWS = (1, 24, 144)
"""One person in so many is in a file: of the whole day, of an hour, of ten minutes."""


def settings(quick: bool) -> list[Setting]:
    asked = (
        ("bytes of a row", WINDOWS),
        ("bytes of a matching", (10**5, ROWS)),
        ("bytes of a tally", (16, 24, 32)),
    )
    return [{"what": what, "of": each} for what, all_ in asked for each in (all_[:1] if quick else all_)]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """Sizes, which are the same on every machine."""
    make = {
        "bytes of a row": row_bytes,
        "bytes of a matching": matching_bytes,
        "bytes of a tally": tally_bytes,
    }
    return [{"bytes": make[str(setting["what"])](int(setting["of"]), seed)}]


def row_bytes(part: int, seed: int) -> float:
    """Of one row in a file with every ``part``-th person, on average."""
    rng = np.random.default_rng([part, seed])
    indices, symbols = np.cumsum(rng.geometric(1 / part, ROWS)), rng.integers(0, 2, ROWS)
    study = dpairs.Study.create("auc", protocol="tree", epsilon=1.0, domain=UNIT, bins=2**16, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "window.parquet"
        from dpairs.engines import ReportWriter  # with pyarrow and pandas

        with ReportWriter(path, study) as writer:
            writer.write("positive", indices, symbols)
        return path.stat().st_size / ROWS


def matching_bytes(people: int, seed: int) -> int:
    """What a device holds at most to recompute who meets whom, with so many people in each of two classes."""
    study = dpairs.Study.create("auc", protocol="pairwise", epsilon=1.0, domain=UNIT, seed=1)
    protocol: Any = study.protocol
    tracemalloc.start()
    protocol.match(study.coins, dict.fromkeys(study.strata, people))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def tally_bytes(levels: int, seed: int) -> float:
    """What a tally of a tree with 2^levels leaves unpacks to, for each of a million people."""
    study = dpairs.Study.create("auc", protocol="tree", epsilon=1.0, domain=UNIT, bins=2**levels, seed=1)
    rng = np.random.default_rng(1)
    data = {"score": rng.random(ROWS), "label": rng.integers(0, 2, ROWS)}
    content = dpairs.simulate_tally(study, data, seed=1).to_bytes()
    return len(zlib.decompress(content.partition(bytes.fromhex(study.id))[2])) / ROWS


EXPERIMENT = Experiment("internet", "Sizes of files, matchings and tallies", settings, measure, runs=1)


def size(what: str, of: int) -> float:
    return float(results("internet").where(what=what, of=of).column("bytes")[0])


@table("internet_arithmetic")
def arithmetic() -> Table:
    """A day of everybody, ten times, in proportion to what one machine did."""
    reports = PEOPLE * STUDIES
    most = max(engines())
    kept = engines()[most]
    whole, window = (size("bytes of a row", part) for part in (WINDOWS[0], WINDOWS[-1]))
    hours = {name: kept[name]["processor"] / most * reports / 3600 for name in ("duckdb", "spark")}
    rows = [
        ("reports a second, on average", f"{reports / DAY:,.0f}"),
        (
            "traffic of single reports, 19 bytes each and about 600 of HTTP (assumed)",
            f"{619 * 8 * reports / DAY / 1e9:.2f} Gbit/s",
        ),
        ("a row in a file of everybody, in order", f"{whole:.2f} bytes"),
        ("a row in a window of ten minutes, one person in 144", f"{window:.1f} bytes"),
        ("a day's files, in windows", f"{reports * window / 1e9:.1f} GB"),
        ("a day's files, merged", f"{reports * whole / 1e9:.2f} GB"),
        ("a day's tally, once, DuckDB's way", f"{hours['duckdb']:.2f} core hours"),
        ("a day's tally, once, with Spark", f"{hours['spark']:.2f} core hours"),
        ("bits for who has reported, a study of one bit", f"{16 / 64 * PEOPLE / 1e9:.2f} GB"),
    ]
    return Table("", ["", "10^9 people, 10^10 reports a day"], rows)


@table("internet_relay")
def relay() -> Table:
    """Three messages of a pair pass through the relay, sealed, in and out; two are for the collector."""
    rows = []
    for words, kernel, noises in SHAPES:
        if words in ("AUC, 32 bits, ties tossed", "Kendall, 8 bits", "Gini, 32 bits"):
            name, precision = noises[-1] if words.startswith("Gini") else noises[0]
            sizes = session(pair_function(kernel, name, precision))
            passed = 2 * (sum(sizes[:3]) + 3 * 28) + sum(sizes[3:])
            day = passed * PEOPLE / 2
            cells = [
                f"{sum(sizes):,}",
                f"{passed:,}",
                f"{day / 1e12:.3g} TB",
                f"{8 * day / DAY / 1e9:.2g} Gbit/s",
            ]
            rows.append([f"{words}, `{name}`", *cells])
    head = ["kernel", "bytes of 5 messages", "through the relay", "a day's pairs, $P = 1$", "on average"]
    return Table("", head, rows)


@table("internet_limits")
def limits() -> Table:
    """What ends each protocol, by sizes that were measured."""
    tally, matching = size("bytes of a tally", 32), size("bytes of a matching", ROWS) / ROWS
    rows = [
        (
            "`histogram`",
            "4,096 bins of a column",
            "the study refuses more",
            "`projection`, whose error hardly depends on the domain",
        ),
        (
            "`tree`",
            f"{512 * 2**20 / tally:.1g} people with 2^32 leaves",
            f"a tally file has {tally:.1f} bytes for each before compression; more than 512 MiB are not read",
            "2^20 leaves or fewer, whose tally is as large whatever the people; or a tally for each level",
        ),
        (
            "`projection`",
            "2 days for a study",
            "each round lasts until it was day everywhere, and the second needs the first one's tally",
            "`tree` or `histogram` where one day is all there is",
        ),
        (
            "`pairwise`",
            "10,000,000 people of a class",
            f"a device computes the whole matching, {matching:.0f} bytes for each, and refuses more",
            "several studies whose estimates are averaged; or a matching by a keyed permutation",
        ),
    ]
    return Table("", ("protocol", "stops at", "because", "what to do"), rows)
