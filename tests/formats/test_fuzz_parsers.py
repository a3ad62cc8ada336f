"""Damaged files and reports: each is read as something valid, or refused by an error of ours, no other."""

import json
import random
from typing import Any

import numpy as np
import pytest

from dpairs import Categories, DpairsError, Integers, Interval, Kernel, Levels, Report, Study, Tally
from dpairs.protocols.sides import of_symbols
from dpairs.protocols.tree.counts import TreeCounts
from tests.strategies import dense
from tests.studies import signed

ROUNDS = 3000
INTERESTING = (b"0", b"9", b"-", b'"', b"{", b"}", b"[", b"]", b",", b":", b"e", b"null", b"true", b"\\ud800")


VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 1.5, 1e308, 2**53, 2**64, 10**400),
    *("", "0", "value", "\ud800", [], {}, [[]], [None], {"name": "krr"}),
)


def kernel_study():
    near = Kernel(lambda a, b: np.abs(a - b), range=(0, 1), domain=Interval(0, 1), label="distance")
    return Study.create(near, epsilon=1.0, bins=3, seed=5)


def two_rounds(statistic: str, domain: Any, **options: Any) -> list[Study]:
    """A first round and the second that follows it."""
    first = Study.create(statistic, protocol="projection", epsilon=3.0, domain=domain, seed=6, **options)
    tally, people = Tally(first), 40
    for place, stratum in enumerate(first.strata):
        asked = first.protocol.asked(first.coins, place, 0, 4 * people)
        assert asked is not None
        for index in np.flatnonzero(asked)[:people].tolist():
            tally.add(Report(first, stratum, index, index % of_symbols(first).symbols))
    return [first, first.next(tally)]


STUDIES = [
    Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=5, mechanism="krr", seed=1),
    Study.create("auc", epsilon=1.0, domain=Integers(0, 2**64 - 1), bins=20, labels="private", seed=2),
    Study.create("kendall_tau", epsilon=1.0, domain=(Levels([0, 0.5, 2]), Levels(["a", "b"])), seed=3),
    Study.create("collision_entropy", epsilon=1.0, domain=Categories(["é", "日本", "𝄞"]), seed=4),
    kernel_study(),
    *two_rounds("auc", Interval(0, 1), bins=4),
    *two_rounds("kendall_tau", (Levels(range(2)), Integers(0, 4)), variant="b"),
    *two_rounds("vus", Integers(-(2**63), 2**63 - 1), bins=8),
]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """One to three bit flips, cuts, insertions, swaps or repetitions."""
    damaged = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(damaged)) if damaged else 0
        match rng.randrange(6):
            case 0 if damaged:
                damaged[place] ^= 1 << rng.randrange(8)
            case 1:
                del damaged[place:]
            case 2:
                del damaged[place : place + rng.randint(1, 8)]
            case 3:
                damaged[place:place] = rng.randbytes(rng.randint(1, 8))
            case 4 if damaged:
                other = rng.randrange(len(damaged))
                damaged[place], damaged[other] = damaged[other], damaged[place]
            case _:
                damaged[place : place + rng.randint(0, 1)] = rng.choice(INTERESTING)
    return bytes(damaged)


def replaced(tree, rng: random.Random):
    """A copy of a JSON tree with one of its leaves or branches replaced, moved or removed."""
    tree = json.loads(json.dumps(tree))
    places = list(every(tree))
    box, key = rng.choice(places)
    other_box, other_key = rng.choice(places)
    new = rng.choice([*VALUES, json.loads(json.dumps(other_box[other_key]))])
    if isinstance(box, dict) and rng.random() < 0.2:
        box[rng.choice(["which", "self", "name", "values", "", "\ud800"])] = box.pop(key)
    else:
        box[key] = new
    return tree


def every(tree):
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from every(tree[key])


def quietly(read, *arguments):
    """What was read, or None when it was refused; any other error is shown with what caused it."""
    try:
        return read(*arguments)
    except DpairsError:
        return None
    except Exception as error:
        pytest.fail(f"{error!r} for {arguments[0]!r}")


def test_damaged_studies():
    rng = random.Random(1)
    for _ in range(ROUNDS):
        study = rng.choice(STUDIES)
        read = quietly(Study.from_json, mutated(study.to_json().encode(), rng))
        assert read is None or read == study, "only spaces may have changed"


def named(content: dict[str, Any]) -> str:
    """A study's text with the id that belongs to its contents, where they can have one."""
    try:
        return signed(content)
    except (UnicodeEncodeError, ValueError):
        return json.dumps({**content, "id": "0" * 64})


def test_damaged_studies_with_an_id_that_fits():
    """Damage that knows the format: whatever is accepted is written as it was read."""
    rng = random.Random(2)
    accepted = 0
    for _ in range(ROUNDS):
        content = json.loads(rng.choice(STUDIES).to_json())
        del content["id"]
        content = replaced(content, rng)
        text = named(content)
        read = quietly(Study.from_json, text)
        if read is not None:
            accepted += 1
            assert read.to_json() == text
            assert read.protocol.epsilon <= read.epsilon
    assert accepted > 10


def counted(tally: Tally, stratum: str) -> list[int]:
    """All counts: of symbols, or of a tree's rows."""
    counts = tally.counts(stratum)
    if isinstance(counts, TreeCounts):
        return [count for level in counts.levels for count in level.counts.reshape(-1).tolist()]
    return dense(tally, stratum)


def test_damaged_tallies():
    rng = random.Random(3)
    for _ in range(ROUNDS):
        study = rng.choice(STUDIES)
        tally = Tally(study)
        for stratum in study.strata:
            tally.add_symbols(stratum, np.array([rng.randrange(study.protocol.symbols) for _ in range(9)]))
        content = tally.to_json()
        if rng.random() < 0.5:
            text = mutated(content.encode(), rng)
        else:
            text = json.dumps(replaced(json.loads(content), rng)).encode()
        read = quietly(Tally.from_json, text, study)
        if read is not None:
            assert all(count >= 0 for stratum in study.strata for count in counted(read, stratum))
            assert Tally.from_json(read.to_json(), study) == read


def test_damaged_reports():
    rng = random.Random(4)
    refused = 0
    for _ in range(ROUNDS):
        study = rng.choice(STUDIES)
        symbol, stratum = rng.randrange(study.protocol.symbols), rng.choice(study.strata)
        index = rng.randrange(2**53)
        while not study.asks(stratum, index):
            index = rng.randrange(2**53)
        wire = bytes(Report(study, stratum, index, symbol))
        damaged = mutated(wire, rng)
        read = quietly(Report.from_bytes, damaged, study)
        if read is None:
            refused += 1
        else:
            assert bytes(read) == damaged
            Tally(study).add(read)
    assert refused > ROUNDS / 2


def test_random_bytes():
    rng = random.Random(5)
    for _ in range(ROUNDS):
        data = rng.randbytes(rng.randrange(40))
        assert quietly(Study.from_json, data) is None
        assert quietly(Tally.from_json, data, STUDIES[0]) is None
        assert quietly(Report.from_bytes, data, STUDIES[0]) is None
