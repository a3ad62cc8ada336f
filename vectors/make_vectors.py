"""Write the test vectors: `python vectors/make_vectors.py [folder]`. Their layout is in vectors/README.md.

Everything is derived from the names below, so that a second run writes the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from dpairs import (
    BadFile,
    BadParameter,
    BadValue,
    Categories,
    DpairsError,
    Integers,
    Interval,
    Kernel,
    Levels,
    NotAsked,
    Participant,
    Report,
    Study,
    Tally,
    TapeExhausted,
    WrongStudy,
)
from dpairs.formats.canonical import canonical, digest
from dpairs.mechanisms import BitResponse, KaryResponse, ProjectiveResponse, WindowResponse
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.protocols.rounds import place_in_first
from dpairs.protocols.tree.answers import TreeAnswers
from dpairs.protocols.tree.coins import (
    even_levels,
    every_row,
    independent_levels,
    independent_rows,
    row,
)
from dpairs.randomness import WORDS, TapeRandomness
from dpairs.randomness.coins import Purpose

FOLDER = Path(__file__).parent
PEOPLE = 40
ASKED = 130
"""Of so many indices it is written down who is asked: two blocks of 64, and a part of a third."""
DIGITS = 13
"""Estimates are written to so many digits: the last ones depend on the processor."""

Person = tuple[str, dict[str, Any]]
"""Stratum and values."""


def stream(name: str, count: int) -> bytes:
    """Bytes that look random and are the same everywhere."""
    return hashlib.shake_128(name.encode()).digest(count)


def tape_of(words: Iterable[int]) -> str:
    return b"".join(word.to_bytes(8, "little") for word in words).hex()


# ---------------------------------------------------------------- operations


class Vector:
    """A study and the operations on it, run as they are written down."""

    def __init__(self, study: Study) -> None:
        self.first = study
        self.study = study
        self.tally = Tally(study)
        self.operations: list[dict[str, Any]] = []

    def good(self, operation: str, **fields: Any) -> None:
        self.operations.append({"operation": operation, "success": True, **fields})

    def bad(
        self, operation: str, error: type[DpairsError], why: str, act: Callable[[], Any], **fields: Any
    ) -> None:
        """An operation that must fail, and does."""
        try:
            act()
        except error as raised:
            if type(raised) is not error:
                raise
        else:
            raise AssertionError(f"{why}: accepted")
        self.operations.append(
            {"operation": operation, "success": False, "error": error.__name__, "comment": why, **fields}
        )

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

    def count(self) -> None:
        """The tally of all reports above."""
        self.good("tally", tally=self.tally.to_json())

    def answer(self) -> None:
        """The tally of all reports above and its estimate."""
        self.count()
        estimate = self.tally.estimate()
        self.good(
            "estimate",
            value=rounded(estimate.value),
            standard_error=rounded(estimate.standard_error),
            sample_standard_error=rounded(estimate.sample_standard_error),
        )

    def text(self) -> str:
        content = {
            "study": self.first.to_json(),
            "study_id": self.first.id,
            "operations": self.operations,
        }
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


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
        found = (
            even_level(study, tree, place, index)
            if tree.splitting == "users"
            else independent_levels(words, tree.depth)
        )
        bits = min(int(found[0]), tree.parities)
        if bits == 1:
            rows = row(words[:, 0], found, tree.rows).tolist()
        else:
            blocks = -(-(tree.parities - 1) // 4)
            more = study.coins.words(Purpose.MORE_ROWS, place, index * blocks, blocks).reshape(1, -1)
            rows = independent_rows(np.concatenate([words[:, :1], more], axis=1)[:, :bits], found)[0].tolist()
        levels = found.tolist() * bits
    pairs = zip(levels, rows, strict=True)
    return {"coins": [{"level": level, "row": str(number)} for level, number in pairs]}


def written(study: Study, values: dict[str, Any]) -> dict[str, Any]:
    """Values as JSON: whole numbers of an `integers` domain have up to 64 bits, so they are strings."""
    whole = {
        name
        for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True)
        if isinstance(domain, Integers)
    }
    return {name: str(value) if name in whole else value for name, value in values.items()}


def rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


# ---------------------------------------------------------------- good ones


def answers(name: str, study: Study, people: list[Person], words: int = 1) -> Vector:
    vector = Vector(study)
    tapes = stream(name, PEOPLE * 8 * words)
    for place, person in enumerate(people):
        # Far apart, up to the largest index there is.
        index = place if place < PEOPLE - 1 else 2**53 - 1
        vector.report(index, person, tapes[place * 8 * words : (place + 1) * 8 * words].hex())
    vector.answer()
    return vector


def numbers(name: str, *edges: float) -> list[float]:
    """Numbers of [0, 1]: the edges of bins, then any."""
    drawn = struct.unpack(f">{PEOPLE}H", stream(name + " values", 2 * PEOPLE))
    return [*edges, *(round(each / 65535, 4) for each in drawn)][:PEOPLE]


def picks(name: str, values: list[Any]) -> list[Any]:
    return [values[byte % len(values)] for byte in stream(name + " values", PEOPLE)]


def everybody(**columns: list[Any]) -> list[Person]:
    return [
        ("everybody", dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)
    ]


def in_classes(scores: list[Any]) -> list[Person]:
    return [(("positive", "negative")[place % 2], {"score": score}) for place, score in enumerate(scores)]


def auc_krr() -> Vector:
    study = Study.create("auc", epsilon=2.0, domain=Interval(0, 1), bins=5, mechanism="krr", seed=1)
    return answers("auc_krr", study, in_classes(numbers("auc_krr", 0.0, 1.0, 0.2, 0.4, 0.6, 0.8)))


def auc_projective() -> Vector:
    study = Study.create(
        "auc", epsilon=1.0, domain=Interval(-3, 5), bins=32, mechanism="projective", ties="zero", seed=2
    )
    scores = [8 * number - 3 for number in numbers("auc_projective", 0.0, 1.0, 0.5)]
    return answers("auc_projective", study, in_classes(scores))


def auc_private_labels() -> Vector:
    study = Study.create(
        "auc", epsilon=3.0, domain=Interval(0, 1), bins=4, mechanism="krr", labels="private", seed=3
    )
    name = "auc_private_labels"
    labels = picks(name + " labels", [0, 1])
    return answers(name, study, everybody(score=numbers(name, 0.25, 1.0), label=labels))


def auc_integers_64_bits() -> Vector:
    low, high = -(2**63), 2**63 - 1
    study = Study.create("auc", epsilon=2.0, domain=Integers(low, high), bins=5, mechanism="krr", seed=4)
    # Bins are as equal as whole numbers allow: bin i begins at ceil(i 2^64 / 5).
    starts = [low - (-place * 2**64 // 5) for place in range(1, 5)]
    edges = [low, high, *(start - back for start in starts for back in (1, 0))]
    name = "auc_integers_64_bits"
    drawn = struct.unpack(f">{PEOPLE}q", stream(name + " values", 8 * PEOPLE))
    return answers(name, study, in_classes([*edges, *drawn][:PEOPLE]))


def kendall_tau_krr() -> Vector:
    levels = Levels(range(1, 5))
    study = Study.create("kendall_tau", epsilon=3.0, domain=(levels, levels), mechanism="krr", seed=5)
    x, y = (picks(f"kendall_tau_krr {side}", [1, 2, 3, 4]) for side in "xy")
    return answers("kendall_tau_krr", study, everybody(x=x, y=y))


def kendall_tau_b_projective() -> Vector:
    moods = ["awful", "bad", "so-so", "fair", "good", "great", "über"]
    study = Study.create(
        "kendall_tau",
        epsilon=2.0,
        domain=(Levels([0, 0.5, 2]), Levels(moods)),
        variant="b",
        mechanism="projective",
        seed=6,
    )
    name = "kendall_tau_b_projective"
    return answers(name, study, everybody(x=picks(name + " x", [0, 0.5, 2]), y=picks(name + " y", moods)))


def gini_mean_difference_random_rounding() -> Vector:
    study = Study.create(
        "gini_mean_difference",
        epsilon=2.0,
        domain=Interval(0, 1),
        bins=5,
        rounding="random",
        mechanism="krr",
        seed=7,
    )
    name = "gini_mean_difference_random_rounding"
    return answers(name, study, everybody(value=numbers(name, 0.0, 1.0, 0.25, 0.5)), words=2)


def gini_coefficient_integers() -> Vector:
    study = Study.create(
        "gini_coefficient", epsilon=1.0, domain=Integers(0, 1_000_000), bins=7, mechanism="projective", seed=8
    )
    name = "gini_coefficient_integers"
    values = [round(1_000_000 * number) for number in numbers(name, 0.0, 1.0)]
    return answers(name, study, everybody(value=values))


def variance_levels() -> Vector:
    levels = [-1, 0, 0.5, 10]
    study = Study.create("variance", epsilon=2.0, domain=Levels(levels), kernel="midpoint", seed=9)
    return answers("variance_levels", study, everybody(value=picks("variance_levels", levels)))


def collision_entropy_strings() -> Vector:
    words = ["", "straße", "日本", "𝄞 clef", 'quote " \\ and\nline']
    study = Study.create("collision_entropy", epsilon=3.0, domain=Categories(words), mechanism="krr", seed=10)
    name = "collision_entropy_strings"
    return answers(name, study, everybody(value=picks(name, words[1:3] * 3 + words)))


def custom_kernel() -> Vector:
    within = Kernel(
        lambda a, b: np.minimum(np.abs(a - b), 0.5),
        range=(0, 0.5),
        lipschitz=1.0,
        domain=Interval(0, 1),
        label="distance up to 1/2",
    )
    study = Study.create(within, epsilon=2.0, bins=4, mechanism="krr", seed=11)
    return answers("custom_kernel", study, everybody(value=numbers("custom_kernel", 0.0, 1.0)))


def tree_study(domain: Any = None, **options: Any) -> Study:
    chosen: Any = Interval(0, 1) if domain is None else domain
    return Study.create("auc", protocol="tree", domain=chosen, **options)


def tree_users() -> Vector:
    study = tree_study(epsilon=2.0, bins=8, seed=21)
    return answers("tree_users", study, in_classes(numbers("tree_users", 0.0, 1.0, 0.125, 0.5, 0.875)))


def tree_users_independent() -> Vector:
    study = tree_study(
        Integers(-5, 94),
        epsilon=3.0,
        bins=16,
        splitting="users-independent",
        rows="all",
        ties="zero",
        seed=22,
    )
    scores = [round(99 * number) - 5 for number in numbers("tree_users_independent", 0.0, 1.0)]
    return answers("tree_users_independent", study, in_classes(scores))


def tree_several_bits() -> Vector:
    study = tree_study(Interval(-3, 5), epsilon=5.0, bins=32, answer="several-bits", seed=23)
    scores = [8 * number - 3 for number in numbers("tree_several_bits", 0.0, 1.0, 0.5)]
    return answers("tree_several_bits", study, in_classes(scores))


def tree_budget() -> Vector:
    moods = ["awful", "bad", "so-so", "fair", "über"]
    study = tree_study(Levels(moods), epsilon=6.0, splitting="budget", seed=24)
    return answers("tree_budget", study, in_classes(picks("tree_budget", moods)), words=3)


def tree_budget_advanced() -> Vector:
    study = tree_study(
        epsilon=3.0, bins=16, splitting="budget-advanced", delta=1e-6, rows="all", ties="zero", seed=25
    )
    return answers("tree_budget_advanced", study, in_classes(numbers("tree_budget_advanced", 0.25)), words=4)


def tree_budget_advanced_paper() -> Vector:
    study = tree_study(epsilon=1.5, bins=2**8, splitting="budget-advanced-paper", delta=1e-3, seed=26)
    scores = numbers("tree_budget_advanced_paper", 0.0, 1.0)
    return answers("tree_budget_advanced_paper", study, in_classes(scores), words=8)


def tree_integers_64_bits() -> Vector:
    """The deepest tree: rows and nodes of 64 bits. Too few people for an estimate that says anything."""
    low, high = -(2**63), 2**63 - 1
    study = tree_study(Integers(low, high), epsilon=2.0, seed=27)
    name = "tree_integers_64_bits"
    drawn = struct.unpack(f">{PEOPLE}q", stream(name + " values", 8 * PEOPLE))
    people = in_classes([low, high, -1, 0, low + 1, high - 1, *drawn])
    vector, tapes = Vector(study), stream(name, 8 * len(people))
    for place, person in enumerate(people):
        # Through every level, and up to the largest index there is.
        index = 3 * place if place < len(people) - 1 else 2**53 - 1
        vector.report(index, person, tapes[8 * place : 8 * place + 8].hex())
    vector.count()
    return vector


def tree_words() -> Vector:
    """The words at which a bit changes."""
    study = tree_study(Levels(range(4)), epsilon=1.0, seed=28)
    tree = study.protocol
    assert isinstance(tree, TreeAnswers)
    floor = tree.responses[0].floor
    words = {
        "first word": 0,
        "floor - 1": floor - 1,
        "floor": floor,
        "2 floor - 1": 2 * floor - 1,
        "2 floor": 2 * floor,
        "last word": WORDS - 1,
    }
    vector = Vector(study)
    for score in range(4):
        for comment, word in words.items():
            index = len(vector.operations)
            person = (("positive", "negative")[index % 2], {"score": score})
            vector.report(index, person, tape_of([word]), f"{comment}: {word}")
    vector.answer()
    return vector


# ---------------------------------------------------------------- two rounds


def both_rounds(name: str, study: Study, people: list[Person]) -> Vector:
    """Each person answers in the round that asks; the index is the person's place, far apart at the end."""
    vector, tapes = Vector(study), stream(name, 8 * 2 * len(people))
    indexed = [
        (place if place < len(people) - 8 else 2**53 - 1 - place, each) for place, each in enumerate(people)
    ]
    vector.asks()
    for turn in (1, 2):
        words = 1
        if turn == 2:
            vector.next_round()
            vector.asks()
            assert isinstance(vector.study.protocol, SecondRound)
            words = 2 if isinstance(vector.study.protocol.mechanism, WindowResponse) else 1
        for place, (index, person) in enumerate(indexed):
            if vector.study.asks(person[0], index):
                vector.report(index, person, tapes[16 * place : 16 * place + 8 * words].hex())
        if turn == 1:
            vector.count()
    vector.answer()
    return vector


