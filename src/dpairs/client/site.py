"""A site answers for all its records: once in each round, and the same bytes however often it is asked.

The answer is written down before it leaves, with what it costs in the site's ledger. A site that is killed
before that has sent nothing, and makes another one; after that it sends the one that is there. A collector
takes the same bytes again, and no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import AlreadyAnswered, BadFile, BadParameter, BadValue, Closed, NotAllowed, NotAsked
from ..formats import signatures
from ..participant import check_limits
from ..protocols.base import SHARES
from ..protocols.sides import by_sites, shared
from ..protocols.sites.numbers import site_name
from ..randomness import Randomness
from ..report import check_first
from ..shares import SiteShares
from ..sites import SiteAnswer, by_class, exact_numbers
from ..study import Study
from .device import Device, Membership
from .link import Link
from .offer import API, Offer, get_offer
from .reporter import check_collector, read_secret
from .transport import Transport

Kind = TypeVar("Kind", SiteAnswer, SiteShares)


@dataclass(frozen=True)
class Leaving:
    """What would leave a site if it answered, without its noise being drawn."""

    sizes: dict[str, int] | None
    """The records of each class, which everybody learns; None where the study hides them."""
    numbers: int
    """How many noisy numbers leave."""
    deviation: float
    """The standard deviation of the noise of each; 0 where two servers add it."""
    made: bool
    """Whether the answer is made already, and would be sent again."""


def _shares_leaving(study: Study, data: Any, keep: bool, made: bool) -> Leaving:
    sizes = {name: len(columns[0]) for name, columns in by_class(study, data).items()}
    return Leaving(sizes, sum(shared(study).vdaf[name].circuit.sums for name in sizes), 0.0, made)


def _numbers_leaving(study: Study, data: Any, keep: bool, made: bool) -> Leaving:
    protocol, exact = by_sites(study), exact_numbers(study, data, keep)
    numbers = protocol.entries * len(protocol.strata)
    return Leaving(exact.sizes, numbers, float(protocol.variance) ** 0.5, made)


_LEAVING = {SHARES: _shares_leaving}
"""By what a site's answer is; all others are noisy numbers, or refused there in a sentence."""


@dataclass(frozen=True)
class AnswerReceipt:
    """An answer that a collector has counted."""

    answer: SiteAnswer
    again: bool
    """Whether it had been counted before."""
    more: bool
    """Whether another round follows: come back for it."""


