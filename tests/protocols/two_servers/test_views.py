"""Each server's view of a multiplication is simulated without the other's vectors, and leaks are found.

A battery of two-sample tests compares real views with simulated ones. It knows both servers' vectors, as an
environment does that chose them. All p-values together are refused with a chance of at most FAILURE for views
that are alike (Bonferroni). Every leak below is planted in the program that makes the real views.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats

from dpairs.garbled import extension
from dpairs.garbled.consistency import blocks_of, challenge, hashes
from dpairs.garbled.transfer import MASKED, POINT
from dpairs.protocols.two_servers import multiply
from dpairs.protocols.two_servers.goldilocks import MODULUS, doublings, subtract
from dpairs.randomness import SeededRandomness

from .views import CONTEXT, Blanked, View, both_views, simulated_receiver, simulated_sender

FAILURE = 1e-6
SESSIONS = 16
ONE = [MODULUS - 1, 5]
Vectors = list[list[int]]


def inputs(session: int) -> tuple[Vectors, Vectors]:
    """Both servers' vectors: two products, extreme and ordinary elements, other ones in every session."""
    rng = np.random.default_rng(session)
    u, v = ([[int(x) for x in rng.integers(0, 2**63, 2)] for _ in range(2)] for _ in range(2))
    return [u[0], ONE], [v[0], [0, v[1][0]]]


def tables(real: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> float:
    """The p-value of two samples of whole numbers below 256 having one distribution."""
    counts = np.array(
        [np.bincount(np.concatenate(each).reshape(-1), minlength=256) for each in (real, other)]
    )
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] < 2:
        return 1.0
    if counts.shape == (2, 2):
        return float(stats.fisher_exact(counts).pvalue)
    return float(stats.chi2_contingency(counts).pvalue)


def ones(words: np.ndarray) -> np.ndarray:
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8))


def receiver_features(views: Sequence[View], known: Sequence[tuple[Vectors, Vectors]]) -> list[list]:
    """For each kind of feature, one array of small numbers from each view."""
    found: list[list] = [[] for _ in range(10)]
    before = None
    for view, (_, v) in zip(views, known, strict=True):
        elements = np.array([x for each in v for x in each], dtype=np.uint64)
        sent = doublings(elements, multiply.BITS).reshape(-1)
        given = np.frombuffer(view.inbound[1][multiply.KEY :], dtype="<u8").astype(np.uint64)
        left = subtract(given, sent)
        half = given.size // 2
        relations = (
            given[1:] == subtract(given[:-1], subtract(np.zeros_like(given[1:]), given[:-1])),
            left == 0,
            left[:half] == left[half:],
            (left == view.own) | (given == view.own),
            np.zeros(1, bool) if before is None else left == before,
        )
        whole = (
            (given >> np.uint64(56)).astype(int),
            (left >> np.uint64(56)).astype(int),
            (subtract(view.own, given) >> np.uint64(56)).astype(int),
            ones(given),
            np.frombuffer(view.inbound[0][::16] + view.inbound[1][: multiply.KEY], dtype=np.uint8) & 15,
        )
        for place, feature in enumerate((*whole, *(each.astype(int) for each in relations))):
            found[place].append(feature)
        before = left
    return found


def sender_features(views: Sequence[View], known: Sequence[tuple[Vectors, Vectors]]) -> list[list]:
    found: list[list] = [[] for _ in range(9)]
    before = None
    for place, (view, (u, _)) in enumerate(zip(views, known, strict=True)):
        (reply,) = view.inbound
        elements = np.array([x for each in u for x in each], dtype=np.uint64)
        choices = np.frombuffer(elements.astype("<u8").tobytes(), dtype=np.uint8)
        count = 8 * choices.size
        _, masked, columns, proof = extension._split(reply, count)
        body, ends = columns[:, : choices.size], columns[:, choices.size :]
        other = body ^ view.own[:, : choices.size] ^ choices
        offer = offers(place)
        said = offer + reply[: len(reply) - extension.HASHES]
        chi = challenge(CONTEXT, said, blocks_of(columns.shape[1]))
        padded = np.concatenate([choices, np.zeros(16, dtype=np.uint8)])
        hidden = hashes(padded[None, :], chi) ^ proof[:1]
        apart = body[1:] ^ body[:-1]
        features = (
            ones(body ^ choices),
            ones(body),
            ones(other),
            ones(hidden),
            ones(ends),
            np.frombuffer(masked, dtype=np.uint8) & 15,
            (apart == 0).all(axis=1).astype(int),
            (body == choices).all(axis=1).astype(int),
            np.zeros(1, int) if before is None else (body ^ choices == before).all(axis=1).astype(int),
        )
        for kind, feature in enumerate(features):
            found[kind].append(np.asarray(feature))
        before = body ^ choices
    return found


