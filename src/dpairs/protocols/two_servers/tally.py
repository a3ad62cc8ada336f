"""One server's added-up shares of one stratum: random numbers to whoever has no others."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Self

from ...errors import BadFile, BadParameter, BadValue
from ...formats.canonical import big_integer, read_integer

CHECKSUM = 32
"""Bytes of the XOR of the SHA-256 hashes of all counted reports' ids."""
SERVERS = (0, 1)


class ShareCounts:
    """The sum of shares, and which reports it is of: how many, and a checksum of their ids."""

    def __init__(self, length: int, modulus: int) -> None:
        self.modulus = modulus
        self.server: int | None = None
        self.vector: list[int] = [0] * length
        self.people = 0
        self.checksum = bytes(CHECKSUM)

    def __repr__(self) -> str:
        return f"ShareCounts(server={self.server}, people={self.people})"

    def add_shares(self, server: int, shares: Iterable[int], people: int, checksum: bytes) -> None:
        """Add the sum of verified output shares of so many reports."""
        self._of(server)
        elements = list(shares)
        if len(elements) != len(self.vector) or not all(0 <= each < self.modulus for each in elements):
            raise BadValue(f"a share of this study has {len(self.vector)} elements of the field")
        if people < 0 or len(checksum) != CHECKSUM:
            raise BadValue(f"a share comes with its number of people and a checksum of {CHECKSUM} bytes")
        self.vector = [(a + b) % self.modulus for a, b in zip(self.vector, elements, strict=True)]
        self.people += people
        self.checksum = bytes(a ^ b for a, b in zip(self.checksum, checksum, strict=True))

    def _of(self, server: int) -> None:
        if server not in SERVERS or self.server not in (None, server):
            raise BadParameter("shares of two servers are never added up: that would be everybody's answers")
        self.server = server

    def plus(self, other: Self) -> Self:
        both = copy.copy(self)
        if other.server is not None:
            both.add_shares(other.server, other.vector, other.people, other.checksum)
        return both

    def to_json(self) -> dict[str, Any]:
        return {
            "server": self.server,
            "people": self.people,
            "checksum": self.checksum.hex(),
            "shares": [big_integer(each) for each in self.vector],
        }

    def read(self, spec: Mapping[str, Any]) -> None:
        """Fill an empty tally from plain values."""
        if set(spec) != {"server", "people", "checksum", "shares"}:
            raise BadFile("each stratum of a server's tally has 'server', 'people', 'checksum' and 'shares'")
        server, people, checksum, shares = (spec[name] for name in ("server", "people", "checksum", "shares"))
        if server is None and people == 0:
            return
        if not isinstance(shares, list) or type(people) is not int or type(server) is not int:
            raise BadFile("a server's tally has a number of people and a list of shares")
        elements = [read_integer(each) for each in shares]
        try:
            if not all(type(each) is int for each in elements):
                raise ValueError
            self.add_shares(server, elements, people, bytes.fromhex(checksum))
        except (ValueError, TypeError):
            raise BadFile("a server's tally holds elements of the field and a checksum") from None
