"""Whether a promise holds for all rounds of a study, and a second round is what people agreed to."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadParameter
from ..formats.checks import below_one, integer, positive
from ..privacy import PrivacyClaim
from ..privacy.concentrated import rho_for
from ..randomness.coins import Coins
from .base import Alone, Protocol
from .rounds import BLOCK, asked_in

if TYPE_CHECKING:
    from ..study import Study

ANY_COINS = Coins.of("0" * 64)
"""Any coins show whether a round asks some people or all."""
SOME_BLOCKS = tuple(BLOCK * block for block in (0, 1, 2, 7, 63, 1000, 10**6, 2**32))
"""The first index of blocks of people that two rounds are compared on."""
ACT_IN_BOTH = (
    "only people who answer alone can act in one of two rounds: sites, pairs and people who send shares "
    "answer both, so it has to say that losses add up (asks_again)"
)


def total_loss(protocol: Protocol) -> float:
    """What a person loses in all rounds: no protocol states it, so none can understate the sum.

    Losses of rounds that ask everybody add up, in epsilon; with a delta in rho, where epsilon holds for all
    rounds if it allows so much rho. What is not checked is that a mechanism loses what its epsilon says, and
    with a delta that a round's noise has the rho of `losses`.
    """
    epsilon = _number(positive, f"the epsilon of this {protocol.name} study", protocol.epsilon)
    if not protocol.asks_again:
        return epsilon
    losses, delta = _losses(protocol), _delta(protocol)
    total, said = math.fsum(losses), losses[protocol.round - 1]
    if delta:
        return epsilon if total <= rho_for(epsilon, delta) else math.inf
    if epsilon > said:
        raise BadParameter(
            f"round {protocol.round} of this {protocol.name} study loses epsilon {epsilon:.6g}, and says "
            f"that it loses {said:.6g}"
        )
    return total


def _number(check: Callable[[str, Any], float], name: str, value: Any) -> float:
    """A number of Python or numpy, as a float: others, and short floats, may compare as they like."""
    if not isinstance(value, Real):
        raise BadParameter(f"{name} must be a number, not {value!r}")
    return check(name, value)


def _delta(protocol: Protocol) -> float:
    return _number(below_one, f"the delta of this {protocol.name} study", protocol.delta)


def _losses(protocol: Protocol) -> tuple[float, ...]:
    """What each round loses, however a protocol lists it."""
    given: Any = protocol.losses
    is_list = isinstance(given, (tuple, list)) or (isinstance(given, np.ndarray) and given.ndim == 1)
    if not is_list or len(given) != protocol.rounds:
        raise BadParameter(f"a {protocol.name} study has to say what each round loses, not {given!r}")
    return tuple(
        _number(positive, f"what each round of this {protocol.name} study loses", loss) for loss in given
    )


def check_promise(protocol: Protocol, epsilon: float) -> None:
    """Refuse a round that a person may lose more by than ``epsilon``, in all rounds, or than its claim says.

    Of two rounds that do not ask everybody again, the first has to claim what the second may lose, and to
    leave people for it, so it may ask only some: `changed_term` looks whether the second asks the others.
    """
    name, promised = protocol.name, _number(positive, "epsilon", epsilon)
    integer(f"the number of rounds of this {name} study", protocol.rounds, 1, 2)
    if integer(f"the round of this {name} study", protocol.round, 1, 2) > protocol.rounds:
        raise BadParameter(
            f"this {name} study has {protocol.rounds} round(s), and none of number {protocol.round}"
        )
    lost, delta = total_loss(protocol), _delta(protocol)
    loses = f"a person loses epsilon {lost:.6g} in all rounds of this {name} study, which"
    if lost > promised:
        raise BadParameter(f"{loses} promises {promised:.6g}")
    claim = protocol.privacy(epsilon)
    if not isinstance(claim, PrivacyClaim):
        raise BadParameter(f"the privacy of this {name} study must be a PrivacyClaim, not {claim!r}")
    claimed = _number(positive, f"the epsilon that this {name} study claims", claim.epsilon)
    if lost > claimed:
        raise BadParameter(f"{loses} claims {claimed:.6g}")
    allowed = _number(below_one, f"the delta that this {name} study claims", claim.delta)
    if delta > allowed:
        raise BadParameter(
            f"this {name} study may break its promise with probability {delta:.3g}, and claims {allowed:.3g}"
        )
    if protocol.rounds == 1 or protocol.asks_again:
        return
    if not isinstance(protocol, Alone):
        raise BadParameter(f"this {name} study has two rounds, and {ACT_IN_BOTH}")
    if protocol.round == 1 and claimed < promised:
        raise BadParameter(
            f"the first round of this {name} study claims {claimed:.6g}, and the second, which is not known "
            f"yet, may lose all of epsilon {promised:.6g}"
        )
    for place in range(len(protocol.strata)):
        asked = asked_in(protocol, ANY_COINS, place, 0, BLOCK)
        if asked is None or asked.all() or not asked.any():
            whom = "everybody" if asked is None or asked.all() else "nobody"
            raise BadParameter(
                f"round {protocol.round} of this {name} study asks {whom}, but each person may act in one "
                "round: say whom it asks (asked), or that losses of both add up (asks_again)"
            )


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
    """Whether of some blocks of a stratum, near and far, each person is asked in one of the two rounds.

    Or in both, if both say that losses add up: then these must be as agreed.
    """
    again = second.protocol.asks_again
    if first.protocol.asks_again != again:
        return False
    if again and not (
        _losses(second.protocol) == _losses(first.protocol) and second.protocol.continues(first.protocol)
    ):
        return False
    for start in SOME_BLOCKS:
        mine, before = (
            asked_in(study.protocol, study.coins, stratum, start, BLOCK) for study in (second, first)
        )
        if mine is None or before is None:
            kept = again and mine is before
        else:
            kept = not again and bool((mine != before).all())
        if not kept:
            return False
    return True
