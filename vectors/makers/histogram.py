"""Vectors of histograms, and of the words at which a symbol changes."""

from __future__ import annotations

import numpy as np

from dpairs import Categories, Integers, Interval, Kernel, Levels, Study
from dpairs.mechanisms import KaryResponse, ProjectiveResponse
from dpairs.randomness import WORDS

from .reports import Reports, answers, at_words
from .vector import everybody, file, in_classes, integers, numbers, picks


@file
def auc_krr() -> Reports:
    study = Study.create("auc", epsilon=2.0, domain=Interval(0, 1), bins=5, mechanism="krr", seed=1)
    return answers("auc_krr", study, in_classes(numbers("auc_krr", 0.0, 1.0, 0.2, 0.4, 0.6, 0.8)))


@file
def auc_projective() -> Reports:
    study = Study.create(
        "auc", epsilon=1.0, domain=Interval(-3, 5), bins=32, mechanism="projective", ties="zero", seed=2
    )
    scores = [8 * number - 3 for number in numbers("auc_projective", 0.0, 1.0, 0.5)]
    return answers("auc_projective", study, in_classes(scores))


@file
def auc_private_labels() -> Reports:
    study = Study.create(
        "auc", epsilon=3.0, domain=Interval(0, 1), bins=4, mechanism="krr", labels="private", seed=3
    )
    name = "auc_private_labels"
    labels = picks(name + " labels", [0, 1])
    return answers(name, study, everybody(score=numbers(name, 0.25, 1.0), label=labels))


@file
def auc_integers_64_bits() -> Reports:
    low, high = -(2**63), 2**63 - 1
    study = Study.create("auc", epsilon=2.0, domain=Integers(low, high), bins=5, mechanism="krr", seed=4)
    # Bins are as equal as whole numbers allow: bin i begins at ceil(i 2^64 / 5).
    starts = [low - (-place * 2**64 // 5) for place in range(1, 5)]
    edges = [low, high, *(start - back for start in starts for back in (1, 0))]
    name = "auc_integers_64_bits"
    return answers(name, study, in_classes(integers(name, *edges)))


@file
def kendall_tau_krr() -> Reports:
    levels = Levels(range(1, 5))
    study = Study.create("kendall_tau", epsilon=3.0, domain=(levels, levels), mechanism="krr", seed=5)
    x, y = (picks(f"kendall_tau_krr {side}", [1, 2, 3, 4]) for side in "xy")
    return answers("kendall_tau_krr", study, everybody(x=x, y=y))


@file
def kendall_tau_b_projective() -> Reports:
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


@file
def gini_mean_difference_random_rounding() -> Reports:
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


@file
def gini_coefficient_scale() -> Reports:
    money = Interval(0, 1e6, scale="asinh")
    study = Study.create("gini_coefficient", epsilon=2.0, domain=money, bins=9, mechanism="krr", seed=29)
    name = "gini_coefficient_scale"
    # At a point nobody is rounded; between two edges that are none both points may be reached.
    near = [0.0, 1e6, *(money.edges[place] for place in (7, 8, 15, 40, 62))]
    spread = [1e6 * number**6 for number in numbers(name, 0.0, 1.0)]
    return answers(name, study, everybody(value=[*near, *spread[len(near) :]]), words=2)


@file
def variance_whole_numbers_random_rounding() -> Reports:
    study = Study.create(
        "variance",
        epsilon=2.0,
        domain=Integers(-3, 1_000_000),
        bins=6,
        rounding="random",
        mechanism="krr",
        seed=7,
    )
    name = "variance_whole_numbers_random_rounding"
    values = [round(1_000_003 * number) - 3 for number in numbers(name, 0.0, 1.0, 0.2)]
    return answers(name, study, everybody(value=values), words=2)


@file
def gini_coefficient_integers() -> Reports:
    study = Study.create(
        "gini_coefficient", epsilon=1.0, domain=Integers(0, 1_000_000), bins=7, mechanism="projective", seed=8
    )
    name = "gini_coefficient_integers"
    values = [round(1_000_000 * number) for number in numbers(name, 0.0, 1.0)]
    return answers(name, study, everybody(value=values))


@file
def variance_levels() -> Reports:
    levels = [-1, 0, 0.5, 10]
    study = Study.create("variance", epsilon=2.0, domain=Levels(levels), kernel="midpoint", seed=9)
    return answers("variance_levels", study, everybody(value=picks("variance_levels", levels)))


@file
def collision_entropy_strings() -> Reports:
    words = ["", "straße", "日本", "𝄞 clef", 'quote " \\ and\nline']
    study = Study.create("collision_entropy", epsilon=3.0, domain=Categories(words), mechanism="krr", seed=10)
    name = "collision_entropy_strings"
    return answers(name, study, everybody(value=picks(name, words[1:3] * 3 + words)))


@file
def custom_kernel() -> Reports:
    within = Kernel(
        lambda a, b: np.minimum(np.abs(a - b), 0.5),
        range=(0, 0.5),
        lipschitz=1.0,
        domain=Interval(0, 1),
        label="distance up to 1/2",
    )
    study = Study.create(within, epsilon=2.0, bins=4, mechanism="krr", seed=11)
    return answers("custom_kernel", study, everybody(value=numbers("custom_kernel", 0.0, 1.0)))


@file
def thresholds_krr() -> Reports:
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


@file
def thresholds_projective() -> Reports:
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


@file
def thresholds_projective_line() -> Reports:
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
