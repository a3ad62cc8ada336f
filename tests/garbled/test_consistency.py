"""The extension's consistency check: an evaluator with two sets of choices is caught, or guessed."""

import numpy as np
import pytest

from dpairs.errors import BadMessage, OutOfOrder
from dpairs.garbled.blocks import to_bytes
from dpairs.garbled.consistency import BLOCK, blocks_of, challenge, hashes
from dpairs.garbled.extension import BASE, COLUMNS, HASHES, ExtensionReceiver, ExtensionSender, _columns
from dpairs.garbled.transfer import KeySender, hashed_anchors, points
from dpairs.randomness import SeededRandomness

CONTEXT = bytes(range(32))
COUNT = 203
CHOICES = np.random.default_rng(5).integers(0, 2, COUNT, dtype=np.uint8)


def product(left: int, right: int) -> int:
    """In GF(2^128), by the schoolbook."""
    total = 0
    for place in range(128):
        if right >> place & 1:
            total ^= left << place
    for place in range(255, 127, -1):
        if total >> place & 1:
            total ^= (1 << 128 | 0x87) << (place - 128)
    return total


def test_the_hash_is_the_polynomial_of_its_docstring():
    rng = np.random.default_rng(1)
    columns = rng.integers(0, 256, (3, 37 + BLOCK), dtype=np.uint8)
    chi = challenge(CONTEXT, b"said", blocks_of(columns.shape[1]))
    assert len(chi) == 3
    for column, found in zip(columns, hashes(columns, chi), strict=True):
        body = column[:37].tobytes().ljust(48, b"\0")
        total = int.from_bytes(column[37:].tobytes(), "little")
        for place, element in enumerate(chi):
            total ^= product(int.from_bytes(body[16 * place : 16 * place + 16], "little"), element)
        assert found.tobytes() == total.to_bytes(16, "little")


def test_the_challenge_depends_on_all_that_was_said():
    base = challenge(CONTEXT, b"said", 2)
    assert len({*base, *challenge(CONTEXT, b"sais", 2), *challenge(CONTEXT[::-1], b"said", 2)}) == 6


