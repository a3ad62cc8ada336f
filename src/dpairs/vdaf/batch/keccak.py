"""TurboSHAKE128 for many messages of one length: Keccak-p[1600, 12] with a rate of 168 bytes (RFC 9861)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .compiling import compiled

RATE = 168
"""Bytes of a block."""
LANES = RATE // 8
DOMAIN = 1
ROUND_CONSTANTS = np.array(
    [
        0x000000008000808B,
        0x800000000000008B,
        0x8000000000008089,
        0x8000000000008003,
        0x8000000000008002,
        0x8000000000000080,
        0x000000000000800A,
        0x800000008000000A,
        0x8000000080008081,
        0x8000000000008080,
        0x0000000080000001,
        0x8000000080008008,
    ],
    dtype=np.uint64,
)
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]


def pack(parts: list[bytes | Bytes], count: int) -> Words:
    """Messages as padded blocks of words: each part is common to all, or has a row for each."""
    widths = [len(part) if isinstance(part, bytes) else part.shape[1] for part in parts]
    size = sum(widths)
    packed = np.zeros((count, RATE * (size // RATE + 1)), dtype=np.uint8)
    start = 0
    for part, width in zip(parts, widths, strict=True):
        block = np.frombuffer(part, dtype=np.uint8) if isinstance(part, bytes) else part
        packed[:, start : start + width] = block
        start += width
    packed[:, size] = DOMAIN
    packed[:, -1] ^= 0x80
    return packed.view("<u8")


@compiled
def digests(messages: Words, out: Words) -> None:
    """The first words of each message's output, at most 21."""
    state = np.empty(25, dtype=np.uint64)
    for i in range(messages.shape[0]):
        _absorb(messages[i], state)
        for word in range(out.shape[1]):  # an assignment of slices takes two seconds to compile
            out[i, word] = state[word]


@compiled
def elements(messages: Words, modulus: Words, out: NDArray[np.uint64]) -> None:
    """Elements below the modulus, of one or two words, lowest first: (messages, length, words)."""
    state = np.empty(25, dtype=np.uint64)
    length, words = out.shape[1], out.shape[2]
    for i in range(messages.shape[0]):
        _absorb(messages[i], state)
        place = 0
        for j in range(length):
            while True:
                for w in range(words):
                    if place == LANES:
                        _permute(state)
                        place = 0
                    out[i, j, w] = state[place]
                    place += 1
                top = out[i, j, words - 1]
                if top < modulus[words - 1]:
                    break
                # The lower word of Field128's modulus is 1.
                if words == 2 and top == modulus[1] and out[i, j, 0] < modulus[0]:
                    break


@compiled
def _absorb(message: Words, state: Words) -> None:
    state[:] = np.uint64(0)
    for start in range(0, message.shape[0], LANES):
        for lane in range(LANES):
            state[lane] ^= message[start + lane]
        _permute(state)


def _rotate(typing: Any, x: Any, bits: Any) -> Any:
    """A word turned to the left; a function that is compiled would be so for each number of bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, turn = arguments
        rest = builder.sub(ir.Constant(turn.type, 64), turn)
        return builder.or_(builder.shl(word, turn), builder.lshr(word, rest))

    return types.uint64(types.uint64, types.uint64), generate


_turn: Callable[..., Any] = intrinsic(_rotate)


@compiled
def _permute(s: Words) -> None:
    a0, a1, a2, a3, a4 = s[0], s[1], s[2], s[3], s[4]
    b0, b1, b2, b3, b4 = s[5], s[6], s[7], s[8], s[9]
    c0, c1, c2, c3, c4 = s[10], s[11], s[12], s[13], s[14]
    d0, d1, d2, d3, d4 = s[15], s[16], s[17], s[18], s[19]
    e0, e1, e2, e3, e4 = s[20], s[21], s[22], s[23], s[24]
    for constant in ROUND_CONSTANTS:
        # theta: every lane gets the parities of two columns
        p0, p1 = a0 ^ b0 ^ c0 ^ d0 ^ e0, a1 ^ b1 ^ c1 ^ d1 ^ e1
        p2, p3 = a2 ^ b2 ^ c2 ^ d2 ^ e2, a3 ^ b3 ^ c3 ^ d3 ^ e3
        p4 = a4 ^ b4 ^ c4 ^ d4 ^ e4
        t0, t1, t2 = p4 ^ _turn(p1, 1), p0 ^ _turn(p2, 1), p1 ^ _turn(p3, 1)
        t3, t4 = p2 ^ _turn(p4, 1), p3 ^ _turn(p0, 1)
        # rho and pi: turned, and moved to row x of the next state
        f0, f1, f2 = a0 ^ t0, _turn(b1 ^ t1, 44), _turn(c2 ^ t2, 43)
        f3, f4 = _turn(d3 ^ t3, 21), _turn(e4 ^ t4, 14)
        g0, g1, g2 = _turn(a3 ^ t3, 28), _turn(b4 ^ t4, 20), _turn(c0 ^ t0, 3)
        g3, g4 = _turn(d1 ^ t1, 45), _turn(e2 ^ t2, 61)
        h0, h1, h2 = _turn(a1 ^ t1, 1), _turn(b2 ^ t2, 6), _turn(c3 ^ t3, 25)
        h3, h4 = _turn(d4 ^ t4, 8), _turn(e0 ^ t0, 18)
        i0, i1, i2 = _turn(a4 ^ t4, 27), _turn(b0 ^ t0, 36), _turn(c1 ^ t1, 10)
        i3, i4 = _turn(d2 ^ t2, 15), _turn(e3 ^ t3, 56)
        j0, j1, j2 = _turn(a2 ^ t2, 62), _turn(b3 ^ t3, 55), _turn(c4 ^ t4, 39)
        j3, j4 = _turn(d0 ^ t0, 41), _turn(e1 ^ t1, 2)
        # chi, and iota on the first lane
        a0, a1, a2 = f0 ^ (~f1 & f2) ^ constant, f1 ^ (~f2 & f3), f2 ^ (~f3 & f4)
        a3, a4 = f3 ^ (~f4 & f0), f4 ^ (~f0 & f1)
        b0, b1, b2 = g0 ^ (~g1 & g2), g1 ^ (~g2 & g3), g2 ^ (~g3 & g4)
        b3, b4 = g3 ^ (~g4 & g0), g4 ^ (~g0 & g1)
        c0, c1, c2 = h0 ^ (~h1 & h2), h1 ^ (~h2 & h3), h2 ^ (~h3 & h4)
        c3, c4 = h3 ^ (~h4 & h0), h4 ^ (~h0 & h1)
        d0, d1, d2 = i0 ^ (~i1 & i2), i1 ^ (~i2 & i3), i2 ^ (~i3 & i4)
        d3, d4 = i3 ^ (~i4 & i0), i4 ^ (~i0 & i1)
        e0, e1, e2 = j0 ^ (~j1 & j2), j1 ^ (~j2 & j3), j2 ^ (~j3 & j4)
        e3, e4 = j3 ^ (~j4 & j0), j4 ^ (~j0 & j1)
    s[0], s[1], s[2], s[3], s[4] = a0, a1, a2, a3, a4
    s[5], s[6], s[7], s[8], s[9] = b0, b1, b2, b3, b4
    s[10], s[11], s[12], s[13], s[14] = c0, c1, c2, c3, c4
    s[15], s[16], s[17], s[18], s[19] = d0, d1, d2, d3, d4
    s[20], s[21], s[22], s[23], s[24] = e0, e1, e2, e3, e4
