"""Files of second rounds and analyses with one thing changed."""

import functools
import json
import math
from collections.abc import Iterator
from typing import Any

from dpairs import (
    DpairsError,
    Participant,
    Study,
    Tally,
)
from dpairs.randomness import SeededRandomness

from .cases import asked_indices

MUTATED = ("auc", "auc, private", "tau-b, ratings", "vus", "kernel")
BAD: tuple[Any, ...] = (None, -1, 0, 2**53, 1e308, "x", [], {})


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in a JSON tree."""
    if path:
        yield path
    if isinstance(tree, dict):
        for key in tree:
            yield from leaves(tree[key], (*path, key))
    elif isinstance(tree, list):
        # All entries of a long list are alike.
        for place in (0, len(tree) - 1) if len(tree) > 1 else range(len(tree)):
            yield from leaves(tree[place], (*path, place))


def other_value(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return 1
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    if isinstance(value, list):
        return [*value, 0]
    return {**value, "more": 0}


def changed(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(content))
    box = copy
    for key in path[:-1]:
        box = box[key]
    if value is ...:
        del box[path[-1]]
    else:
        box[path[-1]] = value
    return copy


def lookup(tree: Any, path: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda box, key: box[key], path, tree)


def used(study: Study, person: list[Any]) -> str | None:
    """What goes wrong when people answer and the analyst estimates, but for errors of ours."""
    tally = Tally(study)
    names = study.statistic.private_columns
    try:
        for stratum in study.strata:
            for index in asked_indices(study, stratum, 2):
                values = {name: column[0] for name, column in zip(names, person, strict=True)}
                tally.add(Participant(study, index, stratum, bits=SeededRandomness(index)).report(**values))
        found = tally.estimate()
    except DpairsError:
        return None
    except Exception as error:
        return repr(error)
    numbers = (found.value, found.standard_error, found.sample_standard_error)
    return None if all(map(math.isfinite, numbers)) else str(numbers)


def analysis_of(study: Study) -> dict[str, Any]:
    text = study.analysis_to_json()
    assert text is not None
    content: dict[str, Any] = json.loads(text)
    return content


def one_sentence(error: DpairsError) -> None:
    assert "\n" not in str(error)
    assert len(str(error)) < 400
