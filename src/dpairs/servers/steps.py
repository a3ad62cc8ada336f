"""A server's steps, each a pure function of what it was sent: verify, add up, multiply, release.

    server 0 (leader)                        server 1 (helper)
    begin(shares)          ── messages ──>   answer(shares, messages): its tally
    finish(shares, answers) <── answers ──
    [its tally]            <── offer ──      Multiplication(tally)
    Multiplication(tally)  ── reply ──>
                           <── corrections ──
    part(...)              ── to the analyst ──>   <── part(...)

The analyst adds the two parts up: `open_parts`. Each server adds noise for the whole claim to its own part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import BadMessage, BadParameter, BadValue, WrongStudy
from ..protocols.sides import shared
from ..protocols.two_servers.goldilocks import MODULUS
from ..protocols.two_servers.multiply import MultiplyReceiver, MultiplySender
from ..protocols.two_servers.released import Numbers, SharedNumbers
from ..protocols.two_servers.tally import CHECKSUM, ShareCounts
from ..randomness import Randomness, SystemRandomness, secret_bytes
from ..release import Release
from ..shares import SERVERS, Share, SharedReport, context_of
from ..study import Study
from ..tally import Tally
from ..vdaf.batch.pingpong import helper_init, leader_continued, leader_init
from ..vdaf.batch.server import Prepared
from ..vdaf.batch.server import Server as Batch

LEADER, HELPER = 0, 1
Messages = dict[bytes, bytes]
"""One message of the verification for each report, by its nonce."""
Kind = tuple[str, int]
"""A class, and the records that a report is of: one, or as many as a site declares."""


class Server:
    """One of the two, with the key that both share and no participant knows."""

    def __init__(self, study: Study, number: int, key: bytes) -> None:
        self._study, self._number = study, number
        self._protocol = shared(study)
        self._key = key
        self._batches: dict[Kind, Batch] = {}

    def __repr__(self) -> str:
        return f"Server(study={self._study.id[:16]!r}, number={self._number})"

    def _batch(self, kind: Kind) -> Batch:
        """Verifies reports of one class and, of sites, of one declared number of records."""
        if kind not in self._batches:
            vdaf = self._protocol.vdaf_of(*kind)
            self._batches[kind] = Batch(vdaf, self._key, context_of(self._study, *kind), self._number)
        return self._batches[kind]

    def begin(self, shares: Iterable[Share]) -> Messages:
        """The leader's messages, one for each report that it can read."""
        sent: Messages = {}
        for kind, batch in self._sorted(shares).items():
            _, messages = leader_init(self._batch(kind), *_columns(batch))
            sent.update(_named(batch, messages))
        return sent

    def answer(self, shares: Iterable[Share], inbound: Mapping[bytes, bytes]) -> tuple[Tally, Messages]:
        """The helper's tally of what is valid, and its answers."""
        tally, sent = Tally(self._study), Messages()
        for kind, batch in self._sorted(shares).items():
            # Only what both have can be verified, whichever of them a share did not reach.
            both = [share for share in batch if share.nonce in inbound]
            server = self._batch(kind)
            verified = helper_init(server, *_columns(both), [inbound[share.nonce] for share in both])
            self._add(tally, kind, both, verified.prepared, verified.valid)
            sent.update(_named(both, verified.outbound))
        return tally, sent

    def finish(self, shares: Iterable[Share], inbound: Mapping[bytes, bytes]) -> Tally:
        """The leader's tally of what the helper found valid, and so does it."""
        tally = Tally(self._study)
        for kind, batch in self._sorted(shares).items():
            both = [share for share in batch if share.nonce in inbound]
            server = self._batch(kind)
            prepared, _ = leader_init(server, *_columns(both))
            valid = leader_continued(server, prepared, [inbound[share.nonce] for share in both])
            self._add(tally, kind, both, prepared, valid)
        return tally

    def _sorted(self, shares: Iterable[Share]) -> dict[Kind, list[Share]]:
        """Shares by stratum and records; of several of one person, or of one name, only the first."""
        batches: dict[Kind, list[Share]] = {(name, 1): [] for name in self._study.strata}
        people: set[tuple[str, int]] = set()
        nonces: set[bytes] = set()
        for share in shares:
            if share.study != self._study:
                raise WrongStudy(f"this share belongs to study {share.study.id[:16]}...")
            if share.server != self._number:
                raise BadValue(f"this share is for server {share.server}, not for server {self._number}")
            if (share.stratum, share.index) in people or share.nonce in nonces:
                continue
            people.add((share.stratum, share.index))
            nonces.add(share.nonce)
            batches.setdefault((share.stratum, share.records), []).append(share)
        return batches

    def _add(
        self, tally: Tally, kind: Kind, batch: Sequence[Share], prepared: Prepared, valid: NDArray[np.bool_]
    ) -> None:
        stratum, records = kind
        wire = self._batch(kind).aggregate(prepared, valid)
        elements = np.frombuffer(wire, dtype="<u8").tolist()
        checksum = bytes(CHECKSUM)
        for share, good in zip(batch, valid.tolist(), strict=True):
            if good:
                checksum = bytes(a ^ b for a, b in zip(checksum, share.checksum, strict=True))
        counts_of(tally, stratum).add_shares(self._number, elements, records * int(valid.sum()), checksum)


def counts_of(tally: Tally, stratum: str) -> ShareCounts:
    counts = tally.counts(stratum)
    if not isinstance(counts, ShareCounts):
        raise BadParameter("this tally is not one server's")
    return counts


