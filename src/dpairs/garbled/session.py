"""One pair, step by step: who may send which message when. Bytes in, bytes out.

    garbler                          evaluator                       collector
    offer()      -- OFFER -->        choose(offer)
    answer(choice)   <-- CHOICE --
                 -- CIRCUIT -->      evaluate(circuit)
    table()      -- TABLE ------------------------------------->     decode(table, labels)
                                                  -- LABELS --->

Three one-way messages between the two, so they need not be online together. The evaluator cannot read the
output: it holds labels, and only the garbler's table says what they mean, which goes to the collector. The
collector cannot see more than the output. A label that the garbled circuit did not give is refused, and so
is a table other than the one that the garbler committed to towards the evaluator.

Each side is protected from the other's curiosity. Of deviations, an evaluator's two sets of choices are
caught (see `consistency`) and a forged output is refused; a garbler who garbles another circuit is not
caught. A side that refuses a message says nothing to anybody, as if its device were lost, and a session is
never resumed after a failed proof. The messages between the two should travel encrypted (TLS); somebody who
reads them all still learns neither value nor noise.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import BadMessage, ForgedOutput, OutOfOrder, Replayed
from ..randomness import Randomness, SystemRandomness
from .blocks import BLOCK, Labels, expand, to_bytes
from .extension import Receiver, proof_size, receiver, sender, sizes
from .function import PairFunction
from .single import evaluate_one, garble_one
from .wire import HEAD, Kind, Pair, derive, follow, frame, unframe

HASH = 16
"""Bytes of an output label's hash in the decoding table."""


@dataclass(frozen=True)
class View:
    """All that one party ever had: its own input bits, and the messages that it sent and received."""

    role: str
    inputs: NDArray[np.uint8] = field(repr=False)
    sent: tuple[bytes, ...] = field(repr=False)
    received: tuple[bytes, ...] = field(repr=False)


class _Party:
    """What the two share: the circuit, the chain of messages, and what was done so far."""

    def __init__(
        self, role: str, function: PairFunction, pair: Pair, values: Sequence[int], bits: Randomness | None
    ) -> None:
        self.function, self.pair = function, pair
        self._role = role
        self._bits: Randomness = SystemRandomness() if bits is None else bits
        table = function.values(np.asarray(values).reshape(1, -1))
        # The random bits come first, so that a tape of random bits alone decides the symbol.
        self._inputs = function.inputs(table, function.tape(1, self._bits))[:, 0]
        self._context = self._link = pair.context(function.digest)
        self._done: set[Kind] = set()
        self._sent: list[bytes] = []
        self._received: list[bytes] = []

    def __repr__(self) -> str:
        done = ", ".join(kind.name.lower() for kind in sorted(self._done)) or "nothing yet"
        return f"{type(self).__name__}(garbler={self.pair.garbler}, evaluator={self.pair.evaluator}: {done})"

    @property
    def view(self) -> View:
        """What this party has seen."""
        return View(self._role, self._inputs, tuple(self._sent), tuple(self._received))

    def _send(self, kind: Kind, payload: bytes) -> bytes:
        wire = frame(kind, self.pair, self._link, payload)
        self._link = follow(self._link, self._chained(kind, payload))
        self._done.add(kind)
        self._sent.append(wire)
        return wire

    def _open(self, kind: Kind, wire: bytes, size: int, after: Kind | None) -> bytes:
        """Check a message that must come after we sent ``after`` and not come twice."""
        unframe(wire, kind, self.pair, None, size, self._done)
        if kind in self._done:
            raise Replayed(f"a message of kind {kind.name} was used before")
        if after is not None and after not in self._done:
            raise OutOfOrder(f"a message of kind {kind.name} comes before {after.name} was sent")
        return unframe(wire, kind, self.pair, self._link, size)[0]

    def _accept(self, kind: Kind, wire: bytes, payload: bytes) -> None:
        """Only now is the message part of the exchange: a bad one leaves everything as it was."""
        self._link = follow(self._link, self._chained(kind, payload))
        self._done.add(kind)
        self._received.append(wire)

    def _chained(self, kind: Kind, payload: bytes) -> bytes:
        """What the link depends on: all but a proof, which is checked and then done with."""
        proof = proof_size(self.function.circuit.evaluator) if kind == Kind.CHOICE else 0
        return payload[: len(payload) - proof]

    def _once(self, kind: Kind, after: Kind | None) -> None:
        if kind in self._done:
            raise OutOfOrder(f"the message of kind {kind.name} was made before")
        if after is not None and after not in self._done:
            raise OutOfOrder(f"the message of kind {kind.name} comes after {after.name}")


