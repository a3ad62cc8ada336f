"""A person's pairs: each step is taken as soon as the partner's message is there.

Who meets whom follows from public coins and from how many people there are. That number is the collector's
word, so the first one that it says stays: with another one for each pair, it could choose every partner, and
as many as it likes.

A session's randomness follows from a key that is written down first, so a device that was stopped builds the
same session again. What the partner said is written down before it is answered, and only that is answered:
two answers to different messages would reveal more than one. What a pair needed is erased when it is over.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BadMessage, DpairsError, NotYet, WrongPartner
from ..formats.checks import integer
from ..garbled.session import Evaluator, Garbler
from ..garbled.wire import Pair
from ..protocols import InPairs
from ..protocols.pairwise.matching import Pairs
from ..protocols.sides import in_pairs
from ..randomness import SecretStream
from ..study import Study
from .device import Membership
from .offer import API, Offer
from .reporter import Book, Confirm, Joined
from .sealing import SealedChannel, fingerprint, public_key
from .transport import part

MOST = 10**7
"""People of a stratum whose matching a device recomputes: what a collector claims must fit into memory."""
_KEY = re.compile("[0-9a-f]{64}")
LONGEST = 20
"""Seconds that one request waits for a message."""
WAITING, UNCONFIRMED = "waiting", "unconfirmed"
IDENTITY, ROUNDING = "x25519", "rounding"


def take_part(
    offered: Offer,
    me: Membership,
    values: Mapping[str, Any],
    book: Book,
    wait: float,
    confirm: Confirm | None,
) -> Joined:
    """Go on with all pairs of this person, waiting up to ``wait`` seconds for partners."""
    deadline = time.monotonic() + wait
    study = offered.study
    index, stratum = me.data["index"], me.data["stratum"]
    if me.data.get("pairs") and "coded" not in me.data:
        return _joined(me, {})
    try:
        path = f"{API}/{offered.where.study}/pairs"
        answer = offered.line.json("GET", path, token=me.data["secret"])
        given = [_given(each) for each in part(answer, "pairs", list)]
    except NotYet:
        return Joined("waiting", index, stratum, "pairs are formed when enrolment ends: come back then")
    if not given:
        return Joined("done", index, stratum, "this person has no partner, so nothing is asked of them")
    own = _own_pairs(me, study, given)
    states: dict[int, str] = {}
    sound: list[dict[str, Any]] = []
    for pair in given:
        try:
            _check_given(me, own, pair)
            sound.append(pair)
        except WrongPartner as error:
            if len(given) == 1:
                raise
            states[pair["number"]] = f"refused: {error}"  # the other pairs are none the worse for it
    if sound:
        _begin(me, study, own, sound[0]["people"], values)
        book(study, me.answer)
        turns: list[_Turn] = []
        for pair in sound:
            try:
                turns.append(_Turn(offered, me, own[pair["number"]], pair))
            except WrongPartner as error:
                if len(given) == 1:
                    raise
                states[pair["number"]] = f"refused: {error}"
        _exchange(turns, deadline, confirm, states)
        _erase_if_over(me)
    return _joined(me, states)


def _exchange(
    turns: Sequence[_Turn], deadline: float, confirm: Confirm | None, states: dict[int, str]
) -> None:
    for turn in turns:
        turn.ask(confirm)
    for _ in range(1 if len(turns) == 1 else 2):  # meanwhile others may have answered
        for turn in turns:
            try:
                states[turn.number] = turn.go(deadline)
            except NotYet:
                states[turn.number] = WAITING
            except BadMessage as error:
                if len(turns) == 1:
                    raise
                states[turn.number] = f"refused: {error}"  # a bad partner stops no other pair


def _joined(me: Membership, states: Mapping[int, str]) -> Joined:
    books: dict[str, Any] = me.data.get("pairs", {})
    known = {int(number): str(book["state"]) for number, book in books.items() if "state" in book}
    prints = {int(number): tuple(book["keys"]) for number, book in books.items() if "keys" in book}
    pairs = {**known, **states}
    left = [number for number, state in pairs.items() if state in (WAITING, UNCONFIRMED)]
    state, said = "done", "this person's part is done"
    if left:
        done = f"{len(pairs) - len(left)} of {len(pairs)} pairs are done"
        state, said = "waiting", f"{done}; the others wait for a partner"
        if all(pairs[number] == UNCONFIRMED for number in left):
            said = f"{done}; the others wait until their partner's fingerprint is confirmed"
    return Joined(state, me.data["index"], me.data["stratum"], said, pairs=pairs, fingerprints=prints)


# ---------------------------------------------------------------- who meets whom


@dataclass(frozen=True)
class OwnPair:
    """A pair of this person's, by the public coins."""

    role: str
    partner: int
    pair: Pair


