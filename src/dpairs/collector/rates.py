"""How often one address may ask: a bucket of tokens for each, in memory only, for some seconds.

The library `limits` would do the same over windows of time; it has no buckets, so a device that sends its few
requests at once would be refused or the limit be useless, and it keeps every address that ever asked until a
timer comes by, so that a flood of addresses fills the memory.
"""

from __future__ import annotations

import ipaddress
import time

from ..errors import TooMany

ADDRESSES = 100_000
"""Addresses that are remembered at once."""
LONGEST = 45
"""Letters of the longest address; a proxy may name something else in its place, of any length."""


class Rates:
    """Buckets of ``burst`` tokens that fill by ``rate`` a second; 0 means any number."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(burst)
        self._buckets: dict[str, tuple[float, float]] = {}

    def count(self, address: str) -> None:
        """Refuse an address that asks too often."""
        if self._rate == 0:
            return
        whose, now = network(address), time.monotonic()
        left, then = self._buckets.get(whose, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        if left < 1:
            raise TooMany("there were too many requests from this address; try again in a moment")
        if len(self._buckets) >= ADDRESSES:
            age = self._burst / self._rate
            full = [key for key, (_, then) in self._buckets.items() if now - then > age]
            for key in full or list(self._buckets)[: ADDRESSES // 2]:
                del self._buckets[key]
        self._buckets[whose] = (left - 1, now)


def network(address: str) -> str:
    """Whose address it is: IPv6 gives every household 2^64 of them, so those are counted as one.

    >>> network("2001:db8:1:2:3:4:5:6"), network("198.51.100.7"), network("::ffff:198.51.100.7")
    ('2001:db8:1:2::', '198.51.100.7', '198.51.100.7')
    """
    address = address[:LONGEST]
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(parsed) >> 64 << 64))
