"""Planning: all protocols compared, solved for people or epsilon, and mechanisms searched

Nothing is known about the people, so every option is predicted at the worst of several shapes, pairs
included. Each plan is held against the limit of one second, whatever is solved for.

*Searching* the best mechanism for a kernel, without the cache: the AUC's on 64 bins against 20 seconds, and
on 256 against 120.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from typing import Any

from measure import Row, seconds

import dpairs

LIMIT = 1.0
SEARCHES = {64: 20.0, 256: 120.0}
SIX = dpairs.Levels(range(6))
CASES: dict[str, tuple[str, Any]] = {
    "AUC": ("auc", dpairs.Interval(0, 1)),
    "tau on 6 x 6 levels": ("kendall_tau", (SIX, SIX)),
    "tau on two intervals": ("kendall_tau", (dpairs.Interval(0, 1),) * 2),
    "variance of integers": ("variance", dpairs.Integers(0, 1000)),
}


def run(quick: bool) -> list[Row]:
    rows = []
    for name, (statistic, domain) in CASES.items():
        times = plans(statistic, domain, 1 if quick else 5)
        rows += [
            Row(f"{name}: solve for {what}", "the limit", spent, LIMIT, "s", 1.0)
            for what, spent in times.items()
        ]
    for bins in (64,) if quick else SEARCHES:
        spent = seconds(1, search=partial(search, bins))["search"]
        rows.append(Row(f"search for {bins} cells", "the limit", spent, SEARCHES[bins], "s", 1.0))
    return rows


def plans(statistic: str, domain: Any, repeats: int) -> dict[str, float]:
    ask = partial(dpairs.plan, statistic, domain=domain, peers=True)
    error = ask(epsilon=1.0, n=100_000).options[0].error
    return seconds(
        repeats,
        error=partial(ask, epsilon=1.0, n=100_000),
        people=partial(ask, epsilon=1.0, error=error / 2),
        epsilon=partial(ask, n=100_000, error=1.5 * error),
    )


def search(bins: int) -> dpairs.Study:
    with tempfile.TemporaryDirectory() as empty:
        os.environ["DPAIRS_CACHE"] = empty
        return dpairs.Study.create(
            "auc", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=bins, mechanism="optimized", seed=1
        )