class Garbler(_Party):
    """The one who garbles: ``offer``, then ``answer``, then ``table``.

    ``values`` are encoded (see `encoding`), one for each column of the kernel.
    """

    def __init__(
        self, function: PairFunction, pair: Pair, values: Sequence[int], bits: Randomness | None = None
    ) -> None:
        super().__init__("garbler", function, pair, values, bits)
        self._transfer = sender(self._context, function.circuit.evaluator, self._bits)
        self._table = b""

    def offer(self) -> bytes:
        """The first message, to the evaluator."""
        self._once(Kind.OFFER, None)
        return self._send(Kind.OFFER, self._transfer.offer)

    def answer(self, choice: bytes) -> bytes:
        """The garbled circuit, to the evaluator. Never twice: two answers would give two labels of a bit."""
        circuit = self.function.circuit
        payload = self._open(Kind.CHOICE, choice, sizes(circuit.evaluator)[1], Kind.OFFER)
        theirs, delta, masked = self._transfer.finish(payload)
        self._accept(Kind.CHOICE, choice, payload)
        # The labels of the garbler's own bits are no secret, so both derive the active ones from the chain.
        active = own_labels(self._link, circuit.garbler)
        mine = active ^ np.where(self._inputs[:, None] == 1, delta, np.uint64(0))
        zero = np.concatenate([mine, theirs])
        tables, ends = garble_one(circuit, zero, delta, gate_key(self._link))
        self._table = decoding_table(self._context, ends, delta)
        return self._send(Kind.CIRCUIT, commitment(self._table) + masked + tables)

    def table(self) -> bytes:
        """The decoding table, to the collector: a hash of each output's two labels."""
        self._once(Kind.TABLE, Kind.CIRCUIT)
        return self._send(Kind.TABLE, self._table)


class Evaluator(_Party):
    """The one who evaluates: ``choose``, then ``evaluate``."""

    def __init__(
        self, function: PairFunction, pair: Pair, values: Sequence[int], bits: Randomness | None = None
    ) -> None:
        super().__init__("evaluator", function, pair, values, bits)
        self._transfer: Receiver | None = None

    def choose(self, offer: bytes) -> bytes:
        """The answer to the garbler's offer: this party's bits, hidden."""
        payload = self._open(Kind.OFFER, offer, sizes(self.function.circuit.evaluator)[0], None)
        self._transfer = receiver(self._context, self._inputs, payload, self._bits)
        self._accept(Kind.OFFER, offer, payload)
        return self._send(Kind.CHOICE, self._transfer.reply)

    def evaluate(self, circuit: bytes) -> bytes:
        """Evaluate the garbled circuit; the output's labels, to the collector."""
        shape = self.function.circuit
        start = HASH + sizes(shape.evaluator)[2]
        payload = self._open(Kind.CIRCUIT, circuit, start + 2 * BLOCK * shape.ands, Kind.CHOICE)
        if self._transfer is None:
            raise OutOfOrder("no transfer was begun")
        theirs = own_labels(self._link, shape.garbler)
        mine = self._transfer.finish(payload[HASH:start])
        labels = np.concatenate([theirs, mine])
        ends = evaluate_one(shape, labels, payload[start:], gate_key(self._link))
        self._accept(Kind.CIRCUIT, circuit, payload)
        self._transfer = None
        return self._send(Kind.LABELS, payload[:HASH] + to_bytes(ends))


