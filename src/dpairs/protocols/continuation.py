"""Whether a second round is what people agreed to when they agreed to the first."""

from __future__ import annotations

import typing

from ..data.domains import Domain
from ..randomness.coins import Coins
from ..statistics import Statistic
from .base import Protocol
from .rounds import BLOCK


class Terms(typing.Protocol):
    """A study, as far as its terms go."""

    @property
    def id(self) -> str: ...
    @property
    def statistic(self) -> Statistic: ...
    @property
    def domains(self) -> tuple[Domain, ...]: ...
    @property
    def protocol(self) -> Protocol: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def strata(self) -> tuple[str, ...]: ...
    @property
    def coins(self) -> Coins: ...


def changed_term(second: Terms, first: Terms) -> str | None:
    """The first term of the first round that the second does not keep; None where it keeps them all."""
    mine, before = second.protocol, first.protocol
    terms = (
        ("round", mine.round == before.round + 1 and mine.rounds == before.rounds),
        ("first round", mine.first_study == first.id),
        ("protocol", mine.name == before.name),
        ("epsilon", second.epsilon == first.epsilon),
        ("delta", second.delta == first.delta),
        ("strata", second.strata == first.strata),
        ("statistic", second.statistic.to_json() == first.statistic.described().to_json()),
        (
            "domains",
            [each.to_json() for each in second.domains] == [each.to_json() for each in first.domains],
        ),
        ("seed", second.seed == first.seed),
        ("share", all(_share_out(second, first, place) for place in range(len(first.strata)))),
    )
    return next((name for name, kept in terms if not kept), None)


def _share_out(second: Terms, first: Terms, stratum: int) -> bool:
    """Whether of the first block of a stratum each person is asked in one of the two rounds.

    Where everybody is asked in both, their losses must be as agreed.
    """
    mine = second.protocol.asked(second.coins, stratum, 0, BLOCK)
    before = first.protocol.asked(first.coins, stratum, 0, BLOCK)
    if mine is None and before is None:
        return second.protocol.continues(first.protocol)
    return mine is not None and before is not None and bool((mine != before).all())
