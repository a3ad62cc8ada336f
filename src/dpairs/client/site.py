"""A site answers for all its records: once in each round, and the same bytes however often it is asked.

The answer is written down before it leaves, with what it costs in the site's ledger. A site that is killed
before that has sent nothing, and makes another one; after that it sends the one that is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import AlreadyAnswered, BadFile, BadParameter, BadValue, NotAsked
from ..participant import check_limits
from ..protocols.sites.numbers import site_name
from ..randomness import Randomness
from ..sites import SiteAnswer, by_sites, exact_numbers
from ..study import Study
from .device import Device, Membership


@dataclass(frozen=True)
class Leaving:
    """What would leave a site if it answered, without its noise being drawn."""

    sizes: dict[str, int] | None
    """The records of each class, which everybody learns; None where the study hides them."""
    numbers: int
    """How many noisy numbers leave."""
    deviation: float
    """The standard deviation of the noise of each."""
    made: bool
    """Whether the answer is made already, and would be sent again."""


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
        protocol = by_sites(study)
        exact = exact_numbers(study, data, keep)
        with self._device.study(study.first_id) as me:
            made = study.id in self._answers(me)
        return Leaving(
            exact.sizes, protocol.entries * len(protocol.strata), float(protocol.variance) ** 0.5, made
        )

    def answer(
        self, study: Study, data: Any, *, keep: bool = False, bits: Randomness | None = None
    ) -> SiteAnswer:
        """This site's answer to a round: made once, kept, and the same ever after, whatever ``data`` is then.

        A second round loses no more than was agreed to, whoever published it: its noise is what the first
        said, and only one second round is ever answered.
        """
        by_sites(study)
        check_limits(study, self._max_epsilon, self._max_delta)
        first = study if study.first is None else study.first
        with self._device.study(first.id) as me:
            kept = self._answers(me)
            if study.id not in kept:
                self._check(study, first, kept, me)
                if not kept:
                    self._device.check(first, self._limit, self._limit_delta)
                made = SiteAnswer.of(study, self.name, data, keep=keep, bits=bits)
                self._same_sizes(made, first, kept)
                # Written down before it leaves: from now on only this very answer is ever sent.
                me.data["site"] = self.name
                me.data["answers"] = {**kept, study.id: bytes(made).decode()}
                me.save()
                kept = self._answers(me)
            answer = SiteAnswer.from_bytes(kept[study.id], study)
            if answer.site != self.name:
                raise BadParameter(f"this folder answered the study as {answer.site!r}, not as {self.name!r}")
            self._device.spend(first, me.answer, self._limit, self._limit_delta)
        return answer

    def _answers(self, me: Membership) -> dict[str, str]:
        kept = me.data.get("answers", {})
        if not all(isinstance(each, str) for each in kept.values()):
            raise BadFile("the site's file does not hold an answer")
        return dict(kept)

    def _check(self, study: Study, first: Study, kept: dict[str, str], me: Membership) -> None:
        if me.data.get("site", self.name) != self.name:
            raise BadParameter(f"this folder answered the study as {me.data['site']!r}, not as {self.name!r}")
        if study.protocol.round == 1:
            return
        if study.first is None:
            raise BadParameter(
                "this is a second round, and its first round is missing: read it with its first, "
                "Study.from_json(text, first=study)"
            )
        if first.id not in kept:
            raise NotAsked(
                f"site {self.name!r} did not answer the first round, so the second does not ask it"
            )
        if len(kept) > 1:
            raise AlreadyAnswered(
                f"site {self.name!r} has answered another second round: one more would lose more"
            )

    def _same_sizes(self, made: SiteAnswer, first: Study, kept: dict[str, str]) -> None:
        """A second answer is for the same records as the first, as far as sizes can tell."""
        if made.study == first:
            return
        before = SiteAnswer.from_bytes(kept[first.id], first)
        if before.numbers.sizes != made.numbers.sizes:
            raise BadValue(
                f"the table has {made.numbers.sizes} records, and had {before.numbers.sizes} in the first "
                "round: answer both rounds for the same records"
            )
