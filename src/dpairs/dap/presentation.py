"""The TLS presentation language (RFC 8446, section 3), as far as DAP uses it: numbers and opaque vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import BadMessage, TrailingBytes

Made = TypeVar("Made")


def number(value: int, size: int) -> bytes:
    r"""A whole number, the most significant byte first.

    >>> number(258, 2)
    b'\x01\x02'
    """
    return value.to_bytes(size, "big")


def opaque(content: bytes, size: int) -> bytes:
    r"""A vector of bytes, with its length in ``size`` bytes.

    >>> opaque(b"ab", 2)
    b'\x00\x02ab'
    """
    return len(content).to_bytes(size, "big") + content


class Reader:
    """Reads one message from its first byte; `end` refuses what follows it."""

    def __init__(self, wire: bytes, what: str) -> None:
        if not isinstance(wire, bytes):
            raise BadMessage(f"{what} must be bytes, not {type(wire).__name__}")
        self._wire, self._what, self._at = wire, what, 0

    @property
    def left(self) -> int:
        """Bytes that are still to be read."""
        return len(self._wire) - self._at

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._wire):
            raise BadMessage(f"{self._what} ends too early")
        part = self._wire[self._at : end]
        self._at = end
        return part

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def opaque(self, size: int, least: int = 0) -> bytes:
        """A vector of bytes whose length takes ``size`` bytes."""
        length = self.number(size)
        if length < least:
            raise BadMessage(f"{self._what} has an empty part that must not be empty")
        return self.take(length)

    def end(self) -> None:
        if self.left:
            raise TrailingBytes(f"{self.left} bytes follow the end of {self._what}")


def whole(wire: bytes, what: str, read: Callable[[Reader], Made]) -> Made:
    """What ``read`` makes of a message; bytes after it are refused."""
    reader = Reader(wire, what)
    made = read(reader)
    reader.end()
    return made
