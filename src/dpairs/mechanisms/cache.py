"""Optimized mechanisms, kept on disk: the same kernel, prior and epsilon are searched only once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
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


@dataclass(frozen=True)
class MechanismCache:
    """A search that remembers: what an edge gives to `Study.create` and `plan` as their ``search``.

    A folder that cannot be read or written costs time and nothing else; a file in it that is damaged or
    loses more than ``epsilon`` is searched for anew.
    """

    folder: Path
    progress: Progress | None = None

    def __call__(
        self, kernels: list[NDArray[np.float64]], prior: NDArray[np.float64], epsilon: float
    ) -> Mechanism:
        """The best mechanism for the kernels, from the folder or searched for."""
        name = hashlib.sha256(repr((VERSION, epsilon, len(kernels))).encode())
        for part in (*kernels, prior):
            name.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
        path = self.folder / f"mechanism-{name.hexdigest()[:32]}.json"
        try:
            kept = mechanism_from_json(parse(files.read(path, "the mechanism"), "the mechanism"))
            if kept.inputs == len(prior) and kept.epsilon <= epsilon:
                return kept
        except (DpairsError, OSError):
            pass  # not there, or damaged: it is found again, which takes longer and changes nothing
        made = optimize(kernels, prior, epsilon, self.progress)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write(path, canonical(made.to_json()).encode() + b"\n", "the mechanism")
        except (DpairsError, OSError):
            pass  # a folder that cannot be written to, as above
        return made
