"""A server's side of Prio3 for thousands of reports at once: the same bytes as `dpairs.vdaf.prio3`.

Where the single path raises, a report here is marked: ``good`` is False, and its rows mean nothing.
Temporary arrays hold `STEP` bytes of reports at a time, whatever the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadMessage, BadParameter
from ..arguments import whole
from ..circuits import EachElement, InChunks
from ..prio3 import (
    CONTEXT,
    JOINT_RAND_PART,
    JOINT_RAND_SEED,
    JOINT_RANDOMNESS,
    KEY,
    MEAS_SHARE,
    NONCE,
    PROOF_SHARE,
    QUERY_RANDOMNESS,
    Prio3,
)
from ..xof import SEED, prefix
from . import kernels
from .constants import Constants, constants, to_bytes, to_elements
from .keccak import Bytes, Words, digests, elements, pack

STEP = 2**22
"""Bytes of expanded reports that are worked on together."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a server keeps of a batch, and what it sends: a row for each report."""

    out_shares: Words = field(repr=False)
    seeds: Bytes = field(repr=False)
    verifier_shares: Bytes = field(repr=False)
    good: Mask

    def __len__(self) -> int:
        return len(self.good)


def rows(wires: Sequence[bytes | None] | Bytes, size: int) -> tuple[Bytes, Mask]:
    """Byte strings of one size as rows; which of them have that size. The others are zeros."""
    if isinstance(wires, np.ndarray):
        if wires.dtype != np.uint8 or wires.ndim != 2 or wires.shape[1] != size:
            raise BadMessage(f"rows of bytes must be an array of bytes, {size} in a row")
        return wires, np.ones(len(wires), dtype=bool)
    fitting = [wire if isinstance(wire, bytes) and len(wire) == size else None for wire in wires]
    joined = b"".join(bytes(size) if wire is None else wire for wire in fitting)
    good = np.array([wire is not None for wire in fitting], dtype=bool)
    return np.frombuffer(joined, dtype=np.uint8).reshape(len(good), size), good


