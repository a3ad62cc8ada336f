"""The extendable output function: TurboSHAKE128 of tag, seed and binder (section 6.2.1 of the draft)."""

from __future__ import annotations

from typing import Protocol

from Crypto.Hash import TurboSHAKE128

from ..errors import BadParameter
from .fields import Field, Vector
from .polynomials import next_power_of_2

SEED = 32
"""Bytes of a seed."""
VERSION = 18
"""What draft 20 binds every output to."""
_DOMAIN = 1


class _Stream(Protocol):
    def read(self, length: int) -> bytes: ...


def prefix(tag: bytes, seed_size: int = SEED) -> bytes:
    """What comes before the seed: the tag with its length, and the length of the seed."""
    if len(tag) > 65535 or seed_size > 255:
        raise BadParameter("a tag has at most 65,535 bytes and a seed at most 255")
    return len(tag).to_bytes(2, "little") + tag + bytes([seed_size])


def stream(seed: bytes, tag: bytes, binder: bytes) -> _Stream:
    """The endless output that belongs to the three."""
    opened: _Stream = TurboSHAKE128.new(domain=_DOMAIN, data=prefix(tag, len(seed)) + seed + binder)
    return opened


def derive_seed(seed: bytes, tag: bytes, binder: bytes) -> bytes:
    """A new seed from another one."""
    return stream(seed, tag, binder).read(SEED)


def expand(field: Field, seed: bytes, tag: bytes, binder: bytes, length: int) -> Vector:
    """Uniform elements of the field: words of the output, without those that are not below the modulus."""
    opened = stream(seed, tag, binder)
    mask = next_power_of_2(field.modulus) - 1
    elements: list[int] = []
    while len(elements) < length:
        block = opened.read(field.size * (length - len(elements)))
        for i in range(0, len(block), field.size):
            element = int.from_bytes(block[i : i + field.size], "little") & mask
            if element < field.modulus:
                elements.append(element)
    return field.vector(elements)


def tag(algorithm: int, usage: int, context: bytes) -> bytes:
    """The domain separation tag of a VDAF (class 0) for one usage, in one application."""
    return bytes([VERSION, 0]) + algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big") + context