def _given(pair: Any) -> dict[str, Any]:
    """A pair as the collector names it, its parts of the right kinds."""
    kinds = {"number": int, "role": str, "partner": int, "key": str, "state": str, "people": dict}
    given: dict[str, Any] = {name: part(pair, name, kind) for name, kind in kinds.items()}
    if not _KEY.fullmatch(given["key"]):
        raise WrongPartner(f"the key of pair {given['number']}'s partner is not a key")
    return given


def _own_pairs(me: Membership, study: Study, given: Sequence[Mapping[str, Any]]) -> dict[int, OwnPair]:
    """All pairs that this person is in, from the numbers of people that were named first."""
    named = given[0]["people"]
    sizes = me.data.get("people", named)
    if any(each["people"] != sizes for each in given):
        raise WrongPartner("the collector has changed the numbers of people")
    try:
        strata = study.statistic.strata
        if set(sizes) != set(strata):
            raise WrongPartner
        people = {name: integer("people", sizes[name], 0, MOST) for name in strata}
        pairs = _match(in_pairs(study), study, people)
    except (DpairsError, TypeError):
        raise WrongPartner("the collector's numbers of people give no pairs") from None
    if len({each["number"] for each in given}) != len(given):
        raise WrongPartner("the collector names one pair twice")
    index, last = me.data["index"], strata.index(me.data["stratum"]) == len(strata) - 1
    own: dict[int, OwnPair] = {}
    # With two classes the last one garbles: an index alone would also be somebody's of the other class.
    for role, mine, others, plays in (
        ("garbler", pairs.garblers, pairs.evaluators, last),
        ("evaluator", pairs.evaluators, pairs.garblers, len(strata) == 1 or not last),
    ):
        for place in np.flatnonzero(mine == index).tolist() if plays else []:
            number = int(pairs.numbers[place])
            own[number] = OwnPair(role, int(others[place]), pairs.pair(study.id, number, len(strata)))
    return own


def _check_given(me: Membership, own: Mapping[int, OwnPair], given: Mapping[str, Any]) -> None:
    number = given["number"]
    mine = own.get(number)
    if mine is None or (mine.role, mine.partner) != (given["role"], given["partner"]):
        raise WrongPartner(f"pair {number} does not belong to this person by the public coins")
    known = me.data.get("pairs", {}).get(str(number), {}).get("partner", given["key"])
    if known != given["key"]:
        raise WrongPartner(f"the key of pair {number}'s partner is not the one named before")


def _begin(
    me: Membership,
    study: Study,
    own: Mapping[int, OwnPair],
    people: Mapping[str, Any],
    values: Mapping[str, Any],
) -> None:
    """Decide once, for all pairs and after every crash: how many people, which pairs, which code."""
    if "coded" not in me.data:
        columns = [[values[name]] for name in study.statistic.private_columns]
        bits = SecretStream(me.key(ROUNDING))
        me.data["coded"] = in_pairs(study).encode(columns, bits)[0].tolist()
        me.data["people"] = dict(people)
        me.data["pairs"] = {str(number): {} for number in own}
        me.save()


def _erase_if_over(me: Membership) -> None:
    """Nothing of the value, and no key, outlives the last pair."""
    if all("state" in book for book in me.data["pairs"].values()):
        me.data.pop("coded", None)
        me.erase(ROUNDING, IDENTITY)
        me.save()


_matched: dict[tuple[str, tuple[int, ...]], Pairs] = {}


