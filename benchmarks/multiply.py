"""An inner product between two servers

*Processor's time* of both servers together for an inner product of two shared vectors of 1,024 elements,
with the check that the choices fit together, against 2 s; and the bytes of its messages, against 5 MB.
Neither depends on the number of people: vectors are sums over all of them.
"""

from __future__ import annotations

import numpy as np
from measure import Row, seconds

from dpairs.protocols.two_servers.goldilocks import MODULUS
from dpairs.protocols.two_servers.multiply import MultiplyReceiver, MultiplySender
from dpairs.randomness import SystemRandomness

ELEMENTS, TIME, BYTES = 1024, 2.0, 5.0


def run(quick: bool) -> list[Row]:
    rng = np.random.default_rng(1)
    u, v = ([int(x) for x in rng.integers(0, MODULUS, ELEMENTS, dtype=np.uint64)] for _ in range(2))
    bits = SystemRandomness()

    def product() -> int:
        """Bytes of all messages; the shares of the two sides add up."""
        sender = MultiplySender(b"benchmark", [v], bits)
        receiver = MultiplyReceiver(b"benchmark", [u], sender.offer, bits)
        mine, corrections = sender.finish(receiver.reply)
        theirs = receiver.finish(corrections)
        assert (mine[0] + theirs[0]) % MODULUS == sum(a * b for a, b in zip(u, v, strict=True)) % MODULUS
        return len(sender.offer) + len(receiver.reply) + len(corrections)

    took = seconds(3 if quick else 9, product=product)["product"]
    name = f"an inner product of {ELEMENTS:,} elements"
    return [
        Row(name, "the limit", took, TIME, "s", 1.0),
        Row(f"messages of {name}", "the limit", product() / 1e6, BYTES, "MB", 1.0),
    ]
