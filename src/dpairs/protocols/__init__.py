"""How it is computed: one file for each protocol, participant's side and analyst's side together."""

from __future__ import annotations

from .base import Answer, Protocol
from .histogram import Histogram
from .tree import Tree

__all__ = ["PROTOCOLS", "Answer", "Histogram", "Protocol", "Tree"]

PROTOCOLS: dict[str, type[Protocol]] = {Histogram.name: Histogram, Tree.name: Tree}
"""Every protocol, by name."""
