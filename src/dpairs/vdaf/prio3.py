"""Prio3: a measurement in shares that servers can verify without seeing it (section 7.2 of the draft).

Bytes in, bytes out. Randomness is an argument; nothing here draws any, reads a file or keeps a global.
Draft 20 of "Verifiable Distributed Aggregation Functions" (CFRG); its test vectors are in vectors/vdaf.

>>> vdaf = Prio3(Histogram(FIELD64, chunk=2, cells=4), 0xFFFF0001, proofs=3)
>>> key, nonce = bytes(32), bytes(16)
>>> public, shares = vdaf.shard(b"survey", 2, nonce, bytes(range(vdaf.rand_size)))
>>> states, says = zip(*(vdaf.verify_init(key, b"survey", i, nonce, public, shares[i]) for i in range(2)))
>>> message = vdaf.verifier_shares_to_message(b"survey", says)
>>> out = [vdaf.verify_next(state, message) for state in states]
>>> vdaf.unshard([vdaf.aggregate([share]) for share in out])
[0, 0, 1, 0]
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import BadMessage, BadParameter, NotVerified
from ..formats.checks import exact_size
from .arguments import settle, whole
from .circuits import Circuit
from .fields import FIELD64, Vector
from .measurements import Histogram
from .proofs import decide, prove, query
from .xof import SEED, derive_seed, expand, tag

__all__ = ["FIELD64", "KEY", "NONCE", "Histogram", "Prio3", "VerifyState"]

KEY = 32
"""Bytes of the key that the servers share and no participant knows."""
NONCE = 16
"""Bytes of a report's nonce."""
CONTEXT = 65535 - 8
"""Bytes of an application's context at most."""
LARGEST = 2**24
"""Elements of a report at most: its measurement and all its proofs."""
MEAS_SHARE, PROOF_SHARE, JOINT_RANDOMNESS, PROVE_RANDOMNESS, QUERY_RANDOMNESS = range(1, 6)
JOINT_RAND_SEED, JOINT_RAND_PART = 6, 7


@dataclass(frozen=True)
class VerifyState:
    """What a server keeps between its two steps: its output share and the joint randomness's seed."""

    out_share: bytes = field(repr=False)
    seed: bytes = field(repr=False)


