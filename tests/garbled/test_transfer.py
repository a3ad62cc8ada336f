"""Oblivious transfer: the receiver gets the labels of its bits and no others, by points or by extension."""

import hashlib
from typing import Any

import numpy as np
import pytest
import rbcl

from dpairs import BadMessage
from dpairs.garbled.blocks import COLOUR, from_bytes
from dpairs.garbled.extension import (
    BASE,
    BREAK_EVEN,
    COLUMNS,
    ExtensionReceiver,
    ExtensionSender,
    receiver,
    sender,
    sizes,
)
from dpairs.garbled.transfer import (
    MASKED,
    POINT,
    DirectReceiver,
    DirectSender,
    KeyReceiver,
    KeySender,
    choice_pairs,
    hashed_anchors,
    multiples,
    points,
)
from dpairs.randomness import SeededRandomness

CONTEXT = hashlib.sha256(b"a study and a pair").digest()
KINDS: dict[str, Any] = {
    "direct": (DirectSender, DirectReceiver),
    "extension": (ExtensionSender, ExtensionReceiver),
}


def bits(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2, size=count, dtype=np.uint8)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 40, 130, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_the_receiver_gets_the_label_of_each_bit(kind, count):
    make_sender, make_receiver = KINDS[kind]
    garbler = make_sender(CONTEXT, count, SeededRandomness(1))
    choices = bits(count)
    evaluator = make_receiver(CONTEXT, choices, garbler.offer, SeededRandomness(2))
    zero, delta, masked = garbler.finish(evaluator.reply)
    labels = evaluator.finish(masked)
    assert (len(garbler.offer), len(evaluator.reply), len(masked)) == make_sender.sizes(count)
    assert zero.shape == labels.shape == (count, 2)
    np.testing.assert_array_equal(labels, zero ^ (choices[:, None] * delta))
    assert delta[1] & COLOUR, "the two labels of a bit have different colours"
    assert len(np.unique(zero, axis=0)) == count


@pytest.mark.parametrize("first", ["sender", "receiver"])
def test_of_four_keys_the_receiver_has_the_chosen_one(first):
    """Both base protocols, every choice: sender first (Chou-Orlandi), receiver first (Naor-Pinkas)."""
    choices = [0, 1, 2, 3, 3, 0]
    holder = KeySender(CONTEXT, SeededRandomness(3))
    anchors = multiples(holder.public) if first == "sender" else hashed_anchors(CONTEXT)
    chooser = KeyReceiver(choices, anchors, SeededRandomness(4))
    four = holder.keys(chooser.points, None if first == "sender" else anchors)
    mine = chooser.keys(CONTEXT, holder.public)
    for place, choice in enumerate(choices):
        matches = (four[place] == mine[place]).all(axis=(1, 2))
        assert matches.tolist() == [j == choice for j in range(4)]


def test_keys_depend_on_the_context_the_points_and_the_place():
    holder = KeySender(CONTEXT, SeededRandomness(3))
    chooser = KeyReceiver([1, 1], multiples(holder.public), SeededRandomness(4))
    mine = chooser.keys(CONTEXT, holder.public)
    assert (mine[0] != mine[1]).all()
    assert (chooser.keys(CONTEXT[::-1], holder.public) != mine).all()
    # The same point at another place is another key.
    swapped = holder.keys(chooser.points[::-1])
    assert not (swapped[1, 1] == mine[0]).any()


def test_points_of_the_receiver_show_no_choice():
    """With the same secret, choice 1 moved by -A is choice 0: each point comes from each choice."""
    holder = KeySender(CONTEXT, SeededRandomness(3))
    anchors = multiples(holder.public)
    by_choice = [KeyReceiver([choice], anchors, SeededRandomness(4)).points[0] for choice in range(4)]
    back = [rbcl.crypto_core_ristretto255_sub(p, a) for p, a in zip(by_choice, anchors, strict=True)]
    assert len(set(by_choice)) == 4
    assert len(set(back)) == 1


