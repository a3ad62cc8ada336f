"""A person's pairs: each step is taken as soon as the partner's message is there.

A session's randomness follows from a key that is written down first, so a device that was stopped builds the
same session again. What the partner said is written down before it is answered, and only that is answered:
two answers to different messages would reveal more than one.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import BadMessage, DpairsError, NotYet, WrongPartner
from ..formats.checks import integer
from ..garbled.session import Evaluator, Garbler
from ..garbled.wire import Pair
from ..protocols import InPairs
from ..protocols.pairwise.matching import Pairs
from ..randomness import SecretStream
from ..study import Study
from .device import Membership
from .link import Link
from .reporter import API, Joined
from .sealing import Seal
from .transport import Transport, part

MOST = 10**7
"""People of a stratum whose matching a device recomputes: what a collector claims must fit into memory."""
_KEY = re.compile("[0-9a-f]{64}")
LONGEST = 20
"""Seconds that one request waits for a message."""


def take_part(
    line: Transport,
    where: Link,
    me: Membership,
    study: Study,
    values: Mapping[str, Any],
    spend: Callable[[Study], None],
    wait: float,
) -> Joined:
    """Go on with all pairs of this person, waiting up to ``wait`` seconds for partners."""
    deadline = time.monotonic() + wait
    index, stratum = me.data["index"], me.data["stratum"]
    try:
        answer = line.json("GET", f"{API}/{where.study}/pairs", token=me.data["secret"])
        mine = [_given(each) for each in part(answer, "pairs", list)]
    except NotYet:
        return Joined("waiting", index, stratum, "pairs are formed when enrolment ends: come back then")
    if not mine:
        return Joined("done", index, stratum, "this person was left without a partner, and nothing is asked")
    _code(me, study, values)
    spend(study)
    states: dict[int, str] = {}
    safety: dict[int, str] = {}
    turns: dict[int, _Turn] = {}
    for given in mine:
        number = given["number"]
        try:
            turns[number] = _Turn(line, where, me, study, given)
            safety[number] = turns[number].seal.safety_number
        except WrongPartner as error:
            if len(mine) == 1:
                raise
            states[number] = f"refused: {error}"  # the other pairs are none the worse for it
    for _ in range(1 if len(turns) == 1 else 2):  # meanwhile others may have answered
        for number, turn in turns.items():
            try:
                states[number] = turn.go(deadline)
            except NotYet:
                states[number] = "waiting"
    waiting = [number for number, state in states.items() if state == "waiting"]
    if waiting:
        said = f"{len(states) - len(waiting)} of {len(states)} pairs are done; the others wait for a partner"
        return Joined("waiting", index, stratum, said, pairs=states, safety=safety)
    return Joined("done", index, stratum, "this person's part is done", pairs=states, safety=safety)


def _given(each: Any) -> dict[str, Any]:
    """A pair as the collector names it, its parts of the right kinds."""
    kinds = {"number": int, "role": str, "partner": int, "key": str, "state": str, "people": dict}
    given: dict[str, Any] = {name: part(each, name, kind) for name, kind in kinds.items()}
    if not _KEY.fullmatch(given["key"]):
        raise WrongPartner(f"the key of pair {given['number']}'s partner is no key")
    return given


def _code(me: Membership, study: Study, values: Mapping[str, Any]) -> None:
    """The values as the circuit takes them; decided once, for all pairs and after every crash."""
    protocol = study.protocol.in_pairs
    if "coded" not in me.data and protocol is not None:
        bits = SecretStream(me.key("rounding"))
        columns = [[values[name]] for name in study.statistic.private_columns]
        me.data["coded"] = protocol.encode(columns, bits)[0].tolist()
        me.save()


class _Turn:
    """One pair of this person's."""

    def __init__(
        self, line: Transport, where: Link, me: Membership, study: Study, given: Mapping[str, Any]
    ) -> None:
        self._line, self._me, self._study = line, me, study
        self.number, self._role = int(given["number"]), str(given["role"])
        self._path = f"{API}/{where.study}/pairs/{self.number}"
        self._pair = self._checked(given)
        self._book: dict[str, Any] = me.data.setdefault("pairs", {}).setdefault(str(self.number), {})
        known = self._book.setdefault("partner", given["key"])
        if known != given["key"]:
            raise WrongPartner(f"the key of pair {self.number}'s partner is not the one named before")
        # What the collector has decoded is over, whatever this device got to write down.
        self._state = str(self._book.get("state", given["state"]))
        me.save()
        self.seal = Seal(me.key("x25519"), bytes.fromhex(known), study.id, self.number)

    def _checked(self, given: Mapping[str, Any]) -> Pair:
        """The pair, recomputed from public coins: a collector cannot choose who meets whom."""
        protocol, strata = self._study.protocol.in_pairs, self._study.statistic.strata
        if protocol is None:
            raise WrongPartner("nobody has a partner in this study")
        try:
            sizes = {name: integer("people", given["people"][name], 0, MOST) for name in strata}
            pairs = _match(protocol, self._study, sizes)
            place = int(np.flatnonzero(pairs.numbers == self.number)[0])
            both = int(pairs.garblers[place]), int(pairs.evaluators[place])
        except (IndexError, KeyError, TypeError, DpairsError):
            raise WrongPartner(f"pair {self.number} does not follow from the public coins") from None
        mine, partner = both if self._role == "garbler" else both[::-1]
        if (mine, partner) != (self._me.data["index"], given["partner"]):
            raise WrongPartner(f"pair {self.number} is not this person's by the public coins")
        return pairs.pair(self._study.id, self.number, len(strata))

    def go(self, deadline: float) -> str:
        """All steps that can be taken."""
        if self._state != "waiting":
            return self._state
        protocol = self._study.protocol.in_pairs
        if protocol is None:
            raise WrongPartner("nobody has a partner in this study")
        bits = SecretStream(self._me.key(f"session {self.number}"))
        coded = self._me.data["coded"]
        if self._role == "garbler":
            garbler = Garbler(protocol.function, self._pair, coded, bits)
            self._send("offer", garbler.offer())
            circuit = garbler.answer(self._receive("choice", deadline))
            self._send("circuit", circuit)
            state = self._put("table", garbler.table())
        else:
            evaluator = Evaluator(protocol.function, self._pair, coded, bits)
            self._send("choice", evaluator.choose(self._receive("offer", deadline)))
            state = self._put("labels", evaluator.evaluate(self._receive("circuit", deadline)))
        self._state = "done" if state == "waiting" else state
        self._book["state"] = self._state
        self._me.save()
        return self._state

    def _send(self, kind: str, message: bytes) -> None:
        if kind not in self._book.get("sent", []):
            self._put(kind, self.seal.close(kind, message))
            self._book.setdefault("sent", []).append(kind)
            self._me.save()

    def _put(self, kind: str, body: bytes) -> str:
        answer = self._line.bytes("PUT", f"{self._path}/{kind}", body, self._me.data["secret"])
        try:
            said = json.loads(answer)
        except ValueError:
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
        message = self.seal.open(kind, sealed)
        heard = hashlib.sha256(message).hexdigest()
        if self._book.setdefault("heard", {}).setdefault(kind, heard) != heard:
            raise BadMessage(f"the partner of pair {self.number} has sent two different messages of one kind")
        self._me.save()
        return message


_matched: dict[tuple[str, tuple[int, ...]], Pairs] = {}


def _match(protocol: InPairs, study: Study, sizes: dict[str, int]) -> Pairs:
    """The matching of a study; kept, since all pairs of a person need the same one."""
    key = (study.id, tuple(sizes.values()))
    if key not in _matched:
        _matched.clear()
        _matched[key] = protocol.match(study.coins, sizes)
    return _matched[key]
