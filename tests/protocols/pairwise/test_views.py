"""What garbler, evaluator and collector see of each other: nothing but what the protocol shows.

A view's messages are pseudorandom, so nothing of them may go along with what its owner must not know: the
other's value and random bits, the noise (the XOR of both parties' bits) and, for the partners, the outcome.
Each bit of a view is correlated with each such secret over many exchanges. The secrets are fair and
independent bits, so by Hoeffding's inequality and the union over all tests a view that knows nothing fails
with probability FAILURE at most, whatever its messages look like. Views that leak fail: negative controls.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import BadMessage, ForgedOutput, Interval, Levels, OutOfOrder, Study
from dpairs.garbled.bits import tape_bits
from dpairs.garbled.function import PairFunction
from dpairs.garbled.session import HASH, Evaluator, Garbler, PairDecoder, View, commitment, output_hash
from dpairs.garbled.wire import HEAD, Kind, Pair, frame
from dpairs.protocols.pairwise.protocol import Pairwise
from dpairs.randomness import SeededRandomness

FAILURE = 1e-6
FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
RUNS = 400 if FULL else 154
SMALLEST = 0.5 if FULL else 0.66
"""A correlation of this size is found, however many bits a view has: by Hoeffding, sqrt(2) less in 2 RUNS."""


def a_study(statistic: str, domain: Any, **options: Any) -> Study:
    return Study.create(statistic, epsilon=2.0, protocol="pairwise", domain=domain, seed=1, **options)


LEVELS = Levels(range(4))
STUDIES = {
    "auc": a_study("auc", Interval(0, 1), bits=6),
    "kendall": a_study("kendall_tau", (LEVELS, LEVELS), noise="kary"),
    "gini": a_study("gini_mean_difference", Interval(0, 1), bits=4, noise="response"),
    "gini-extension": a_study("gini_mean_difference", Interval(0, 1), bits=3, noise="laplace"),
}


def function_of(study: Study) -> PairFunction:
    assert isinstance(study.protocol, Pairwise)
    return study.protocol.function


def first_pair(study: Study) -> Pair:
    assert isinstance(study.protocol, Pairwise)
    strata = study.statistic.strata
    pairs = study.protocol.match(study.coins, dict.fromkeys(strata, 6))
    return pairs.pair(study.id, int(pairs.numbers[0]), len(strata))


@dataclass(frozen=True)
class Exchange:
    """One pair from the first message to the symbol."""

    garbler: View
    evaluator: View
    collector: View
    symbol: int


def exchange(study: Study, x: list[int], y: list[int], seeds: tuple[int, int]) -> Exchange:
    function, pair = function_of(study), first_pair(study)
    garbler = Garbler(function, pair, x, SeededRandomness(seeds[0]))
    evaluator = Evaluator(function, pair, y, SeededRandomness(seeds[1]))
    collector = PairDecoder(function, pair)
    labels = evaluator.evaluate(garbler.answer(evaluator.choose(garbler.offer())))
    symbol = collector.decode(garbler.table(), labels)
    return Exchange(garbler.view, evaluator.view, collector.view, symbol)


def random_values(function: PairFunction, rng: np.random.Generator) -> list[int]:
    """All bits fair: the largest value of these kernels is one below a power of two."""
    return rng.integers(0, function.kernel.largest, function.kernel.columns, endpoint=True).tolist()


# ---------------------------------------------------------------- correlations


def bits_of(view: View) -> np.ndarray:
    """Everything that a view holds, as bits."""
    held = np.frombuffer(b"".join((*view.sent, *view.received)), dtype=np.uint8)
    return np.concatenate([np.unpackbits(held), view.inputs])


def largest_correlation(seen: np.ndarray, secret: np.ndarray) -> tuple[float, float]:
    """Over all bits seen and all secrets, and how large it may be by chance. Rows are exchanges."""
    found, wide = 0.0, secret.astype(np.float32)
    for start in range(0, seen.shape[1], 8192):
        part = 1 - 2 * seen[:, start : start + 8192].astype(np.float32)
        found = max(found, float(np.abs(part.T @ wide).max()) / len(secret))
    return found, by_chance(seen.shape[1] * secret.shape[1], len(secret))


def by_chance(tests: int, exchanges: int) -> float:
    """Products lie between -1 and 1: P(|mean| > t) <= 2 exp(-R t^2 / 2)."""
    return math.sqrt(2 * math.log(2 * tests / FAILURE) / exchanges)


@pytest.fixture(scope="module", params=STUDIES)
def many(request) -> tuple[Study, list[Exchange]]:
    """Exchanges in which both parties' values and random bits vary."""
    study, rng = STUDIES[request.param], np.random.default_rng(11)
    function = function_of(study)
    return study, [
        exchange(study, random_values(function, rng), random_values(function, rng), (2 * run, 2 * run + 1))
        for run in range(RUNS)
    ]


def signs(rows: list[np.ndarray]) -> np.ndarray:
    return 1.0 - 2.0 * np.stack(rows)


