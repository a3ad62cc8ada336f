"""What one server has added up of the batch: shares of sums, how many reports, and which, for each class."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import BadMessage
from ..protocols.two_servers.goldilocks import MODULUS, add
from .collection import CHECKSUM


@dataclass(frozen=True)
class Bucket:
    """The verified reports of one class."""

    people: int
    checksum: bytes
    """The XOR of the SHA-256 of all report ids."""
    shares: bytes = field(repr=False)
    """Elements of Field64: random numbers to whoever has not the other server's."""
    first: int = 0
    last: int = 0
    """The earliest and the latest time of a report."""

    @classmethod
    def empty(cls, size: int) -> Bucket:
        return cls(0, bytes(CHECKSUM), bytes(size))

    def plus(self, other: Bucket) -> Bucket:
        if not self.people or not other.people:
            return other if other.people else self
        one, two = (np.frombuffer(each.shares, dtype="<u8").astype(np.uint64) for each in (self, other))
        return Bucket(
            self.people + other.people,
            xor(self.checksum, other.checksum),
            add(one, two).astype("<u8").tobytes(),
            min(self.first, other.first),
            max(self.last, other.last),
        )

    @property
    def vector(self) -> list[int]:
        elements: list[int] = np.frombuffer(self.shares, dtype="<u8").tolist()
        return elements

    def __post_init__(self) -> None:
        """Refuse what is no vector of the field."""
        elements = np.frombuffer(self.shares, dtype="<u8") if len(self.shares) % 8 == 0 else None
        if elements is None or (elements >= np.uint64(MODULUS)).any() or len(self.checksum) != CHECKSUM:
            raise BadMessage("a server's sums are elements of Field64, with a checksum of 32 bytes")


def xor(one: bytes, two: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, two, strict=True))


def checksum(report_ids: Iterable[bytes]) -> bytes:
    total = 0
    for report_id in report_ids:
        total ^= int.from_bytes(hashlib.sha256(report_id).digest(), "big")
    return total.to_bytes(CHECKSUM, "big")


def total_checksum(buckets: Mapping[str, Bucket]) -> bytes:
    """The checksum of all classes together, as the draft has it."""
    total = bytes(CHECKSUM)
    for bucket in buckets.values():
        total = xor(total, bucket.checksum)
    return total


def sizes(buckets: Mapping[str, Bucket]) -> dict[str, int]:
    return {name: bucket.people for name, bucket in buckets.items()}
