"""How it is computed: one folder for each protocol, participant's side and analyst's side together."""

from __future__ import annotations

from typing import Any

from ..formats.registry import Registry
from .base import PAIRS, PEOPLE, SITES, Alone, Answer, FirstRound, InPairs, Protocol, Setting, Trust
from .continuation import ACT_IN_BOTH
from .histogram.protocol import Histogram
from .pairwise.protocol import Pairwise
from .projection.first_round import Projection
from .projection.second_round import SecondRound
from .shape import Prediction, Shape
from .sites.by_sites import BySites
from .sites.protocol import Sites
from .tree.protocol import Tree
from .two_servers.protocol import TwoServers
from .two_servers.shared import Shared

__all__ = [
    "PROTOCOLS",
    "Alone",
    "Answer",
    "BySites",
    "FirstRound",
    "Histogram",
    "InPairs",
    "Pairwise",
    "Prediction",
    "Projection",
    "Protocol",
    "SecondRound",
    "Setting",
    "Shape",
    "Sites",
    "Tree",
    "Trust",
    "TwoServers",
    "register_protocol",
]

_SIDES: tuple[tuple[Any, str], ...] = (
    (Alone, PEOPLE),
    (InPairs, PAIRS),
    (Shared, PEOPLE),
    (BySites, SITES),
)


def _refused(kind: type[FirstRound]) -> str | None:
    """Why nobody could answer a study of this protocol, or keep its promise in all rounds."""
    if kind.rounds not in (1, 2):
        return f"a study has one round or two, not {kind.rounds}"
    if kind.rounds == 2 and not kind.asks_again and kind.asked is Protocol.asked:
        return "of two rounds it has to say whom the first asks (asked), or that losses add up (asks_again)"
    asked = next((asked for side, asked in _SIDES if issubclass(kind, side)), None)
    if asked is None:
        return f"derive it from {', '.join(side.__name__ for side, _ in _SIDES)}, which say who answers"
    if kind.answered_by != asked:
        return f"it asks {asked}, and says that {kind.answered_by!r} answer"
    if kind.rounds == 2 and not kind.asks_again and not issubclass(kind, Alone):
        return ACT_IN_BOTH
    return None


PROTOCOLS: Registry[type[FirstRound]] = Registry(
    "protocol", "dpairs.protocols", ("rounds", "uses_coins", "options", "estimators"), _refused
)
"""Every protocol by name. A package adds its own by `register_protocol`, or by an entry point."""
register_protocol = PROTOCOLS.register
for _kind in (Histogram, Tree, Projection, Pairwise, TwoServers, Sites):
    register_protocol(_kind)
