"""Make the figure and the tables of the page toward the internet.

    python docs/figures/measure_internet.py     # what is measured for this page alone, about a minute
    python docs/figures/make_internet.py        # all figures and tables, some minutes on one core
    python docs/figures/make_internet.py relay  # only the named ones

Rates come from benchmarks/results.json, scale.json and internet.json; what is assumed is in capitals here and
in fleet.py. Everything else is arithmetic, or the simulation of a fleet, which is seeded.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from fleet import DAY, HOUR, Fleet, Outcome, percentile, simulate
from make_figures import BLUE, GREEN, ORANGE, PURPLE, VERMILION, save, table
from make_pairs import SHAPES, session

import dpairs
from dpairs.client.peer import LONGEST, MOST
from dpairs.data.grids import MAX_BINS
from dpairs.engines.on_duckdb import MEMORY
from dpairs.formats.compact import MAX_BYTES
from dpairs.garbled.function import PairFunction
from dpairs.garbled.noise_registry import noise

HERE = Path(__file__).parent
PEOPLE, STUDIES, SECONDS = 10**9, 10, 86_400
REPORTS = PEOPLE * STUDIES
SINGLE = 600
"""Bytes of a request with one report and of its answer, with their headers: an assumption."""
SEALING = 28
"""Bytes that sealing adds to a message: a nonce and a tag."""
PARTNERS = (1, 4)
"""Pairs of each person: an assumption."""
AWAY = 3600
"""Seconds that somebody waits for a partner with the device on: an assumption."""
OUTAGE = (14 * HOUR, HOUR)
"""A third of the fleet is away for an hour, at the time of the most reports."""
SHARE, SOON = 0.999, 5
"""A fleet is large enough if this share of the reports is in the queue within so many minutes."""


# ---------------------------------------------------------------- what was measured


@cache
def benchmark(group: str, name: str) -> dict[str, Any]:
    """A row of the benchmarks, by its name."""
    rows = json.loads((HERE.parents[1] / "benchmarks" / "results.json").read_text())["benchmarks"][group][
        "rows"
    ]
    return dict(next(row for row in rows if row["name"] == name))


@cache
def measured() -> dict[str, Any]:
    """What measure_internet.py found."""
    return dict(json.loads((HERE / "internet.json").read_text()))


@cache
def scale() -> tuple[int, dict[str, Any]]:
    """The largest number of reports that was tallied, and what that took."""
    kept = {int(n): found for n, found in json.loads((HERE / "scale.json").read_text()).items()}
    return max(kept), kept[max(kept)]


def tallied(engine: str) -> float:
    """Reports a second on one core."""
    n, found = scale()
    return float(n / found[engine]["seconds"] / found["cores"])


def window_bytes(part: int) -> float:
    """Bytes of a row where every ``part``-th person is in a window."""
    (found,) = [each["bytes"] for each in measured()["windows"] if each["part"] == part]
    return float(found)


def real() -> Fleet:
    """A fleet with the measured rates."""
    single, shake = benchmark("collector", "single reports, committed"), measured()["handshake"]
    serves = 1 / (1 / single["ours"] + shake)
    return Fleet(
        people=PEOPLE,
        front_ends=0,
        serves=serves,
        refusing=(1 / single["theirs"] + shake) * serves,
        consumes=benchmark("collector", "reports in batches, committed")["ours"],
        counts=tallied("spark"),
        studies=STUDIES,
        outage=OUTAGE,
    )


# ---------------------------------------------------------------- arithmetic


def arithmetic() -> None:
    """10^9 people and 10^10 reports a day, in proportion to what was measured."""
    n, found = scale()
    each = found["write"]["bytes"] / n
    window = window_bytes(DAY // real().window)
    study = dpairs.Study.create("auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), seed=1)
    wire = len(bytes(dpairs.Participant(study, index=1, stratum="positive").report(score=0.5)))
    second = REPORTS / SECONDS
    duckdb, spark = (REPORTS / tallied(engine) / 3600 for engine in ("duckdb", "spark"))
    rows = [
        ["reports a second, on average", f"{second:,.0f}"],
        ["a report on the wire", f"{wire} bytes, and about {SINGLE} with HTTP's headers (assumed)"],
        ["traffic of single reports", f"{second * SINGLE * 8 / 1e9:.2g} Gbit/s, without TLS's handshakes"],
        ["a row in a file of everybody, in order", f"{each:.2g} bytes (measured at {n:,})"],
        [
            "a row in a window of ten minutes",
            f"{window:.2g} bytes: one person in {DAY // real().window}, in order",
        ],
        [
            "a day's files",
            f"{window * REPORTS / 1e9:.3g} GB in windows, {each * REPORTS / 1e9:.3g} GB merged",
        ],
        [
            "a year's files, merged",
            f"{each * REPORTS * 365 / 1e12:.2g} TB; {16 * REPORTS * 365 / 1e12:.2g} TB as bare numbers",
        ],
        ["a day's tally, once, DuckDB's way", f"{duckdb:.2g} core hours"],
        ["a day's tally, once, with Spark", f"{spark:.2g} core hours"],
        [
            "bits for who has reported",
            f"{PEOPLE * 16 / 64 / 1e9:.2g} GB for a study of one bit, over all machines",
        ],
    ]
    table("internet_arithmetic", ["", "10^9 people, 10^10 reports a day"], rows)


# ---------------------------------------------------------------- simulation of a fleet


def inputs() -> None:
    """What the simulation is given."""
    fleet, shake = real(), measured()["handshake"]
    single = benchmark("collector", "single reports, committed")
    rows = [
        [
            "a collector, single reports, committed",
            f"{single['ours']:,.0f} reports/s",
            "benchmarks, `collector`",
        ],
        [
            "a server that does nothing, same bytes",
            f"{single['theirs']:,.0f} requests/s",
            "benchmarks, `collector`",
        ],
        ["a TLS 1.3 handshake at the server", f"{1000 * shake:.2f} ms", "measured for this page"],
        [
            "so a front end of one core takes",
            f"{fleet.serves:,.0f} reports/s",
            "one new connection for each report",
        ],
        ["and refusing one costs", f"{fleet.refusing:.0%} of taking it", "a handshake and an empty answer"],
        ["a consumer", f"{fleet.consumes:,.0f} reports/s", "benchmarks, batches checked and committed"],
        [
            "one core of the cluster tallies",
            f"{fleet.counts / 1e6:.2f} million rows/s",
            "Spark, at the largest number of reports",
        ],
        ["answers that get lost", f"{fleet.lost:.1%}", "assumed"],
        [
            "a front end lives",
            f"{fleet.front_end_lives / HOUR:.0f} hours",
            f"assumed; replaced after {fleet.replaced} minutes",
        ],
        [
            "a consumer lives",
            f"{fleet.consumer_lives / HOUR:.0f} hours",
            f"assumed; replaced after {fleet.replaced} minutes",
        ],
        ["a device tries again after", "1, 2, 4, ... 64 minutes", "assumed, on average"],
        [
            "one of three sites goes away",
            f"at {OUTAGE[0] // HOUR}:00 UTC, for {OUTAGE[1]} minutes",
            "assumed",
        ],
    ]
    listing("internet_inputs", ["", "value", "where from"], rows)


@cache
def ran(fleet: Fleet) -> Outcome:
    return simulate(fleet, seed=1)


def enough(fleet: Fleet) -> int:
    """The fewest front ends of a fleet that is large enough, by halving."""
    low = math.floor(fleet.people * fleet.studies / SECONDS / fleet.serves)  # too few even without a peak
    high = 2 * low + 2
    while not good(replace(fleet, front_ends=high)):
        low, high = high, 2 * high
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if good(replace(fleet, front_ends=middle)) else (middle, high)
    return high


def good(fleet: Fleet) -> bool:
    """Whether a fleet is large enough."""
    seen = ran(fleet)
    return percentile(seen.to_queue, int(seen.born.sum()), SHARE) <= SOON


def sizes() -> None:
    """The fleet that is enough, for a tenth of the people, for all, and for ten times as many."""
    columns = []
    for times in (0.1, 1, 10):
        fleet = replace(real(), people=PEOPLE * times, cores=max(2, round(16 * times)))
        calm, need = (enough(each) for each in (replace(fleet, outage=(0, 0)), fleet))
        seen = ran(replace(fleet, front_ends=need))
        reports = int(seen.born.sum())
        hours = seen.files / (seen.born.size / HOUR)
        delays = [percentile(seen.to_tally, reports, share) for share in (0.5, 0.99, 0.999)]
        columns.append(
            [
                f"10^{round(math.log10(fleet.people))} people",
                f"{reports:,}",
                f"{seen.born.max() / 60:,.0f}",
                f"{calm:,}",
                f"{need:,}",
                f"{seen.queued.max() / 1e6:,.1f} million",
                ", ".join(f"{each:.0f}" for each in delays),
                f"{hours:,.0f}, {window_bytes(DAY // fleet.window) * seen.filed / 1e9 / 24:.2g} GB",
                f"{seen.filed:,}",
                f"{seen.repeated:,}",
                f"{seen.elsewhere:,}",
                f"{seen.counted:,}",
                f"{seen.filed / fleet.counts / 3600:.2g}",
                f"{seen.recounted / fleet.counts / 3600:,.0f} ({fleet.cores} cores)",
            ]
        )
    names = [
        "",
        "reports of the day",
        "a second, at the peak",
        "front ends, nothing goes away",
        "**front ends, a site goes away**",
        "rows in the queue, at most",
        "minutes to a finished tally: half, 99%, 99.9%",
        "files, and their bytes, in an hour",
        "rows in files",
        "of them repeated, and left out by the tally",
        "of those, first row in another hour's file",
        "counted",
        "core hours for one tally of the day",
        "core hours if all is tallied anew every hour",
    ]
    head, *rows = zip(names, *columns, strict=True)
    table("internet_sizes", head, rows)


POLICIES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("refused after the handshake", {}, VERMILION),
    ("the same, devices wait up to 17 hours", {"doublings": 10}, ORANGE),
    ("refused before it, at no cost", {"refusing": 0.0}, BLUE),
)


def storm() -> None:
    """Devices that try again, over the day; and the day's reports that arrive at all, by the fleet's size."""
    fleet = real()
    need = enough(fleet)
    fewer = round(0.85 * need)
    several = sorted({*range(round(0.6 * need), round(1.15 * need), need // 9), need, need - 1})
    figure, panels = plt.subplots(2, 2, figsize=(9.6, 6.2), layout="constrained")
    hours = np.arange(ran(replace(fleet, front_ends=need)).born.size) / HOUR
    for name, changes, colour in POLICIES:
        seen = ran(replace(fleet, front_ends=fewer, **changes))
        panels[0, 0].semilogy(hours, np.maximum(1, seen.trying) / 1e6, color=colour, label=name)
        arrived, late = [], []
        for front_ends in several:
            seen = ran(replace(fleet, front_ends=front_ends, **changes))
            arrived.append(100 * seen.counted / seen.born.sum())
            late.append(percentile(seen.to_queue, int(seen.born.sum()), 0.99))
        panels[1, 0].plot(several, arrived, "o-", ms=3, color=colour)
        panels[1, 1].plot(several, late, "o-", ms=4 if changes else 3, color=colour)
    seen = ran(replace(fleet, front_ends=need))
    panels[0, 1].plot(hours, seen.queued / 1e6, color=GREEN, lw=1)
    for panel in panels[0]:
        panel.axvspan(OUTAGE[0] / HOUR, sum(OUTAGE) / HOUR, color=PURPLE, alpha=0.2, lw=0)
        panel.set(xlabel="hour, UTC", xticks=range(0, 37, 6))
    panels[0, 0].set(ylim=(0.1, 1e6), ylabel="millions", title=f"not yet accepted, {fewer} front ends")
    panels[0, 0].legend(fontsize=8, loc="upper left")
    panels[0, 1].set(ylabel="millions of rows", title=f"in the queue, {need} front ends")
    panels[1, 0].set(xlabel="front ends", ylabel="% of the day's reports", ylim=(0, 104))
    panels[1, 0].set(title="counted in the end")
    panels[1, 1].set(xlabel="front ends", ylabel="minutes", yscale="symlog", ylim=(-0.2, 2000))
    panels[1, 1].set(title="99% are in the queue within (no point: never)")
    figure.suptitle("Simulation of a fleet: 10^10 reports; a third of it is away from 14:00 to 15:00 UTC")
    save(figure, "internet")
    rows = []
    for name, changes, _ in POLICIES:
        seen = ran(replace(fleet, front_ends=fewer, **changes))
        total = int(seen.born.sum())
        delays = [percentile(seen.to_queue, total, share) for share in (0.9, 0.99, 0.999)]
        rows.append(
            [
                name,
                f"{seen.offered.max() / 60:,.0f}",
                f"{seen.trying.max() / total:.2%}",
                ", ".join("never" if each == math.inf else f"{each:.0f}" for each in delays),
                f"{seen.counted / total:.2%}",
                f"{enough(replace(fleet, **changes)):,}",
            ]
        )
    head = [
        f"{fewer} front ends, a site goes away",
        "requests a second, at most",
        "of the day's reports waiting, at most",
    ]
    table(
        "internet_storm",
        [*head, "minutes to the queue: 90%, 99%, 99.9%", "counted", "front ends that are enough"],
        rows,
    )


# ---------------------------------------------------------------- the chain in files


def files() -> None:
    """Real reports through the chain in files."""
    found = measured()["chain"]
    rows = [
        ["people", f"{found['people']:,}"],
        ["rows in the consumers' files", f"{found['rows']:,}"],
        ["the tally: counted", f"{found['reasons']['counted']:,}"],
        ["the tally: repeated, left out", f"{found['reasons']['repeated']:,}"],
        ["equal to the tally of the same people in memory", "yes" if found["equal"] else "**no**"],
        ["without de-duplication", f"{found['rows counted']:,}"],
        ["a tally of each window, added up", f"{found['windows added up']:,}"],
    ]
    table("internet_chain", ["the chain in files", "reports"], rows)


# ---------------------------------------------------------------- pairs


def messages(shape: int) -> tuple[str, list[int]]:
    """A kernel's words, and the bytes of the five messages of one pair."""
    words, kernel, noises = SHAPES[shape]
    name, precision = noises[-1 if "Gini" in words else 0]
    return f"{words}, `{name}`", session(PairFunction(kernel, noise(name, kernel.top, 1.0, precision)))


