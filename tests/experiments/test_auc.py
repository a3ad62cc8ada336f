"""The experiments on the AUC: settings, runs, what is read off them, and that every statement can fail."""

import math
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dpairs import Integers, Study, exact, simulate_tally
from dpairs.mechanisms import KaryResponse
from dpairs.protocols.counts import DenseCounts
from experiments.catalogue import EXPERIMENTS
from experiments.paper import (
    auc_diabetes,
    auc_diabetes_generic,
    auc_synthetic_generic,
    auc_synthetic_tree,
    generic_counts,
    splitting,
)
from experiments.paper.auc import ESTIMATORS, MECHANISMS, ROWS, spoken
from experiments.runs import Results, Row, Summary

MODULES = (auc_diabetes, auc_diabetes_generic, auc_synthetic_generic, auc_synthetic_tree, splitting)
NAMES = [module.EXPERIMENT.name for module in MODULES]
MADE_UP = (
    (auc_synthetic_tree, {"data": "ur", "epsilon": 1.0, "alpha": 6, "size": 500}),
    (auc_synthetic_tree, {"data": "ithdigit", "epsilon": 1.0, "alpha": 14, "size": 500}),
    (auc_synthetic_generic, {"data": "ur", "epsilon": 1.0, "alpha": 3, "size": 500}),
    (auc_synthetic_generic, {"data": "ithdigit", "epsilon": 4.0, "alpha": 14, "size": 500}),
    (splitting, {"data": "normals", "splitting": "users", "alpha": 4, "epsilon": 1.0, "size": 500}),
    (splitting, {"data": "auc_one", "splitting": "budget-advanced", "alpha": 4, "epsilon": 1.0, "size": 500}),
)
FOLDER = Path(os.environ.get("DPAIRS_DATA", "nowhere"))


# ---------------------------------------------------------------- settings and runs


@pytest.mark.parametrize("module", MODULES, ids=NAMES)
@pytest.mark.parametrize("quick", [True, False])
def test_settings_are_distinct_and_have_the_same_names(module, quick):
    found = module.settings(quick)
    assert found == module.settings(quick)
    assert {tuple(setting) for setting in found} == {tuple(found[0])}
    assert len({tuple(setting.values()) for setting in found}) == len(found)
    assert len(module.settings(True)) < len(module.settings(False))


def test_the_catalogue_has_them_all():
    assert set(NAMES) <= {experiment.name for experiment in EXPERIMENTS}


@pytest.mark.parametrize(("module", "setting"), MADE_UP)
def test_a_run_depends_on_its_seed_alone(module, setting):
    first, again, other = (module.measure(setting, seed, Path("nowhere")) for seed in (1, 1, 2))
    assert first == again
    assert [row["value"] for row in first] != [row["value"] for row in other]
    assert all(math.isfinite(row["value"]) for row in first)


def test_the_truth_of_separated_classes_is_one_even_where_all_share_a_leaf():
    setting: Row = {"data": "ithdigit", "epsilon": 1.0, "alpha": 4, "size": 500}
    for module in (auc_synthetic_tree, auc_synthetic_generic):
        assert {row["truth"] for row in module.measure(setting, 1, Path())} == {1.0}


@pytest.mark.data
@pytest.mark.parametrize("module", [auc_diabetes, auc_diabetes_generic])
def test_runs_on_the_hospital_data(module):
    setting = {"epsilon": 5.0, "alpha": 4}
    rows = module.measure(setting, 1, FOLDER)
    assert rows == module.measure(setting, 1, FOLDER)
    assert len(rows) == 2
    for row in rows:
        assert row["truth"] == pytest.approx(0.714, abs=0.001)
        assert abs(row["value"] - row["truth"]) < 0.25


# ---------------------------------------------------------------- formulas


def test_scores_in_bins_by_brute_force():
    rng = np.random.default_rng(1)
    table = {"score": np.append(rng.random(60), 1.0), "label": rng.integers(0, 2, 61)}
    cells = np.minimum(np.floor(table["score"] * 8), 7)
    positive, negative = cells[table["label"] == 1], cells[table["label"] == 0]
    wins = np.mean([(p > n) + (p == n) / 2 for p in positive for n in negative])
    assert auc_diabetes_generic.binned(table, 8) == pytest.approx(wins, abs=1e-12)


@pytest.mark.parametrize(("bins", "epsilon"), [(2, 0.5), (16, 1.0), (64, 4.0)])
def test_counts_alone_give_the_estimate_of_the_histogram_protocol(bins, epsilon):
    rng = np.random.default_rng(bins)
    table = {"score": rng.integers(0, bins, 3000), "label": rng.integers(0, 2, 3000)}
    study = Study.create(
        "auc", epsilon=epsilon, domain=Integers(0, bins - 1), bins=bins, mechanism="krr", seed=1
    )
    tally = simulate_tally(study, table, seed=1)
    counts = [tally.counts(stratum) for stratum in ("positive", "negative")]
    positive, negative = (each.array for each in counts if isinstance(each, DenseCounts))
    value = generic_counts.estimated_auc(positive, negative, epsilon)
    assert value == pytest.approx(tally.estimate().value, abs=1e-9)
    # A negative control: another epsilon decodes the same reports to another value.
    assert generic_counts.estimated_auc(positive, negative, epsilon / 2) != pytest.approx(value, abs=1e-3)