def _columns(batch: Sequence[Share]) -> tuple[list[bytes], list[bytes], list[bytes]]:
    return [each.nonce for each in batch], [each.public for each in batch], [each.payload for each in batch]


def _named(batch: Sequence[Share], messages: Sequence[bytes | None]) -> Messages:
    return {
        share.nonce: message for share, message in zip(batch, messages, strict=True) if message is not None
    }


class Multiplication:
    """The inner products that a release needs: server 1 offers, server 0 replies, server 1 corrects.

    Nothing is to be multiplied where ``needed`` is False. Both must hold tallies of the same reports.
    """

    def __init__(self, tally: Tally, bits: Randomness) -> None:
        self._number, shares = shares_of(tally)
        protocol = shared(tally.study)
        self._vectors = protocol.multiplicands(self._number, shares)
        self._context = batch_of(tally)
        self._bits = bits
        self._sender: MultiplySender | None = None
        self._receiver: MultiplyReceiver | None = None

    def __repr__(self) -> str:
        return f"Multiplication(server={self._number})"

    @property
    def needed(self) -> bool:
        return bool(self._vectors)

    @property
    def count(self) -> int:
        """How many products there are."""
        return len(self._vectors)

    def offer(self) -> bytes:
        """Server 1's first message: its part of the base transfers."""
        self._role(HELPER)
        self._sender = MultiplySender(self._context, self._vectors, self._bits)
        return self._sender.offer

    def reply(self, offer: bytes) -> bytes:
        """Server 0's message: its choices, masked."""
        self._role(LEADER)
        self._receiver = MultiplyReceiver(self._context, self._vectors, offer, self._bits)
        return self._receiver.reply

    def correct(self, reply: bytes) -> tuple[list[int], bytes]:
        """Server 1's shares of the products, and its last message."""
        if self._sender is None:
            raise BadParameter("a multiplication begins with an offer")
        return self._sender.finish(reply)

    def finish(self, corrections: bytes) -> list[int]:
        """Server 0's shares of the products."""
        if self._receiver is None:
            raise BadParameter("a multiplication begins with an offer and its reply")
        return self._receiver.finish(corrections)

    def _role(self, number: int) -> None:
        if self._number != number:
            raise BadParameter(
                f"this step of a multiplication is server {number}'s, not server {self._number}'s"
            )


def shares_of(tally: Tally) -> tuple[int, dict[str, list[int]]]:
    """Which server's tally it is, and its shares."""
    counts = {name: counts_of(tally, name) for name in tally.study.strata}
    numbers = {each.server for each in counts.values() if each.server is not None}
    if len(numbers) != 1:
        raise BadParameter("this tally holds no shares yet")
    return numbers.pop(), {name: each.vector for name, each in counts.items()}


def batch_of(tally: Tally) -> bytes:
    """What both servers must have alike: the study, and the reports they counted."""
    counts = [counts_of(tally, name) for name in tally.study.strata]
    batch = b"".join(each.people.to_bytes(8, "big") + each.checksum for each in counts)
    return b"dpairs product/" + bytes.fromhex(tally.study.id) + batch


@dataclass(frozen=True)
class Part:
    """What one server hands out of a release: its share of the numbers, with its own noise in them."""

    study: Study = field(repr=False)
    server: int
    batch: bytes
    """Which reports: the same at both servers."""
    sizes: dict[str, int]
    numbers: SharedNumbers = field(repr=False)


def part(tally: Tally, products: Sequence[int], noise: Numbers) -> Part:
    """One server's part of the release of its tally."""
    number, shares = shares_of(tally)
    sizes, wanted = tally.sizes, len(shared(tally.study).multiplicands(number, shares))
    if len(products) != wanted:
        raise BadParameter(
            f"a release of this study needs shares of {wanted} product(s), not {len(products)}"
        )
    numbers = shared(tally.study).share_totals(shares, products, sizes).with_noise(noise, MODULUS)
    return Part(tally.study, number, batch_of(tally), sizes, numbers)


def open_parts(parts: Sequence[Part]) -> Release:
    """The released numbers, from both servers' parts."""
    if sorted(each.server for each in parts) != list(range(SERVERS)):
        raise BadMessage("a release needs the part of server 0 and that of server 1")
    first, second = sorted(parts, key=lambda each: each.server)
    if first.study != second.study or (first.batch, first.sizes) != (second.batch, second.sizes):
        raise BadMessage("the two servers' parts do not cover the same reports")
    return Release(first.study, first.sizes, first.numbers.open(second.numbers, MODULUS))


def in_one_process(study: Study, reports: Sequence[SharedReport], noise: Sequence[Numbers]) -> Release:
    """Everything that the servers do, with keys from the operating system."""
    bits, key = SystemRandomness(), secret_bytes()
    inboxes = [[report.shares[number] for report in reports] for number in range(SERVERS)]
    leader, helper = (Server(study, number, key) for number in range(SERVERS))
    second, answers = helper.answer(inboxes[HELPER], leader.begin(inboxes[LEADER]))
    first = leader.finish(inboxes[LEADER], answers)
    products: list[list[int]] = [[], []]
    multiplier, multiplicand = (Multiplication(tally, bits) for tally in (first, second))
    if multiplier.needed:
        reply = multiplier.reply(multiplicand.offer())
        products[HELPER], corrections = multiplicand.correct(reply)
        products[LEADER] = multiplier.finish(corrections)
    return open_parts(
        [part(tally, products[number], noise[number]) for number, tally in enumerate((first, second))]
    )
