"""Whose privacy is promised: one record's, or that of a person with several; and whether sizes are hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...errors import BadParameter
from ...formats.checks import boolean, choice, fields, integer, required
from ...statistics import Statistic
from ..two_servers.budget import Query

RECORD, PERSON = "record", "person"
MOST = 10**6
"""Records of one person at most."""


@dataclass(frozen=True)
class Unit:
    """What neighbouring data differ in: all of up to ``most`` records.

    With public sizes a record keeps its class, and its other values change. With hidden sizes its class may
    change as well, and it may come or go.
    """

    kind: str = RECORD
    most: int = 1
    hide_sizes: bool = False

    def __post_init__(self) -> None:
        choice("unit", self.kind, (RECORD, PERSON))
        integer("max_records_per_person", self.most, 1, MOST)
        if self.kind == RECORD and self.most != 1:
            raise BadParameter("max_records_per_person is for unit='person': a record is one")
        boolean("hide_sizes", self.hide_sizes)

    @classmethod
    def of(cls, kind: Any, most: Any, hide_sizes: Any) -> Unit:
        if kind == PERSON and most is None:
            raise BadParameter(
                "unit='person' needs max_records_per_person: the most records of one person that a site uses"
            )
        return cls(kind, 1 if most is None else most, hide_sizes)

    def to_json(self) -> dict[str, Any]:
        return {"unit": self.kind, "max_records_per_person": self.most, "hide_sizes": self.hide_sizes}

    @classmethod
    def from_json(cls, spec: Mapping[str, Any]) -> Unit:
        return cls(spec["unit"], spec["max_records_per_person"], spec["hide_sizes"])

    def counts(self, cells: int, share: Fraction) -> Query:
        """Counts of cells by class: a record leaves one and enters another, and so do a person's."""
        return Query(cells, 2 * self.most, 2 * self.most**2, share)

    def sums(self, reaches: Sequence[tuple[int, int]], share: Fraction) -> Query:
        """One sum for each class of numbers between the two ends of its class.

        A record that keeps its class moves one sum by the distance of the ends. Where it may change its
        class, it leaves one sum and enters another, each moved by its number alone.
        """
        within = max(high - low for low, high in reaches)
        reach, square = within, within**2
        if self.hide_sizes:
            alone = sorted((max(-low, high) for low, high in reaches), reverse=True)[:2]
            reach, square = max(reach, sum(alone)), max(square, sum(each**2 for each in alone))
        return Query(1, self.most * reach, self.most**2 * square, share)

    def neighbours(self, statistic: Statistic) -> str:
        """What the claim says that nobody can tell."""
        columns = statistic.columns if self.hide_sizes else statistic.private_columns
        values = " and ".join(columns)
        whose = (
            f"one record's {values}"
            if self.kind == RECORD
            else f"one person's {values}, in up to {self.most} records"
        )
        there = (
            ", and whether " + ("it is" if self.kind == RECORD else "they are") + " there"
            if self.hide_sizes
            else ""
        )
        return f"any change of {whose}{there}"


UNIT_FIELDS = ("unit", "max_records_per_person", "hide_sizes")


def read_fields(what: str, spec: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse a file's object that lacks one of these names, or has others."""
    fields(what, spec, (*names, *UNIT_FIELDS))
    required(what, spec, (*names, *UNIT_FIELDS))