def projection(which: Any, domain: Any, epsilon: float, seed: int, **options: Any) -> Study:
    return Study.create(which, protocol="projection", domain=domain, epsilon=epsilon, seed=seed, **options)


def twice(values: list[Any]) -> list[Any]:
    """Twice as many people as other vectors have: they share two rounds."""
    return [*values, *reversed(values)]


def projection_histogram_auc() -> Vector:
    name = "projection_histogram_auc"
    study = projection("auc", Levels(range(5)), 2.0, 41)
    return both_rounds(name, study, in_classes(twice(picks(name, list(range(5))))))


def projection_histogram_kendall_tau_b() -> Vector:
    name, moods = "projection_histogram_kendall_tau_b", ["bad", "so-so", "fair", "über"]
    domains = Levels([0, 0.5, 2]), Levels(moods)
    study = projection("kendall_tau", domains, 3.0, 42, variant="b", pilot_fraction=6 / 64)
    x, y = picks(name + " x", [0, 0.5, 2]), picks(name + " y", moods)
    return both_rounds(name, study, everybody(x=twice(x), y=twice(y)))


def projection_histogram_entropy() -> Vector:
    name, words = "projection_histogram_entropy", ["", "straße", "日本", "𝄞 clef"]
    study = projection("collision_entropy", Categories(words), 2.0, 43)
    return both_rounds(name, study, everybody(value=twice(picks(name, words[1:2] * 4 + words))))


