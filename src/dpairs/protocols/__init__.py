"""How it is computed: one file for each protocol, participant's side and analyst's side together."""

from __future__ import annotations

from .base import Answer, Protocol
from .histogram import Histogram
from .pairwise import Pairwise
from .projection import Projection
from .projection_bits import BitRound
from .tree import Tree

__all__ = ["PROTOCOLS", "Answer", "BitRound", "Histogram", "Pairwise", "Projection", "Protocol", "Tree"]

PROTOCOLS: dict[str, type[Protocol]] = {each.name: each for each in (Histogram, Tree, Projection, Pairwise)}
"""Every protocol, by name."""
