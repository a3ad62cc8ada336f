"""A person's ledger: what was spent, and what is refused."""

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from operator import add
from types import SimpleNamespace
from typing import Any

import pytest

import dpairs
from dpairs import Interval, Ledger, Study
from dpairs.errors import AlreadyAnswered, BadFile, BadParameter, LimitExceeded
from dpairs.privacy.composition import delta_of, filtered_epsilon
from dpairs.privacy.ledger import Entry

from ..every import every
from ..processes import program


def study(seed: int, epsilon: float = 0.5) -> Study:
    return Study.create("auc", epsilon=epsilon, domain=Interval(0, 1), bins=4, seed=seed)


def test_losses_add_up_until_the_limit():
    book = Ledger(limit=1.2)
    book.spend(study(1))
    book.spend(study(2))
    assert book.total == pytest.approx(1.0)
    with pytest.raises(LimitExceeded, match="above the limit"):
        book.spend(study(3))
    assert book.total == pytest.approx(1.0)
    book.spend(study(4, epsilon=0.19))


def test_a_study_counts_once():
    book = Ledger(limit=5)
    book.spend(study(1))
    with pytest.raises(AlreadyAnswered):
        book.check(study(1))


def test_each_round_s_answer_is_an_entry():
    first = Study.create("variance", protocol="projection", epsilon=1.0, domain=Interval(0, 1), seed=1)
    second = dpairs.simulate_tally(first, {"value": [i / 99 for i in range(100)]}, seed=1).study
    assert second.first_id == first.id != second.id
    book = Ledger(limit=1.5)
    book.spend(first)
    for _ in range(2):  # a name that was paid for makes nothing free
        with pytest.raises(LimitExceeded):
            book.spend(second)
    book = Ledger(limit=5)
    for each in (first, second):
        book.spend(each)
    assert book.total == pytest.approx(first.privacy.epsilon + second.privacy.epsilon)


def test_the_same_answer_again_costs_nothing_and_another_one_is_refused():
    book = Ledger(limit=1.0)
    for _ in range(2):
        book.spend(study(1), "name of this answer")
    assert book.total == pytest.approx(0.5)
    for name in ("", "another"):
        with pytest.raises(AlreadyAnswered):
            book.spend(study(1), name)


def test_many_small_losses_compose_to_less_at_a_delta():
    losses = [(0.1, 0.0)] * 200
    advanced = float(filtered_epsilon(losses, 1e-6))
    assert advanced == pytest.approx(math.sqrt(2 * math.log(1e6) * 200 * 0.01) + 200 * 0.01 / 2)
    assert advanced < float(filtered_epsilon(losses, 0.0)) == pytest.approx(20.0)
    assert filtered_epsilon([(1.0, 0.0)], 1e-6) == 1


@every("loss", [0.01, 0.1, 0.5, 1.0, 3.0])
@every("times", [1, 2, 10, 100, 1000])
def test_the_filter_s_bound_holds_for_randomized_responses(loss, times):
    """The worst mechanisms of equal losses, exactly (Kairouz, Oh, Viswanath): delta is within the slack."""
    for slack in (1e-9, 1e-3):
        bound = float(filtered_epsilon([(loss, 0.0)] * times, slack))
        assert delta_of(loss, times, bound) <= slack
        # The negative control: half of it is no bound wherever it is not trivial.
        if times >= 100:
            assert delta_of(loss, times, bound / 4) > slack


def test_sums_are_exact():
    """Ten tenths in doubles are less than one; ten doubles of 0.1 are more, and that decides."""
    book = Ledger(limit=1.0, spent={str(number): Entry(0.1) for number in range(9)})
    assert reduce(add, [0.1] * 10) < 1.0  # sum() is more careful since Python 3.12
    assert book.room < 0.1


DELTA = Study.create(
    "auc",
    protocol="tree",
    splitting="budget-advanced",
    epsilon=0.5,
    delta=1e-6,
    domain=Interval(0, 1),
    bins=16,
    seed=1,
)


def test_a_delta_is_spent_too():
    with pytest.raises(LimitExceeded, match="delta"):
        Ledger(limit=100.0).check(DELTA)
    with pytest.raises(LimitExceeded, match="delta"):
        Ledger(limit=100.0, delta=1.9e-6).check(DELTA)
    book = Ledger(limit=100.0, delta=2e-6)
    book.spend(DELTA)
    assert book.total_delta == 1e-6
    again = Ledger.from_json(book.to_json())
    assert again == book
    with pytest.raises(LimitExceeded, match="delta"):
        again.spend(replace(DELTA, seed=2))


