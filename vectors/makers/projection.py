"""Vectors of two rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpairs import Categories, Integers, Interval, Kernel, Levels, Study
from dpairs.mechanisms import BitResponse, WindowResponse
from dpairs.mechanisms.window import STEPS
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.randomness import WORDS

from .reports import Reports
from .vector import Person, everybody, file, in_classes, integers, numbers, picks, stream, tape_of


def both_rounds(name: str, study: Study, people: list[Person]) -> Reports:
    """Each person answers in the round that asks; the index is the person's place, far apart at the end."""
    vector, tapes = Reports(study), stream(name, 8 * 2 * len(people))
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


@file
def histogram_auc() -> Reports:
    name = "projection_histogram_auc"
    study = projection("auc", Levels(range(5)), 2.0, 41)
    return both_rounds(name, study, in_classes(twice(picks(name, list(range(5))))))


@file
def histogram_kendall_tau_b() -> Reports:
    name, moods = "projection_histogram_kendall_tau_b", ["bad", "so-so", "fair", "über"]
    domains = Levels([0, 0.5, 2]), Levels(moods)
    study = projection("kendall_tau", domains, 3.0, 42, variant="b", pilot_fraction=6 / 64)
    x, y = picks(name + " x", [0, 0.5, 2]), picks(name + " y", moods)
    return both_rounds(name, study, everybody(x=twice(x), y=twice(y)))


@file
def histogram_entropy() -> Reports:
    name, words = "projection_histogram_entropy", ["", "straße", "日本", "𝄞 clef"]
    study = projection("collision_entropy", Categories(words), 2.0, 43)
    return both_rounds(name, study, everybody(value=twice(picks(name, words[1:2] * 4 + words))))


@file
def histogram_interval() -> Reports:
    """Cells of an interval: a person's function is read between their edges."""
    name = "projection_histogram_interval"
    study = projection("gini_mean_difference", Interval(-3, 5), 1.0, 44, pilot="histogram", bins=5)
    values = [8 * number - 3 for number in numbers(name, 0.0, 1.0, 0.2, 0.4)]
    return both_rounds(name, study, everybody(value=twice(values)))


@file
def tree_auc() -> Reports:
    name = "projection_tree_auc"
    study = projection("auc", Interval(0, 1), 1.0, 45, bins=16, pilot_fraction=0.5)
    return both_rounds(name, study, in_classes(twice(numbers(name, 0.0, 1.0, 0.0625, 0.5, 0.9375))))


@file
def tree_window() -> Reports:
    """A large epsilon: several bits in the first round, one of many symbols in the second."""
    name = "projection_tree_window"
    study = projection("auc", Interval(0, 1), 5.0, 46, bins=64, pilot_fraction=0.5)
    return both_rounds(name, study, in_classes(twice(numbers(name, 0.0, 1.0, 0.5))))


@file
def tree_integers_64_bits() -> Reports:
    low, high = -(2**63), 2**63 - 1
    name = "projection_tree_integers_64_bits"
    study = projection("auc", Integers(low, high), 3.0, 47, bins=2**32, pilot_fraction=0.5)
    return both_rounds(name, study, in_classes(twice(integers(name, low, high, -1, 0))))


@file
def tree_private_labels() -> Reports:
    name = "projection_tree_private_labels"
    study = projection("auc", Interval(0, 1), 2.0, 48, bins=8, labels="private", pilot_fraction=0.5)
    labels = picks(name + " labels", [0, 1])
    return both_rounds(name, study, everybody(score=twice(numbers(name, 0.25, 1.0)), label=twice(labels)))


@file
def tree_vus() -> Reports:
    name = "projection_tree_vus"
    study = projection("vus", Levels(range(7)), 2.0, 49, ties="zero", pilot_fraction=0.5)
    scores = picks(name, list(range(7)))
    people = [
        (("low", "middle", "high")[place % 3], {"score": each}) for place, each in enumerate(twice(scores))
    ]
    return both_rounds(name, study, people)