SECRETS: dict[str, Callable[[Exchange, int], list[np.ndarray]]] = {
    # What each must not know: of the other, and of the noise.
    "garbler": lambda each, random_bits: [
        each.evaluator.inputs,
        (each.garbler.inputs ^ each.evaluator.inputs)[-random_bits:],
    ],
    "evaluator": lambda each, random_bits: [
        each.garbler.inputs,
        (each.garbler.inputs ^ each.evaluator.inputs)[-random_bits:],
    ],
    "collector": lambda each, random_bits: [
        each.garbler.inputs,
        each.evaluator.inputs,
        (each.garbler.inputs ^ each.evaluator.inputs)[-random_bits:],
    ],
}


@pytest.mark.parametrize("role", SECRETS)
def test_a_view_does_not_go_along_with_what_it_must_not_know(many, role):
    study, exchanges = many
    random_bits = function_of(study).random_bits
    seen = np.stack([bits_of(getattr(each, role)) for each in exchanges])
    secret = signs([np.concatenate(SECRETS[role](each, random_bits)) for each in exchanges])
    found, limit = largest_correlation(seen, secret)
    assert limit < SMALLEST
    assert found < limit


@pytest.mark.parametrize("role", SECRETS)
def test_a_view_that_leaks_is_noticed(many, role):
    """Negative control: one more bit, which is one of the secrets nine times out of ten.

    It stands out of what all bits of the view may reach together.
    """
    study, exchanges = many
    random_bits = function_of(study).random_bits
    secret = [np.concatenate(SECRETS[role](each, random_bits)) for each in exchanges]
    wrong = np.random.default_rng(1).random((RUNS, 1)) < 0.1
    for place in (0, len(secret[0]) - 1):
        leak = np.stack(secret)[:, place : place + 1] ^ wrong.astype(np.uint8)
        found, _ = largest_correlation(leak, signs(secret))
        assert found > by_chance((bits_of(getattr(exchanges[0], role)).size + 1) * len(secret[0]), RUNS)


@pytest.mark.parametrize("role", ["garbler", "evaluator"])
def test_the_outcome_shows_in_neither_partners_view(role):
    """With its own value fixed: the outcome's chance is known then, and nothing seen moves it."""
    study, rng = STUDIES["auc"], np.random.default_rng(12)
    function, noise = function_of(study), function_of(study).noise
    mine, exchanges = 20, []
    for run in range(RUNS):
        theirs = random_values(function, rng)
        x, y = ([mine], theirs) if role == "garbler" else (theirs, [mine])
        exchanges.append(exchange(study, x, y, (2 * run, 2 * run + 1)))
    values = np.arange(function.kernel.largest + 1)
    above = np.mean(values > mine) if role == "garbler" else np.mean(values < mine)
    level = float(above + 0.5 / values.size)  # a tie is tossed
    chance = float(noise.pmf(1)[1]) * level + float(noise.pmf(0)[1]) * (1 - level)
    outcome = np.array([[each.symbol - chance] for each in exchanges])
    # The chance is right, or the test would prove nothing.
    assert abs(outcome.mean()) < math.sqrt(math.log(2 / FAILURE) / (2 * RUNS))
    widest = max(chance, 1 - chance)
    seen = np.stack([bits_of(getattr(each, role)) for each in exchanges])
    found, limit = largest_correlation(seen, outcome)
    assert found < widest * limit
    # Negative control: one bit more, which says the outcome.
    told = np.array([[each.symbol] for each in exchanges], dtype=np.uint8)
    found, limit = largest_correlation(np.concatenate([seen, told], axis=1), outcome)
    assert found > widest * limit


def test_random_bits_used_twice_are_noticed():
    """Negative control: with the same bits in every exchange, the transfers show the evaluator's value."""
    study, rng = STUDIES["auc"], np.random.default_rng(13)
    function = function_of(study)
    values = rng.integers(0, function.kernel.largest, RUNS, endpoint=True).tolist()
    alike = {value: exchange(study, [5], [value], (1, 2)) for value in set(values)}
    exchanges = [alike[value] for value in values]
    seen = np.stack([bits_of(each.garbler) for each in exchanges])
    secret = signs([each.evaluator.inputs[: function.width] for each in exchanges])
    found, limit = largest_correlation(seen, secret)
    assert found > limit


# ---------------------------------------------------------------- what is not a message


def public(view: View) -> tuple[object, ...]:
    """All but what is pseudorandom: lengths, and heads without their links."""
    wires = (*view.sent, *view.received)
    return (view.role, view.inputs.tolist(), [(len(wire), wire[:18]) for wire in wires], len(view.sent))


@pytest.mark.parametrize("name", STUDIES)
def test_the_rest_of_a_view_does_not_depend_on_the_other(name):
    study, rng = STUDIES[name], np.random.default_rng(14)
    function = function_of(study)
    mine = random_values(function, rng)
    fixed: dict[str, list[tuple[object, ...]]] = {"garbler": [], "evaluator": [], "collector": []}
    offer = exchange(study, mine, mine, (1, 7)).garbler.sent[0]
    for run in range(12):
        other = random_values(function, rng)
        one = exchange(study, mine, other, (1, 100 + run))
        two = exchange(study, other, mine, (100 + run, 1))
        fixed["garbler"].append(public(one.garbler))
        fixed["evaluator"].append(public(two.evaluator))
        fixed["collector"] += [public(one.collector), public(two.collector)]
        assert one.garbler.sent[0] == offer
    for seen in fixed.values():
        assert all(each == seen[0] for each in seen)


