"""What somebody who knows scikit-learn and scipy would type first: it works, or one sentence helps.

The calls follow the documentation of `sklearn.metrics.roc_auc_score`, `scipy.stats.kendalltau`,
`scipy.stats.mannwhitneyu`, `scipy.stats.entropy` and `numpy.var`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dpairs

from .front_door import RNG, N, ages, incomes, sentence, x, y, y_score, y_true

pytestmark = pytest.mark.usefixtures("few_bins")


def near(estimate: dpairs.Estimate, truth: float) -> None:
    """Within five of its own standard errors: by chance, less than one in a million."""
    assert isinstance(estimate, dpairs.Estimate)
    assert abs(estimate.value - truth) < 5 * estimate.standard_error


def test_01_auc_of_labels_and_scores():
    near(
        dpairs.auc(y_true, y_score, epsilon=1, seed=1),
        dpairs.exact("auc", {"score": y_score, "label": y_true}),
    )


def test_02_auc_by_the_keywords_of_roc_auc_score():
    by_name = dpairs.auc(y_true=y_true, y_score=y_score, epsilon=1, seed=1)
    assert by_name.value == dpairs.auc(y_true, y_score, epsilon=1, seed=1).value


def test_03_auc_of_lists():
    near(dpairs.auc(y_true.tolist(), y_score.tolist(), epsilon=4, seed=1), 0.83)


def test_04_auc_of_columns_of_a_pandas_frame_that_was_filtered():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"died": y_true, "p_hat": y_score})
    frame = frame[frame.p_hat > 0.2]
    near(dpairs.auc(frame["died"], frame["p_hat"], epsilon=4, seed=1), 0.8)


def test_05_auc_with_labels_in_words():
    words = np.where(y_true == 1, "yes", "no")
    near(dpairs.auc(words, y_score, epsilon=4, positive="yes", seed=1), 0.83)
    with pytest.raises(dpairs.BadValue) as error:
        dpairs.auc(words, y_score, epsilon=1)
    assert "positive='yes'" in sentence(error)


def test_06_auc_with_true_and_false():
    near(dpairs.auc(y_true == 1, y_score, epsilon=4, seed=1), 0.83)


def test_07_auc_of_all_of_predict_proba():
    with pytest.raises(dpairs.BadValue) as error:
        dpairs.auc(y_true, np.column_stack([1 - y_score, y_score]), epsilon=1)
    assert "[:, 1]" in sentence(error)


def test_08_auc_of_three_classes():
    with pytest.raises(dpairs.BadValue) as error:
        dpairs.auc(RNG.integers(0, 3, N), y_score, epsilon=1)
    assert "two classes" in sentence(error)


def test_09_auc_of_a_decision_function_with_its_domain():
    near(dpairs.auc(y_true, 10 * y_score - 5, epsilon=4, domain=(-5, 5), seed=1), 0.83)


def test_10_auc_of_a_decision_function_without_one():
    estimate = dpairs.auc(y_true, 10 * y_score - 5, epsilon=4, seed=1)
    near(estimate, 0.83)
    assert any("not private" in note for note in estimate.notes())
    assert "not private" in str(estimate)
    assert not any("not private" in note for note in dpairs.auc(y_true, y_score, epsilon=4, seed=1).notes())


def test_11_auc_with_missing_scores():
    holes = np.where(np.arange(N) == 17, np.nan, y_score)
    with pytest.raises(dpairs.BadValue) as error:
        dpairs.auc(y_true, holes, epsilon=1)
    assert "row 17" in sentence(error)


def test_12_auc_of_unequal_lengths():
    with pytest.raises(dpairs.BadValue) as error:
        dpairs.auc(y_true[:-1], y_score, epsilon=1)
    assert "3999" in sentence(error)


@pytest.mark.parametrize("option", ["sample_weight", "multi_class", "max_fpr"])
def test_13_auc_with_what_is_not_offered(option):
    more: Any = {option: None}
    with pytest.raises(dpairs.BadParameter) as error:
        dpairs.auc(y_true, y_score, epsilon=1, **more)
    assert option in sentence(error)


def test_14_auc_of_one_class():
    with pytest.raises(dpairs.NotEnoughData) as error:
        dpairs.auc(np.ones(N), y_score, epsilon=1)
    assert "negative" in sentence(error)


def test_15_kendall_tau_of_two_columns():
    scipy_stats = pytest.importorskip("scipy.stats")
    near(
        dpairs.kendall_tau(x, y, epsilon=4, domain=((-5, 5), (-6, 6)), seed=1),
        scipy_stats.kendalltau(x, y).statistic,
    )


def test_16_kendall_tau_without_domains_and_by_names():
    estimate = dpairs.kendall_tau(x=x, y=y, epsilon=4, variant="b", seed=1)
    assert "not private" in str(estimate)


def test_17_kendall_tau_with_other_options_of_scipy():
    options: list[dict[str, Any]] = [{"variant": "c"}, {"nan_policy": "omit"}, {"method": "exact"}]
    for option in options:
        with pytest.raises(dpairs.BadParameter) as error:
            dpairs.kendall_tau(x, y, epsilon=1, **option)
        assert next(iter(option)) in sentence(error)


def test_18_mann_whitney_of_two_samples():
    from scipy.stats import mannwhitneyu

    first, second = y_score[y_true == 1], y_score[y_true == 0]
    estimate = dpairs.mann_whitney(first, second, epsilon=4, seed=1)
    near(estimate, mannwhitneyu(first, second).statistic)
    assert estimate.pvalue < 1e-6
    assert dpairs.mann_whitney(first, second, epsilon=4, seed=1, alternative="less").pvalue > 0.999


def test_19_gini_of_incomes():
    near(dpairs.gini(incomes, epsilon=4, domain=(0, 500_000), seed=1), 0.38)
    near(dpairs.gini_mean_difference(incomes, epsilon=4, domain=(0, 500_000), seed=1), 22_000)


def test_20_variance_of_whole_numbers():
    near(dpairs.variance(ages, epsilon=4, domain=(18, 90), seed=1), float(np.var(ages, ddof=1)))
    with pytest.raises(dpairs.BadParameter) as error:
        dpairs.variance(ages, epsilon=1, domain=(18, 90), ddof=0)  # type: ignore[call-arg]
    assert "ddof" in sentence(error)


def test_21_collision_entropy_of_words():
    colours = RNG.choice(["red", "green", "blue"], N)
    near(dpairs.collision_entropy(colours, epsilon=4, domain=["blue", "green", "red"], seed=1), np.log(3))


def test_22_intervals_as_scipy_names_them():
    estimate = dpairs.auc(y_true, y_score, epsilon=4, seed=1)
    interval = estimate.confidence_interval(confidence_level=0.9)
    assert interval == estimate.confidence_interval(0.9) == estimate.confidence_interval(level=0.9)
    assert interval.low < estimate.value < interval.high


def test_23_an_estimate_as_a_number_a_text_and_a_dictionary():
    estimate = dpairs.auc(y_true, y_score, epsilon=4, seed=1)
    assert float(estimate) == estimate.value
    assert f"{estimate:.3f}" == f"{estimate.value:.3f}"
    assert len(repr(estimate)) < 200
    assert "95% interval" in str(estimate)
    assert "<table" in estimate._repr_html_()
    assert estimate.to_dict()["value"] == estimate.value


def test_25_names_that_other_packages_use():
    for wrong, right in (
        ("roc_auc_score", "auc"),
        ("kendalltau", "kendall_tau"),
        ("mannwhitneyu", "mann_whitney"),
    ):
        with pytest.raises(AttributeError, match=f"dpairs.{right}"):
            getattr(dpairs, wrong)
    for wrong, right in (
        ("AUC", "auc"),
        ("roc_auc", "auc"),
        ("kendall", "kendall_tau"),
        ("gini", "gini_coefficient"),
    ):
        with pytest.raises(dpairs.BadParameter) as error:
            dpairs.Study.create(wrong, epsilon=1, domain=(0, 1))
        assert f"did you mean {right!r}" in sentence(error)


def test_26_a_number_leads_on_to_a_study_of_real_people():
    estimate = dpairs.auc(y_true, y_score, epsilon=1, seed=1)
    assert estimate.study.statistic.name == "auc"
    assert estimate.study.protocol.round == 1
    begun = dpairs.plan("auc", epsilon=1, n=N, domain=(0, 1)).begin()
    assert begun.protocol.name == estimate.study.protocol.name
    assert begun.id != dpairs.plan("auc", epsilon=1, n=N, domain=(0, 1)).begin().id


def test_27_a_tally_is_told_what_it_wants():
    study = dpairs.Study.create("auc", epsilon=1, domain=(0, 1), bins=16)
    for wrong in (0.73, 3, {"score": 0.5}, b"\x01"):
        with pytest.raises(dpairs.BadValue) as error:
            dpairs.Tally(study).add(wrong)  # type: ignore[arg-type]
        assert "Participant" in sentence(error)


def test_28_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpairs.auc(y_true, y_score, epsilon=1)


def test_29_an_estimate_computes_like_its_value():
    estimate = dpairs.auc(y_true, y_score, epsilon=4, seed=1)
    value = estimate.value
    assert round(estimate, 3) == round(value, 3)
    assert estimate > 0.5
    assert max([estimate, estimate]) is estimate
    assert (2 * estimate, estimate - 1, 1 - estimate, -estimate) == (2 * value, value - 1, 1 - value, -value)
    assert (estimate / 2, 1 / estimate, 1 + estimate, abs(estimate)) == (
        value / 2,
        1 / value,
        1 + value,
        value,
    )
    assert float(np.mean([estimate, estimate])) == pytest.approx(value)
    assert estimate <= estimate
    assert not estimate < estimate
    assert estimate >= value


def test_30_a_scorer_of_scikit_learn():
    metrics, linear = (pytest.importorskip(f"sklearn.{name}") for name in ("metrics", "linear_model"))
    model = linear.LogisticRegression().fit(y_score[:, None], y_true)
    scorer = metrics.make_scorer(dpairs.auc, response_method="predict_proba", epsilon=4.0, seed=1)
    assert scorer(model, y_score[:, None], y_true) == pytest.approx(0.83, abs=0.1)


def test_31_a_study_is_not_its_name():
    people = {"score": y_score, "label": y_true}
    plan = dpairs.plan("auc", domain=(0, 1), epsilon=1, n=N)
    for wrong in (
        lambda: dpairs.simulate("auc", people),  # type: ignore[arg-type]
        lambda: dpairs.Tally("study.json"),  # type: ignore[arg-type]
        lambda: dpairs.Participant(plan, index=1),  # type: ignore[arg-type]
    ):
        with pytest.raises(dpairs.BadParameter) as error:
            wrong()
        assert "Study.create" in sentence(error)


def test_33_random_state_is_called_seed():
    with pytest.raises(dpairs.BadParameter, match="did you mean 'seed'"):
        dpairs.auc(y_true, y_score, epsilon=1, random_state=0)  # type: ignore[call-arg]


def test_40_an_estimate_among_arrays_and_in_sets():
    estimate = dpairs.auc(y_true[:400], y_score[:400], epsilon=8, seed=1)
    value = estimate.value
    assert len({estimate, dpairs.auc(y_true[:400], y_score[:400], epsilon=8, seed=1)}) == 1
    assert (estimate > np.array([0.0, 1.0])).tolist() == [True, False]
    assert (np.array([1.0, 2.0]) - estimate).tolist() == [1 - value, 2 - value]
    assert (estimate**2, np.sqrt(estimate)) == (value**2, value**0.5)
    assert np.array([estimate]).dtype == float
