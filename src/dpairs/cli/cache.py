"""Where the command line remembers mechanisms that took seconds to find."""

from __future__ import annotations

import os
from pathlib import Path

from ..mechanisms.cache import MechanismCache
from ..mechanisms.optimize import Progress


def remembered(progress: Progress | None) -> MechanismCache:
    """The search of the folder that DPAIRS_CACHE names, or of the user's cache."""
    named = os.environ.get("DPAIRS_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return MechanismCache(Path(named) if named else home / "dpairs", progress)
