"""Optimized mechanisms, kept on disk: the same kernel, prior and epsilon are searched only once."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import DpairsError
from ..formats import files
from ..formats.canonical import canonical, parse
from . import mechanism_from_json
from .base import Mechanism
from .optimize import Progress, optimize

VERSION = 1
"""Changes when the search does."""


def folder() -> Path:
    """The folder that DPAIRS_CACHE names, or the user's cache."""
    named = os.environ.get("DPAIRS_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpairs"


def optimized(
    kernels: list[NDArray[np.float64]],
    prior: NDArray[np.float64],
    epsilon: float,
    progress: Progress | None = None,
) -> Mechanism:
    """The best mechanism for the kernels, from the cache or searched for.

    A cache that cannot be read or written costs time and nothing else; a file in it that is damaged or
    loses more than ``epsilon`` is searched for anew.
    """
    name = hashlib.sha256(repr((VERSION, epsilon, len(kernels))).encode())
    for part in (*kernels, prior):
        name.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    path = folder() / f"mechanism-{name.hexdigest()[:32]}.json"
    try:
        found = mechanism_from_json(parse(files.read(path, "the mechanism"), "the mechanism"))
        if found.inputs == len(prior) and found.epsilon <= epsilon:
            return found
    except (DpairsError, OSError):
        pass
    made = optimize(kernels, prior, epsilon, progress)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, canonical(made.to_json()).encode() + b"\n", "the mechanism")
    except (DpairsError, OSError):
        pass
    return made
