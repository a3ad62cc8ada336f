"""Tables, columns and values that somebody would pass first: they work, or one sentence helps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpairs

from .front_door import N, sentence, x, y, y_score, y_true

pytestmark = pytest.mark.usefixtures("few_bins")


def test_24_frames_of_any_kind_with_columns_of_other_names():
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    words = np.where(y_true == 1, "yes", "no").tolist()
    frame = polars.DataFrame({"p_hat": y_score, "died": words})
    study = dpairs.Study.create("auc", epsilon=2, domain=(0, 1), bins=16, seed=1)
    columns = {"score": "p_hat", "label": "died"}
    answers = {
        dpairs.simulate(study, data, seed=1, columns=columns, positive="yes").value
        for data in (
            frame,
            frame.lazy(),
            frame.to_arrow(),
            frame.to_pandas(),
            {"p_hat": y_score, "died": words},
        )
    }
    duckdb = pytest.importorskip("duckdb")
    table = arrow.table({"p_hat": y_score, "died": words})
    relation = duckdb.from_arrow(table)
    answers.add(dpairs.simulate(study, relation, seed=1, columns=columns, positive="yes").value)
    assert len(answers) == 1
    assert dpairs.exact("auc", frame, columns=columns, positive="yes") == dpairs.exact(
        "auc", {"score": y_score, "label": y_true}
    )


def test_32_values_and_columns_have_names():
    study = dpairs.Study.create("auc", epsilon=1, domain=(0, 1), bins=16)
    with pytest.raises(dpairs.BadParameter, match=r"report\(score=\.\.\.\)") as error:
        dpairs.Participant(study, index=1, stratum="positive").report(0.73)  # type: ignore[arg-type]
    assert "0.73" not in sentence(error)
    with pytest.raises(dpairs.BadValue, match=r"columns=\{'score'"):
        dpairs.simulate(study, {"p_hat": y_score, "label": y_true})


def test_34_columns_that_are_no_lists():
    """An iterator and a frame of one column work; what is none of these is named."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    small = y_true[:400], y_score[:400]
    expected = dpairs.auc(*small, epsilon=8, seed=1)
    frame = polars.DataFrame({"died": small[0], "p": small[1]})
    for label, score in (
        (iter(small[0].tolist()), map(float, small[1])),
        (small[0][:, None], pandas.DataFrame({"p": small[1]})),
        (frame.lazy().select("died"), frame.select("p").to_arrow()),
        (small[0] == 1, small[1].astype(object)),
    ):
        assert dpairs.auc(label, score, epsilon=8, seed=1).value == expected.value
    for wrong, said in (
        ("score", "not str"),
        (None, "NoneType"),
        ({0.5, 0.7}, "not set"),
        (frame, "dimension"),
    ):
        with pytest.raises(dpairs.BadValue, match=said) as error:
            dpairs.auc(y_true, wrong, epsilon=1)
        sentence(error)
    with pytest.raises(dpairs.BadValue, match="'died', 'p'"):
        dpairs.auc(y_true, frame.lazy(), epsilon=1)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (y_score.astype(complex), "complex128"),
        (np.datetime64("2020-01-01") + np.arange(N), "datetime64"),
        (np.ma.array(y_score, mask=np.arange(N) == 5), "masked at row 5"),
        (y_score.astype(str), "words such as"),
        (["low", None] * (N // 2), "None at row 1"),
        (y_score.astype("S"), "bytes"),
        ([None, *y_score[1:].tolist()], "nan as at row 0"),
    ],
    ids=["complex", "dates", "masked", "words", "mixed", "bytes", "none"],
)
def test_35_values_that_are_no_numbers(values, said):
    with pytest.raises(dpairs.BadValue, match=said) as error:
        dpairs.auc(y_true, values, epsilon=1)
    sentence(error)


def test_36_a_missing_label_is_not_the_negative_class():
    pandas = pytest.importorskip("pandas")
    words = pandas.Series(np.where(y_true == 1, "yes", "no"))
    for kind in ("category", "string", object):
        with pytest.raises(dpairs.BadValue, match="label for everybody") as error:
            dpairs.auc(words.where(words == "yes").astype(kind), y_score, epsilon=1, positive="yes")
        sentence(error)
    unhashable: Any = [1]
    with pytest.raises(dpairs.BadValue, match="is not a label"):
        dpairs.auc(y_true, y_score, epsilon=1, positive=unhashable)


def test_37_arguments_that_do_not_fit():
    wrong: Any = dpairs
    for call, said in (
        (lambda: wrong.auc(y_true, y_score), r"auc\(y_true, y_score, epsilon=1\)"),
        (lambda: wrong.auc(y_true, y_score, 1), "epsilon and other options by name"),
        (lambda: wrong.kendall_tau(x, epsilon=1), "x and y"),
        (lambda: wrong.auc(y_true, y_score, epsilon=1, pos_label=1), "did you mean 'positive'"),
        (lambda: wrong.auc(y_true, y_score, epsilon=1, rng=1), "did you mean 'seed'"),
        (lambda: wrong.auc(y_true, y_score, epsilon=None), "epsilon must be"),
        (lambda: wrong.auc(y_true, y_score, epsilon=1, peers="yes"), "peers must be True or False"),
        (lambda: wrong.auc(y_true, y_score, epsilon=1, seed=-1), r"from 0 to 2\^128 - 1"),
        (lambda: wrong.auc(y_true, y_score, epsilon=1, domain=(0, "1")), r"not \(0, '1'\)"),
        (lambda: wrong.kendall_tau(x, y, epsilon=1, domain=np.ones((2, 3))), r"not array\(\[\[1"),
        (lambda: wrong.plan("auc", domain=(0, 1), epsilon=1, n=100, trusts=1), "did you mean 'trust'"),
    ):
        with pytest.raises(dpairs.BadParameter, match=said) as error:
            call()
        sentence(error)
    for one in ([1, 0], [1, 0, 0]):
        with pytest.raises(dpairs.NotEnoughData, match="at least 2 people of each class"):
            dpairs.auc(one, y_score[: len(one)], epsilon=1)
    with pytest.raises(AttributeError, match="did you mean 'gini'"):
        getattr(dpairs, "Gini")  # noqa: B009


def test_38_a_domain_is_never_listed_in_full():
    many = dpairs.Categories([f"word {each}" for each in range(4_000)])
    assert len(repr(many)) < 150
    with pytest.raises(dpairs.BadParameter) as error:
        dpairs.auc(y_true, y_score, epsilon=1, domain=many)
    sentence(error)


def test_39_frames_with_two_columns_of_one_name():
    pandas = pytest.importorskip("pandas")
    twice = pandas.DataFrame([[0.5, 0.5, 1]], columns=["score", "score", "label"])
    with pytest.raises(dpairs.BadValue, match="same name") as error:
        dpairs.exact("auc", twice)
    sentence(error)
