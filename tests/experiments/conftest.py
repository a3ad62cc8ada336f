"""Experiments that read ratings keep nothing of them from one test to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.paper import ratings_population


@pytest.fixture
def forget_ratings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("DPAIRS_CACHE", str(tmp_path))
    yield
    ratings_population.population.cache_clear()
