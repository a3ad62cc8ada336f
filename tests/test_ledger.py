"""A person's ledger: what was spent, and what is refused."""

import math

import pytest

import dpairs
from dpairs import Interval, Ledger, Study
from dpairs.errors import AlreadyAnswered, BadFile, BadParameter, LimitExceeded
from dpairs.ledger import composed


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
    book.spend(study(4, epsilon=0.2))


def test_a_study_counts_once():
    book = Ledger(limit=5)
    book.spend(study(1))
    with pytest.raises(AlreadyAnswered):
        book.check(study(1))


def test_both_rounds_are_one_study():
    first = Study.create("variance", protocol="projection", epsilon=1.0, domain=Interval(0, 1), seed=1)
    second = dpairs.simulate_tally(first, {"value": [i / 99 for i in range(100)]}, seed=1).study
    assert second.first_id == first.id != second.id
    book = Ledger(limit=5)
    book.spend(first)
    with pytest.raises(AlreadyAnswered):
        book.spend(second)


def test_many_small_losses_compose_to_less_at_a_delta():
    losses = [0.1] * 200
    advanced = composed(losses, 1e-6)
    expected = 200 * 0.1 * math.tanh(0.05) + math.sqrt(2 * math.log(1e6) * 200 * 0.01)
    assert advanced == pytest.approx(expected)
    assert advanced < composed(losses, 0.0) == pytest.approx(20.0)
    assert composed([1.0], 1e-6) == 1.0


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