@dataclass(frozen=True)
class Prio3:
    """A circuit with its registered number, its number of proofs and its number of servers.

    `dpairs.vdaf.instances` makes those that are sound. Here any field and any number of proofs will do, since
    tests measure cheating in tiny fields.
    """

    circuit: Circuit
    algorithm: int
    proofs: int = 1
    shares: int = 2

    def __post_init__(self) -> None:
        """Refuse what the formats cannot express."""
        settle(self, "algorithm", "the algorithm's number", 0, 2**32 - 1)
        settle(self, "proofs", "the number of proofs", 1, 255)
        settle(self, "shares", "the number of servers", 2, 255)
        if self._elements > LARGEST:
            raise BadParameter(
                f"a report has at most {LARGEST} elements, its proofs included, not {self._elements}"
            )

    @property
    def rand_size(self) -> int:
        """Random bytes that `shard` takes."""
        return SEED * self.shares * (2 if self.circuit.joint else 1)

    @property
    def public_size(self) -> int:
        """Bytes of a public share."""
        return SEED * self.shares if self.circuit.joint else 0

    def input_size(self, server: int) -> int:
        """Bytes of a server's input share: all elements for the first, a seed for the others."""
        blind = SEED if self.circuit.joint else 0
        return blind + (SEED if server else self.circuit.field.size * self._elements)

    @property
    def verifier_size(self) -> int:
        """Bytes of a verifier share."""
        blind = SEED if self.circuit.joint else 0
        return blind + self.circuit.field.size * self.proofs * self.circuit.verifier

    @property
    def message_size(self) -> int:
        """Bytes of a verifier message."""
        return SEED if self.circuit.joint else 0

    @property
    def share_size(self) -> int:
        """Bytes of an output share and of an aggregate share."""
        return self.circuit.field.size * self.circuit.sums

    @property
    def report_size(self) -> int:
        """Bytes that a participant sends: public share and all input shares."""
        return self.public_size + sum(self.input_size(server) for server in range(self.shares))

    @property
    def most_reports(self) -> int:
        """Reports whose sums stay below the modulus, whatever they say; with more, a sum may start anew."""
        return (self.circuit.field.modulus - 1) // sum(self.circuit.weights)

    @property
    def _elements(self) -> int:
        return self.circuit.length + self.proofs * self.circuit.proof

    def soundness_error(self) -> Fraction:
        """The chance at most that a given invalid measurement is accepted; see `Circuit.soundness_error`."""
        return self.circuit.soundness_error(self.proofs)

    # ------------------------------------------------------------ participant

    def shard(self, context: bytes, measurement: Any, nonce: bytes, rand: bytes) -> tuple[bytes, list[bytes]]:
        """The public share and one input share for each server."""
        _context(context)
        _length("the nonce", nonce, NONCE)
        _length("the randomness", rand, self.rand_size)
        encoded = self.circuit.encode(measurement)
        return self.shard_encoded(context, encoded, nonce, rand)

    def shard_encoded(
        self, context: bytes, encoded: Vector, nonce: bytes, rand: bytes
    ) -> tuple[bytes, list[bytes]]:
        """The same for a measurement that is a vector already. Nothing says here that it is valid."""
        circuit, modulus = self.circuit, self.circuit.field.modulus
        seeds = [rand[i : i + SEED] for i in range(0, len(rand), SEED)]
        step = 2 if circuit.joint else 1
        helpers, blinds = seeds[: step * (self.shares - 1) : step], [b""] * self.shares
        if circuit.joint:
            blinds = [seeds[-2], *seeds[1 : 2 * (self.shares - 1) : 2]]
        parts = [self._measurement_share(context, i + 1, seed) for i, seed in enumerate(helpers)]
        leader = (encoded - np.sum(parts, axis=0)) % modulus
        public, joint = b"", circuit.field.zeros(0)
        if circuit.joint:
            public = b"".join(
                self._joint_part(context, i, blinds[i], share, nonce)
                for i, share in enumerate([leader, *parts])
            )
            joint = self._joint(context, self._joint_seed(context, public))
        proof = self._prove(context, encoded, seeds[-1], joint)
        for i, seed in enumerate(helpers):
            proof = (proof - self._proof_share(context, i + 1, seed)) % modulus
        first = circuit.field.encode(leader) + circuit.field.encode(proof) + blinds[0]
        return public, [first, *(seed + blinds[i + 1] for i, seed in enumerate(helpers))]

    def _prove(self, context: bytes, encoded: Vector, seed: bytes, joint: Vector) -> Vector:
        arity, size = self.circuit.gadget.arity, self.circuit.joint
        seeds = self._expand(PROVE_RANDOMNESS, context, seed, bytes([self.proofs]), arity)
        return np.concatenate(
            [
                prove(self.circuit, encoded, seeds[i * arity :][:arity], joint[i * size :][:size])
                for i in range(self.proofs)
            ]
        )

    # ------------------------------------------------------------ servers

    def verify_init(
        self, key: bytes, context: bytes, server: int, nonce: bytes, public: bytes, share: bytes
    ) -> tuple[VerifyState, bytes]:
        """A server's first step: what it keeps, and the verifier share that it sends.

        Raises `BadMessage` for bytes that are no shares of this kind.
        """
        _length("the key of the servers", key, KEY)
        whole("the number of the server", server, 0, self.shares - 1)
        _context(context)
        exact_size(nonce, NONCE, "the nonce")
        exact_size(public, self.public_size, "the public share")
        measurement, proof, blind = self._open(context, server, share)
        circuit, part, seed, joint = self.circuit, b"", b"", self.circuit.field.zeros(0)
        if circuit.joint:
            part = self._joint_part(context, server, blind, measurement, nonce)
            before, after = public[: SEED * server], public[SEED * (server + 1) :]
            seed = self._joint_seed(context, before + part + after)
            joint = self._joint(context, seed)
        random = self._expand(QUERY_RANDOMNESS, context, key, bytes([self.proofs]) + nonce, circuit.query)
        verifier = [
            query(
                circuit,
                measurement,
                proof[i * circuit.proof :][: circuit.proof],
                random[i * circuit.query :][: circuit.query],
                joint[i * circuit.joint :][: circuit.joint],
                self.shares,
            )
            for i in range(self.proofs)
        ]
        state = VerifyState(circuit.field.encode(circuit.truncate(measurement)), seed)
        return state, circuit.field.encode(np.concatenate(verifier)) + part

    def verifier_shares_to_message(self, context: bytes, shares: Sequence[bytes]) -> bytes:
        """What all servers learn together: that the proofs hold; else `NotVerified`."""
        _context(context)
        circuit, size = self.circuit, self.circuit.field.size * self.proofs * self.circuit.verifier
        if len(shares) != self.shares:
            raise BadMessage(f"there must be {self.shares} verifier shares, not {len(shares)}")
        total, parts = circuit.field.zeros(self.proofs * circuit.verifier), b""
        for share in shares:
            exact_size(share, self.verifier_size, "a verifier share")
            total = total + circuit.field.decode(share[:size], len(total), "a verifier share")
            parts += share[size:]
        for i in range(self.proofs):
            verifier = total[i * circuit.verifier :][: circuit.verifier] % circuit.field.modulus
            if not decide(circuit, verifier):
                raise NotVerified("the proof of this report does not hold")
        return self._joint_seed(context, parts) if circuit.joint else b""

    def verify_next(self, state: VerifyState, message: bytes) -> bytes:
        """A server's second step: its output share, if the joint randomness was the right one."""
        exact_size(message, self.message_size, "the verifier message")
        if not hmac.compare_digest(state.seed, message):
            raise NotVerified("the joint randomness of this report is not that of its shares")
        return state.out_share

    def aggregate(self, shares: Iterable[bytes]) -> bytes:
        """The sum of output shares, or of aggregate shares of one server."""
        total = self.circuit.field.zeros(self.circuit.sums)
        for share in shares:
            total = total + self.circuit.field.decode(share, self.circuit.sums, "an output share")
        return self.circuit.field.encode(total % self.circuit.field.modulus)

    def unshard(self, shares: Sequence[bytes], reports: int | None = None) -> Any:
        """The result, from the aggregate shares of all servers; refused if so many reports may not fit."""
        if reports is not None:
            whole("the number of reports", reports, 0, self.most_reports)
        if len(shares) != self.shares:
            raise BadMessage(f"there must be {self.shares} aggregate shares, not {len(shares)}")
        field = self.circuit.field
        return self.circuit.decode(field.decode(self.aggregate(shares), self.circuit.sums, "the sum"))

    # ------------------------------------------------------------ both

    def tag(self, usage: int, context: bytes) -> bytes:
        """The domain separation tag of one usage."""
        return tag(self.algorithm, usage, context)

    def _open(self, context: bytes, server: int, share: bytes) -> tuple[Vector, Vector, bytes]:
        exact_size(share, self.input_size(server), f"the input share of server {server}")
        if server:
            seed, blind = share[:SEED], share[SEED:]
            return (
                self._measurement_share(context, server, seed),
                self._proof_share(context, server, seed),
                blind,
            )
        field, length = self.circuit.field, self.circuit.length
        elements = self._elements
        vector = field.decode(share[: field.size * elements], elements, "the input share of server 0")
        return vector[:length], vector[length:], share[field.size * elements :]

    def _expand(self, usage: int, context: bytes, seed: bytes, binder: bytes, length: int) -> Vector:
        return expand(self.circuit.field, seed, self.tag(usage, context), binder, length * self.proofs)

    def _measurement_share(self, context: bytes, server: int, seed: bytes) -> Vector:
        name = self.tag(MEAS_SHARE, context)
        return expand(self.circuit.field, seed, name, bytes([server]), self.circuit.length)

    def _proof_share(self, context: bytes, server: int, seed: bytes) -> Vector:
        return self._expand(PROOF_SHARE, context, seed, bytes([self.proofs, server]), self.circuit.proof)

    def _joint(self, context: bytes, seed: bytes) -> Vector:
        return self._expand(JOINT_RANDOMNESS, context, seed, bytes([self.proofs]), self.circuit.joint)

    def _joint_seed(self, context: bytes, parts: bytes) -> bytes:
        return derive_seed(bytes(SEED), self.tag(JOINT_RAND_SEED, context), parts)

    def _joint_part(self, context: bytes, server: int, blind: bytes, share: Vector, nonce: bytes) -> bytes:
        binder = bytes([server]) + nonce + self.circuit.field.encode(share)
        return derive_seed(blind, self.tag(JOINT_RAND_PART, context), binder)


def _context(context: Any) -> None:
    if not isinstance(context, bytes) or len(context) > CONTEXT:
        raise BadParameter(f"the context must be at most {CONTEXT} bytes")


def _length(what: str, given: Any, size: int) -> None:
    if not isinstance(given, bytes) or len(given) != size:
        raise BadParameter(f"{what} must be {size} bytes")
