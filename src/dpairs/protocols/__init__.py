"""How it is computed: one file for each protocol, participant's side and analyst's side together."""

from __future__ import annotations

from .base import Answer, Protocol
from .histogram import Histogram
from .pairwise.protocol import Pairwise
from .projection.first_round import Projection
from .projection.second_round import SecondRound
from .tree.protocol import Tree
from .two_servers.protocol import TwoServers

__all__ = [
    "PROTOCOLS",
    "Answer",
    "Histogram",
    "Pairwise",
    "Projection",
    "Protocol",
    "SecondRound",
    "Tree",
    "TwoServers",
]

PROTOCOLS: dict[str, type[Protocol]] = {
    each.name: each for each in (Histogram, Tree, Projection, Pairwise, TwoServers)
}
"""Every protocol, by name."""
