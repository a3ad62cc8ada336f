"""Random people of a study, and people whom it refuses."""

from __future__ import annotations

import math
import random
from typing import Any

from dpairs import Integers, Interval, Study

STUDIES_EACH, PEOPLE_EACH, FEWEST = 60, 6, 200
"""How many studies of each protocol, people of each study, and good reports of each protocol at least."""
LABELS = [0, 1, -1, True, False, "positive", "negative", 1.0, 0.0]
BAD_LABELS = [2, -2, 0.5, math.nan, "yes", "", "positive\0", None, [0.5], 10**30, 2**53 + 1]


def value_of(domain: Any, rng: random.Random) -> Any:
    if isinstance(domain, Interval):
        inside = domain.low + (domain.high - domain.low) * rng.random()
        if domain.edges:
            at = rng.choice(domain.edges)
            inside = rng.choice([at, math.nextafter(at, -math.inf), math.nextafter(at, math.inf), inside])
        edge = domain.low + (domain.high - domain.low) * (rng.randint(0, 64) / 64)
        number = min(
            max(rng.choice([inside, inside, edge, domain.low, domain.high]), domain.low), domain.high
        )
        return int(number) if number == int(number) and abs(number) < 2**63 and rng.random() < 0.5 else number
    if isinstance(domain, Integers):
        number = rng.choice([domain.low, domain.high, rng.randint(domain.low, domain.high)])
        return float(number) if abs(number) < 2**53 and rng.random() < 0.3 else number
    return rng.choice(domain.values)


def bad_value(domain: Any, rng: random.Random) -> Any:
    """A value that is not in the domain, or perhaps is: both languages say the same."""
    if isinstance(domain, Interval):
        near = [math.nextafter(domain.low, -math.inf), math.nextafter(domain.high, math.inf)]
        return rng.choice(
            [*near, math.nan, math.inf, -math.inf, "0.5", "", True, None, [0.5], 2**64, -(2**70)]
        )
    if isinstance(domain, Integers):
        outside = [domain.low - 1, domain.high + 1, 2**64, -(2**63) - 1, float(domain.high) * 2, 0.5, 1e300]
        return rng.choice([*outside, math.nan, math.inf, "3", False, None, [0.5]])
    known = domain.values[0]
    return rng.choice(
        [math.nan, 0.25, 2**53 + 1, 10**30, "a\0", "A", "unknown", True, None, [0.5], f"{known}"]
    )


def person(study: Study, index: int, stratum: str | None, rng: random.Random) -> dict[str, Any]:
    values = {
        name: value_of(domain, rng)
        for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True)
    }
    if "label" in study.statistic.private_columns:
        values["label"] = rng.choice(LABELS)
    return {
        "index": index,
        "stratum": stratum,
        "values": values,
        "tape": rng.randbytes(8 * 80),
        "limit": None,
    }


def people_of(study: Study, rng: random.Random) -> list[dict[str, Any]]:
    """Good ones, at small and at the largest indices, and one or two that cannot be."""
    found: list[dict[str, Any]] = []
    while len(found) < PEOPLE_EACH:
        stratum = rng.choice(study.strata)
        index = rng.choice([rng.randrange(1000), rng.randrange(2**53), 2**53 - 1])
        if study.asks(stratum, index):
            found.append(person(study, index, stratum, rng))
    words = [0, 2**64 - 1, 2**63, 2**32]
    found[0]["tape"] = b"".join(rng.choice(words).to_bytes(8, "little") for _ in range(80))
    return [*found, *bad_people(study, found[0], rng)]


def bad_people(study: Study, good: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    names = list(good["values"])
    name = rng.choice(names)
    domains = dict(zip(study.statistic.domain_columns, study.domains, strict=True))
    bad = bad_value(domains[name], rng) if name in domains else rng.choice(BAD_LABELS)
    other = {**good["values"], rng.choice(["extra", "label", "value", "x"]): 1}
    return [
        {**good, "values": {**good["values"], name: bad}},
        rng.choice(
            [
                {**good, "tape": good["tape"][: rng.choice([0, 7, 8, 15, 16])]},
                {**good, "values": other},
                {**good, "values": {each: good["values"][each] for each in names if each != name}},
                {**good, "stratum": rng.choice(["unsure", "", "everybody", None])},
                {**good, "index": rng.choice([-1, 2**53, 2**64, 0.5, "7"])},
                {**good, "index": rng.randrange(200), "stratum": study.strata[-1]},
                {**good, "limit": rng.choice([0.01, 1.0, 100.0, 0.0, -1.0])},
            ]
        ),
    ]