def cheat(
    offer: bytes, seed: int, flips: dict[int, int], guesses: dict[int, int], swapped: int | None = None
):
    """A reply whose column i has the bits ``flips[i]`` changed, and passes if delta_i is ``guesses[i]``.

    ``swapped``: a base transfer that gives its first column another seed when both of its bits are 1.
    """
    bits = SeededRandomness(seed)
    base = KeySender(CONTEXT, bits)
    keys = base.keys(points(offer), hashed_anchors(CONTEXT))
    zero, one = keys[:, 0], bits.words(2 * COLUMNS).reshape(BASE, 2, 2)
    sent = np.array([[one[:, 0], zero[:, 1]], [zero[:, 0], one[:, 1]], [one[:, 0], one[:, 1]]])
    rows = sent.transpose(2, 0, 1, 3).copy()
    if swapped is not None:
        rows[swapped, 2, 0] ^= np.uint64(1)
    masked = keys[:, 1:] ^ rows
    first, second = (_columns(each.reshape(COLUMNS, 2), COUNT) for each in (zero, one))
    mask = bits.words(2).astype("<u8").tobytes()
    packed = np.frombuffer(np.packbits(CHOICES, bitorder="little").tobytes() + mask, dtype=np.uint8)
    columns = np.tile(packed, (COLUMNS, 1))
    for column, bit in flips.items():
        columns[column, bit // 8] ^= np.uint8(1 << bit % 8)
    sent_columns = first ^ second ^ columns
    said = base.public + to_bytes(masked)
    said += sent_columns[:, :-BLOCK].tobytes() + sent_columns[:, -BLOCK:].tobytes()
    chi = challenge(CONTEXT, offer + said, blocks_of(packed.size))
    whole, each, claimed = hashes(packed[None, :], chi), hashes(columns, chi), hashes(first, chi)
    for column, guess in guesses.items():
        claimed[column] ^= np.uint8(255 * guess) & (each[column] ^ whole[0])
    return said + whole.tobytes() + claimed.tobytes()


def delta_bits(garbler: ExtensionSender) -> np.ndarray:
    return garbler._bits


def test_without_changes_the_cheater_is_the_evaluator():
    garbler = ExtensionSender(CONTEXT, COUNT, SeededRandomness(1))
    honest = ExtensionReceiver(CONTEXT, CHOICES, garbler.offer, SeededRandomness(2))
    assert cheat(garbler.offer, 2, {}, {}) == honest.reply
    zero, delta, _ = garbler.finish(honest.reply)
    np.testing.assert_array_equal(honest.finish(b""), np.where(CHOICES[:, None] == 1, zero ^ delta, zero))


@pytest.mark.parametrize("column", [0, 1, 64, 127])
@pytest.mark.parametrize("guess", [0, 1])
def test_another_choice_in_one_column_passes_only_if_that_bit_of_delta_was_guessed(column, guess):
    """Before the check such a reply was always taken, and a failed pair told the bit."""
    for seed in range(4):
        garbler = ExtensionSender(CONTEXT, COUNT, SeededRandomness(seed))
        reply = cheat(garbler.offer, 9, {column: 7}, {column: guess})
        if delta_bits(garbler)[column] == guess:
            garbler.finish(reply)
        else:
            with pytest.raises(BadMessage, match="do not fit together"):
                garbler.finish(reply)


def test_a_failed_check_ends_the_exchange():
    """Otherwise a cheater would guess again, with the same delta, until all of it is known."""
    garbler = ExtensionSender(CONTEXT, COUNT, SeededRandomness(3))
    wrong = 1 - int(delta_bits(garbler)[5])
    with pytest.raises(BadMessage):
        garbler.finish(cheat(garbler.offer, 9, {5: 7}, {5: wrong}))
    honest = ExtensionReceiver(CONTEXT, CHOICES, garbler.offer, SeededRandomness(2))
    with pytest.raises(OutOfOrder, match="over"):
        garbler.finish(honest.reply)


def test_many_columns_pass_as_often_as_all_their_bits_are_guessed():
    """Three guesses pass with probability 1/8; over all deltas of three bits exactly once."""
    flips, guesses = {3: 1, 40: 2, 90: 3}, {3: 1, 40: 0, 90: 1}
    passed = []
    for seed in range(64):
        garbler = ExtensionSender(CONTEXT, COUNT, SeededRandomness(seed))
        lucky = all(delta_bits(garbler)[column] == guess for column, guess in guesses.items())
        try:
            garbler.finish(cheat(garbler.offer, 9, flips, guesses))
        except BadMessage:
            passed.append(False)
        else:
            passed.append(True)
        assert passed[-1] == lucky
    assert 0 < sum(passed) < 32


@pytest.mark.parametrize("place", [0, 31])
def test_a_base_transfer_of_mixed_seeds_is_a_guess_of_two_bits(place):
    """The evaluator sends the seeds, and may give other ones for one of the four choices."""
    seen = set()
    for seed in range(16):
        garbler = ExtensionSender(CONTEXT, COUNT, SeededRandomness(seed))
        both = tuple(delta_bits(garbler)[2 * place : 2 * place + 2])
        seen.add(both)
        reply = cheat(garbler.offer, 9, {}, {}, swapped=place)
        if both == (1, 1):
            with pytest.raises(BadMessage):
                garbler.finish(reply)
        else:
            garbler.finish(reply)
    assert len(seen) == 4


@pytest.mark.parametrize("bit", [0, 1, 8 * BLOCK, 8 * HASHES - 1])
def test_a_changed_bit_of_the_proof_is_refused(bit):
    garbler = ExtensionSender(CONTEXT, COUNT, SeededRandomness(1))
    reply = bytearray(ExtensionReceiver(CONTEXT, CHOICES, garbler.offer, SeededRandomness(2)).reply)
    reply[len(reply) - HASHES + bit // 8] ^= 1 << bit % 8
    with pytest.raises(BadMessage, match="do not fit together"):
        garbler.finish(bytes(reply))


def test_the_hash_of_the_choices_hides_them():
    """Random choices at the end make it uniform: with another mask it is another, whatever the choices."""
    garbler = ExtensionSender(CONTEXT, COUNT, SeededRandomness(1))
    said = {
        ExtensionReceiver(CONTEXT, choices, garbler.offer, SeededRandomness(seed)).reply[-HASHES:][:BLOCK]
        for choices in (CHOICES, np.zeros(COUNT, dtype=np.uint8))
        for seed in range(8)
    }
    assert len(said) == 16
    shares = np.unpackbits(np.frombuffer(b"".join(said), dtype=np.uint8)).mean()
    # 2,048 fair bits; 0.06 off has probability below 6e-8.
    assert abs(shares - 0.5) < 0.06