def test_reports_have_the_mean_and_variance_of_randomized_response():
    people, epsilon, runs = np.array([5000, 0, 1000, 200]), 1.0, 4000
    channel = KaryResponse.for_epsilon(4, epsilon).channel
    rng = np.random.default_rng(1)
    found = np.array([generic_counts.reports(people, epsilon, rng) for _ in range(runs)])
    assert set(found.sum(axis=1)) == {people.sum()}
    mean, variance = people @ channel, people @ (channel * (1 - channel))
    # Six standard errors: chance alone fails less than once in 10^7 times.
    assert np.abs(found.mean(axis=0) - mean).max() < 6 * math.sqrt(variance.max() / runs)
    assert found.var(axis=0, ddof=1) == pytest.approx(variance, rel=6 * math.sqrt(2 / runs))


def test_the_estimate_from_counts_is_exact_without_noise():
    rng = np.random.default_rng(1)
    score, label = rng.integers(0, 9, 400), rng.integers(0, 2, 400)
    positive, negative = (np.bincount(score[label == each], minlength=9) for each in (1, 0))
    value = generic_counts.estimated_auc(positive, negative, 40.0)
    assert value == pytest.approx(exact("auc", {"score": score, "label": label}), abs=1e-12)


def test_the_noise_of_two_point_masses():
    size, bins, epsilon, runs = 10_000, 2**10, 3.0, 2000
    people = [np.zeros(bins, dtype=np.int64) for _ in range(2)]
    people[0][1] = people[1][0] = size
    rng, values = np.random.default_rng(2), []
    for _ in range(runs):
        positive, negative = (generic_counts.reports(each, epsilon, rng) for each in people)
        values.append(generic_counts.estimated_auc(positive, negative, epsilon))
    # Six standard errors of a standard deviation.
    noise = generic_counts.two_points_noise(size, bins, epsilon)
    assert np.std(values) == pytest.approx(noise, rel=6 / math.sqrt(2 * runs))


def test_an_exponent_is_found():
    depths = (4, 8, 12, 16)
    exact_power = [Summary(alpha**1.7, alpha**1.7, 0.1 * alpha**1.7) for alpha in depths]
    slope, doubt = splitting.exponent(depths, exact_power)
    assert slope == pytest.approx(1.7)
    assert doubt == pytest.approx(0.1 / math.sqrt(np.sum((np.log(depths) - np.log(depths).mean()) ** 2)))
    one_run = [Summary(each.mean, 0.0, 0.0) for each in exact_power]
    assert splitting.exponent(depths, one_run)[0] == pytest.approx(1.7)


def test_the_papers_orders():
    assert splitting.bound("budget", "sample") == 3
    assert splitting.bound("users", "population") == 2
    assert splitting.bound("budget-advanced-paper", "sample") == 2
    # Not in the paper's table: a variant that it mentions, and the exact sum of losses, which is ours.
    assert splitting.bound("users-independent", "sample") is None
    assert splitting.bound("budget-advanced", "sample") is None


def test_the_papers_lines_run_the_papers_tree(monkeypatch):
    asked = []
    created = Study.create

    def create(*given, **options):
        asked.append(options)
        return created(*given, **options)

    monkeypatch.setattr(Study, "create", create)
    for module in (auc_synthetic_tree, splitting):
        module.measure(next(s for m, s in MADE_UP if m is module), 1, Path())
    for options, name in zip(asked, list(ROWS) * 2, strict=True):
        assert options["options"]["rows"] == {"paper": "all", "pruned": "others"}[name]
        assert options["options"].get("splitting", "users") == "users"


def test_spoken_numbers():
    assert spoken([2.04, 1.0, 3.96]) == "1.0 to 4.0"
    assert spoken([0.501, 0.502], 2) == "0.50"


# ---------------------------------------------------------------- findings, from runs with a given error


def runs(module, error, **more):
    """Two runs of every setting whose values miss the truth by what ``error`` says, above and below."""
    lines = {"mechanism": MECHANISMS} if "generic" in module.__name__ else {"estimator": ESTIMATORS}
    ((column, names),) = lines.items()
    rows = []
    for setting in module.settings(False):
        for run, sign in enumerate((1, -1)):
            for name in names:
                if name == "projective" and setting["alpha"] > auc_synthetic_generic.BOTH:
                    continue
                given = {"truth": 0.7, **more}
                size = error({**setting, column: name}) * (1 + 0.1 * run)
                rows.append(
                    {**setting, "run": run, column: name, "value": given["truth"] + sign * size, **given}
                )
    return Results(rows)


def verdicts(module, error, **more):
    return [check.holds for check in module.EXPERIMENT.findings(runs(module, error, **more)).checks]


