"""A site's answer as plain values, and back: nothing is used before all of it was checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import BadFile
from ..counts import MAX_COUNT
from .by_sites import BySites, SiteNumbers

LONGEST = 100
"""Letters of a site's name at most."""


def site_name(given: Any) -> str:
    """A site's name, or `BadFile`."""
    good = isinstance(given, str) and given == given.strip() and given.isprintable()
    # One that began with another sign might be taken for a formula by whoever opens a table of sites.
    if not good or not 0 < len(given) <= LONGEST or not given[0].isalnum():
        raise BadFile(
            f"a site's name is a text of 1 to {LONGEST} printable letters that begins with a letter or a "
            f"digit, not {str(given)[:LONGEST]!r}"
        )
    return str(given)


def write_numbers(given: SiteNumbers) -> dict[str, Any]:
    return {
        "sizes": given.sizes,
        "numbers": {name: each.tolist() for name, each in given.numbers.items()},
    }


def read_numbers(protocol: BySites, spec: Mapping[str, Any]) -> SiteNumbers:
    """A site's numbers in a round, or one sentence about what is wrong with them."""
    sizes, numbers = spec["sizes"], spec["numbers"]
    if not (sizes is None or _whole(sizes, MAX_COUNT)):
        raise BadFile("a site's sizes are whole numbers by class, or null where they are hidden")
    if not isinstance(numbers, Mapping) or not all(isinstance(each, list) for each in numbers.values()):
        raise BadFile("a site's numbers are a list for each class")
    for name, listed in numbers.items():
        if not all(type(number) is int and abs(number) <= MAX_COUNT for number in listed):
            raise BadFile(f"a site's numbers for {str(name)[:LONGEST]!r} are whole numbers below 2^53")
    read = SiteNumbers(
        {name: np.array(each, dtype=np.int64) for name, each in numbers.items()},
        None if sizes is None else dict(sizes),
    )
    protocol.check(read)
    # In the order of the study's classes, however they were written.
    return SiteNumbers(
        {name: read.numbers[name] for name in protocol.strata},
        None if read.sizes is None else {name: read.sizes[name] for name in protocol.strata},
    )


def _whole(sizes: Any, most: int) -> bool:
    return isinstance(sizes, Mapping) and all(
        type(each) is int and 0 <= each <= most for each in sizes.values()
    )


def write_answers(answers: Mapping[str, SiteNumbers]) -> dict[str, Any]:
    return {site: write_numbers(each) for site, each in answers.items()}


def read_answers(protocol: BySites, spec: Any) -> dict[str, SiteNumbers]:
    """Several sites' numbers, in the order of their names."""
    if not isinstance(spec, Mapping):
        raise BadFile("answers of sites are an object of their names")
    answers = {}
    for site in sorted(spec):
        answer = spec[site]
        if not isinstance(answer, Mapping) or set(answer) != {"sizes", "numbers"}:
            raise BadFile("a site's answer has 'sizes' and 'numbers'")
        answers[site_name(site)] = read_numbers(protocol, answer)
    return answers
