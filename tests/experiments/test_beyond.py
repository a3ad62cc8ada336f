"""The comparison of all protocols, and the limit of one bit beside them."""

import math
from pathlib import Path

import numpy as np
import pytest

import dpairs
from dpairs.mechanisms import BitResponse
from dpairs.randomness import SeededRandomness
from experiments import limits, sources
from experiments.experiment import Setting
from experiments.paper import beyond
from experiments.runs import Results
from experiments.synthetic import PAPERS, classes, people, scores, unit_scores

UNIT = dpairs.Interval(0, 1)


def sample(statistic: str, seed: int = 3, n: int = 60) -> tuple[object, dict[str, np.ndarray]]:
    draw = people(seed)
    if statistic == "auc":
        return UNIT, {"score": draw.random(n), "label": draw.integers(0, 2, n)}
    if statistic == "vus":
        return UNIT, {"score": draw.random(n), "label": np.arange(n) % 3}
    if statistic == "kendall_tau":
        side = dpairs.Levels([1, 2, 3, 4])
        return (side, side), {"x": draw.integers(1, 5, n), "y": draw.integers(1, 5, n)}
    return UNIT, {"value": draw.random(n)}


@pytest.mark.parametrize("statistic", limits.FUNCTIONS)
def test_the_projection_of_the_limit_is_that_of_all_pairs(statistic):
    """Means of psi: of degree two, one mean each in two strata, or twice the statistic in one."""
    domain, data = sample(statistic)
    truth = dpairs.exact(statistic, data)
    known = limits.FUNCTIONS[statistic](domain, data)
    n = len(next(iter(data.values())))
    for psi, low, high in known:
        assert low - 1e-12 <= psi.min()
        assert psi.max() <= high + 1e-12
        # Somebody is also paired with himself there, which weighs one in n.
        factor = 2 * (n - 1) / n if len(known) == 1 else 1
        assert psi.mean() == pytest.approx(factor * truth, abs=1e-12)


def test_the_derivative_of_a_gini_coefficient_says_what_one_more_person_does():
    value = np.sort(np.random.default_rng(3).lognormal(size=4000))
    ((psi, *_),) = limits.known_gini_coefficient(UNIT, {"value": value})
    before = dpairs.exact("gini_coefficient", {"value": value})
    for place in (0, 2000, 3990):
        after = dpairs.exact("gini_coefficient", {"value": np.append(value, value[place])})
        assert value.size * (after - before) == pytest.approx(psi[place] - psi.mean(), abs=0.01)


def test_a_symbol_of_somebody_who_knows_everything_is_better_than_a_bit():
    """At epsilon 4; around the population's value people's own choice is added."""
    domain, data = sample("gini_mean_difference", n=2000)
    population, people = limits.one_symbol("gini_mean_difference", domain, data, 4.0)
    ((psi, *_),) = limits.known_gini(domain, data)
    assert population**2 - people**2 == pytest.approx(psi.var() / psi.size)
    assert people < limits.one_bit("gini_mean_difference", domain, data, 4.0) / limits.OF_NORMAL


def test_the_limit_is_the_error_of_one_bit_from_everybody():
    """Bits of the known projection, 4,000 times: the mean within 5 standard errors, wrong once in 10^6."""
    domain, data = sample("auc", n=200)
    bit, bits = BitResponse.for_epsilon(1.0), SeededRandomness(8)
    errors = np.zeros(4000)
    for psi, low, high in limits.known_auc(domain, data):
        inside = (psi - low) / (high - low)
        sent = bit.randomize(np.tile(inside, errors.size), bits).reshape(errors.size, -1)
        read = low + (high - low) * bit.decode[sent]
        errors += read.mean(axis=1) - psi.mean()
    measured, limit = np.abs(errors).mean(), limits.one_bit("auc", domain, data, 1.0)
    doubt = np.abs(errors).std() / math.sqrt(errors.size)
    assert abs(measured - limit) < 5 * doubt
    assert abs(measured - limits.one_bit("auc", domain, data, 1.2)) > 5 * doubt  # the test can tell