def tree_like(setting):
    """An error as the paper has it on the hospital data."""
    return 0.05 * setting["alpha"] ** 0.5 / min(setting["epsilon"], 2)


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (tree_like, [True, True]),
        (lambda setting: tree_like(setting) * setting["alpha"], [False, True]),
        (lambda setting: 0.1 / setting["epsilon"], [True, False]),
    ],
)
def test_statements_on_the_tree_and_the_hospital_data(error, wanted):
    assert verdicts(auc_diabetes, error) == wanted


def synthetic_like(setting):
    """An error as the paper has it on its three sets."""
    if setting["data"] == "ithdigit" and setting["alpha"] < 14:
        return 0.5
    scale = {"auc_one": 0.004, "ur": 0.0008, "ithdigit": 0.001}[setting["data"]]
    return scale * setting["alpha"] / min(setting["epsilon"], 2)


def but(condition, factor):
    """The same, but for some settings."""
    return lambda setting: synthetic_like(setting) * (factor if condition(setting) else 1)


@pytest.mark.parametrize(
    ("error", "failing"),
    [
        (synthetic_like, set()),
        (lambda setting: synthetic_like(setting) * setting["alpha"], {0, 4}),
        (but(lambda setting: setting["data"] == "ithdigit" and setting["alpha"] > 13, 5), {1, 4}),
        (but(lambda setting: setting["data"] == "ur", 3), {2}),
        (but(lambda setting: setting["alpha"] == 13 and setting["epsilon"] == 4, 0.1), {3}),
        (but(lambda setting: setting["epsilon"] == 4, 0.5), {3, 5}),
    ],
)
def test_statements_on_the_tree_and_made_up_scores(error, failing):
    held = verdicts(auc_synthetic_tree, error, truth=1.0)
    assert {place for place, holds in enumerate(held) if not holds} == failing


def generic_like(setting):
    """An error as theory has it: in proportion to d, and with our mechanism to its square root."""
    size = 2.0 ** setting["alpha"]
    noise = 1e-3 * (size if setting["mechanism"] == "krr" else size**0.5)
    blind = setting["data"] == "ithdigit" and setting["alpha"] < 14
    return 0.5 if blind else noise / math.expm1(min(setting["epsilon"], 3))


@pytest.mark.parametrize(
    ("error", "failing"),
    [
        (generic_like, set()),
        (lambda s: generic_like(s) * (0.1 if (s["data"], s["alpha"]) == ("ithdigit", 8) else 1), {0, 1}),
        (lambda s: generic_like(s) * (1e-3 if (s["alpha"], s["epsilon"]) == (14, 4.0) else 1), {1}),
        (lambda s: 0.5 if s["data"] == "ithdigit" else 1e-3 * s["alpha"], {2, 4}),
        (lambda s: generic_like(s) * 10, {3}),
        (lambda s: generic_like({**s, "mechanism": "krr"}), {4}),
    ],
)
def test_statements_on_the_generic_protocol_and_made_up_scores(error, failing):
    held = verdicts(auc_synthetic_generic, error, truth=1.0)
    assert {place for place, holds in enumerate(held) if not holds} == failing


@pytest.mark.parametrize(
    ("error", "given", "wanted"),
    [
        (0.04, {"truth": 0.9, "binned": 0.899}, [True, True, True]),
        (0.04, {"truth": 0.7, "binned": 0.699}, [False, True, True]),
        (0.04, {"truth": 0.9, "binned": 0.88}, [True, False, True]),
        (0.06, {"truth": 0.9, "binned": 0.899}, [True, True, False]),
    ],
)
def test_statements_on_the_generic_protocol_and_the_hospital_data(error, given, wanted):
    assert verdicts(auc_diabetes_generic, lambda setting: error, **given) == wanted


def split_like(setting):
    """A squared error that grows as the table says."""
    power = {"users": 2, "users-independent": 2, "budget": 3}.get(setting["splitting"], 2)
    scale = {"users": 1e-3, "users-independent": 1e-3, "budget-advanced-paper": 1e-1}.get(
        setting["splitting"], 2e-3
    )
    return math.sqrt(scale * setting["alpha"] ** power / 1e3)


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (split_like, [True, True, True, True]),
        (lambda s: split_like(s) * s["alpha"], [False, False, True, True]),
        (lambda s: split_like(s) / s["alpha"], [True, False, True, True]),
        (lambda s: split_like(s) * (20 if "users" in s["splitting"] else 1), [True, True, False, True]),
        (lambda s: split_like(s) * (0.1 if "paper" in s["splitting"] else 1), [True, True, True, False]),
    ],
)
def test_statements_on_splitting(error, wanted):
    assert verdicts(splitting, error, population=0.7) == wanted


@pytest.mark.parametrize("module", MODULES, ids=NAMES)
def test_pictures_and_tables(module):
    found = runs(module, lambda setting: 0.01 * setting["alpha"], population=0.7, binned=0.69)
    drawn = list(module.EXPERIMENT.pictures(found))
    try:
        for picture in drawn:
            assert "bars are" in picture.caption.lower()
            assert all(axes.lines or axes.containers for axes in picture.figure.axes)
    finally:
        plt.close("all")
    assert [picture.name for picture in drawn] == [module.EXPERIMENT.name]
    for table in module.EXPERIMENT.findings(found).tables:
        assert {len(row) for row in table.rows} == {len(table.head)}
