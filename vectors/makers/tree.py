"""Vectors of trees."""

from __future__ import annotations

from math import nextafter
from typing import Any

from dpairs import Integers, Interval, Levels, Study
from dpairs.protocols.tree.answers import TreeAnswers
from dpairs.randomness import WORDS

from .reports import Reports, answers
from .vector import file, in_classes, integers, numbers, picks, stream, tape_of


def tree_study(domain: Any = None, **options: Any) -> Study:
    chosen: Any = Interval(0, 1) if domain is None else domain
    return Study.create("auc", protocol="tree", domain=chosen, **options)


@file
def users() -> Reports:
    study = tree_study(epsilon=2.0, bins=8, seed=21)
    return answers("tree_users", study, in_classes(numbers("tree_users", 0.0, 1.0, 0.125, 0.5, 0.875)))


@file
def users_independent() -> Reports:
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


@file
def scale() -> Reports:
    money = Interval(-2e5, 1e6, scale="asinh")
    study = tree_study(money, epsilon=2.0, bins=64, seed=28)
    spread = [1.2e6 * number - 2e5 for number in numbers("tree_scale", 0.0, 1.0)]
    # An edge belongs to the piece above it, and the number before it does not.
    near = [
        edge
        for place in (0, 25, 31, 62)
        for edge in (money.edges[place], nextafter(money.edges[place], -1e6))
    ]
    return answers("tree_scale", study, in_classes([*near, *spread[: -len(near)]]))


@file
def several_bits() -> Reports:
    study = tree_study(Interval(-3, 5), epsilon=5.0, bins=32, answer="several-bits", seed=23)
    scores = [8 * number - 3 for number in numbers("tree_several_bits", 0.0, 1.0, 0.5)]
    return answers("tree_several_bits", study, in_classes(scores))


@file
def budget() -> Reports:
    moods = ["awful", "bad", "so-so", "fair", "über"]
    study = tree_study(Levels(moods), epsilon=6.0, splitting="budget", seed=24)
    return answers("tree_budget", study, in_classes(picks("tree_budget", moods)), words=3)


@file
def budget_advanced() -> Reports:
    study = tree_study(
        epsilon=3.0, bins=16, splitting="budget-advanced", delta=1e-6, rows="all", ties="zero", seed=25
    )
    return answers("tree_budget_advanced", study, in_classes(numbers("tree_budget_advanced", 0.25)), words=4)


@file
def budget_advanced_paper() -> Reports:
    study = tree_study(epsilon=1.5, bins=2**8, splitting="budget-advanced-paper", delta=1e-3, seed=26)
    scores = numbers("tree_budget_advanced_paper", 0.0, 1.0)
    return answers("tree_budget_advanced_paper", study, in_classes(scores), words=8)


@file
def integers_64_bits() -> Reports:
    """The deepest tree: rows and nodes of 64 bits. Too few people for an estimate that says anything."""
    low, high = -(2**63), 2**63 - 1
    study = tree_study(Integers(low, high), epsilon=2.0, seed=27)
    name = "tree_integers_64_bits"
    people = in_classes([low, high, -1, 0, low + 1, high - 1, *integers(name)])
    vector, tapes = Reports(study), stream(name, 8 * len(people))
    for place, person in enumerate(people):
        # Through every level, and up to the largest index there is.
        index = 3 * place if place < len(people) - 1 else 2**53 - 1
        vector.report(index, person, tapes[8 * place : 8 * place + 8].hex())
    vector.count()
    return vector


@file
def words() -> Reports:
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
    vector = Reports(study)
    for score in range(4):
        for comment, word in words.items():
            index = len(vector.operations)
            person = (("positive", "negative")[index % 2], {"score": score})
            vector.report(index, person, tape_of([word]), f"{comment}: {word}")
    vector.answer()
    return vector
