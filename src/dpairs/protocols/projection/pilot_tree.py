"""A first round on a tree: the leaves of one or several columns, one bit (or a few) from each person.

The answers are those of the `tree` protocol, for any number of strata and of columns. From them, for
each stratum: least squares over all levels; then from the root down, a node's people are shared among its
two halves by the difference that was measured, never below nothing. A node with too few people for its
halves to be told apart is not split: it is taken to be evenly filled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Integers, Interval
from ...data.grids import Grid
from ...errors import BadFile, BadParameter, NotEstimable
from ...estimate import Manipulation
from ...formats.checks import fields, integer, required
from ...mechanisms import KaryResponse
from ...randomness.coins import Coins
from ...statistics import Statistic
from ..rounds import place_in_first
from ..shape import Shape
from ..tree.answers import MAX_DEPTH, TreeAnswers, responses_from_json
from ..tree.coins import even_levels
from ..tree.counts import TreeCounts
from ..tree.estimate import Evidence
from ..tree.leaves import Leaves, bits_of, told_by_floats
from ..tree.oracle import Oracle
from ..tree.parities import best_parities
from ..tree.predict import level_noise
from .crowded import NOBODY
from .gain import seen_apart
from .narrowing import as_values
from .pilot import REPLICATES, TOO_NOISY, Masses, Pilot, PublicNoise, by_round
from .pilot_agreeing import NOBODY_AGREES, Agreeing
from .pilot_atoms import DeepLevel, Told
from .pilot_cells import column_edges, column_ends, cut_axis, every_atom
from .pilot_column_atoms import imagined_columns, rooms, seen_alone, with_atoms
from .pilot_crowds import atoms_of, crowded_pairs, crowded_people, pairs_in, told_leaves
from .pilot_descent import Descent, Explored, explore, imagined
from .pilot_isotone import nearest
from .pilot_levels import MOST_BELOW, check_levels, walked_levels
from .pilot_margins import margins
from .pilot_missed import missed_share
from .pilot_plane import SmoothPlane
from .predict import tree_remainder
from .winsorize import Ends, Tail, possible_ends

DEEP_BITS = 14
"""From so many bits on, a leaf that many people share is taken for one value."""
PLANE_BITS = 32
"""Bits of a tree over several columns, together."""


@dataclass(frozen=True)
class PilotTree(TreeAnswers):
    """A tree over all private columns, asked of the people of the first round."""

    bits: tuple[int, ...] = ()
    share: int = 1
    dealt: tuple[int, ...] = ()
    """The levels that every block of as many people is dealt; empty: every level once."""
    name: ClassVar[str] = "pilot-tree"

    def check_shape(self) -> None:
        """Refuse numbers of bits that the domains cannot have."""
        if len(self.bits) != len(self.columns) or sum(self.bits) != self.depth:
            raise BadParameter("a pilot tree needs a number of bits for each private column")
        if len(self.bits) > 1:
            integer("the bits of a pilot tree over several columns", self.depth, 2, PLANE_BITS)
        check_levels(self.dealt, self.depth, self.parities)
        for domain, bits in zip(self.columns, self.bits, strict=True):
            most = 52 if isinstance(domain, Interval) else bits_of(domain.size)
            least = 1 if isinstance(domain, (Interval, Integers)) else most
            integer(f"the bits of a pilot tree on {domain!r}", bits, least, most)
            if isinstance(domain, Interval) and not told_by_floats(domain, bits):
                raise BadParameter(f"{domain!r} is too narrow for 2^{bits} bins of its floats")

    @classmethod
    def over(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        epsilon: float,
        bits: tuple[int, ...],
        share: int,
        dealt: tuple[int, ...] = (),
    ) -> PilotTree:
        """The tree with as many parities in a report as are best for ``epsilon``."""
        depth = sum(bits)
        one, columns = KaryResponse.for_epsilon(2, epsilon), sum(each > 1 for each in bits)
        more = range(1, best_parities(epsilon, depth, columns) if epsilon > 1 else 1)
        responses = (one, *(KaryResponse.for_epsilon(2 << step, epsilon) for step in more))
        return cls(statistic, domains, depth, "users", "others", responses, 0.0, bits, share, dealt)

    @classmethod
    def read(
        cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any], share: int
    ) -> PilotTree:
        fields(f"pilot {cls.name!r}", spec, ("name", "bits", "floors", "levels"))
        required(f"pilot {cls.name!r}", spec, ("bits", "floors"))
        responses = responses_from_json(cls.name, spec["floors"])
        if not isinstance(spec["bits"], list):
            raise BadFile(f"protocol {cls.name!r} needs a list of bits")
        bits = tuple(integer("bits", each, 1, MAX_DEPTH) for each in spec["bits"])
        dealt: tuple[int, ...] = ()
        if "levels" in spec:
            if not isinstance(spec["levels"], list) or not spec["levels"]:
                raise BadFile(f"protocol {cls.name!r} deals out a list of levels")
            dealt = tuple(integer("a level", each, 1, MAX_DEPTH) for each in spec["levels"])
        return cls(statistic, domains, sum(bits), "users", "others", responses, 0.0, bits, share, dealt)

    def to_json(self) -> dict[str, Any]:
        spec = {
            "name": self.name,
            "bits": list(self.bits),
            "floors": [str(response.floor) for response in self.responses],
        }
        return {**spec, "levels": list(self.dealt)} if self.dealt else spec

    @property
    def columns(self) -> tuple[Domain, ...]:
        """The domain of every private column."""
        return self.statistic.cell_domains(self.domains)

    @cached_property
    def nodes(self) -> Leaves:
        return Leaves(self.columns, self.bits)

    def people(self, columns: Sequence[Any]) -> NDArray[np.uint64]:
        """The leaf of each person."""
        return self.nodes.codes(columns, self.statistic.private_columns)

    @property
    def groups(self) -> int:
        return len(self.dealt) or self.depth

    def _dealt(self, coins: Coins, stratum: int, first: int, count: int) -> NDArray[np.int64]:
        if not self.dealt:
            return super()._dealt(coins, stratum, first, count)
        return np.array(self.dealt)[even_levels(coins, stratum, first, count, len(self.dealt)) - 1]

    def _assigned(
        self, coins: Coins, stratum: int, first: int, count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        # Levels are dealt out evenly among those who are asked, so they need numbers without gaps.
        return super()._assigned(coins, stratum, place_in_first(coins, stratum, first, self.share), count)

    def node_variance(self, people: float) -> float:
        """About the variance of a node's share, after so many people: its noise and the choice of people."""
        noise = level_noise(self.walked, self._walking(people))
        return float(noise.weighed[-1]) + noise.chance / 4

    def crowd(self, people: int) -> int:
        """Level and row are public, and set people apart."""
        return 1

    def manipulation(self, counts: Mapping[str, TreeCounts], estimator: str, people: int) -> Manipulation:
        """A tree gives a pilot and no answer that could be bounded."""
        return Manipulation(people, people, math.inf, math.inf, False, math.nan)

    def own_answer(self, counts: Mapping[str, TreeCounts]) -> None:
        """None: a tree alone gives a pilot, and no answer."""

    def own_estimate(self, counts: Mapping[str, TreeCounts]) -> None:
        """None: only a histogram's first round estimates the statistic by itself."""

    def predict_remainder(self, shape: Shape, pilots: Mapping[str, float], extent: float) -> float:
        walking = {stratum: self._walking(people) for stratum, people in pilots.items()}
        return tree_remainder(self.walked, shape, walking, extent)

    def predict_alone(self, shape: Shape, pilots: Mapping[str, float]) -> None:
        """None: without an estimate of its own there is no error of it to predict."""

    @cached_property
    def cells(self) -> Grid:
        return Grid(tuple(self.nodes.axis(place) for place in range(len(self.bits))))

    @cached_property
    def walked(self) -> PilotTree:
        """The tree of the levels that a walk from the root reaches, which others lie far below."""
        dealt = walked_levels(self.dealt)
        if not dealt or max(dealt) == max(self.dealt):
            return self
        turns = self.nodes.turns[: max(dealt)]
        bits = tuple(turns.count(place) for place in range(len(self.bits)))
        return replace(self, depth=sum(bits), bits=bits, dealt=dealt)

    def _walking(self, people: float) -> float:
        """Of so many people those who answer about levels that the walk reaches."""
        if self.walked is self:
            return people
        return people * sum(level <= self.walked.depth for level in self.dealt) / len(self.dealt)

    def pilot(self, counts: Mapping[str, TreeCounts], noise: PublicNoise) -> Pilot:
        """The distributions of all strata on common cells."""
        evidence = Evidence(tuple(counts.values()), self.depth, self.responses, self.rows, False, "half")
        oracles, walked = dict(zip(counts, evidence.oracles, strict=True)), self.walked
        deep = None
        below, answered = self.depth - walked.depth, all(each[-1].answered for each in oracles.values())
        if 0 < below <= MOST_BELOW and answered:
            lowest = {stratum: each[-1] for stratum, each in oracles.items()}
            deep = DeepLevel(lowest, walked.nodes, below)
        return walked._pilot({name: each[: walked.depth] for name, each in oracles.items()}, noise, deep)

    def _pilot(
        self, oracles: Mapping[str, Sequence[Oracle]], noise: PublicNoise, deep: DeepLevel | None
    ) -> Pilot:
        explored = {stratum: explore(each, self.nodes) for stratum, each in oracles.items()}
        read = nearest if self._far and self.statistic.integrated else Explored.read
        descents = {stratum: read(each, each.solution) for stratum, each in explored.items()}
        if not any(each.into[0].any() for each in descents.values()):
            # Noise of a half's share is as large as everybody: no part of the domain was told from another.
            raise NotEstimable(TOO_NOISY)
        beside, missed, apart, uneven, crowded = 0.0, 0.0, 0.0, self._uneven(descents), NOBODY
        one_part: NDArray[np.float64] | None = None
        alone: list[Explored] = []
        if len(self.statistic.domain_columns) == 2 and self.statistic.needs == "ordered":
            (alone,) = (margins(each, self.nodes) for each in oracles.values())
        if self._two_numbers:
            ((stratum, descent),) = descents.items()
            if self.parities > 1:
                smooth = SmoothPlane.of(explored[stratum], alone, noise)
                if smooth.better:
                    columns = imagined_columns(alone, noise)
                    shares = [{stratum: each.reshape(-1)} for each in (smooth.shares, *smooth.imagined)]
                    cells = self._cells(smooth.edges, every_atom(smooth.edges, shares[0], wide=True))
                    return smooth.pilot(stratum, shares, cells, oracles[stratum], self.nodes, columns)
            beside = descent.beside()
        known = [(each, descents[stratum].masses) for stratum, each in explored.items()]
        repeated = dict(zip(explored, imagined(known, noise, REPLICATES), strict=True))
        again = {stratum: read(explored[stratum], solution) for stratum, solution in repeated.items()}
        columns = imagined_columns(alone, noise) if alone else []
        if self.statistic.from_table:
            pilots = by_round(self._on_leaves(again))
            return Pilot(self.cells, self._on_leaves(descents), pilots, uneven)
        parts = {stratum: each.parts for stratum, each in descents.items()}
        edges, ends = column_edges(parts, self.nodes), column_ends(self.nodes)
        narrowed: list[Ends] = []
        tail: Tail | None = None
        if self.statistic.needs == "numeric":
            ((stratum, here),) = explored.items()
            tail = here.tail(repeated[stratum])
        if self._far and tail is not None:
            narrowed = possible_ends(parts[stratum], tail, ends[0])
            edges = [np.union1d(edges[0], [(each.low, each.high, *each.sure) for each in narrowed])]

        def on_edges(descents: Mapping[str, Descent]) -> Masses:
            return {stratum: each.parts.on(edges, ends) for stratum, each in descents.items()}

        masses, rounds = on_edges(descents), by_round(on_edges(again))
        if self._two_numbers:
            columns = seen_alone(columns, edges, masses[stratum])
            edges = [column.cut(cuts) for column, cuts in zip(columns, edges, strict=True)]
            tables = np.array([each[stratum] for each in (on_edges(descents), *by_round(on_edges(again)))])
            tables = with_atoms(columns, edges, tables)
            masses, *rounds = ({stratum: each} for each in tables)
        atoms, told = every_atom(edges, {} if self._within_leaves else masses), None
        for own, column, edge in zip(atoms, columns if self._two_numbers else [], edges, strict=False):
            own |= column.named(edge)
        if self.compared is not None:
            told, masses, rounds = told_leaves(deep, self.compared, edges, atoms, masses, rounds)
        given, seen = self._cells(edges, atoms)
        if self.compared is not None and len(self.domains) == 1:
            there = masses if told is None else told.regained(masses, rounds)
            both = [(oracles[stratum], own) for stratum, own in there.items()]
            _, missed = missed_share(both, self.nodes, edges)
        if self._two_numbers:
            # The function is given on cells, which may be wider than the boxes that were told apart.
            table = masses[stratum].reshape([axis.bins for axis in seen.axes])
            values = atoms_of(seen)
            beside -= float(pairs_in(table, *values))
            beside = max(beside, float(pairs_in(table, *(~each for each in values))))
            one_part = parts[stratum].together(edges, ends, table)
            missed, _ = missed_share([(oracles[stratum], table)], self.nodes, edges)
            crowded = crowded_pairs(seen, edges, tables[0], list(tables[1:]))
            apart = seen_apart(explored[stratum].terminal(repeated[stratum]), edges, ends, tables)
        discrete = self.statistic.needs == "discrete"
        agreeing = Agreeing.of(edges[0], masses, rounds, self._binned(0)) if discrete else NOBODY_AGREES
        return Pilot(
            seen,
            masses,
            rounds,
            uneven,
            given=given,
            crowded=crowded,
            beside=beside,
            one_part=one_part,
            missed=missed,
            seen_apart=apart,
            inside=agreeing.pairs,
            alike=agreeing.more,
            anyhow=(np.diff(edges[0]) == 1).astype(np.float64) if self._within_leaves else None,
            crowds=self._crowds(seen, edges, masses, rounds, told),
            room=rooms(columns, seen, edges, masses),
            means=() if tail is None else tail.listed(self.columns[0]),
            narrowed=[as_values(each, edges[0], self.nodes) for each in narrowed],
        )

    @property
    def _two_numbers(self) -> bool:
        """Whether a kernel compares two columns of numbers."""
        numbers = all(isinstance(each, (Interval, Integers)) for each in self.columns)
        return len(self.columns) == 2 and numbers and self.statistic.needs == "ordered"

    @property
    def compared(self) -> int | None:
        """The place of the only column of numbers, where a kernel of pairs compares these."""
        binned = [place for place in range(len(self.bits)) if self._binned(place)]
        if len(binned) != 1 or self.statistic.needs != "ordered" or self.statistic.arity > 2:
            return None
        return binned[0]

    def _crowds(
        self,
        grid: Grid,
        edges: Sequence[NDArray[np.float64]],
        masses: Masses,
        rounds: Sequence[Masses],
        told: Told | None,
    ) -> Masses | None:
        """People in crowds of the column that is compared."""
        place = self.compared
        return None if place is None else crowded_people(grid, place, edges[place], masses, rounds, told)

    def _cells(
        self, edges: Sequence[NDArray[np.float64]], atoms: Sequence[NDArray[np.bool_]]
    ) -> tuple[Grid, Grid]:
        """The cells between these edges as devices have them, and with atoms as the statistic has them."""
        axes = [cut_axis(*each) for each in zip(self.columns, self.bits, edges, atoms, strict=True)]
        return Grid(tuple(given for given, _ in axes)), Grid(tuple(seen for _, seen in axes))

    @property
    def _far(self) -> bool:
        """Whether a few people far away could decide the value: of distances on numbers."""
        return self.statistic.needs == "numeric" and isinstance(self.columns[0], (Interval, Integers))

    @property
    def _within_leaves(self) -> bool:
        """Whether distances within a leaf count: one that is wide is not one value, whoever shares it."""
        return self._far and self._coarse

    def _uneven(self, descents: Mapping[str, Descent]) -> float:
        """On listed values people lie evenly or not at all; numbers within a part may lie anyhow.

        A leaf of a deep tree that many people share is one value; a leaf of the plane is a wide cell.
        """
        if not any(self._binned(place) for place in range(len(self.bits))):
            return 0.0
        return max(each.together(leaves=self._coarse) for each in descents.values())

    @property
    def _coarse(self) -> bool:
        """Whether people in one leaf may have different values: whole numbers, or any in wide leaves."""
        return any(
            self._binned(place) and (isinstance(domain, Integers) or self.bits[place] < DEEP_BITS)
            for place, domain in enumerate(self.columns)
        )

    def _binned(self, place: int) -> bool:
        """Whether a column's leaves hold more than one value."""
        domain = self.columns[place]
        return isinstance(domain, Interval) or bits_of(domain.size) > self.bits[place]

    def _on_leaves(self, descents: Mapping[str, Descent]) -> Masses:
        """Shares of all leaves, in the order of the grid's cells."""
        return {
            stratum: self._evenly(each.masses[-1])[..., self._order] for stratum, each in descents.items()
        }

    def _evenly(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shares of leaves, evenly within the nodes where a descent among few people ended."""
        leaves = max(1, 2**self.depth // masses.shape[-1])
        return np.repeat(masses / leaves, leaves, axis=-1)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """The leaf of every cell."""
        shape = [axis.bins for axis in self.cells.axes]
        parts = [each.reshape(-1).astype(np.uint64) for each in np.indices(shape)]
        return self.nodes.interleave(parts).view(np.int64)