@pytest.mark.parametrize("data", [name for name in beyond.SETS if name not in beyond.NEEDS])
def test_every_way_fits(data):
    rows = beyond.measure({"data": data, "size": 2000, "epsilon": 1.0}, 4, Path())
    wanted = set(beyond.WAYS) - (set() if data in beyond.AUC else {"paper, own", "tree"})
    assert {row["way"] for row in rows} == wanted
    assert all(np.isfinite(row["value"]) and float(row["limit"]) > 0 for row in rows)


def test_every_way_is_seeded():
    """Of the set that has every way, and the quickest projection."""
    setting: Setting = {"data": "normals", "size": 500, "epsilon": 1.0}
    first, again, other = (beyond.measure(setting, seed, Path()) for seed in (4, 4, 5))
    assert {row["way"] for row in first} == set(beyond.WAYS)
    assert first == again
    assert all(mine["value"] != theirs["value"] for mine, theirs in zip(first, other, strict=True))


def test_without_real_data_their_settings_give_no_rows(tmp_path):
    for data in beyond.NEEDS:
        assert beyond.measure({"data": data, "size": 100, "epsilon": 1.0}, 0, tmp_path) == []


def doctored(ours: float) -> Results:
    """Runs in which the paper's protocols miss by 0.3 and ours by ``ours``."""
    return Results(
        [
            {
                "data": data, "size": 10, "epsilon": epsilon, "run": run, "way": way, "protocol": "tree",
                "value": 0.5 + (0.3 if way.startswith("paper") else ours), "truth": 0.5, "limit": 0.01,
            }
            for data in beyond.SETS
            for epsilon in (1.0, 2.0)
            for run in (0, 1)
            for way in beyond.WAYS
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "tenth", "third"), [(0.02, True, True), (0.05, False, True), (0.2, False, False)]
)
def test_statements_can_fail(ours, tenth, third):
    found = beyond.findings(doctored(ours))
    held = {check.statement.split(":")[0]: check.holds for check in found.checks}
    assert held == {
        **{beyond.SETS[data]: tenth for data in beyond.TENTH},
        **{beyond.SETS[data]: third for data in beyond.THIRD},
    }
    (picture,) = beyond.pictures(doctored(ours))
    assert len(picture.figure.axes) == len(beyond.SETS)


# ---------------------------------------------------------------- people


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_sets_are_as_described(name):
    drawn = scores(name, 14, 1000, 1)
    positive, negative = drawn[:1000], drawn[1000:]
    assert classes(1000)[:1000].all()
    if name == "auc_one":
        assert set(positive.tolist()) == {2**14 - 1}
    if name == "ithdigit":
        assert set(positive.tolist()) == {1}  # 10^-4 of 2^14 is 1.6
        assert set(scores(name, 13, 10, 1).tolist()) == {0}  # and of 2^13 less than 1
    if name == "ur":
        assert drawn.max() > 2**14 * 0.99
    else:
        assert set(negative.tolist()) == {0}


def test_unknown_scores_are_refused():
    with pytest.raises(ValueError, match="no scores named 'x'"):
        scores("x", 4, 10, 0)


def test_unit_scores_stay_inside():
    drawn = unit_scores(100_000, 2)
    assert 0 <= drawn.min() <= drawn.max() < 1


def test_the_folder_of_data(monkeypatch, tmp_path):
    monkeypatch.setenv(sources.VARIABLE, "")
    assert sources.folder(None) is None
    assert sources.missing((sources.HOSPITAL,), None) == [sources.HOSPITAL]
    monkeypatch.setenv(sources.VARIABLE, str(tmp_path))
    assert sources.folder(None) == tmp_path
    (tmp_path / sources.RATINGS).write_bytes(b"")
    assert sources.missing((sources.HOSPITAL, sources.RATINGS), tmp_path) == [sources.HOSPITAL]