class Server:
    """One of the servers: its number, the key that they share, and the application's context."""

    def __init__(self, vdaf: Prio3, key: Any, context: Any, server: int) -> None:
        """Prepare the constants of this kind of report."""
        if not isinstance(key, bytes) or len(key) != KEY:
            raise BadParameter(f"the key of the servers must be {KEY} bytes")
        if not isinstance(context, bytes) or len(context) > CONTEXT:
            raise BadParameter(f"the context must be at most {CONTEXT} bytes")
        self.vdaf, self.context = vdaf, context
        self.server = whole("the number of the server", server, 0, vdaf.shares - 1)
        self._key = key
        self._constants: Constants = constants(vdaf)

    def __repr__(self) -> str:
        return f"Server({self.vdaf!r}, server={self.server})"

    def verify_init(
        self,
        nonces: Sequence[bytes] | Bytes,
        publics: Sequence[bytes] | Bytes,
        shares: Sequence[bytes] | Bytes,
    ) -> Prepared:
        """The first step for every report: `Prio3.verify_init`."""
        count = len(nonces)
        if len(publics) != count or len(shares) != count:
            raise BadMessage("every report needs a nonce, a public share and an input share")
        circuit, vdaf = self.vdaf.circuit, self.vdaf
        step = max(1, STEP // (circuit.field.size * (circuit.length + vdaf.proofs * circuit.proof)))
        parts = [
            self._some(nonces[i : i + step], publics[i : i + step], shares[i : i + step])
            for i in range(0, count, step)
        ] or [self._some(nonces, publics, shares)]
        if len(parts) == 1:
            return parts[0]
        names = ("out_shares", "seeds", "verifier_shares", "good")
        return Prepared(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def combine(self, shares: Sequence[Sequence[bytes | None] | Bytes]) -> tuple[Bytes, Mask]:
        """`Prio3.verifier_shares_to_message` for every report, from all servers' shares in their order."""
        vdaf, circuit = self.vdaf, self.vdaf.circuit
        if len(shares) != vdaf.shares or len({len(each) for each in shares}) != 1:
            raise BadMessage(
                f"there must be a verifier share of each of {vdaf.shares} servers for every report"
            )
        size, count = circuit.field.size * vdaf.proofs * circuit.verifier, len(shares[0])
        good = np.ones(count, dtype=bool)
        total, joint = None, []
        for wires in shares:
            share, fits = rows(wires, vdaf.verifier_size)
            vector, below = to_elements(circuit.field, share[:, :size])
            good &= fits & below
            joint.append(share[:, size:])
            if total is None:
                total = vector.copy()
            else:
                kernels.add_vectors(total, vector)
        polynomial = self._constants.polynomial
        kernels.decide(total, polynomial, circuit.gadget.arity, vdaf.proofs, good)
        if not circuit.joint:
            return np.zeros((count, 0), dtype=np.uint8), good
        return self._joint_seeds([bytes(SEED), *joint], count), good

    def verify_next(self, prepared: Prepared, messages: Sequence[bytes] | Bytes) -> Mask:
        """Which reports are valid: `Prio3.verify_next`."""
        message, fits = rows(messages, self.vdaf.message_size)
        if len(message) != len(prepared):
            raise BadMessage(f"there must be {len(prepared)} verifier messages, not {len(message)}")
        if message.shape != prepared.seeds.shape:
            raise BadParameter("this batch was prepared for another kind of report")
        equal = np.bitwise_or.reduce(message ^ prepared.seeds, axis=1) == 0
        verified: Mask = prepared.good & fits & equal
        return verified

    def aggregate(self, prepared: Prepared, chosen: Any) -> bytes:
        """The sum of the chosen reports' output shares; ``chosen`` is a mask."""
        mask = isinstance(chosen, np.ndarray) and chosen.dtype == np.bool_
        if not mask or chosen.shape != prepared.good.shape:
            raise BadParameter("the chosen reports must be a mask, one bit for each")
        if np.any(chosen & ~prepared.good):
            raise BadMessage("a report that cannot be read cannot be added up")
        total = np.zeros(prepared.out_shares.shape[1:], dtype=np.uint64)
        kernels.add_up(prepared.out_shares, chosen, total)
        return total.tobytes()

    # ------------------------------------------------------------ parts

    def _some(self, nonces: Any, publics: Any, shares: Any) -> Prepared:
        vdaf, circuit, count = self.vdaf, self.vdaf.circuit, len(nonces)
        nonce, good = rows(nonces, NONCE)
        public, fits = rows(publics, vdaf.public_size)
        share, sized = rows(shares, vdaf.input_size(self.server))
        measurement, proof, blind, below = self._open(share, count)
        good = good & fits & sized & below
        seeds, part, joint = np.zeros((count, 0), dtype=np.uint8), np.zeros((count, 0), dtype=np.uint8), None
        if circuit.joint:
            tied = [bytes([self.server]), nonce, to_bytes(measurement)]
            part = self._digest(JOINT_RAND_PART, [blind, *tied], count)
            before, after = public[:, : SEED * self.server], public[:, SEED * (self.server + 1) :]
            seeds = self._joint_seeds([bytes(SEED), before, part, after], count)
            joint = self._expand(
                JOINT_RANDOMNESS, [seeds, bytes([vdaf.proofs])], circuit.joint * vdaf.proofs, count
            )
        random = self._expand(
            QUERY_RANDOMNESS, [self._key, bytes([vdaf.proofs]), nonce], circuit.query * vdaf.proofs, count
        )
        verifier = self._query(measurement, proof, random, joint, good)
        out = np.zeros((count, circuit.sums, *measurement.shape[2:]), dtype=np.uint64)
        kernels.truncate(measurement, self._constants.weights, out)
        sent = np.concatenate([to_bytes(verifier), part], axis=1)
        sent[~good] = 0xFF  # no elements, so that `combine` refuses them too
        return Prepared(out, seeds, sent, good)

    def _open(self, share: Bytes, count: int) -> tuple[Words, Words, Bytes, Mask]:
        circuit, vdaf = self.vdaf.circuit, self.vdaf
        proof = vdaf.proofs * circuit.proof
        if self.server:
            number, seed = bytes([self.server]), share[:, :SEED]
            measurement = self._expand(MEAS_SHARE, [seed, number], circuit.length, count)
            tied: list[bytes | Bytes] = [seed, bytes([vdaf.proofs]) + number]
            return (
                measurement,
                self._expand(PROOF_SHARE, tied, proof, count),
                share[:, SEED:],
                np.ones(count, bool),
            )
        size = circuit.field.size * (circuit.length + proof)
        vector, below = to_elements(circuit.field, share[:, :size])
        measurement = np.ascontiguousarray(vector[:, : circuit.length])
        return measurement, np.ascontiguousarray(vector[:, circuit.length :]), share[:, size:], below

    def _query(
        self, measurement: Words, proof: Words, random: Words, joint: Words | None, good: Mask
    ) -> Words:
        circuit, kept, proofs = self.vdaf.circuit, self._constants, self.vdaf.proofs
        arity, sent = circuit.gadget.arity, circuit.proof - circuit.gadget.arity
        shape = (len(good), proofs * circuit.verifier, *measurement.shape[2:])
        verifier = np.zeros(shape, dtype=np.uint64)
        if isinstance(circuit, InChunks):
            sizes = (circuit.chunk, circuit.calls, proofs, sent)
            kernels.query_chunks(
                measurement,
                proof,
                random,
                joint,
                kept.points,
                kept.equation,
                kept.offsets,
                sizes,
                verifier,
                good,
            )
        elif isinstance(circuit, EachElement):
            settings = (arity, circuit.calls, proofs, sent, circuit.minus_element)
            kernels.query_each(measurement, proof, random, kept.points, settings, verifier, good)
        else:
            raise BadParameter(f"there is no compiled code for {circuit!r}")
        return verifier

    def _digest(self, usage: int, parts: list[Any], count: int) -> Bytes:
        out = np.empty((count, SEED // 8), dtype=np.uint64)
        for some, messages in self._packed(usage, parts, count):
            digests(messages, out[some])
        return out.view(np.uint8)

    def _joint_seeds(self, parts: list[Any], count: int) -> Bytes:
        return self._digest(JOINT_RAND_SEED, parts, count)

    def _expand(self, usage: int, parts: list[Any], length: int, count: int) -> Words:
        words = self.vdaf.circuit.field.size // 8
        out = np.empty((count, length, words), dtype=np.uint64)
        for some, messages in self._packed(usage, parts, count):
            elements(messages, self._constants.modulus, out[some])
        return out.reshape(count, length) if words == 1 else out

    def _packed(self, usage: int, parts: list[Any], count: int) -> Iterator[tuple[slice, Words]]:
        """What is hashed, some reports at a time: each repeats the context, which may be long."""
        common = [prefix(self.vdaf.tag(usage, self.context)), *parts]
        size = sum(len(part) if isinstance(part, bytes) else part.shape[1] for part in common)
        step = max(1, STEP // size)
        for i in range(0, count, step):
            some = slice(i, min(i + step, count))
            rows = [part if isinstance(part, bytes) else part[some] for part in common]
            yield some, pack(rows, some.stop - i)