class Site:
    """One site, by its name, with a folder that keeps its answers and its ledger.

    The ledger holds what its records may have lost over all studies: an epsilon of 5 in all until ``limit``
    says otherwise. Both rounds of a study are one entry, since its claim is for both.
    """

    def __init__(
        self,
        name: str,
        *,
        device: Device | None = None,
        limit: float | None = None,
        limit_delta: float | None = None,
        max_epsilon: float | None = None,
        max_delta: float = 0.0,
    ) -> None:
        self.name = site_name(name)
        self._device = device or Device()
        self._limit, self._limit_delta = limit, limit_delta
        self._max_epsilon, self._max_delta = max_epsilon, max_delta

    def __repr__(self) -> str:
        return f"Site({self.name!r})"

    def preview(self, study: Study, data: Any, *, keep: bool = False) -> Leaving:
        """What would leave; nothing is made, and nothing is spent."""
        with self._device.study(study.first_id) as me:
            made = study.id in self._answers(me)
        return _LEAVING.get(study.protocol.sends, _numbers_leaving)(study, data, keep, made)

    def answer(
        self, study: Study, data: Any, *, keep: bool = False, bits: Randomness | None = None
    ) -> SiteAnswer:
        """This site's answer to a round: made once, kept, and the same ever after, whatever ``data`` is then.

        A second round loses no more than was agreed to, whoever published it: its noise is what the first
        said, and only one second round is ever answered.
        """
        by_sites(study)
        check_limits(study, self._max_epsilon, self._max_delta)
        with self._device.study(study.first_id) as me:
            return self._answer(me, study, data, SiteAnswer, keep=keep, bits=bits)

    def shares(self, study: Study, data: Any, *, bits: Randomness | None = None) -> SiteShares:
        """This site's shares for two servers in a round: made once, kept, and the same ever after."""
        check_limits(study, self._max_epsilon, self._max_delta)
        with self._device.study(study.first_id) as me:
            return self._answer(me, study, data, SiteShares, bits=bits)

    def send(
        self,
        link: str | Link | Offer,
        data: Any,
        *,
        code: str | None = None,
        keep: bool = False,
        transport: Transport | None = None,
    ) -> AnswerReceipt:
        """Answer the round that a collector's link asks now, and send it until it is counted.

        The site enrols by its name and a key of its own at first; ``code`` is an invitation's. Call it again
        after a crash, and for the next round.
        """
        offered = link if isinstance(link, Offer) else get_offer(link, transport)
        study, first = offered.study, offered.first
        by_sites(study)
        check_limits(study, self._max_epsilon, self._max_delta)
        with self._device.study(first.id) as me:
            if study.id not in self._answers(me):
                if offered.state == "closed":
                    raise Closed("the study takes no more answers")
                self._check(study, first, me)
            self._enrol(offered, me, code)
            again = True
            for asked in (first, study)[study.id == first.id :]:
                # One that was made but not counted, because the site was stopped, goes first.
                answer = self._answer(me, asked, data, SiteAnswer, keep=keep)
                again = self._deliver(offered, me, answer)
        return AnswerReceipt(answer, again, study.protocol.round < study.protocol.rounds)

    def _enrol(self, offered: Offer, me: Membership, code: str | None) -> None:
        check_collector(offered, me)
        if "secret" in me.data:
            return
        me.data["site"] = self.name
        key = signatures.public_key(me.key("ed25519")).hex()
        request = {"request": me.request, "name": self.name, "key": key}
        if (given := code or offered.where.code) is not None:
            request["code"] = given
        enrolled = offered.line.json("POST", f"{API}/{offered.where.study}/sites", request)
        me.data |= {"secret": read_secret(enrolled), "collector": offered.where.base}
        me.save()

    def _deliver(self, offered: Offer, me: Membership, answer: SiteAnswer) -> bool:
        """Send an answer unless it was counted; whether it was."""
        done = me.data.get("delivered", [])
        if answer.study.id in done:
            return True
        signature = signatures.sign(me.key("ed25519"), bytes(answer))
        sent = {"answer": bytes(answer).decode(), "signature": signature.hex()}
        path = f"{API}/{offered.where.study}/answers"
        try:
            offered.line.json("POST", path, sent, me.data["secret"])
        except NotAllowed:
            # Secrets from before a backup was restored are void; the same request gets a new one.
            del me.data["secret"]
            self._enrol(offered, me, None)
            offered.line.json("POST", path, sent, me.data["secret"])
        me.data["delivered"] = [*done, answer.study.id]
        me.save()
        return False

    def _answer(self, me: Membership, study: Study, data: Any, kind: type[Kind], **options: Any) -> Kind:
        first, kept = study if study.first is None else study.first, self._answers(me)
        if study.id not in kept:
            self._check(study, first, me)
            if not kept:
                self._device.check(first, self._limit, self._limit_delta)
            made = kind.of(study, self.name, data, **options)
            if study != first:
                _same_sizes(made, kind.from_bytes(kept[first.id], first))
            # Written down before it leaves: from now on only this answer is ever sent.
            me.data["site"] = self.name
            me.data["answers"] = {**kept, study.id: bytes(made).decode()}
            me.save()
            kept = self._answers(me)
        answer = kind.from_bytes(kept[study.id], study)
        if answer.site != self.name:
            raise BadParameter(f"this folder answered the study as {answer.site!r}, not as {self.name!r}")
        self._device.spend(first, me.answer, self._limit, self._limit_delta)
        return answer

    def _answers(self, me: Membership) -> dict[str, str]:
        kept = me.data.get("answers", {})
        if not all(isinstance(each, str) for each in kept.values()):
            raise BadFile("the site's file does not hold an answer")
        return dict(kept)

    def _check(self, study: Study, first: Study, me: Membership) -> None:
        """Refuse a round that this folder may not answer."""
        kept = self._answers(me)
        if me.data.get("site", self.name) != self.name:
            raise BadParameter(f"this folder answered the study as {me.data['site']!r}, not as {self.name!r}")
        if study.protocol.round == 1:
            return
        check_first(study)
        if first.id not in kept:
            raise NotAsked(
                f"site {self.name!r} did not answer the first round, so the second does not ask it"
            )
        if len(kept) > 1:
            raise AlreadyAnswered(
                f"site {self.name!r} has answered another second round: a further answer would reveal more"
            )


def _same_sizes(made: Kind, before: Kind) -> None:
    """A second answer is for the same records as the first, as far as sizes can tell."""
    if before.sizes != made.sizes:
        raise BadValue(
            f"the table has {made.sizes} records, and had {before.sizes} in the first round: answer both "
            "rounds for the same records"
        )
