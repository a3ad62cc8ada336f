"""Pilots for tests that ask for a number, a file or a refusal, and not how good it is."""

import pytest

from dpairs.protocols.projection import pilot_histogram, pilot_tree


@pytest.fixture
def few_replicates(monkeypatch: pytest.MonkeyPatch) -> int:
    """Six imagined rounds instead of 32, which are most of what a second round costs."""
    for module in (pilot_histogram, pilot_tree):
        monkeypatch.setattr(module, "REPLICATES", 6)
    return 6
