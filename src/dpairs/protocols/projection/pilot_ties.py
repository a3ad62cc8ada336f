"""How many pairs of a column may be ties: at most as many as lie in one node of its own tree.

Two people with one value are in one node at each depth. So for any nodes v that the column is cut into, the
share T of tied pairs is at most P = sum of m_v^2 over their shares m_v. For smooth columns P is halved with
each depth, for values that many people share it stays as it is. With measured shares z = m + e, the sum of
z_v^2 less the mean of the sum of e_v^2 has the mean P, whatever the people are: shares are not cut at 0.
Deeper nodes hold fewer pairs and have more noise. So nodes are halved where people are, down to the depth
that leaves the least room for ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...statistics.base import TWO_SIDED
from ..tree.hierarchy import Solution
from .pilot_descent import LEAST, Explored

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Room:
    """How many pairs of a column may be ties, as a share of all."""

    pairs: float
    """Those in one node, at the depth that leaves the least room."""
    error: float
    """Its upper 95% limit lies 1.96 times as much above it."""
    cubes: float = 0.0
    """The sum of cubes of the shares of these nodes: what ties take from tau-a, see `tied`."""
    most_cubes: float = 0.0
    """The same if the pairs that there may be more lie in the largest of these nodes."""
    doubted: float = 0.0
    """Pairs in one atom that is wider than a leaf: they count as ties, and may be none."""

    @classmethod
    def of(cls, column: Explored, truth: Sequence[Vector], repeated: Solution) -> Room:
        """``repeated`` are imagined rounds of these true shares, which show the noise 2 m'e + e'e.

        If there are more pairs than imagined, the noise of the first term is larger, by 4 v for each pair
        more, v being the variance of a node's share. So with the variance s^2 of imagined rounds, whose nodes
        hold P_0 pairs, the upper limit u of P is where u - P = z sqrt(s^2 + 4 v (u - P_0)), as of a
        binomial share by Wilson ("Probable inference", 1927).
        """
        column = replace(column, least=LEAST)
        measured, _, nodes = pairs_in_nodes(column, column.solution, column.solution.estimates)
        again, true, _ = pairs_in_nodes(column, repeated, truth)
        noise, variance = (again - true).mean(axis=-1), (again - true).var(axis=-1, ddof=1)
        # So many nodes hold the fewest pairs if all hold as many people.
        pairs = np.clip(measured - noise, 1 / nodes, 1.0)
        variances = [float(each.var(axis=0, ddof=1).mean()) for each in repeated.estimates]
        by_node = 2 * TWO_SIDED**2 * np.array(variances)
        more = np.maximum(pairs - true.mean(axis=-1), 0.0)
        limits = by_node + np.sqrt(by_node**2 + TWO_SIDED**2 * variance + 2 * by_node * more)
        least = int(np.argmin(pairs + limits))
        shares = ended_shares(column, least)
        largest, cubes = float(shares.max(initial=0.0)), float((shares**3).sum())
        more_pairs = max(float(pairs[least] + limits[least]) - float((shares**2).sum()), 0.0)
        grown = min(largest**2 + more_pairs, 1.0) ** 1.5
        return cls(float(pairs[least]), float(limits[least]) / TWO_SIDED, cubes, cubes - largest**3 + grown)


def pairs_in_nodes(
    column: Explored, solution: Solution, truth: Sequence[Vector]
) -> tuple[Vector, Vector, Vector]:
    """For each depth the sum of squares of the nodes' measured shares and of their true ones, and the nodes.

    Nodes that hold more people than noise are halved, down to that depth.
    """
    descent = column.read(solution)
    ended, rows = 0.0, []
    for alive, into, measured, true in zip(
        descent.reached(), descent.into, solution.estimates, truth, strict=True
    ):
        squares = np.stack([measured**2, np.broadcast_to(true, measured.shape) ** 2, np.ones_like(measured)])
        rows.append(ended + (squares * alive).sum(axis=-1))
        ended = ended + (squares * (alive & ~into)).sum(axis=-1)
    first, second, third = np.moveaxis(np.array(rows), 1, 0)
    return first, second, third


def ended_shares(column: Explored, depth: int) -> Vector:
    """The pilot's shares of the nodes that a column is cut into, down to that depth."""
    descent, shares = column.descend(), list[Vector]()
    for number, (alive, into, own) in enumerate(
        zip(descent.reached(), descent.into, descent.masses, strict=True)
    ):
        if number <= depth:
            shares.append(own[alive if number == depth else alive & ~into])
    return np.concatenate(shares)
