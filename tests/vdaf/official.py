"""The draft's test vectors: which instance a file is about, and what it says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpairs.errors import BadValue
from dpairs.vdaf import instances
from dpairs.vdaf.arguments import whole
from dpairs.vdaf.circuits import EachElement
from dpairs.vdaf.fields import FIELD64, Vector
from dpairs.vdaf.gadgets import PolynomialOf
from dpairs.vdaf.prio3 import Prio3

FOLDER = Path(__file__).parent.parent.parent / "vectors" / "vdaf"
FILES = sorted(FOLDER.glob("Prio3*.json"))
FEWEST = 25
"""How many files there are: an empty folder must not pass."""


@dataclass(frozen=True)
class HigherDegree(EachElement):
    """0, 1 or 2, added up: x (x - 1) (x - 2) = 0. The draft has it in its vectors alone."""

    @property
    def length(self) -> int:
        return 1

    @property
    def gadget(self) -> PolynomialOf:
        return PolynomialOf((0, 2, -3, 1))

    def encode(self, measurement: Any) -> Vector:
        return self.field.vector([whole("the measurement", measurement, 0, 2, BadValue)])


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def instance(kind: str, given: dict[str, Any]) -> Prio3:
    """The Prio3 of a file, from the name in front and the parameters in it."""
    shares = given["shares"]
    match kind:
        case "Prio3Count":
            return instances.count(shares)
        case "Prio3Sum":
            return instances.sum_up(given["max_measurement"], shares)
        case "Prio3SumVec":
            return instances.sum_vec(given["length"], given["max_measurement"], given["chunk_length"], shares)
        case "Prio3SumVecWithMultiproof":
            return instances.sum_vec_with_multiproof(
                given["length"], given["max_measurement"], given["chunk_length"], shares
            )
        case "Prio3Histogram":
            return instances.histogram(given["length"], given["chunk_length"], shares)
        case "Prio3MultihotCountVec":
            return instances.multihot_count_vec(
                given["length"], given["max_weight"], given["chunk_length"], shares
            )
        case "Prio3OneHot":
            return instances.one_hot(given["length"], given["chunk_length"], shares, given["proofs"])
        case "Prio3HigherDegree":
            return Prio3(HigherDegree(FIELD64), 0xFFFFFFFF, shares=shares)
    raise ValueError(kind)