def projection_histogram_interval() -> Vector:
    """Cells of an interval: a person's function is read between their edges."""
    name = "projection_histogram_interval"
    study = projection("gini_mean_difference", Interval(-3, 5), 1.0, 44, pilot="histogram", bins=5)
    values = [8 * number - 3 for number in numbers(name, 0.0, 1.0, 0.2, 0.4)]
    return both_rounds(name, study, everybody(value=twice(values)))


def projection_tree_auc() -> Vector:
    name = "projection_tree_auc"
    study = projection("auc", Interval(0, 1), 1.0, 45, bins=16, pilot_fraction=0.5)
    return both_rounds(name, study, in_classes(twice(numbers(name, 0.0, 1.0, 0.0625, 0.5, 0.9375))))


def projection_tree_window() -> Vector:
    """A large epsilon: several bits in the first round, one of many symbols in the second."""
    name = "projection_tree_window"
    study = projection("auc", Interval(0, 1), 5.0, 46, bins=64, pilot_fraction=0.5)
    return both_rounds(name, study, in_classes(twice(numbers(name, 0.0, 1.0, 0.5))))


def projection_tree_integers_64_bits() -> Vector:
    low, high = -(2**63), 2**63 - 1
    name = "projection_tree_integers_64_bits"
    study = projection("auc", Integers(low, high), 3.0, 47, bins=2**32, pilot_fraction=0.5)
    drawn = struct.unpack(f">{PEOPLE}q", stream(name + " values", 8 * PEOPLE))
    return both_rounds(name, study, in_classes(twice([low, high, -1, 0, *drawn][:PEOPLE])))


def projection_tree_private_labels() -> Vector:
    name = "projection_tree_private_labels"
    study = projection("auc", Interval(0, 1), 2.0, 48, bins=8, labels="private", pilot_fraction=0.5)
    labels = picks(name + " labels", [0, 1])
    return both_rounds(name, study, everybody(score=twice(numbers(name, 0.25, 1.0)), label=twice(labels)))


def projection_tree_vus() -> Vector:
    name = "projection_tree_vus"
    study = projection("vus", Levels(range(7)), 2.0, 49, ties="zero", pilot_fraction=0.5)
    scores = picks(name, list(range(7)))
    people = [
        (("low", "middle", "high")[place % 3], {"score": each}) for place, each in enumerate(twice(scores))
    ]
    return both_rounds(name, study, people)


def projection_tree_kernel() -> Vector:
    within = Kernel(
        lambda a, b: np.minimum(np.abs(a - b), 0.5),
        range=(0, 0.5),
        lipschitz=1.0,
        domain=Interval(0, 1),
        label="distance up to 1/2",
    )
    name = "projection_tree_kernel"
    study = projection(within, None, 2.0, 50, bins=8, pilot_fraction=0.5)
    return both_rounds(name, study, everybody(value=twice(numbers(name, 0.0, 1.0))))


def projection_tree_dealt_levels() -> Vector:
    """A deep tree that deals out some of its levels, the coarse ones several times."""
    name = "projection_tree_dealt_levels"
    study = projection("gini_mean_difference", Interval(0, 1e5), 1.0, 54, pilot_fraction=0.5)
    values = [1e5 * number for number in numbers(name, 0.0, 1.0, 0.0, 0.5)]
    return both_rounds(name, study, everybody(value=twice(values)))


