"""How it is computed: one folder for each protocol, participant's side and analyst's side together."""

from __future__ import annotations

from ..formats.registry import Registry
from .base import Alone, Answer, FirstRound, InPairs, Protocol, Setting, Trust
from .histogram.protocol import Histogram
from .pairwise.protocol import Pairwise
from .projection.first_round import Projection
from .projection.second_round import SecondRound
from .shape import Prediction, Shape
from .sites.by_sites import BySites
from .sites.protocol import Sites
from .tree.protocol import Tree
from .two_servers.protocol import TwoServers

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

PROTOCOLS: Registry[type[FirstRound]] = Registry(
    "protocol", "dpairs.protocols", ("rounds", "uses_coins", "options", "estimators")
)
"""Every protocol by name. A package adds its own by `register_protocol`, or by an entry point."""
register_protocol = PROTOCOLS.register
for _kind in (Histogram, Tree, Projection, Pairwise, TwoServers, Sites):
    register_protocol(_kind)
