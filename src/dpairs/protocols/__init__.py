"""How it is computed: one file for each protocol, participant's side and analyst's side together."""

from __future__ import annotations

from .base import Answer, Protocol
from .histogram import Histogram

__all__ = ["PROTOCOLS", "Answer", "Histogram", "Protocol"]

PROTOCOLS: dict[str, type[Protocol]] = {Histogram.name: Histogram}
"""Every protocol, by name."""