def _match(protocol: InPairs, study: Study, sizes: dict[str, int]) -> Pairs:
    """The matching of a study; kept, since all people of a process need the same one."""
    key = (study.id, tuple(sizes.values()))
    if key not in _matched:
        _matched.clear()
        _matched[key] = protocol.match(study.coins, sizes)
    return _matched[key]


# ---------------------------------------------------------------- one exchange


class _Turn:
    """One pair of this person's."""

    def __init__(self, offered: Offer, me: Membership, own: OwnPair, given: Mapping[str, Any]) -> None:
        self._line, self._me, self._study, self._own = offered.line, me, offered.study, own
        self.number = int(given["number"])
        self._path = f"{API}/{offered.where.study}/pairs/{self.number}"
        self._book: dict[str, Any] = me.data["pairs"][str(self.number)]
        if "partner" not in self._book:
            secret = me.key(IDENTITY)
            self._book["partner"] = given["key"]
            self._book["keys"] = [
                fingerprint(each) for each in (public_key(secret), bytes.fromhex(given["key"]))
            ]
        # What the collector has decoded is over, whatever this device got to write down.
        if given["state"] != WAITING:
            self._end(given["state"])
        me.save()
        self._channel = SealedChannel(
            me.key(IDENTITY), bytes.fromhex(self._book["partner"]), self._study.id, self.number
        )

    def ask(self, confirm: Confirm | None) -> None:
        """Let the person compare fingerprints, before anything of this pair is sent."""
        if confirm is not None and "state" not in self._book and not self._book.get("confirmed"):
            mine, partner = self._book["keys"]
            said = confirm(self.number, mine, partner)
            if said is not None:
                self._book["confirmed"] = bool(said)
                self._me.save()

    def go(self, deadline: float) -> str:
        """All steps that can be taken."""
        if "state" in self._book:
            return str(self._book["state"])
        if self._book.get("confirmed") is False:
            return UNCONFIRMED
        function = in_pairs(self._study).function
        bits = SecretStream(self._me.key(f"session {self.number}"))
        coded = self._me.data["coded"]
        if self._own.role == "garbler":
            garbler = Garbler(function, self._own.pair, coded, bits)
            self._send("offer", garbler.offer())
            circuit = garbler.answer(self._receive("choice", deadline))
            self._send("circuit", circuit)
            state = self._put("table", garbler.table())
        else:
            evaluator = Evaluator(function, self._own.pair, coded, bits)
            self._send("choice", evaluator.choose(self._receive("offer", deadline)))
            state = self._put("labels", evaluator.evaluate(self._receive("circuit", deadline)))
        self._end("done" if state == WAITING else state)
        self._me.save()
        return str(self._book["state"])

    def _end(self, state: str) -> None:
        """The session's seed would open the value to whoever has the messages: it goes."""
        self._book["state"] = state
        self._me.erase(f"session {self.number}")

    def _send(self, kind: str, message: bytes) -> None:
        if kind not in self._book.get("sent", []):
            self._put(kind, self._channel.close(kind, message))
            self._book.setdefault("sent", []).append(kind)
            self._me.save()

    def _put(self, kind: str, body: bytes) -> str:
        answer = self._line.bytes("PUT", f"{self._path}/{kind}", body, self._me.data["secret"])
        try:
            said = json.loads(answer)
        except (ValueError, RecursionError):
            said = None
        return part(said, "state", str)

    def _receive(self, kind: str, deadline: float) -> bytes:
        while True:
            left = max(0.0, deadline - time.monotonic())
            query = f"?wait={min(LONGEST, int(left))}"
            try:
                token = self._me.data["secret"]
                sealed = self._line.bytes("GET", f"{self._path}/{kind}{query}", token=token)
                break
            except NotYet:
                if left < 1:
                    raise
        message = self._channel.open(kind, sealed)
        heard = hashlib.sha256(message).hexdigest()
        if self._book.setdefault("heard", {}).setdefault(kind, heard) != heard:
            raise BadMessage(f"the partner of pair {self.number} has sent two different messages of one kind")
        self._me.save()
        return message