def relayed(sent: list[int]) -> int:
    """Bytes into and out of the relay: three sealed messages come and go, two come."""
    return 2 * (sum(sent[:3]) + 3 * SEALING) + sum(sent[3:])


REQUESTS = 2 + 5 + 3
"""Of a pair: both ask for their partner, five messages are sent, three are fetched."""


def relay() -> None:
    """Bytes and requests per pair, times pairs."""
    rows = []
    rate = benchmark("collector", "single reports, committed")["ours"]
    for shape in (0, 4, 5):
        name, sent = messages(shape)
        for partners in PARTNERS:
            pairs = PEOPLE * partners // 2
            requests = pairs * REQUESTS
            rows.append(
                [
                    f"{name}, P = {partners}",
                    f"{sum(sent):,}",
                    f"{relayed(sent):,}",
                    f"{pairs * relayed(sent) / 1e12:,.3g} TB",
                    f"{pairs * relayed(sent) * 8 / SECONDS / 1e9:.2g} Gbit/s",
                    f"{requests:.2g}",
                    f"{requests / SECONDS:,.0f}",
                    f"{math.ceil(requests / SECONDS / rate):,}",
                    f"{pairs * (sum(sent[:3]) + 3 * SEALING) / 1e12:,.3g} TB",
                ]
            )
    head = [
        "kernel",
        "bytes of 5 messages",
        "bytes through the relay",
        "a day's pairs",
        "on average",
        "requests",
    ]
    table(
        "internet_relay",
        [*head, "a second", "cores at the rate of single reports", "held if nobody fetches"],
        rows,
    )
    polls = PEOPLE * AWAY / LONGEST
    table(
        "internet_polls",
        ["", "within a day"],
        [
            [f"requests of 10^9 people who wait {AWAY // 60} minutes, one every {LONGEST} s", f"{polls:.2g}"],
            ["a second, on average", f"{polls / SECONDS:,.0f}"],
            ["times the requests of the pairs themselves, P = 1", f"{polls / (PEOPLE // 2 * REQUESTS):.0f}"],
            ["waiting at the same time, on average", f"{PEOPLE * AWAY / SECONDS:,.0f} connections"],
        ],
    )


