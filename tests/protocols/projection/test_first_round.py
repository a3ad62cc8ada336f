"""Making a study of two rounds: what is refused, and what its first round asks."""

import numpy as np
import pytest

from dpairs import (
    BadParameter,
    Categories,
    Integers,
    Interval,
    Levels,
    NotEstimable,
    Study,
)
from dpairs.protocols.histogram import Histogram
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot_tree import PilotTree

from .cases import CASES, FIVE, SIGMAS, UNIT, first_tally


@pytest.mark.parametrize(
    ("which", "domain", "options", "words"),
    [
        ("auc", UNIT, {"pilot": "sketch"}, "pilot"),
        ("auc", UNIT, {"bins": 100}, "power of 2"),
        ("auc", UNIT, {"bins": 1}, "bins"),
        ("auc", UNIT, {"bins": 2**53}, "bins"),
        ("auc", UNIT, {"bins": [4, 4]}, "one number for each column"),
        ("auc", Integers(0, 9), {"bins": 32}, "bins"),
        ("auc", UNIT, {"n": 1}, "n must be"),
        ("auc", UNIT, {"mechanism": "krr"}, "mechanism"),
        ("auc", UNIT, {"rounding": "random"}, "rounding"),
        ("auc", Categories(["a", "b"]), {}, "ordered"),
        ("collision_entropy", UNIT, {}, "equal values"),
        ("kendall_tau", (UNIT, UNIT), {"bins": 2**17}, r"at most 2\^32"),
        ("kendall_tau", (Levels(range(64)),) * 2, {}, r"at most 2\^10"),
        ("kendall_tau", UNIT, {}, "was given 1"),
        ("gini_coefficient", Interval(-1, 1), {}, "at least 0"),
    ],
)
def test_wrong_studies_are_refused(which, domain, options, words):
    with pytest.raises(BadParameter, match=words) as raised:
        Study.create(which, protocol="projection", epsilon=1.0, domain=domain, **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("epsilon", [1e-20, 1e-30])
@pytest.mark.parametrize("domain", [UNIT, FIVE], ids=["tree", "histogram"])
def test_an_epsilon_beyond_64_bits_is_refused_in_one_sentence(domain, epsilon):
    with pytest.raises(BadParameter, match="too small") as raised:
        Study.create("auc", protocol="projection", epsilon=epsilon, domain=domain)
    assert "\n" not in str(raised.value)


def test_an_interval_without_room_for_its_bins_is_refused_before_anybody_answers():
    """Around 10^6 doubles are 10^-10 apart: 64 leaves of an interval of 10^-9 have no edges."""
    with pytest.raises(BadParameter):
        Study.create("variance", protocol="projection", epsilon=1.0, domain=Interval(1e6, 1e6 + 1e-9))


@pytest.mark.parametrize(
    ("which", "domain", "kind"),
    [
        ("auc", Levels(range(24)), Histogram),
        ("auc", Levels(range(32)), PilotTree),
        ("auc", UNIT, PilotTree),
        ("auc", Integers(0, 23), Histogram),
        ("auc", Integers(0, 31), PilotTree),
        ("gini_coefficient", Integers(0, 3), Histogram),
        ("gini_coefficient", Integers(0, 7), PilotTree),  # a ratio has two forms
        ("gini_coefficient", Levels(range(64)), PilotTree),
        ("gini_coefficient", Levels([*range(63), 99]), Histogram),  # not evenly spaced
        ("gini_coefficient", Levels(range(65)), PilotTree),
        ("vus", Levels(range(5)), PilotTree),
        ("collision_entropy", Categories(range(1000)), Histogram),
        ("kendall_tau", (Levels(range(8)), Levels(range(8))), Histogram),
        ("kendall_tau", (Levels(range(8)), Levels(range(9))), PilotTree),
    ],
)
def test_few_cells_are_asked_for_directly(which, domain, kind):
    made = Study.create(which, protocol="projection", epsilon=1.0, domain=domain)
    assert isinstance(made.protocol, Projection)
    assert isinstance(made.protocol.pilot, kind)
    assert (made.protocol.round, made.protocol.rounds) == (1, 2)


def test_a_first_round_asks_fewer_where_people_are_many():
    few, many = (CASES["auc"].study(1.0, n=n).protocol for n in (10**4, 10**8))
    assert isinstance(few, Projection)
    assert isinstance(many, Projection)
    assert 4 <= many.share < few.share <= 24


def test_a_first_round_alone():
    """A histogram has an answer of its own; a tree has none, and says what to do."""
    for name, kind in (("auc, levels", Histogram), ("auc", PilotTree)):
        case = CASES[name]
        study = case.study(4.0)
        table = case.draw(np.random.default_rng(9), 40_000)
        tally = first_tally(study, table)
        if kind is PilotTree:
            with pytest.raises(NotEstimable, match=r"Study\.next"):
                tally.estimate()
            continue
        found = tally.estimate()
        assert found.estimator == "pilot"
        assert found.n == tally.n
        assert abs(found.value - case.exact(table)) < SIGMAS * found.standard_error