@file
def tree_kernel() -> Reports:
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


@file
def tree_dealt_levels() -> Reports:
    """A deep tree that deals out some of its levels, the coarse ones several times."""
    name = "projection_tree_dealt_levels"
    study = projection("gini_mean_difference", Interval(0, 1e5), 1.0, 54, pilot_fraction=0.5)
    values = [1e5 * number for number in numbers(name, 0.0, 1.0, 0.0, 0.5)]
    return both_rounds(name, study, everybody(value=twice(values)))


@file
def tree_deep_level() -> Reports:
    """A score with one level far below the others, which tells values from crowds."""
    name = "projection_tree_deep_level"
    study = projection("auc", Interval(0, 1), 3.0, 58, pilot_fraction=0.5)
    return both_rounds(name, study, in_classes(twice(numbers(name, 0.0, 1.0, 0.3, 0.3, 0.5))))


@file
def tree_plane() -> Reports:
    """The same over two columns, at an epsilon of several bits."""
    name = "projection_tree_plane"
    study = projection("kendall_tau", (Interval(-2, 6), Integers(0, 99)), 3.0, 55, pilot_fraction=0.5)
    x = [8 * number - 2 for number in numbers(name + " x", 0.0, 1.0, 0.25)]
    y = picks(name + " y", [0, 40, 40, 40, 63, 64, 99])
    return both_rounds(name, study, everybody(x=twice(x), y=twice(y)))


def second_round(epsilon: float, seed: int, levels: int = 4) -> Reports:
    """A small study in its second round."""
    study = projection("gini_mean_difference", Levels(range(levels)), epsilon, seed, pilot="histogram")
    vector = Reports(study)
    for index in range(64):
        if study.asks("everybody", index):
            tape = stream(f"second round {seed} {index}", 8).hex()
            vector.report(index, ("everybody", {"value": index % levels}), tape)
    vector.count()
    vector.next_round()
    return vector


def asked(study: Study, place: int) -> int:
    """The index of the place-th person who is asked."""
    return [index for index in range(64 * (place + 1)) if study.asks("everybody", index)][place]


@file
def bit_words() -> Reports:
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


def placed(window: WindowResponse, height: float) -> int:
    """The window of a number, in units of 2^-32: between the knots of two windows, to the nearest."""
    steps, knots = round(height * STEPS), [0, *window.knots, STEPS]
    if not window.knots:
        return steps * window.last
    start = max(place for place in range(window.last) if knots[place] <= steps)
    gap = knots[start + 1] - knots[start]
    return start * STEPS + ((steps - knots[start]) * STEPS + gap // 2) // gap


def at_window_words(vector: Reports) -> Reports:
    """The words at which a window's symbol changes, and those at which the window does."""
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
        rest = placed(window, height) % STEPS
        windows = {"lower window": 0, "upper window": WORDS - 1}
        if rest:
            windows |= {"last lower": ((STEPS - rest) << 32) - 1, "first upper": (STEPS - rest) << 32}
        pairs = [(name, windows["lower window"], word) for name, word in symbols.items()]
        pairs += [(name, word, top) for name, word in windows.items()]
        for comment, first, second in pairs:
            index = asked(vector.study, vector.tally.n)
            note = f"{comment}: {first}, {second}"
            vector.report(index, ("everybody", {"value": value}), tape_of([first, second]), note)
    vector.answer()
    return vector


@file
def window_words() -> Reports:
    """A window with knots."""
    vector = second_round(5.0, 52)
    assert getattr(vector.study.protocol, "mechanism").knots  # noqa: B009
    return at_window_words(vector)


@file
def window_words_even() -> Reports:
    """A window without: knots would save too little here."""
    vector = second_round(2.0, 57, levels=32)
    assert not getattr(vector.study.protocol, "mechanism").knots  # noqa: B009
    return at_window_words(vector)
