"""Vectors of people who answer alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpairs import Participant, Study, Tally
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.rounds import place_in_first
from dpairs.protocols.tree.answers import TreeAnswers
from dpairs.protocols.tree.coins import (
    even_levels,
    every_row,
    independent_levels,
    independent_rows,
    row,
)
from dpairs.randomness import TapeRandomness
from dpairs.randomness.coins import Purpose

from .vector import PEOPLE, Person, Vector, stream, tape_of, written

ASKED = 130
"""Of so many indices it is written down who is asked: two blocks of 64, and a part of a third."""


class Reports(Vector):
    """A study of people who answer alone, in one round or in two."""

    def report(self, index: int, person: Person, tape: str, comment: str = "") -> bytes:
        stratum, values = person
        bits = TapeRandomness(bytes.fromhex(tape))
        made = Participant(self.study, index, stratum, max_delta=self.study.delta, bits=bits).report(**values)
        self.tally.add(made)
        self.good(
            "report",
            **({"comment": comment} if comment else {}),
            index=str(index),
            stratum=stratum,
            values=written(self.study, values),
            tape=tape,
            **public_coins(self.study, stratum, index),
            symbol=made.symbol,
            wire=bytes(made).hex(),
        )
        return bytes(made)

    def asks(self) -> None:
        """Who of the first people of each stratum is asked in this round."""
        for stratum in self.study.strata:
            asked = [index for index in range(ASKED) if self.study.asks(stratum, index)]
            self.good("asks", stratum=stratum, count=ASKED, asked=asked)

    def next_round(self) -> None:
        """The study that follows the last tally; all operations below are of that study."""
        self.study = self.study.next(self.tally)
        self.tally = Tally(self.study)
        self.good("next", study=self.study.to_json(), study_id=self.study.id)


def even_level(study: Study, tree: TreeAnswers, place: int, index: int) -> Any:
    """The level of a person: of those that are dealt out, or of all."""
    dealt = tree.dealt if isinstance(tree, PilotTree) else ()
    levels = np.array(dealt or range(1, tree.depth + 1))
    return levels[even_levels(study.coins, place, index, 1, levels.size) - 1]


def public_coins(study: Study, stratum: str, index: int) -> dict[str, Any]:
    """Of a tree study: the level and the row that each bit of a report is about."""
    tree: Any = study.protocol
    place = study.strata.index(stratum)
    if isinstance(tree, Projection) and isinstance(tree.pilot, PilotTree):
        # Those who are asked first are numbered without gaps, and coins are of that number.
        index = place_in_first(study.coins, place, index, tree.share)
        tree = tree.pilot
    if not isinstance(tree, TreeAnswers):
        return {}
    if tree.everybody_everywhere:
        rows = every_row(study.coins, place, index, 1, tree.depth, tree.rows)[0].tolist()
        levels = list(range(1, tree.depth + 1))
    else:
        words = study.coins.words(Purpose.ROW, place, index, 1)
        at_level = (
            even_level(study, tree, place, index)
            if tree.splitting == "users"
            else independent_levels(words, tree.depth)
        )
        bits = min(int(at_level[0]), tree.parities)
        if bits == 1:
            rows = row(words[:, 0], at_level, tree.rows).tolist()
        else:
            blocks = -(-(tree.parities - 1) // 4)
            more = study.coins.words(Purpose.MORE_ROWS, place, index * blocks, blocks).reshape(1, -1)
            rows = independent_rows(np.concatenate([words[:, :1], more], axis=1)[:, :bits], at_level)[
                0
            ].tolist()
        levels = at_level.tolist() * bits
    pairs = zip(levels, rows, strict=True)
    return {"coins": [{"level": level, "row": str(number)} for level, number in pairs]}


def answers(name: str, study: Study, people: list[Person], words: int = 1) -> Reports:
    vector = Reports(study)
    tapes = stream(name, PEOPLE * 8 * words)
    for place, person in enumerate(people):
        # Far apart, up to the largest index there is.
        index = place if place < PEOPLE - 1 else 2**53 - 1
        vector.report(index, person, tapes[place * 8 * words : (place + 1) * 8 * words].hex())
    vector.answer()
    return vector


def at_words(study: Study, cells: list[Any], words: dict[str, int]) -> Reports:
    vector = Reports(study)
    for value in cells:
        for comment, word in words.items():
            index = len(vector.operations)
            vector.report(index, ("everybody", {"value": value}), tape_of([word]), f"{comment}: {word}")
    vector.answer()
    return vector
