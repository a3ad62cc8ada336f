"""Boolean circuits: how they are built, and the frozen form that every backend runs.

Only AND costs anything when a circuit is garbled; XOR and NOT are free (Kolesnikov and Schneider,
"Improved garbled circuit: free XOR gates and applications", ICALP 2008). So a bit is a *literal*: twice
the number of its node, plus one when it is inverted. Literal 0 is false and literal 1 is true.

>>> build = Builder()
>>> x, y = build.input(GARBLER), build.input(EVALUATOR)
>>> circuit = build.compile([build.and_(x, y ^ 1), build.xor(x, 1)])
>>> circuit.ands, circuit.run(np.array([[0, 1, 1], [0, 0, 1]], dtype=np.uint8)).tolist()
(1, [[0, 1, 0], [1, 0, 0]])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter

Literal: TypeAlias = int
FALSE: Literal = 0
TRUE: Literal = 1
GARBLER, EVALUATOR = "garbler", "evaluator"
MAX_NODES = 2**20
"""More than any kernel of 64 bits needs; a limit on what a study can ask a device to build."""


@dataclass(frozen=True, eq=False)
class Gates:
    """Gates of one kind that do not depend on each other: wires ``left``, ``right`` give wires ``out``.

    ``flip`` says which operands of an AND are inverted first: two rows, for ``left`` and ``right``.
    ``first`` counts the ANDs before these. ``rows`` holds the same gate by gate: its output, its operands,
    and which of them are inverted.
    """

    kind: str
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    out: NDArray[np.intp]
    flip: NDArray[np.bool_]
    first: int
    rows: list[tuple[int, int, int, bool, bool]]

    @property
    def size(self) -> int:
        return self.left.size


@dataclass(frozen=True, eq=False)
class Circuit:
    """A compiled circuit: inputs of the garbler, then of the evaluator, then gates level by level.

    A wire is a place in memory, taken by another gate once its value is no longer needed; ``wires`` is how
    many places there are. ``outputs`` are wires, ``flip`` says which of them are inverted. ``depth`` counts
    ANDs on the longest path: the number of rounds of hashing.
    """

    garbler: int
    evaluator: int
    wires: int
    ands: int
    depth: int
    levels: tuple[Gates, ...] = field(repr=False)
    outputs: NDArray[np.intp] = field(repr=False)
    flip: NDArray[np.bool_] = field(repr=False)

    @property
    def inputs(self) -> int:
        """Bits of both parties together."""
        return self.garbler + self.evaluator

    def run(self, inputs: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Run in the clear: a row of zeros and ones for each input, a column for each instance.

        Eight instances share a byte, so a gate costs an eighth of a byte operation per instance.
        """
        instances = inputs.shape[1]
        state = np.empty((self.wires, (instances + 7) // 8), dtype=np.uint8)
        state[: self.inputs] = np.packbits(inputs, axis=1)
        for gates in self.levels:
            left, right = state[gates.left], state[gates.right]
            if gates.kind == "xor":
                state[gates.out] = left ^ right
            else:
                masks = np.where(gates.flip, np.uint8(255), np.uint8(0))[:, :, None]
                state[gates.out] = (left ^ masks[0]) & (right ^ masks[1])
        bits = np.unpackbits(state[self.outputs], axis=1, count=instances)
        return bits ^ self.flip[:, None].astype(np.uint8)


class Builder:
    """Makes gates one by one; constants are folded and equal gates are made once."""

    def __init__(self) -> None:
        self._operands: list[tuple[str, int, int]] = [("constant", 0, 0)]
        self._made: dict[tuple[str, int, int], Literal] = {}

    def input(self, party: str) -> Literal:
        """A fresh input bit of one party."""
        return self._node(party, 0, 0)

    def _node(self, kind: str, left: int, right: int) -> Literal:
        if len(self._operands) >= MAX_NODES:
            raise BadParameter(f"a circuit of more than {MAX_NODES} nodes is too large")
        self._operands.append((kind, left, right))
        return 2 * (len(self._operands) - 1)

    def _shared(self, kind: str, left: Literal, right: Literal) -> Literal:
        key = (kind, left, right)
        if key not in self._made:
            self._made[key] = self._node(*key)
        return self._made[key]

    def xor(self, left: Literal, right: Literal) -> Literal:
        flip = (left ^ right) & 1
        low, high = sorted((left & ~1, right & ~1))
        if low == high:
            return flip
        return (high if low == FALSE else self._shared("xor", low, high)) ^ flip

    def and_(self, left: Literal, right: Literal) -> Literal:
        """And: the gate that costs."""
        low, high = sorted((left, right))
        if low == FALSE or low == high ^ 1:
            return FALSE
        if low in (TRUE, high):
            return high
        return self._shared("and", low, high)

    def compile(self, outputs: Sequence[Literal]) -> Circuit:
        """Freeze the part of the circuit that ``outputs`` need."""
        wanted = [self._anchored(literal) for literal in outputs]
        alive = self._alive(literal >> 1 for literal in wanted)
        places = self._places(alive)
        wire: dict[int, int] = {}
        for party in (GARBLER, EVALUATOR):
            for node, (kind, _, _) in enumerate(self._operands):
                if kind == party:
                    wire[node] = len(wire)
        inputs = len(wire)
        groups = [places[place] for place in sorted(places)]
        last = self._last_uses(groups, [literal >> 1 for literal in wanted])
        levels, ands, wires = [], 0, inputs
        free: list[int] = []
        for number, nodes in enumerate(groups):
            for node in nodes:
                # The place freed last is the one still in the processor's cache.
                wire[node] = free.pop() if free else wires
                wires = max(wires, wire[node] + 1)
            gates = self._gates(nodes, wire, ands)
            ands += gates.size if gates.kind == "and" else 0
            levels.append(gates)
            free += [wire[node] for node in last[number]]
        garbler = sum(kind == GARBLER for kind, _, _ in self._operands)
        return Circuit(
            garbler=garbler,
            evaluator=inputs - garbler,
            wires=wires,
            ands=ands,
            depth=sum(gates.kind == "and" for gates in levels),
            levels=tuple(levels),
            outputs=np.array([wire[literal >> 1] for literal in wanted], dtype=np.intp),
            flip=np.array([literal & 1 for literal in wanted], dtype=np.bool_),
        )

    def _anchored(self, literal: Literal) -> Literal:
        """A constant output becomes some input XOR itself, so that every output is a wire."""
        if literal > TRUE:
            return literal
        if len(self._operands) < 2:
            raise BadParameter("a circuit needs at least one input")
        return self._shared("xor", 2, 2) ^ literal

    def _alive(self, roots: Iterable[int]) -> set[int]:
        alive: set[int] = set()
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if node not in alive:
                alive.add(node)
                kind, left, right = self._operands[node]
                waiting += [left >> 1, right >> 1] if kind in ("xor", "and") else []
        return alive

    def _places(self, alive: set[int]) -> dict[tuple[int, int], list[int]]:
        """The gates by (ANDs before, XORs since the last AND): all of one place can run together."""
        after: dict[int, tuple[int, int]] = {}
        places: dict[tuple[int, int], list[int]] = {}
        for node, (kind, left, right) in enumerate(self._operands):
            if kind not in ("xor", "and"):
                after[node] = (0, 0)
            elif node in alive:
                ands, xors = max(after[left >> 1], after[right >> 1])
                # The ANDs of a level come before its XORs.
                after[node] = (ands, xors + 1) if kind == "xor" else (ands + 1, 0)
                places.setdefault(after[node], []).append(node)
        return places

    def _last_uses(self, groups: list[list[int]], kept: list[int]) -> list[list[int]]:
        """For each group of gates, the nodes that nobody needs after it."""
        last: dict[int, int] = {}
        for number, nodes in enumerate(groups):
            for node in nodes:
                _, left, right = self._operands[node]
                last[left >> 1] = last[right >> 1] = number
        keep, ended = set(kept), [list[int]() for _ in groups]
        for node, number in last.items():
            if node not in keep:
                ended[number].append(node)
        return ended

    def _gates(self, nodes: list[int], wire: dict[int, int], ands: int) -> Gates:
        kind = self._operands[nodes[0]][0]
        pairs = np.array([self._operands[node][1:] for node in nodes], dtype=np.intp).T
        numbers = np.array([[wire[literal >> 1] for literal in row] for row in pairs.tolist()], dtype=np.intp)
        out = np.array([wire[node] for node in nodes], dtype=np.intp)
        flip = (pairs & 1).astype(np.bool_)
        columns = (out, numbers[0], numbers[1], *flip)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        return Gates(kind, numbers[0], numbers[1], out, flip, ands, rows)