def test_a_ledger_is_a_file(tmp_path):
    book = Ledger(limit=2.0, delta=1e-6)
    book.spend(study(1))
    book.save(tmp_path / "ledger.json")
    assert Ledger.load(tmp_path / "ledger.json") == book


@pytest.mark.parametrize("text", ["{}", "[]", '{"format":"dpairs-ledger","version":2}', "x"])
def test_other_files_are_refused(text):
    with pytest.raises(BadFile):
        Ledger.from_json(text)


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": math.nan}, {"limit": 1, "delta": 2}])
def test_wrong_limits_are_refused(wrong):
    with pytest.raises(BadParameter):
        Ledger(**wrong)


def test_room_is_what_one_more_study_may_lose():
    basic = Ledger(limit=1.2)
    basic.spend(study(1))
    assert basic.room == pytest.approx(0.7) == basic.left
    advanced = Ledger(limit=5.0, delta=1e-6, spent={str(n): Entry(0.05) for n in range(200)})
    assert advanced.total < 5.0 < 200 * 0.05
    with_it = [*advanced.losses, (advanced.room, 0.0)]
    assert float(filtered_epsilon(with_it, 5e-7)) == pytest.approx(5.0)


SPEND = """
import sys
from dpairs import Ledger, Study
book, studies = sys.argv[1], sys.argv[2:]
for each in studies:
    try:
        Ledger.record(book, Study.load(each))
    except Exception as error:
        print(type(error).__name__)
"""


def test_two_processes_at_once_lose_nothing(tmp_path):
    book = tmp_path / "ledger.json"
    Ledger(limit=10.0).save(book)
    halves: list[list[str]] = [[], []]
    for number in range(24):
        path = tmp_path / f"{number}.json"
        study(number, epsilon=0.5).save(path)
        halves[number % 2].append(str(path))
    with ThreadPoolExecutor() as both:
        said = "".join(both.map(lambda half: program(SPEND, str(book), *half).stdout, halves))
    # Twenty studies of 0.5 make 10; the other four are refused, whoever comes first.
    assert said.count("LimitExceeded") == 4
    assert len(Ledger.load(book).spent) == 20


KILLED = """
import os, signal, sys
from dpairs import Ledger, Study
from dpairs.formats import files
def stopped(*given):
    os.kill(os.getpid(), signal.SIGKILL)
{where}
Ledger.record(sys.argv[1], Study.load(sys.argv[2]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    "where", ["files.os.fsync = stopped", "Ledger.save = stopped", "Ledger.spend = stopped"]
)
def test_a_killed_process_leaves_the_ledger_as_it_was(tmp_path, where):
    book, path = tmp_path / "ledger.json", tmp_path / "study.json"
    Ledger(limit=2.0).save(book)
    study(1).save(path)
    assert program(KILLED.format(where=where), str(book), str(path)).returncode == -9
    assert Ledger.load(book).spent == {}
    # The lock went with the process.
    assert Ledger.record(book, study(1)).total == pytest.approx(0.5)


def test_a_loss_whose_square_is_no_float_is_above_the_limit():
    made = (study(1), study(2))
    claimed: list[Any] = [
        SimpleNamespace(id=one.id, privacy=replace(one.privacy, epsilon=1e308)) for one in made
    ]
    for delta in (0.0, 1e-6):
        with pytest.raises(LimitExceeded, match=r"loses epsilon 1e\+308; .*above the limit of 5"):
            Ledger(limit=5.0, delta=delta).spend(claimed[0])
        book = Ledger(limit=1.5e308, delta=delta)
        book.spend(claimed[0])
        assert book.total == 1e308
        with pytest.raises(LimitExceeded, match=r"above the limit of 1\.5e"):
            book.spend(claimed[1])


def test_a_damaged_ledger_answers_nothing(tmp_path):
    book = tmp_path / "ledger.json"
    Ledger(limit=2.0).save(book)
    whole = book.read_bytes()
    for broken in (
        b"",
        whole[:-10],
        whole.replace(b'"limit":2', b'"limit":-2'),
        whole.replace(b'"spent":{', b'"spent":['),
        whole.replace(b'"spent":{', b'"spent":{"a":0.5'),
        whole.replace(b'"spent":{', b'"spent":{"a":{"delta":1,"epsilon":0.5,"name":""}'),
        whole.replace(b'"spent":{', b'"spent":{"a":{"delta":0,"epsilon":-0.5,"name":""}'),
        whole.replace(b'"version":2', b'"version":1'),
    ):
        book.write_bytes(broken)
        with pytest.raises((BadFile, BadParameter)):
            Ledger.record(book, study(1))
        assert book.read_bytes() == broken
    with pytest.raises(BadFile, match="cannot be"):
        Ledger.record(tmp_path / "none" / "ledger.json", study(1))