def projection_tree_plane() -> Vector:
    """The same over two columns, at an epsilon of several bits."""
    name = "projection_tree_plane"
    study = projection("kendall_tau", (Interval(-2, 6), Integers(0, 99)), 3.0, 55, pilot_fraction=0.5)
    x = [8 * number - 2 for number in numbers(name + " x", 0.0, 1.0, 0.25)]
    y = picks(name + " y", [0, 40, 40, 40, 63, 64, 99])
    return both_rounds(name, study, everybody(x=twice(x), y=twice(y)))


def second_round(epsilon: float, seed: int) -> Vector:
    """A small study in its second round."""
    study = projection("gini_mean_difference", Levels(range(4)), epsilon, seed)
    vector = Vector(study)
    for index in range(64):
        if study.asks("everybody", index):
            tape = stream(f"second round {seed} {index}", 8).hex()
            vector.report(index, ("everybody", {"value": index % 4}), tape)
    vector.count()
    vector.next_round()
    return vector


def asked(study: Study, place: int) -> int:
    """The index of the place-th person who is asked."""
    return [index for index in range(64 * (place + 1)) if study.asks("everybody", index)][place]


def projection_bit_words() -> Vector:
    """The words at which a bit changes, for every value."""
    vector = second_round(1.0, 51)
    protocol = vector.study.protocol
    assert isinstance(protocol, SecondRound)
    bit = protocol.mechanism
    assert isinstance(bit, BitResponse)
    for value in range(4):
        threshold = bit.threshold(float(protocol.influences["everybody"]([np.array([value])], ("value",))[0]))
        words = {"first": 0, "last that is 1": threshold - 1, "first that is 0": threshold, "last": WORDS - 1}
        for comment, word in words.items():
            index = asked(vector.study, vector.tally.n)
            vector.report(index, ("everybody", {"value": value}), tape_of([word]), f"{comment}: {word}")
    vector.answer()
    return vector


def projection_window_words() -> Vector:
    """The words at which a window's symbol changes, and those at which the window does."""
    vector = second_round(5.0, 52)
    protocol = vector.study.protocol
    assert isinstance(protocol, SecondRound)
    window = protocol.mechanism
    assert isinstance(window, WindowResponse)
    top = window.symbols * window.floor
    end = top + window.width * window.boost
    symbols = {
        "first word": 0,
        "floor - 1": window.floor - 1,
        "floor": window.floor,
        "symbols floor - 1": top - 1,
        "symbols floor": top,
        "symbols floor + boost - 1": top + window.boost - 1,
        "last boosted word": end - 1,
        "last word": WORDS - 1,
    }
    if window.width > 1:
        symbols["symbols floor + boost"] = top + window.boost
    if window.leftover:
        symbols["first leftover word"] = end
    for value in range(4):
        height = float(protocol.influences["everybody"]([np.array([value])], ("value",))[0])
        rest = round(height * 2**32) * window.last % 2**32
        windows = {"lower window": 0, "upper window": WORDS - 1}
        if rest:
            windows |= {"last lower": ((2**32 - rest) << 32) - 1, "first upper": (2**32 - rest) << 32}
        pairs = [(name, windows["lower window"], word) for name, word in symbols.items()]
        pairs += [(name, word, top) for name, word in windows.items()]
        for comment, first, second in pairs:
            index = asked(vector.study, vector.tally.n)
            note = f"{comment}: {first}, {second}"
            vector.report(index, ("everybody", {"value": value}), tape_of([first, second]), note)
    vector.answer()
    return vector


# ---------------------------------------------------------------- words at the thresholds


def at_words(study: Study, cells: list[Any], words: dict[str, int]) -> Vector:
    vector = Vector(study)
    for value in cells:
        for comment, word in words.items():
            index = len(vector.operations)
            vector.report(index, ("everybody", {"value": value}), tape_of([word]), f"{comment}: {word}")
    vector.answer()
    return vector


def krr_thresholds() -> Vector:
    study = Study.create("variance", epsilon=1.0, domain=Levels(range(5)), mechanism="krr", seed=12)
    krr = study.protocol.mechanism  # type: ignore[attr-defined]
    assert isinstance(krr, KaryResponse)
    top = krr.inputs * krr.floor
    words = {
        "first word": 0,
        "floor - 1": krr.floor - 1,
        "floor": krr.floor,
        "k floor - 1": top - 1,
        "k floor": top,
        "last word": WORDS - 1,
    }
    return at_words(study, [0, 2, 4], words)


def projective_thresholds() -> Vector:
    study = Study.create("variance", epsilon=1.0, domain=Levels(range(20)), mechanism="projective", seed=13)
    plane = study.protocol.mechanism  # type: ignore[attr-defined]
    assert isinstance(plane, ProjectiveResponse)
    assert plane.dimension == 4
    assert plane.leftover > 2, "choose another epsilon: this one leaves too few words over"
    top = plane.symbols * plane.floor
    end = top + plane.favoured * plane.boost
    words = {
        "first word": 0,
        "floor - 1": plane.floor - 1,
        "floor": plane.floor,
        "symbols floor - 1": top - 1,
        "symbols floor": top,
        "symbols floor + boost - 1": top + plane.boost - 1,
        "symbols floor + boost": top + plane.boost,
        "last boosted word": end - 1,
        "first leftover word": end,
        "second leftover word": end + 1,
        "last word": WORDS - 1,
    }
    return at_words(study, [0, 7, 19], words)


def projective_line() -> Vector:
    """Few cells and a large epsilon: the geometry is a line and the mechanism k-ary randomized response."""
    study = Study.create("variance", epsilon=4.0, domain=Levels(range(3)), mechanism="projective", seed=14)
    line = study.protocol.mechanism  # type: ignore[attr-defined]
    assert isinstance(line, ProjectiveResponse)
    assert line.dimension == 2
    top = line.symbols * line.floor
    words = {
        "first word": 0,
        "floor - 1": line.floor - 1,
        "floor": line.floor,
        "symbols floor - 1": top - 1,
        "symbols floor": top,
        "last word": WORDS - 1,
    }
    return at_words(study, [0, 1, 2], words)


# ---------------------------------------------------------------- bad ones


def small_study(seed: int = 15) -> Study:
    return Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=5, mechanism="krr", seed=seed)


def signed(content: dict[str, Any]) -> str:
    """A study's text whose id does belong to its contents."""
    content = {name: value for name, value in content.items() if name != "id"}
    return canonical({**content, "id": digest(content)})