class PairDecoder:
    """The collector's side of one pair: it decodes the symbol, once."""

    def __init__(self, function: PairFunction, pair: Pair) -> None:
        self.function, self.pair = function, pair
        self._received: tuple[bytes, ...] = ()

    def __repr__(self) -> str:
        state = "decoded" if self._received else "nothing yet"
        return f"PairDecoder(garbler={self.pair.garbler}, evaluator={self.pair.evaluator}: {state})"

    @property
    def view(self) -> View:
        """What the collector has seen."""
        return View("collector", np.empty(0, dtype=np.uint8), (), self._received)

    def decode(self, table: bytes, labels: bytes) -> int:
        """The symbol. Refuses labels that the garbled circuit cannot have given, and a changed table."""
        if self._received:
            raise Replayed("this pair was decoded before")
        count = self.function.circuit.outputs.size
        hashes, link = unframe(table, Kind.TABLE, self.pair, None, 2 * HASH * count)
        payload, other = unframe(labels, Kind.LABELS, self.pair, None, HASH + BLOCK * count)
        if not hmac.compare_digest(link, other):
            raise Replayed("the two messages of this pair belong to different exchanges")
        if not hmac.compare_digest(commitment(hashes), payload[:HASH]):
            raise ForgedOutput("this is not the decoding table that the evaluator was told of")
        context, symbol = self.pair.context(self.function.digest), 0
        for place in range(count):
            label = payload[HASH + BLOCK * place : HASH + BLOCK * (place + 1)]
            hashed = output_hash(context, place, label)
            zero, one = (hashes[HASH * each : HASH * (each + 1)] for each in (2 * place, 2 * place + 1))
            is_zero, is_one = hmac.compare_digest(hashed, zero), hmac.compare_digest(hashed, one)
            if is_zero == is_one:
                raise ForgedOutput(f"output {place} of this pair has a label that the circuit did not give")
            symbol |= is_one << place
        if symbol >= self.function.symbols:
            raise BadMessage(f"this pair decodes to symbol {symbol}; there are {self.function.symbols}")
        self._received = (table, labels)
        return symbol


def message_sizes(function: PairFunction) -> dict[Kind, int]:
    """How many bytes each message of a pair has."""
    circuit, outputs = function.circuit, function.circuit.outputs.size
    offer, choice, masked = sizes(circuit.evaluator)
    payloads = {
        Kind.OFFER: offer,
        Kind.CHOICE: choice,
        Kind.CIRCUIT: HASH + masked + 2 * BLOCK * circuit.ands,
        Kind.TABLE: 2 * HASH * outputs,
        Kind.LABELS: HASH + BLOCK * outputs,
    }
    return {kind: HEAD.size + size for kind, size in payloads.items()}


def own_labels(link: bytes, count: int) -> Labels:
    """The active labels of the garbler's inputs, which the evaluator may know."""
    return expand(derive(b"inputs", link)[:16], count)


def gate_key(link: bytes) -> bytes:
    """The pair's own key of the gates' hash; it depends on what both contributed."""
    return derive(b"gates", link)[:16]


def output_hash(context: bytes, place: int, label: bytes) -> bytes:
    """What the collector compares an output label with."""
    return derive(b"output", context + place.to_bytes(4, "big") + label)[:HASH]


def decoding_table(context: bytes, zero: Labels, delta: Labels) -> bytes:
    """The hashes of each output's two labels, that of 0 first."""
    stream = to_bytes(np.stack([zero, zero ^ delta], axis=1))
    labels = (stream[place : place + BLOCK] for place in range(0, len(stream), BLOCK))
    return b"".join(output_hash(context, number // 2, label) for number, label in enumerate(labels))


def commitment(table: bytes) -> bytes:
    """What the garbler tells the evaluator of its table, and the evaluator the collector."""
    return derive(b"table", table)[:HASH]
