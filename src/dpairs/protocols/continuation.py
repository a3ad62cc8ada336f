"""Whether a second round is what people agreed to when they agreed to the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rounds import BLOCK

if TYPE_CHECKING:
    from ..study import Study


def changed_term(second: Study, first: Study) -> str | None:
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


def _share_out(second: Study, first: Study, stratum: int) -> bool:
    """Whether of the first block of a stratum each person is asked in one of the two rounds.

    Where everybody is asked in both, their losses must be as agreed.
    """
    mine = second.protocol.asked(second.coins, stratum, 0, BLOCK)
    before = first.protocol.asked(first.coins, stratum, 0, BLOCK)
    if mine is None and before is None:
        return second.protocol.continues(first.protocol)
    return mine is not None and before is not None and bool((mine != before).all())