def bad_study() -> Vector:
    study = small_study()
    vector, text, content = Vector(study), study.to_json(), json.loads(study.to_json())
    protocol = content["protocol"]

    def refuse(why: str, changed: str) -> None:
        assert changed != text
        vector.bad("load_study", BadFile, why, lambda: Study.from_json(changed), text=changed)

    vector.good("load_study", text=text)
    vector.good("load_study", comment="spaces and the order of keys mean nothing", text=spaced(content))
    refuse("cut off", text[: len(text) // 2])
    refuse("empty", "")
    refuse("text after the end", text + "}")
    refuse("one digit edited", text.replace('"epsilon":1,', '"epsilon":2,'))
    refuse("a digit of the id edited", text.replace(study.id, study.id[:-1] + "x"))
    refuse("a key twice", text.replace('"epsilon":1,', '"epsilon":1,"epsilon":1,'))
    refuse("an unknown field", signed({**content, "comment": "hello"}))
    refuse("an unknown field of the protocol", signed({**content, "protocol": {**protocol, "x": 1}}))
    refuse("a field is missing", signed({name: content[name] for name in content if name != "seed"}))
    refuse("another version", signed({**content, "version": 2}))
    refuse("another format", signed({**content, "format": "dpairs-tally"}))
    refuse("promises less epsilon than its mechanism loses", signed({**content, "epsilon": 0.99}))
    refuse("delta that no protocol uses", signed({**content, "delta": 0.1}))
    refuse("unknown protocol", signed({**content, "protocol": {**protocol, "name": "raw"}}))
    floor = {**protocol["mechanism"], "floor": int(protocol["mechanism"]["floor"])}
    refuse("a threshold as a number", signed({**content, "protocol": {**protocol, "mechanism": floor}}))
    inputs = {**protocol["mechanism"], "inputs": 4}
    refuse("a mechanism for other cells", signed({**content, "protocol": {**protocol, "mechanism": inputs}}))
    refuse("a list", "[]")
    return vector


def spaced(content: dict[str, Any]) -> str:
    return json.dumps(dict(sorted(content.items(), reverse=True)), indent=2)


def bad_report() -> Vector:
    study, other = small_study(), small_study(seed=16)
    vector = Vector(study)
    wire = vector.report(17, ("positive", {"score": 0.5}), tape_of([0]))
    foreign = bytes(Report(other, "positive", 17, 0))

    def refuse(error: type[DpairsError], why: str, changed: bytes) -> None:
        act = lambda: Report.from_bytes(changed, study)  # noqa: E731
        vector.bad("read_report", error, why, act, wire=changed.hex())

    def edited(place: int, value: int) -> bytes:
        return wire[:place] + bytes([value]) + wire[place + 1 :]

    vector.good("read_report", wire=wire.hex(), stratum="positive", index="17", symbol=0)
    refuse(BadValue, "a byte too many", wire + b"\0")
    refuse(BadValue, "cut off", wire[:-1])
    refuse(BadValue, "empty", b"")
    refuse(BadValue, "another wire version", edited(0, 2))
    refuse(WrongStudy, "another study's report", foreign)
    refuse(BadValue, "unknown stratum", edited(9, 2))
    refuse(BadParameter, "symbol out of range", edited(18, 5))
    refuse(BadParameter, "index of 2^53", wire[:10] + (2**53).to_bytes(8, "big") + wire[18:])
    return vector


def bad_tally() -> Vector:
    study, other = small_study(), small_study(seed=16)
    vector = Vector(study)
    for index, word in enumerate((0, 0, WORDS - 1)):
        vector.report(index, ("positive", {"score": 0.9}), tape_of([word]))
    vector.report(3, ("negative", {"score": 0.1}), tape_of([WORDS - 1]))
    vector.count()
    text, content = vector.tally.to_json(), json.loads(vector.tally.to_json())

    def refuse(error: type[DpairsError], why: str, changed: str) -> None:
        act = lambda: Tally.from_json(changed, study)  # noqa: E731
        vector.bad("load_tally", error, why, act, text=changed)

    def positive(symbols: list[Any], counts: list[Any]) -> str:
        table = {"symbols": symbols, "counts": counts}
        return canonical({**content, "counts": {**content["counts"], "positive": table}})

    vector.good("load_tally", text=text)
    refuse(WrongStudy, "another study's tally", text.replace(study.id, other.id))
    refuse(BadFile, "a negative count", positive([0, 4], [2, -1]))
    refuse(BadFile, "a count of zero", positive([0, 4], [2, 0]))
    refuse(BadFile, "a count that is no whole number", positive([0, 4], [2, 1.5]))
    refuse(BadFile, "a count of 2^53", positive([0, 4], [2, 2**53]))
    refuse(BadFile, "symbols out of order", positive([4, 0], [1, 2]))
    refuse(BadFile, "a symbol twice", positive([0, 0], [1, 1]))
    refuse(BadFile, "a symbol out of range", positive([0, 5], [2, 1]))
    refuse(BadFile, "a negative symbol", positive([-1, 0], [2, 1]))
    refuse(BadFile, "more symbols than counts", positive([0, 4], [2]))
    counts = {**content["counts"], "unsure": {"symbols": [], "counts": []}}
    refuse(BadFile, "unknown stratum", canonical({**content, "counts": counts}))
    only = {"positive": content["counts"]["positive"]}
    refuse(BadFile, "a stratum is missing", canonical({**content, "counts": only}))
    refuse(BadFile, "another version", canonical({**content, "version": 2}))
    refuse(BadFile, "a study instead", study.to_json())
    refuse(BadFile, "a key twice", text.replace('"version":1', '"version":1,"version":1'))
    refuse(BadFile, "cut off", text[:-1])
    refuse(BadParameter, "an unknown field", canonical({**content, "comment": "hello"}))
    return vector


def bad_participant() -> Vector:
    study = small_study()
    vector = Vector(study)

    def refuse(
        error: type[DpairsError],
        why: str,
        *,
        index: int = 17,
        stratum: str = "positive",
        values: dict[str, Any] | None = None,
        words: int = 1,
        cut: int = 0,
    ) -> None:
        given = {"score": 0.5} if values is None else values
        tape = bytes(8 * words - cut)

        def act() -> None:
            Participant(study, index, stratum, bits=TapeRandomness(tape)).report(**given)

        vector.bad(
            "report", error, why, act, index=str(index), stratum=stratum, values=given, tape=tape.hex()
        )

    vector.report(17, ("positive", {"score": 0.5}), tape_of([0]))
    refuse(TapeExhausted, "no tape", words=0)
    refuse(TapeExhausted, "tape a byte too short", cut=1)
    refuse(BadValue, "value above the domain", values={"score": 1.0000000000000002})
    refuse(BadValue, "value below the domain", values={"score": -5e-324})
    refuse(BadValue, "value that is no number", values={"score": "0.5"})
    refuse(BadValue, "value missing", values={})
    refuse(BadValue, "a value too many", values={"score": 0.5, "label": 1})
    refuse(BadValue, "null", values={"score": None})
    refuse(BadParameter, "unknown stratum", stratum="unsure")
    refuse(BadParameter, "negative index", index=-1)
    refuse(BadParameter, "index of 2^53", index=2**53)
    return vector


def bad_random_rounding() -> Vector:
    """Random rounding takes a word of its own, so one word is not enough."""
    study = Study.create(
        "gini_mean_difference", epsilon=1.0, domain=Interval(0, 1), bins=5, rounding="random", seed=17
    )
    vector, tape = Vector(study), bytes(8)

    def act() -> None:
        Participant(study, 0, bits=TapeRandomness(tape)).report(value=0.5)

    vector.report(0, ("everybody", {"value": 0.5}), tape_of([0, 0]))
    person = {"index": "0", "stratum": "everybody", "values": {"value": 0.5}}
    vector.bad("report", TapeExhausted, "one word where two are needed", act, **person, tape=tape.hex())
    return vector


def tree_bad_study() -> Vector:
    study = tree_study(epsilon=1.0, bins=8, seed=29)
    vector, text, content = Vector(study), study.to_json(), json.loads(study.to_json())
    protocol = content["protocol"]

    def refuse(why: str, **changes: Any) -> None:
        changed = {name: value for name, value in {**protocol, **changes}.items() if value is not ...}
        forged = signed({**content, "protocol": changed})
        vector.bad("load_study", BadFile, why, lambda: Study.from_json(forged), text=forged)

    vector.good("load_study", text=text)
    refuse("no levels", depth=0)
    refuse("more levels than an interval has", depth=53)
    refuse("more levels than 64", depth=65)
    refuse("depth as text", depth="3")
    refuse("depth is missing", depth=...)
    refuse("unknown splitting", splitting="levels")
    refuse("everybody answers all levels with the whole epsilon", splitting="budget")
    refuse("composition without a delta", splitting="budget-advanced")
    refuse("delta without composition", delta=1e-6)
    refuse("delta as text", delta="0")
    refuse("unknown rows", rows="none")
    refuse("no threshold", floors=[])
    refuse("a threshold as a number", floors=[int(protocol["floors"][0])])
    refuse("a threshold of zero", floors=["0"])
    refuse("a threshold of one word less: more epsilon than promised", floors=[lower(protocol["floors"][0])])
    refuse("a threshold of half of all words: nothing is said", floors=[str(2**63)])
    refuse("a threshold with a zero in front", floors=["0" + protocol["floors"][0]])
    refuse("several bits with all rows", rows="all", floors=[protocol["floors"][0], str(2**62 - 1)])
    refuse("an unknown field", comment="hello")
    other = signed({**content, "statistic": {**content["statistic"], "labels": "private"}})
    vector.bad("load_study", BadFile, "private labels", lambda: Study.from_json(other), text=other)
    return vector


def lower(threshold: str) -> str:
    return str(int(threshold) - 1)


def tree_bad_report() -> Vector:
    study = tree_study(epsilon=1.0, bins=8, seed=29)
    vector = Vector(study)
    wire = vector.report(17, ("positive", {"score": 0.5}), tape_of([0]))

    def refuse(error: type[DpairsError], why: str, changed: bytes) -> None:
        act = lambda: Report.from_bytes(changed, study)  # noqa: E731
        vector.bad("read_report", error, why, act, wire=changed.hex())

    vector.good("read_report", wire=wire.hex(), stratum="positive", index="17", symbol=0)
    vector.good("read_report", wire=(wire[:18] + b"\1").hex(), stratum="positive", index="17", symbol=1)
    refuse(BadParameter, "more than one bit", wire[:18] + b"\2")
    refuse(BadParameter, "all bits", wire[:18] + b"\xff")
    refuse(BadValue, "a byte too many", wire + b"\0")
    refuse(BadValue, "no bit", wire[:18])
    return vector


def packed(numbers: list[int], width: int = 1) -> str:
    """A tree's tally holds integers like this: the width, then little-endian, in base64."""
    content = b"".join(number.to_bytes(width, "little") for number in numbers)
    return base64.b64encode(bytes([width]) + content).decode()


def tree_bad_tally() -> Vector:
    study = tree_study(epsilon=1.0, bins=8, seed=29)
    vector = Vector(study)
    for index in range(6):
        vector.report(index, (("positive", "negative")[index % 2], {"score": 0.7}), tape_of([WORDS - 1]))
    vector.count()
    content = json.loads(vector.tally.to_json())
    empty = {"rows": packed([]), "zeros": packed([]), "ones": packed([])}
    good = {"rows": packed([1, 1, 3]), "zeros": packed([3, 1, 0]), "ones": packed([1, 0, 2])}

    def text(last: Any, people: Any = 7, **changes: Any) -> str:
        table = {"people": people, "levels": [empty, empty, last], **changes}
        return canonical({**content, "counts": {**content["counts"], "positive": table}})

    def refuse(why: str, changed: str) -> None:
        vector.bad("load_tally", BadFile, why, lambda: Tally.from_json(changed, study), text=changed)

    vector.good("load_tally", text=text(good))
    refuse("no base64", text({**good, "rows": "!!!!"}))
    refuse("base64 cut off", text({**good, "rows": good["rows"][:-1]}))
    refuse("integers as a list", text({**good, "zeros": [3, 1, 0]}))
    refuse("no such width", text({**good, "ones": base64.b64encode(b"\3" + bytes(9)).decode()}))
    refuse("half an integer", text({**good, "ones": base64.b64encode(b"\2" + bytes(5)).decode()}))
    refuse("wider than needed", text({**good, "zeros": packed([3, 1, 0], 8)}))
    refuse("a row twice", text({**good, "rows": packed([1, 0, 3])}))
    refuse("a row out of range", text({**good, "rows": packed([1, 1, 6])}))
    refuse("rows that wrap around", text({**good, "rows": packed([5, 2**64 - 4, 1], 8)}))
    refuse("more rows than counts", text({**good, "rows": packed([1, 1, 1, 1])}))
    refuse("a row without reports", text({**good, "zeros": packed([4, 0, 1]), "ones": packed([0, 0, 2])}))
    refuse("a count above 2^53", text({**good, "zeros": packed([2**53 + 1, 1, 0], 8)}, 2**53 + 5))
    refuse("too few people", text(good, 6))
    refuse("too many people", text(good, 8))
    refuse("people as text", text(good, "7"))
    refuse("a level is missing", text(good, 0, levels=[empty, empty]))
    refuse("a level too many", text(good, 0, levels=[empty] * 4))
    refuse("a level lacks its ones", text({"rows": good["rows"], "zeros": good["zeros"]}))
    refuse("an unknown field of a level", text({**good, "twos": good["ones"]}))
    refuse("an unknown field of a stratum", text(good, comment="hello"))
    refuse("a histogram's counts", text(good).replace('"levels"', '"symbols"'))
    return vector


def tree_bad_participant() -> Vector:
    study = tree_study(Integers(-(2**63), 2**63 - 2), epsilon=2.0, bins=8, splitting="budget", seed=30)
    vector = Vector(study)

    def refuse(error: type[DpairsError], why: str, score: int = 0, index: int = 17, size: int = 24) -> None:
        tape = bytes(size)

        def act() -> None:
            Participant(study, index, "negative", bits=TapeRandomness(tape)).report(score=score)

        given = {"index": str(index), "stratum": "negative", "values": {"score": str(score)}}
        vector.bad("report", error, why, act, **given, tape=tape.hex())

    vector.report(17, ("negative", {"score": -(2**63)}), tape_of([WORDS - 1] * 3))
    vector.report(18, ("negative", {"score": 2**63 - 2}), tape_of([WORDS - 1] * 3))
    refuse(TapeExhausted, "two words where three levels need three", size=16)
    refuse(TapeExhausted, "tape a byte too short", size=23)
    refuse(BadValue, "value above the domain", score=2**63 - 1)
    refuse(BadValue, "value below the domain", score=-(2**63) - 1)
    refuse(BadParameter, "index of 2^53", index=2**53)
    return vector


def projection_bad_first_study() -> Vector:
    study = projection("auc", Interval(0, 1), 1.0, 53, bins=8, pilot_fraction=9 / 64)
    vector, text, content = Vector(study), study.to_json(), json.loads(study.to_json())
    protocol, pilot = content["protocol"], content["protocol"]["pilot"]

    def refuse(why: str, changes: dict[str, Any]) -> None:
        changed = {name: value for name, value in {**protocol, **changes}.items() if value is not ...}
        forged = signed({**content, "protocol": changed})
        vector.bad("load_study", BadFile, why, lambda: Study.from_json(forged), text=forged)

    vector.good("load_study", text=text)
    refuse("no round", {"round": ...})
    refuse("round 0", {"round": 0})
    refuse("round as text", {"round": "1"})
    refuse("a second round without a first", {"round": 2})
    refuse("nobody in the first round", {"share": 0})
    refuse("nobody in the second round", {"share": 64})
    refuse("no pilot", {"pilot": None})
    refuse("unknown pilot", {"pilot": {**pilot, "name": "tree"}})
    refuse("an unknown field", {"comment": "hello"})
    refuse("an unknown field of the pilot", {"pilot": {**pilot, "comment": "hello"}})
    refuse("more bits than an interval has", {"pilot": {**pilot, "bits": [53]}})
    refuse("bits for two columns", {"pilot": {**pilot, "bits": [2, 1]}})
    refuse("no threshold", {"pilot": {**pilot, "floors": []}})
    refuse(
        "a threshold of one word less: more epsilon than promised",
        {"pilot": {**pilot, "floors": [lower(each) for each in pilot["floors"]]}},
    )
    return vector


def projection_bad_second_study() -> Vector:
    vector = second_round(1.0, 54)
    study, text, content = vector.study, vector.study.to_json(), json.loads(vector.study.to_json())
    protocol = content["protocol"]
    first, heights = protocol["first"], protocol["functions"]["everybody"]

    def refuse(why: str, changes: dict[str, Any]) -> None:
        changed = {name: value for name, value in {**protocol, **changes}.items() if value is not ...}
        forged = signed({**content, "protocol": changed})
        assert forged != text
        vector.bad("load_study", BadFile, why, lambda: Study.from_json(forged), text=forged)

    def edited(function: Any) -> dict[str, Any]:
        return {"functions": {"everybody": function}}

    vector.good("load_study", text=text)
    forged = text.replace('"share":', '"share":1')
    vector.bad("load_study", BadFile, "one digit edited", lambda: Study.from_json(forged), text=forged)
    refuse("round 3", {"round": 3})
    refuse("an unknown field", {"comment": "hello"})
    refuse("a first round without a name", {"first": {**first, "study": ""}})
    refuse("a first round's name in capitals", {"first": {**first, "study": study.id.upper()}})
    refuse("everybody was asked first", {"first": {**first, "share": 64}})
    refuse("an unknown field of the first round", {"first": {**first, "comment": "hello"}})
    refuse("what only the analyst needs", {"remainder": [0, 0]})
    refuse("edges on levels", {"edges": [[0, 1, 2]]})
    refuse("edges for two columns", {"edges": [None, None]})
    refuse("a height too many", edited(heights.rstrip("=") + "AAAA"))
    refuse("a height too few", edited(heights[4:]))
    refuse("heights that are no base64", edited("!" + heights[1:]))
    refuse("heights as a list", edited([0, 1]))
    refuse("no function", {"functions": {}})
    refuse("a function of another class", {"functions": {"positive": heights}})
    refuse("a function with its range", edited({"low": 0, "high": 1, "heights": heights}))
    refuse("no mechanism", {"mechanism": ...})
    refuse("a mechanism for cells", {"mechanism": {"name": "krr", "inputs": 2, "floor": "5"}})
    floor = lower(protocol["mechanism"]["floor"])
    refuse("a threshold of one word less", {"mechanism": {**protocol["mechanism"], "floor": floor}})
    return vector


def projection_bad_round() -> Vector:
    """People who act in the other round, and reports that name the other study."""
    vector = second_round(1.0, 55)
    study, earlier = vector.study, vector.first
    mine = asked(study, 0)
    other = asked(earlier, 0)
    wire = vector.report(mine, ("everybody", {"value": 3}), tape_of([0]))

    def refuse_report(error: type[DpairsError], why: str, changed: bytes) -> None:
        act = lambda: Report.from_bytes(changed, study)  # noqa: E731
        vector.bad("read_report", error, why, act, wire=changed.hex())

    def refuse_person(error: type[DpairsError], why: str, index: int, value: Any, size: int = 8) -> None:
        tape = bytes(size)

        def act() -> None:
            Participant(study, index, "everybody", bits=TapeRandomness(tape)).report(value=value)

        person = {"index": str(index), "stratum": "everybody", "values": {"value": value}}
        vector.bad("report", error, why, act, **person, tape=tape.hex())

    vector.good("read_report", wire=wire.hex(), stratum="everybody", index=str(mine), symbol=wire[-1])
    refuse_person(NotAsked, "asked in the first round", other, 3)
    refuse_person(BadValue, "value out of the domain", mine, 4)
    refuse_person(TapeExhausted, "no tape", mine, 3, 0)
    elsewhere = wire[:10] + other.to_bytes(8, "big") + wire[18:]
    refuse_report(NotAsked, "a report of somebody who was asked in the first round", elsewhere)
    refuse_report(WrongStudy, "a report of the first round", bytes(Report(earlier, "everybody", other, 0)))
    named = wire[:1] + bytes.fromhex(earlier.id)[:8] + wire[9:]
    refuse_report(WrongStudy, "the first round's name on a report of the second", named)
    refuse_report(BadParameter, "symbol out of range", wire[:18] + b"\2")
    refuse_report(BadValue, "a byte too many", wire + b"\0")
    return vector


def projection_bad_tally() -> Vector:
    vector = second_round(1.0, 56)
    study, earlier = vector.study, vector.first
    for place in range(6):
        vector.report(asked(study, place), ("everybody", {"value": place % 4}), tape_of([0]))
    vector.count()
    text, content = vector.tally.to_json(), json.loads(vector.tally.to_json())

    def refuse(error: type[DpairsError], why: str, changed: str) -> None:
        act = lambda: Tally.from_json(changed, study)  # noqa: E731
        vector.bad("load_tally", error, why, act, text=changed)

    def counts(symbols: list[Any], numbers: list[Any]) -> str:
        return canonical({**content, "counts": {"everybody": {"symbols": symbols, "counts": numbers}}})

    vector.good("load_tally", text=text)
    refuse(WrongStudy, "the first round's tally", Tally(earlier).to_json())
    refuse(BadFile, "a symbol out of range", counts([0, 2], [1, 1]))
    refuse(BadFile, "a count of zero", counts([0, 1], [1, 0]))
    refuse(BadParameter, "an unknown field", canonical({**content, "round": 2}))
    return vector


def projection_bad_window() -> Vector:
    """A window takes two words."""
    vector = second_round(5.0, 57)
    study, tape = vector.study, bytes(8)
    index = asked(study, 0)
    wire = vector.report(index, ("everybody", {"value": 2}), tape_of([0, 0]))

    def act() -> None:
        Participant(study, index, bits=TapeRandomness(tape)).report(value=2)

    person = {"index": str(index), "stratum": "everybody", "values": {"value": 2}}
    vector.bad("report", TapeExhausted, "one word where two are needed", act, **person, tape=tape.hex())
    changed = wire[:18] + bytes([study.protocol.symbols])
    out = lambda: Report.from_bytes(changed, study)  # noqa: E731
    vector.bad("read_report", BadParameter, "symbol out of range", out, wire=changed.hex())
    return vector


VECTORS: dict[str, Callable[[], Vector]] = {
    "histogram_auc_integers_64_bits": auc_integers_64_bits,
    "histogram_auc_krr": auc_krr,
    "histogram_auc_private_labels": auc_private_labels,
    "histogram_auc_projective": auc_projective,
    "histogram_collision_entropy_strings": collision_entropy_strings,
    "histogram_custom_kernel": custom_kernel,
    "histogram_gini_coefficient_integers": gini_coefficient_integers,
    "histogram_gini_mean_difference_random_rounding": gini_mean_difference_random_rounding,
    "histogram_kendall_tau_b_projective": kendall_tau_b_projective,
    "histogram_kendall_tau_krr": kendall_tau_krr,
    "histogram_variance_levels": variance_levels,
    "histogram_thresholds_krr": krr_thresholds,
    "histogram_thresholds_projective": projective_thresholds,
    "histogram_thresholds_projective_line": projective_line,
    "histogram_bad_study": bad_study,
    "histogram_bad_report": bad_report,
    "histogram_bad_tally": bad_tally,
    "histogram_bad_participant": bad_participant,
    "histogram_bad_random_rounding": bad_random_rounding,
    "tree_budget": tree_budget,
    "tree_budget_advanced": tree_budget_advanced,
    "tree_budget_advanced_paper": tree_budget_advanced_paper,
    "tree_integers_64_bits": tree_integers_64_bits,
    "tree_several_bits": tree_several_bits,
    "tree_users": tree_users,
    "tree_users_independent": tree_users_independent,
    "tree_words": tree_words,
    "tree_bad_study": tree_bad_study,
    "tree_bad_report": tree_bad_report,
    "tree_bad_tally": tree_bad_tally,
    "tree_bad_participant": tree_bad_participant,
    "projection_bit_words": projection_bit_words,
    "projection_histogram_auc": projection_histogram_auc,
    "projection_histogram_entropy": projection_histogram_entropy,
    "projection_histogram_interval": projection_histogram_interval,
    "projection_histogram_kendall_tau_b": projection_histogram_kendall_tau_b,
    "projection_tree_auc": projection_tree_auc,
    "projection_tree_dealt_levels": projection_tree_dealt_levels,
    "projection_tree_integers_64_bits": projection_tree_integers_64_bits,
    "projection_tree_kernel": projection_tree_kernel,
    "projection_tree_plane": projection_tree_plane,
    "projection_tree_private_labels": projection_tree_private_labels,
    "projection_tree_vus": projection_tree_vus,
    "projection_tree_window": projection_tree_window,
    "projection_window_words": projection_window_words,
    "projection_bad_first_study": projection_bad_first_study,
    "projection_bad_round": projection_bad_round,
    "projection_bad_second_study": projection_bad_second_study,
    "projection_bad_tally": projection_bad_tally,
    "projection_bad_window": projection_bad_window,
}


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    for name, make in VECTORS.items():
        (folder / f"{name}.json").write_text(make().text(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
