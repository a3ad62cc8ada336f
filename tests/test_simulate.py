"""Simulations: reproducible with a seed, flat in memory, and the same as one participant after another."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from dpairs import (
    BadParameter,
    BadValue,
    Categories,
    Interval,
    Levels,
    NotEnoughData,
    Participant,
    Study,
    Tally,
    exact,
    simulate,
    simulate_tally,
)
from dpairs import simulate as simulate_function
from dpairs.randomness import SeededRandomness, TapeRandomness
from tests.strategies import dense

SLICE = 2**16
UNIT = Interval(0, 1)


def study_of(statistic="auc", **options):
    return Study.create(statistic, **{"epsilon": 2.0, "domain": UNIT, "bins": 8, "seed": 1, **options})


AUC = study_of()
LEVELS = study_of("variance", domain=Levels(range(4)), bins=4)


def scores(n, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    return {"score": np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1), "label": label}


def chunks(table, size):
    n = len(next(iter(table.values())))
    for start in range(0, n, size):
        yield {name: values[start : start + size] for name, values in table.items()}


# ---------------------------------------------------------------- seeds


def test_the_same_seed_gives_the_same_answer():
    data = scores(5000)
    assert simulate(AUC, data, seed=7) == simulate(AUC, data, seed=7)
    assert simulate_tally(AUC, data, seed=7) == simulate_tally(AUC, data, 7)


def test_different_seeds_differ():
    data = scores(5000)
    assert len({simulate(AUC, data, seed=seed).value for seed in range(20)}) == 20


def test_without_a_seed_every_run_differs():
    data = scores(5000)
    first, second = simulate(AUC, data), simulate(AUC, data)
    assert first.value != second.value
    assert abs(first.value - exact("auc", data)) < 6 * first.standard_error + 0.05


def test_without_a_seed_the_operating_system_gives_the_bits(monkeypatch):
    asked = []

    def urandom(count):
        asked.append(count)
        return b"\xff" * count

    monkeypatch.setattr("dpairs.randomness.private.os.urandom", urandom)
    tally = simulate_tally(study_of(mechanism="krr"), {"score": [0.1, 0.9, 0.5], "label": [0, 1, 1]})
    assert sum(asked) == 3 * 8
    assert dense(tally, "positive") == [0, 0, 0, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("seed", [-1, 2**128, 1.5, "1", True])
def test_a_seed_must_be_a_whole_number(seed):
    with pytest.raises(BadParameter, match="seed must be"):
        simulate(AUC, scores(10), seed=seed)


def test_a_simulation_is_near_the_truth():
    data = scores(200_000)
    estimate = simulate(AUC, data, seed=1)
    assert abs(estimate.value - exact("auc", data)) < 6 * estimate.sample_standard_error + 0.01


# ---------------------------------------------------------------- chunks


@pytest.mark.parametrize("size", [1, 7, 1000, 2999, 3000, 10_000])
def test_chunks_of_any_size_count_everybody(size):
    data = scores(3000)
    tally = simulate_tally(AUC, chunks(data, size), seed=1)
    assert tally.sizes == {"positive": int(data["label"].sum()), "negative": int((1 - data["label"]).sum())}


@pytest.mark.parametrize("size", [1, 7, 1000, 2999, 3000])
def test_one_stratum_gets_the_same_words_however_it_is_cut(size):
    data = {"value": np.arange(3000) % 4}
    assert simulate_tally(LEVELS, chunks(data, size), seed=1) == simulate_tally(LEVELS, data, seed=1)


def test_chunks_as_long_as_slices_change_nothing():
    data = scores(2 * SLICE + 100)
    assert simulate_tally(AUC, chunks(data, SLICE), seed=1) == simulate_tally(AUC, data, seed=1)


def test_empty_chunks_change_nothing():
    data = scores(100)
    empty = {"score": np.empty(0), "label": np.empty(0)}
    assert simulate_tally(AUC, [empty, data, empty], seed=1) == simulate_tally(AUC, data, seed=1)


def test_a_generator_is_read_once_and_chunk_by_chunk():
    alive = []

    def stream():
        for number in range(5):
            alive.append(number)
            yield scores(10, seed=number)

    seen = []
    tally = simulate_tally(AUC, stream(), seed=1, progress=lambda people: seen.append((alive[-1], people)))
    assert alive == [0, 1, 2, 3, 4]
    assert seen == [(number, 10) for number in range(5)]
    assert tally.n == 50


def test_frames_are_data():
    data = scores(500)
    assert simulate_tally(AUC, pd.DataFrame(data), seed=1) == simulate_tally(AUC, data, seed=1)
    assert simulate_tally(AUC, [pd.DataFrame(data)], seed=1) == simulate_tally(AUC, data, seed=1)


def test_data_is_not_changed():
    data = scores(500)
    before = {name: values.copy() for name, values in data.items()}
    for values in data.values():
        values.flags.writeable = False
    simulate(AUC, data, seed=1)
    assert all(np.array_equal(data[name], before[name]) for name in data)


@pytest.mark.parametrize("people", [1, 1000, SLICE, SLICE + 1, 3 * SLICE + 5])
def test_progress_adds_up(people):
    steps: list[int] = []
    simulate_tally(LEVELS, {"value": np.zeros(people, dtype=int)}, seed=1, progress=steps.append)
    assert sum(steps) == people
    assert max(steps) <= SLICE


def peak_bytes(people):
    """The most memory held while a stream of people, made as they are needed, is simulated."""
    part = 100_000

    def stream():
        for start in range(0, people, part):
            yield {"value": (np.arange(start, start + part) * 7919 % 1000) / 1000}

    study = study_of("gini_mean_difference", mechanism="krr")
    simulate_tally(study, stream(), seed=1)
    tracemalloc.start()
    try:
        assert simulate_tally(study, stream(), seed=1).n == people
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_people():
    few, many = peak_bytes(300_000), peak_bytes(3_000_000)
    assert many < 1.1 * few + 100_000
    assert many < 16 * 2**20


# ---------------------------------------------------------------- the same as single participants


def words_of(count, seed=3):
    return SeededRandomness(seed).words(count)


def single(study, stratum, values, words):
    bits = TapeRandomness(np.asarray(words, dtype="<u8").tobytes())
    return Participant(study, 0, stratum, bits=bits).report(**values).symbol


PEOPLE = 60
CASES = {
    "krr": (study_of("gini_mean_difference", mechanism="krr"), 1),
    "plane": (study_of("gini_mean_difference", bins=32, epsilon=1.0), 1),
    "line": (study_of("gini_mean_difference", bins=3, epsilon=4.0), 1),
    "random rounding": (study_of("gini_mean_difference", rounding="random"), 2),
    "random rounding of two columns": (
        study_of("kendall_tau", domain=(UNIT, UNIT), bins=4, rounding="random"),
        3,
    ),
    "private labels": (study_of(labels="private"), 1),
}


@pytest.mark.parametrize(("study", "draws"), CASES.values(), ids=CASES)
def test_bulk_gives_the_symbols_of_single_participants(study, draws):
    """One word a person; random rounding has its words, one column after the other, before all symbols."""
    rng = np.random.default_rng(5)
    columns = {
        name: rng.integers(0, 2, PEOPLE) if name == "label" else rng.random(PEOPLE)
        for name in study.statistic.private_columns
    }
    words = words_of(PEOPLE * draws)
    tape = TapeRandomness(words.astype("<u8").tobytes())
    bulk = study.protocol.randomize(study.coins, 0, 0, list(columns.values()), tape)
    by_person = words.reshape(draws, PEOPLE).T
    singles = [
        single(study, None, {name: values[person] for name, values in columns.items()}, by_person[person])
        for person in range(PEOPLE)
    ]
    assert bulk.tolist() == singles
    assert len(set(singles)) > 2


def test_a_simulation_is_its_participants_one_after_another(monkeypatch):
    """Slice by slice, the positives of a slice first: each person takes the next word of the seed."""
    monkeypatch.setitem(simulate_function.__globals__, "SLICE", 7)
    data = scores(50)
    words = iter(words_of(50, seed=11))
    expected = Tally(AUC)
    for start in range(0, 50, 7):
        part = {name: values[start : start + 7] for name, values in data.items()}
        for stratum, label in (("positive", 1), ("negative", 0)):
            for score in part["score"][part["label"] == label]:
                symbol = single(AUC, stratum, {"score": score}, [next(words)])
                expected.add_symbols(stratum, np.array([symbol]))
    assert simulate_tally(AUC, data, seed=11) == expected


# ---------------------------------------------------------------- what is refused, and where it is


@pytest.mark.parametrize("row", [0, 1, 5000, SLICE + 3])
def test_the_row_of_a_bad_value_is_that_of_the_whole_table(row):
    data = scores(SLICE + 10)
    data["score"][row] = 1.5
    with pytest.raises(BadValue, match=rf"'score'.* 1 of {SLICE + 10} .*row {row}: 1\.5$"):
        simulate(AUC, data, seed=1)


def test_the_first_of_several_bad_rows_is_named():
    data = scores(100)
    # The positives are placed before the negatives, whatever the rows.
    data["label"][[20, 30]] = [0, 1]
    data["score"][[20, 30]] = [-1, float("nan")]
    with pytest.raises(BadValue, match=r"2 of 100 .*row 20: -1"):
        simulate(AUC, data, seed=1)


def test_the_chunk_of_a_bad_value_is_named_too():
    data = scores(100)
    data["score"][57] = float("nan")
    with pytest.raises(BadValue, match=r"row 7: nan \(chunk 5\)"):
        simulate(AUC, chunks(data, 10), seed=1)


def test_a_bad_row_of_private_labels_and_of_pairs():
    data = scores(100)
    data["score"][64] = 7.0
    with pytest.raises(BadValue, match="row 64"):
        simulate(study_of(labels="private"), data, seed=1)
    pairs = {"x": np.zeros(100, dtype=int), "y": np.array(["low"] * 99 + ["none"])}
    study = study_of("kendall_tau", domain=(Levels(range(2)), Levels(["low", "high"])), bins=None)
    with pytest.raises(BadValue, match=r"'y'.*row 99: 'none'"):
        simulate(study, pairs, seed=1)


@pytest.mark.parametrize("label", [2, 0.5, -7])
def test_a_label_of_no_class_is_refused(label):
    data = scores(10)
    data["label"] = np.array([0, 1] * 4 + [1, label])
    with pytest.raises(BadValue, match=f"label {label}"):
        simulate(AUC, data, seed=1)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "mapping"),
        (3, "mapping"),
        ("score", "mapping"),
        (np.zeros(3), "mapping"),
        ([1, 2], "chunk"),
        ({}, "no column 'score'; the columns are none"),
        ({"score": [0.5], "y": [1]}, "no column 'label'; the columns are 'score', 'y'"),
        ({"score": [0.5, 0.5], "label": [1]}, "same length"),
        ({"score": [[0.5, 0.5]], "label": [1]}, "one dimension"),
        ({"score": ["a"], "label": [1]}, "numbers"),
        ({"score": [None, 0.5], "label": [1, 0]}, "row 0"),
    ],
)
def test_data_that_is_no_table(data, said):
    with pytest.raises(BadValue, match=said):
        simulate(AUC, data, seed=1)


@pytest.mark.parametrize("data", [[], {"score": [], "label": []}, {"score": [0.5], "label": [1]}])
def test_too_few_people(data):
    with pytest.raises(NotEnoughData):
        simulate(AUC, data, seed=1)


def test_the_estimator_is_passed_on():
    with pytest.raises(BadParameter, match="estimator"):
        simulate(AUC, scores(100), seed=1, estimator="best")
    assert simulate(AUC, scores(100), seed=1, estimator="paper").estimator == "paper"


def test_strings_are_simulated():
    words = np.array(["red", "green", "blue"] * 2000)
    study = Study.create(
        "collision_entropy", epsilon=3.0, domain=Categories(["red", "green", "blue"]), seed=1
    )
    estimate = simulate(study, {"value": words}, seed=1)
    assert abs(estimate.value - np.log(3)) < 6 * estimate.standard_error
    assert simulate_tally(study, {"value": words.astype(object)}, seed=1) == simulate_tally(
        study, {"value": words}, seed=1
    )