# ---------------------------------------------------------------- where each protocol stops


def limits() -> None:
    """The number at which each protocol stops, from the code's own limits and from what was measured."""
    memory = float(MEMORY.removesuffix("MB")) * 1e6
    deep = next(each for each in measured()["deep"] if each["levels"] == 32)
    person = deep["bytes"] / deep["people"]
    match = measured()["matching"][-1]
    seconds, room = (match[name] / match["people"] for name in ("seconds", "bytes"))
    second = benchmark("projection", "the second round's file")["ours"]
    fewer, cells = (benchmark("estimate", f"{count} cells")["ours"] for count in ("256", "1,024"))
    rows = [
        [
            "all",
            f"{memory * 64 / 16:.2g} people, divided by the bits of a symbol",
            f"DuckDB's {MEMORY} hold 16 bytes for every 64 people and bit; beyond, it uses the disk",
            "Spark, or one tally for each range of indices",
        ],
        [
            "`histogram`",
            f"{MAX_BINS:,} bins of a column",
            f"the study refuses more; the estimate takes {cells:.2g} s at 1,024 cells, "
            f"{cells / fewer:.0f} times as long as at 256",
            "`projection`, whose error hardly depends on the domain",
        ],
        [
            "`tree`",
            f"{MAX_BYTES / person:.1g} people with 2^32 leaves",
            f"a `.tally` file has {person:.2g} bytes for each of them before compression, and more than "
            f"{MAX_BYTES >> 20} MiB are not read",
            "2^20 leaves or fewer, whose tally is as large whatever the people; or a tally for each level",
        ],
        [
            "`tree`",
            f"{tallied('spark') * SECONDS:.2g} reports a day and core",
            "everybody's coins are computed again",
            "more cores: it divides without loss",
        ],
        [
            "`projection`",
            "2 days for a study",
            "each round lasts until it was day everywhere, and the second needs the first one's tally",
            "`tree` or `histogram` where one day is all there is",
        ],
        [
            "`projection`",
            f"{second * PEOPLE / 1e12:.2g} TB to 10^9 people",
            f"{second:,} bytes of the second round's study for each",
            "serve that file from caches: it is public and the same for all",
        ],
        [
            "`pairwise`",
            f"{MOST:,} people of a class",
            f"a device computes the whole matching, {MOST * seconds:.1f} s and {MOST * room / 1e9:.2g} GB, "
            f"and refuses more; 10^9 of a class would need {1e9 * room / 1e9:.0f} GB",
            f"{PEOPLE // (2 * MOST)} studies of {2 * MOST:,} people, whose estimates are averaged; or a "
            "matching by a keyed permutation, of which a device computes its own place",
        ],
    ]
    listing("internet_limits", ["protocol", "stops at", "because", "what to do"], rows)


def listing(name: str, head: list[str], rows: list[list[str]]) -> None:
    """Write a Markdown table of words."""
    lines = [head, ["---"] * len(head), *rows]
    (HERE / f"{name}.txt").write_text(
        "".join(f"| {' | '.join(line)} |\n" for line in lines), encoding="utf-8"
    )
    print(f"wrote {name}.txt")


TABLES: dict[str, Callable[[], None]] = {
    "arithmetic": arithmetic,
    "inputs": inputs,
    "sizes": sizes,
    "storm": storm,
    "files": files,
    "relay": relay,
    "limits": limits,
}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or TABLES:
        TABLES[chosen]()