def offers(session: int) -> bytes:
    """The sender's own first message, which its random bits determine."""
    _, v = inputs(session)
    return multiply.MultiplySender(CONTEXT, v, SeededRandomness(2000 + session)).offer


def told_apart(features: Callable, real: Sequence[View], other: Sequence[View]) -> float:
    """The least p-value of all tests, times their number."""
    known = [inputs(session) for session in range(SESSIONS)]
    pairs = zip(features(real, known), features(other, known), strict=True)
    found = [tables(one, two) for one, two in pairs]
    return min(found) * len(found)


def real_views(receiver=lambda s: SeededRandomness(1000 + s), sender=lambda s: SeededRandomness(2000 + s)):
    made = [both_views(*inputs(s), receiver(s), sender(s)) for s in range(SESSIONS)]
    return [each[0] for each in made], [each[1] for each in made]


@pytest.fixture(scope="module")
def simulated():
    """Both simulators' views: neither is given the other server's vectors."""
    receivers, senders = [], []
    for s in range(SESSIONS):
        u, v = inputs(s)
        receivers.append(simulated_receiver(u, SeededRandomness(1000 + s), SeededRandomness(3000 + s)))
        senders.append(simulated_sender(v, SeededRandomness(2000 + s), SeededRandomness(4000 + s)))
    return receivers, senders


def test_both_views_are_like_simulated_ones(simulated):
    receivers, senders = real_views()
    assert told_apart(receiver_features, receivers, simulated[0]) > FAILURE
    assert told_apart(sender_features, senders, simulated[1]) > FAILURE
    # In the same order: the shares that two real views give add up to the products.
    for s, (one, two) in enumerate(zip(receivers, senders, strict=True)):
        u, v = inputs(s)
        exact = [sum(a * b for a, b in zip(x, y, strict=True)) % MODULUS for x, y in zip(u, v, strict=True)]
        assert [(a + b) % MODULUS for a, b in zip(one.shares, two.shares, strict=True)] == exact
    # Lengths say nothing: they are fixed by the study.
    assert {tuple(map(len, view.inbound)) for view in (*receivers, *simulated[0])} == {
        (POINT * extension.BASE, multiply.KEY + 8 * multiply.BITS * 4)
    }
    assert {len(view.inbound[0]) for view in (*senders, *simulated[1])} == {
        POINT + MASKED * extension.BASE + extension.COLUMNS * 32 + extension.PROOF
    }


def test_a_mask_used_for_two_products_is_found(simulated, monkeypatch):
    whole = multiply._hash

    def reused(key, labels):
        masks = whole(key, labels)
        return np.tile(masks[: masks.size // 2], 2)

    monkeypatch.setattr(multiply, "_hash", reused)
    assert told_apart(receiver_features, real_views()[0], simulated[0]) < FAILURE


def test_a_mask_whose_highest_bit_is_never_set_is_found(simulated, monkeypatch):
    whole = multiply._hash
    monkeypatch.setattr(multiply, "_hash", lambda key, labels: whole(key, labels) & np.uint64(2**63 - 1))
    assert told_apart(receiver_features, real_views()[0], simulated[0]) < FAILURE


def test_corrections_without_masks_are_found(simulated, monkeypatch):
    """With a difference of 0 both blocks are the same: products are right, and v is sent in the clear."""
    monkeypatch.setattr(extension, "fresh_delta", lambda bits: np.zeros(2, dtype=np.uint64) * bits.words(2))
    assert told_apart(receiver_features, real_views()[0], simulated[0]) < FAILURE


def test_a_sender_that_uses_its_random_bits_again_is_found(simulated):
    """With the receiver's bits repeated too, blocks and masks are those of the session before."""
    again = real_views(lambda s: SeededRandomness(7), lambda s: SeededRandomness(8))
    assert told_apart(receiver_features, again[0], simulated[0]) < FAILURE


def test_a_hash_of_choices_that_nothing_hides_is_found(simulated):
    """The receiver's block of random choices is all 0: the sender can test a guess of u."""
    leaky = real_views(receiver=lambda s: Blanked(1000 + s, 2))
    assert told_apart(sender_features, leaky[1], simulated[1]) < FAILURE


def test_columns_that_do_not_depend_on_their_seeds_are_found(simulated, monkeypatch):
    whole = extension._columns

    def same(seeds, count):
        return np.repeat(whole(np.zeros((1, 2), dtype=np.uint64), count), len(seeds), axis=0)

    monkeypatch.setattr(extension, "_columns", same)
    assert told_apart(sender_features, real_views()[1], simulated[1]) < FAILURE


def test_a_receiver_that_uses_its_seeds_again_is_found(simulated):
    leaky = real_views(lambda s: SeededRandomness(7), lambda s: SeededRandomness(8))
    assert told_apart(sender_features, leaky[1], simulated[1]) < FAILURE
