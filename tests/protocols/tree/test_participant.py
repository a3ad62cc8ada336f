"""The participant's side of a tree study: the answer itself, in whole numbers, and the vectors."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import (
    BadParameter,
    BadValue,
    Integers,
    Interval,
    Participant,
    Report,
    Study,
    Tally,
)
from dpairs.protocols.tree.answers import SPLITTINGS
from dpairs.randomness import WORDS, SeededRandomness

from ...every import every
from .answers import DOMAINS, coins_of, several_bits, study, tape, tree

STRATA = ("positive", "negative")


# ---------------------------------------------------------------- the answer itself, in whole numbers


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("splitting", SPLITTINGS)
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_a_truthful_report_is_the_sign_of_its_public_rows(domain, splitting, rows):
    made = study(domain, 1.0, splitting=splitting, rows=rows)
    protocol = tree(made)
    examples: dict[str, list[Any]] = {
        "interval": [-2.0, 3.0, 0.123],
        "integers": [getattr(domain, "low", 0), getattr(domain, "high", 0), 77],
        "levels": ["a", "e", "c"],
    }
    values = examples[domain.kind]
    for index, (stratum, value) in enumerate(itertools.product((0, 1), values)):
        leaf = int(protocol.leaves([value])[0])
        expected = 0
        for place, (level, row) in enumerate(coins_of(made, stratum, index)):
            node = leaf >> protocol.depth - level
            expected |= (node & row).bit_count() % 2 << place
        report = Participant(
            made, index, STRATA[stratum], max_delta=made.delta, bits=tape([WORDS - 1] * protocol.answers)
        )
        assert report.report(score=value).symbol == expected


@pytest.mark.parametrize("splitting", [*SPLITTINGS, "several-bits"])
def test_many_and_one_at_a_time_agree(splitting):
    """One word for each response, person by person, level by level."""
    made = study(bins=2**9, splitting=splitting) if splitting in SPLITTINGS else several_bits(Interval(0, 1))
    protocol, people = tree(made), 50
    scores = np.random.default_rng(3).random(people)
    each = protocol.depth if protocol.everybody_everywhere else 1
    words = SeededRandomness(4).words(people * each).reshape(people, -1)
    for stratum, name in enumerate(STRATA):
        together = protocol.randomize(made.coins, stratum, 1000, [scores], tape(words.reshape(-1)))
        alone = [
            Participant(made, 1000 + place, name, bits=tape(words[place]), max_delta=made.delta)
            .report(score=score)
            .symbol
            for place, score in enumerate(scores)
        ]
        assert together.tolist() == alone


def test_a_bit_takes_one_word():
    for splitting, count in (("users", 1), ("users-independent", 1), ("budget", 9)):
        made = study(bins=2**9, splitting=splitting)
        with pytest.raises(dpairs.TapeExhausted):
            Participant(made, 0, "positive", bits=tape([0] * (count - 1)), max_delta=made.delta).report(
                score=0.5
            )
        Participant(made, 0, "positive", bits=tape([0] * count), max_delta=made.delta).report(score=0.5)


@pytest.mark.parametrize("splitting", ["users", "users-independent"])
@pytest.mark.parametrize("domain", [Interval(0, 1), Integers(-(2**63), 2**63 - 1)], ids=str)
def test_one_bit_leaves_the_device(domain, splitting):
    """Erratum 8: level and row are public coins, so the payload is one bit, in one byte."""
    made = study(domain, splitting=splitting)
    seen = set()
    for index in range(64):
        wire = bytes(Participant(made, index, "negative", max_delta=made.delta).report(score=1))
        assert len(wire) == 18 + 1
        seen.add(wire[18])
        assert Report.from_bytes(wire, made).symbol == wire[18]
    assert seen == {0, 1}
    with pytest.raises((BadParameter, BadValue), match="symbol"):
        Report.from_bytes(wire[:18] + b"\2", made)


@pytest.mark.parametrize(("depth", "size"), [(1, 1), (8, 1), (9, 2), (16, 2), (17, 3), (64, 8)])
def test_budget_reports_have_a_bit_for_each_level(depth, size):
    made = study(Integers(0, 2**64 - 1), bins=2**depth, splitting="budget")
    assert tree(made).symbols == 2**depth
    report = Participant(made, 5, "positive", max_delta=made.delta).report(score=2**64 - 1)
    assert len(bytes(report)) == 18 + size
    assert Report.from_bytes(bytes(report), made) == report
    tally = Tally(made)
    tally.add(Report(made, "positive", 6, 2**depth - 1))
    tally.add(Report(made, "positive", 7, 0))
    assert tally.sizes == {"positive": 2, "negative": 0}


@every("splitting", SPLITTINGS)
@every("depth", [1, 16, 17, 52])
def test_the_first_and_the_last_index_can_answer(depth, splitting):
    made = study(bins=2**depth, splitting=splitting, epsilon=0.5)
    for index in (0, 2**53 - 1):
        report = Participant(made, index, "negative", max_delta=made.delta).report(score=0.5)
        tally = Tally(made)
        tally.add(report)
        assert tally.n == 1


# ---------------------------------------------------------------- vectors


VECTORS = sorted((Path(__file__).parents[3] / "vectors").glob("tree_*.json"))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_vectors_have_the_coins_and_the_symbols_of_the_documentation(path):
    """A second opinion on every report, in whole numbers: coins, signs and the randomized response."""
    vector = json.loads(path.read_text(encoding="utf-8"))
    made = Study.from_json(vector["study"])
    protocol = tree(made)
    for step in vector["operations"]:
        if step["operation"] != "report" or not step["success"]:
            continue
        stratum, index = STRATA.index(step["stratum"]), int(step["index"])
        coins = [(each["level"], int(each["row"])) for each in step["coins"]]
        assert coins == coins_of(made, stratum, index)
        value = step["values"]["score"]
        leaf = int(protocol.leaves([int(value) if made.domains[0].kind == "integers" else value])[0])
        signs = [(leaf >> protocol.depth - level & row).bit_count() % 2 for level, row in coins]
        words = np.frombuffer(bytes.fromhex(step["tape"]), dtype="<u8").tolist()
        if not protocol.everybody_everywhere:
            signs = [sum(sign << place for place, sign in enumerate(signs))]
        used = protocol.responses[len(coins) - 1 if not protocol.everybody_everywhere else 0]
        sent = [
            word // used.floor if word // used.floor < used.inputs else sign
            for word, sign in zip(words, signs, strict=True)
        ]
        assert step["symbol"] == sum(bit << place for place, bit in enumerate(sent))


def test_there_are_vectors_of_every_splitting():
    good = [path for path in VECTORS if "_bad_" not in path.stem]
    studies = [Study.from_json(json.loads(path.read_text(encoding="utf-8"))["study"]) for path in good]
    assert {tree(made).splitting for made in studies} == set(SPLITTINGS)
    assert {tree(made).rows for made in studies} == {"all", "others"}
    assert max(tree(made).parities for made in studies) > 1
    assert max(tree(made).depth for made in studies) == 64
    assert len(VECTORS) - len(good) >= 4