def test_anchors_are_points_that_depend_on_the_context():
    first, second = hashed_anchors(CONTEXT), hashed_anchors(CONTEXT[::-1])
    assert len({*first, *second}) == 7
    assert all(rbcl.crypto_core_ristretto255_is_valid_point(point) for point in first[1:])


BAD_POINTS = [bytes(POINT), b"\xff" * POINT, bytes([1]) + bytes(31), bytes(31) + b"\x80"]


@pytest.mark.parametrize("bad", BAD_POINTS, ids=["neutral", "no field element", "negative", "high bit"])
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_no_point_are_refused(kind, bad):
    make_sender, make_receiver = KINDS[kind]
    garbler = make_sender(CONTEXT, 4, SeededRandomness(1))
    with pytest.raises(BadMessage, match="not a point"):
        make_receiver(CONTEXT, bits(4), bad + garbler.offer[POINT:], SeededRandomness(2))
    evaluator = make_receiver(CONTEXT, bits(4), garbler.offer, SeededRandomness(2))
    with pytest.raises(BadMessage, match="not a point"):
        garbler.finish(bad + evaluator.reply[POINT:])


def test_masked_labels_hide_what_was_not_chosen():
    """Every row of the sender's last message but the chosen one decodes to garbage."""
    garbler = DirectSender(CONTEXT, 2, SeededRandomness(1))
    evaluator = DirectReceiver(CONTEXT, np.array([1, 0], dtype=np.uint8), garbler.offer, SeededRandomness(2))
    zero, delta, masked = garbler.finish(evaluator.reply)
    chosen = evaluator.finish(masked)
    key = chosen ^ from_bytes(masked, 1, 3, 2)[0, 0]
    for row in from_bytes(masked, 1, 3, 2)[0, 1:]:
        opened = row ^ key
        for label in (zero, zero ^ delta):
            assert not (opened == label).all(axis=1).any()


def test_the_garbler_sees_the_same_distribution_of_the_extension_for_any_bits():
    """U is a one-time pad of the bits: with the same seeds, U changes exactly where the bits do."""
    garbler = ExtensionSender(CONTEXT, 64, SeededRandomness(1))
    replies = [
        ExtensionReceiver(CONTEXT, choices, garbler.offer, SeededRandomness(2)).reply
        for choices in (np.zeros(64, dtype=np.uint8), bits(64))
    ]
    start = POINT + MASKED * BASE
    end = start + COLUMNS * 8
    assert replies[0][:start] == replies[1][:start], "what comes before does not depend on the bits"
    columns = [np.frombuffer(reply[start:end], dtype=np.uint8).reshape(128, 8) for reply in replies]
    np.testing.assert_array_equal(
        columns[0] ^ columns[1], np.tile(np.packbits(bits(64), bitorder="little"), (128, 1))
    )
    share = np.unpackbits(columns[0]).mean()
    assert abs(share - 0.5) < 0.03, "U of zeros is no constant"


def test_few_bits_go_directly_and_many_by_extension():
    assert isinstance(sender(CONTEXT, BREAK_EVEN, SeededRandomness(1)), DirectSender)
    many = sender(CONTEXT, BREAK_EVEN + 1, SeededRandomness(1))
    assert isinstance(many, ExtensionSender)
    assert isinstance(
        receiver(CONTEXT, bits(BREAK_EVEN + 1), many.offer, SeededRandomness(2)), ExtensionReceiver
    )
    assert sizes(48) == (32, 24 * 32, 24 * 96)
    assert sizes(1000)[2] == 0


def test_pairs_of_choices():
    assert choice_pairs(np.array([1, 0, 0, 1, 1], dtype=np.uint8)) == [1, 2, 1]
    assert points(bytes(64)) == [bytes(32), bytes(32)]


def test_no_secrets_are_shown():
    garbler = DirectSender(CONTEXT, 3, SeededRandomness(1))
    long = ExtensionSender(CONTEXT, 3, SeededRandomness(1))
    shown = [garbler, long, DirectReceiver(CONTEXT, bits(3), garbler.offer, SeededRandomness(2))]
    shown.append(ExtensionReceiver(CONTEXT, bits(3), long.offer, SeededRandomness(2)))
    assert all(repr(each).endswith("(count=3)") for each in shown)
