"""How it is computed: one folder for each protocol, participant's side and analyst's side together."""

from __future__ import annotations

from typing import Any

from ..formats.registry import Registry
from .base import PAIRS, PEOPLE, SITES, Alone, Answer, FirstRound, InPairs, Protocol, Setting, Trust
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


def _no_side(kind: type[FirstRound]) -> str | None:
    """Why nobody could answer a study of this protocol."""
    asked = next((asked for side, asked in _SIDES if issubclass(kind, side)), None)
    if asked is None:
        return f"derive it from {', '.join(side.__name__ for side, _ in _SIDES)}, which say who answers"
    if kind.answered_by != asked:
        return f"it asks {asked}, and says that {kind.answered_by!r} answer"
    return None


PROTOCOLS: Registry[type[FirstRound]] = Registry(
    "protocol", "dpairs.protocols", ("rounds", "uses_coins", "options", "estimators"), _no_side
)
"""Every protocol by name. A package adds its own by `register_protocol`, or by an entry point."""
register_protocol = PROTOCOLS.register
for _kind in (Histogram, Tree, Projection, Pairwise, TwoServers, Sites):
    register_protocol(_kind)
