"""The error to expect of a study of sites, and the options worth comparing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...statistics.influence import STEPS
from ...statistics.linear import nominal
from ..base import Setting
from ..shape import Prediction, Shape, onto, parts
from ..two_servers.predict import gradient
from .counted import NoisyClass, forms_of, laplace_cumulant

if TYPE_CHECKING:
    from .pilot_round import SitesPilot
    from .protocol import Sites

SPLITS = (0.1, 0.2, 0.35)
"""Shares of the loss for a pilot that are compared."""


def candidates(setting: Setting) -> Iterator[dict[str, Any]]:
    here: dict[str, Any] = {"n": setting.n, **({} if setting.sites is None else {"sites": setting.sites})}
    if setting.statistic.arity == 2:
        yield {"rounds": 1, **here}
    if setting.rounds > 1:
        for split in SPLITS:
            yield {"rounds": 2, "split": split, **here}


def predict_counts(protocol: Sites, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    masses = onto(shape, protocol.grid)
    kernels = [form.matrix for form in protocol.statistic.forms(protocol.grid, "average")]
    along = np.tensordot(gradient(shape), np.array(kernels), axes=1)
    _, noise = forms_of(_classes(protocol, masses, sizes), [along])
    here = protocol.statistic.linearizer(protocol.grid).at(masses, nominal(protocol.statistic))
    off = shape.scale * (here.value - shape.linear.value)
    return parts(shape, float(noise[0, 0]), shape.sampling(sizes), 0.0, off)


def _classes(
    protocol: Sites | SitesPilot, masses: Mapping[str, Any], sizes: Mapping[str, int]
) -> list[NoisyClass]:
    """Expected counts with the noise of all expected sites."""
    sites = protocol.expected
    cumulant = sites * laplace_cumulant(math.sqrt(protocol.variance / 2))
    hidden = protocol.unit.hide_sizes
    return [
        NoisyClass(
            masses[name] * sizes[name], sites * protocol.variance, cumulant, None if hidden else sizes[name]
        )
        for name in protocol.strata
    ]


def predict_rounds(protocol: SitesPilot, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    """The sums' noise, and that of (h - g)'A(h - g) for a pilot g with noise on every count."""
    privacy = 0.0
    query = protocol.sum_query
    summed = protocol.expected * protocol.budget.variance(query, draws=1) / STEPS**2
    for name, values in shape.linear.functions.items():
        extent = float(values.max() - values.min())
        privacy += extent**2 * summed / sizes[name] ** 2
    return parts(shape, privacy, shape.sampling(sizes), _second_order(protocol, sizes))


def _second_order(protocol: SitesPilot, sizes: Mapping[str, int]) -> float:
    variance, people = protocol.expected * protocol.variance, list(sizes.values())
    if protocol.statistic.arity > 2:
        # Unknown kernel between cells: as large as its range allows for independent noise on all cells.
        return protocol.grid.cells * (variance / min(people) ** 2) ** 2
    squares = []
    for form in protocol.statistic.forms(protocol.grid, "average"):
        centred = form.matrix - form.matrix.mean(axis=0)
        squares.append(float(((centred - centred.mean(axis=1, keepdims=True)) ** 2).sum()))
    both = math.prod(people) if len(people) > 1 else people[0] ** 2 / math.sqrt(2)
    return max(squares) * (variance / both) ** 2
