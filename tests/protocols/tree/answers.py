"""Tree studies, and the public rows that a person is asked about."""

import json
from typing import Any

import numpy as np

from dpairs import (
    Integers,
    Interval,
    Levels,
    Study,
)
from dpairs.mechanisms import KaryResponse
from dpairs.protocols import Tree
from dpairs.randomness import TapeRandomness

from ...studies import signed

DOMAINS = [
    Interval(-2, 3),
    Integers(-(2**63), 2**63 - 1),
    Integers(0, 1000),
    Levels(["a", "b", "c", "d", "e"]),
]


def study(domain: Any = None, epsilon: float = 1.0, **options: Any) -> Study:
    chosen: Any = Interval(0, 1) if domain is None else domain
    given_options = {"seed": 1, **options}
    if "advanced" in options.get("splitting", ""):
        given_options.setdefault("delta", 1e-6)
    return Study.create("auc", protocol="tree", epsilon=epsilon, domain=chosen, **given_options)


def tree(made: Study) -> Tree:
    assert isinstance(made.protocol, Tree)
    return made.protocol


def response(protocol: Tree) -> KaryResponse:
    """The randomized response of one bit."""
    return protocol.responses[0]


def tape(words: Any) -> TapeRandomness:
    return TapeRandomness(b"".join(int(word).to_bytes(8, "little") for word in words))


def coins_of(made: Study, stratum: int, index: int) -> list[tuple[int, int]]:
    """(level, row) of each bit of a report, from the documentation alone."""
    protocol, key = tree(made), np.array(made.coins.key, dtype=np.uint64)

    def words(purpose: int, first: int, count: int) -> list[int]:
        counter = np.array([first, stratum, purpose, 0], dtype=np.uint64)
        return np.random.Philox(key=key, counter=counter).random_raw(4 * count).tolist()

    def row(word: int, level: int) -> int:
        if protocol.rows == "all":
            return word >> 64 - level
        return (word * (2**level - 1) >> 64) + 1 if level <= 32 else max(word >> 64 - level, 1)

    depth, blocks = protocol.depth, -(-protocol.depth // 4)
    if protocol.everybody_everywhere:
        drawn = words(2, index * blocks, blocks)
        return [(level, row(drawn[level - 1], level)) for level in range(1, depth + 1)]
    own = words(0, index, 1)
    if protocol.splitting == "users-independent":
        level = (own[1] * depth >> 64) + 1
    else:
        block, place = divmod(index, depth)
        drawn = words(1, block * blocks, blocks)[:depth]
        level = sorted(range(1, depth + 1), key=lambda each: drawn[each - 1])[place]
    first = row(own[0], level)
    found, more = [first], -(-(protocol.parities - 1) // 4)
    for word in words(3, index * more, more)[: min(level, protocol.parities) - 1] if more else ():
        short = row(word, level - len(found))
        for pivot in sorted(each.bit_length() - 1 for each in found):
            short = short >> pivot << pivot + 1 | short & (1 << pivot) - 1
        found.append(short)
    return [(level, each) for each in found]


def forged(made: Study, protocol: dict[str, Any], **content: Any) -> str:
    """A changed study whose id belongs to its contents."""
    spec = json.loads(made.to_json())
    spec["protocol"].update(protocol)
    for name in [name for name, value in spec["protocol"].items() if value is ...]:
        del spec["protocol"][name]
    spec.update(content)
    return signed(spec)


def several_bits(domain: Any, epsilon: float = 4.0, **options: Any) -> Study:
    made = study(domain, epsilon, answer="several-bits", **options)
    assert tree(made).parities > 1
    return made