@pytest.mark.parametrize("name", STUDIES)
def test_three_views_of_one_exchange(name):
    study = STUDIES[name]
    function = function_of(study)
    done = exchange(study, [3] * function.kernel.columns, [1] * function.kernel.columns, (1, 2))
    views = [done.garbler, done.evaluator, done.collector]
    assert [each.role for each in views] == ["garbler", "evaluator", "collector"]
    assert len({id(each) for each in views}) == len({id(each.inputs) for each in views}) == 3
    assert not any(np.shares_memory(a.inputs, b.inputs) for a in views for b in views if a is not b)
    # Offer, circuit and table; choice and labels; nothing. A message is seen by two.
    assert [len(each.sent) for each in views] == [3, 2, 0]
    assert [len(each.received) for each in views] == [1, 2, 2]
    assert set(done.garbler.received) <= set(done.evaluator.sent)
    assert set(done.evaluator.received) <= set(done.garbler.sent)
    assert done.garbler.sent[2] not in done.evaluator.received
    assert done.evaluator.sent[1] not in done.garbler.received
    assert done.collector.received == (done.garbler.sent[2], done.evaluator.sent[1])
    assert {each.name for each in fields(View)} == {"role", "inputs", "sent", "received"}
    # The noise is the XOR of two tapes, of which each party has one.
    tapes = [
        tape_bits(function.tape(1, SeededRandomness(seed)), function.random_bits)[:, 0] for seed in (1, 2)
    ]
    np.testing.assert_array_equal(done.garbler.inputs[-function.random_bits :], tapes[0])
    np.testing.assert_array_equal(done.evaluator.inputs[-function.random_bits :], tapes[1])
    assert done.collector.inputs.size == 0


# ---------------------------------------------------------------- who can decode


def test_without_the_table_nobody_decodes():
    """The evaluator has labels and a commitment; every table that it could make of them is refused."""
    study = STUDIES["auc"]
    function, pair = function_of(study), first_pair(study)
    done = exchange(study, [3], [40], (1, 2))
    labels = done.evaluator.sent[1]
    link, payload = labels[18 : HEAD.size], labels[HEAD.size :]
    context = pair.context(function.digest)
    own = output_hash(context, 0, payload[HASH:])
    guesses = [own + bytes(HASH), bytes(HASH) + own, own + own, bytes(2 * HASH), payload[:HASH] * 2]
    for guess in guesses:
        with pytest.raises(ForgedOutput, match="decoding table"):
            PairDecoder(function, pair).decode(frame(Kind.TABLE, pair, link, guess), labels)
        # With a commitment to it, it is no longer the labels that the evaluator was to send ...
        forged = frame(Kind.LABELS, pair, link, commitment(guess) + payload[HASH:])
        assert forged != labels
    for wire in (*done.evaluator.received, *done.evaluator.sent):
        with pytest.raises((OutOfOrder, BadMessage)):
            PairDecoder(function, pair).decode(wire, labels)
    # ... and the true table takes no other commitment.
    with pytest.raises(ForgedOutput):
        PairDecoder(function, pair).decode(done.garbler.sent[2], forged)
    assert PairDecoder(function, pair).decode(done.garbler.sent[2], labels) == done.symbol


def test_without_the_labels_nobody_decodes():
    """The garbler has both labels of every output, and nothing that says which one came out."""
    study = STUDIES["auc"]
    function, pair = function_of(study), first_pair(study)
    done = exchange(study, [3], [40], (1, 2))
    table = done.garbler.sent[2]
    for wire in (*done.garbler.received, *done.garbler.sent):
        with pytest.raises((OutOfOrder, BadMessage)):
            PairDecoder(function, pair).decode(table, wire)


def test_the_table_is_the_same_whatever_comes_out():
    """Two evaluators with the same choices on the wire would get one table; it lists 0 before 1 always."""
    study = STUDIES["auc"]
    function, pair = function_of(study), first_pair(study)
    context = pair.context(function.digest)
    places = set()
    for run in range(40):
        done = exchange(study, [3], [40], (2 * run, 2 * run + 1))
        table, payload = done.garbler.sent[2][HEAD.size :], done.evaluator.sent[1][HEAD.size :]
        place = [table[:HASH], table[HASH:]].index(output_hash(context, 0, payload[HASH:]))
        assert place == done.symbol
        places.add(place)
    assert places == {0, 1}


def test_nothing_of_a_study_of_pairs_shows_secrets():
    study = STUDIES["gini"]
    done = exchange(study, [13], [11], (1, 2))
    for view in (done.garbler, done.evaluator, done.collector):
        assert repr(view) == f"View(role='{view.role}')"
    tally = dpairs.Tally(study)
    tally.add_symbols("pairs", np.array([done.symbol]))
    assert "13" not in repr(tally).replace(study.id[:16], "")
