"""Many simulated people who take part over HTTP, each with a device of its own: to try a collector out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .device import Membership
from .link import Link
from .offer import Offer, get_offer
from .reporter import Joined, go_on
from .transport import Transport

PAIRING = "pairing"
"""The collector's state in which pairs go on without another step of the analyst's."""
PAUSE = 0.2
"""Seconds between looks at a study whose next step is awaited."""


def take_part(
    link: str,
    people: Sequence[Mapping[str, Any]],
    strata: Sequence[str | None],
    *,
    threads: int = 8,
    patience: float = 300.0,
    progress: Callable[[int], None] | None = None,
) -> list[Joined]:
    """Let everybody take part until all are done: both rounds, or all pairs.

    ``people`` are everybody's values. ``progress`` is called with the number of people who are done. The
    study has to be advanced by its analyst meanwhile.
    """
    where, line = Link.parse(link), Transport(Link.parse(link).base, patience=patience)
    members = [Membership(None, where.study) for _ in people]
    outcomes: dict[int, Joined] = {}
    waiting = list(range(len(people)))
    seen: Offer | None = None
    with ThreadPoolExecutor(threads) as pool:
        while waiting:
            offered = get_offer(where, line)
            if seen == offered and offered.state != PAIRING:
                time.sleep(PAUSE)
                continue
            seen = offered

            def go(number: int, offered: Offer = offered) -> Joined:
                # Made-up people keep no ledger.
                return go_on(
                    offered, members[number], people[number], strata[number], None, lambda study, answer: None
                )

            for number, joined in zip(waiting, pool.map(go, waiting), strict=True):
                outcomes[number] = joined
                if progress is not None and joined.state != "waiting":
                    progress(1)
            waiting = [number for number in waiting if outcomes[number].state == "waiting"]
    return [outcomes[number] for number in range(len(people))]
