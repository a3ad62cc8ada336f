"""The comparison page: its arithmetic against brute force, and what was run."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import dpairs
from experiments import exhibits
from experiments.pages import federated
from experiments.peers import runs

# ---------------------------------------------------------------- averages of local AUCs


def test_the_auc_over_all_pairs_is_the_integral_over_both_mixtures():
    clients = federated.Clients(
        sizes=np.array([0.2, 0.5, 0.3]),
        positives=np.array([0.9, 0.2, 0.5]),
        low=np.array([0.1, 0.5, 0.3]),
        high=np.array([0.4, 0.6, 0.2]),
        wide=0.1,
    )
    grid = np.linspace(-1, 2, 30_001)
    positive = clients.sizes * clients.positives
    negative = clients.sizes * (1 - clients.positives)
    density = (positive / positive.sum()) @ norm.pdf(grid, clients.high[:, None], 0.1)
    below = (negative / negative.sum()) @ norm.cdf(grid, clients.low[:, None], 0.1)
    assert clients.overall() == pytest.approx(np.trapezoid(density * below, grid), abs=1e-9)
    assert abs(clients.overall() - clients.average()) > 0.01


def test_local_aucs_are_counted_pair_by_pair():
    rng = np.random.default_rng(0)
    client = rng.integers(0, 6, 40)
    label = (rng.random(40) < 0.3).astype(int)
    score = rng.random(40)
    weights, values = [], []
    for each in range(6):
        rows = np.flatnonzero(client == each)
        pairs = [(a, b) for a, b in itertools.product(rows, rows) if label[a] == 1 and label[b] == 0]
        if pairs:
            weights.append(rows.size)
            values.append(np.mean([score[a] > score[b] for a, b in pairs]))
    average, share = federated.local_average(client, label, score)
    assert 0 < len(values) < 6
    assert average == pytest.approx(np.average(values, weights=weights))
    assert share == pytest.approx(len(values) / 6)


def test_the_average_can_say_anything():
    first, second = federated.sorted_by_clients(), federated.uncalibrated()
    assert first.average() == pytest.approx(0.5)
    assert first.overall() == pytest.approx(0.9, abs=1e-6)
    assert second.average() == pytest.approx(1.0, abs=1e-6)
    assert second.overall() == pytest.approx(0.5, abs=1e-6)


def test_people_with_one_record_have_no_local_auc():
    average, share = federated.local_average(np.arange(10), np.arange(10) % 2, np.linspace(0, 1, 10))
    assert math.isnan(average)
    assert share == 0


@pytest.mark.parametrize("records", [1, 2, 5])
def test_the_share_of_clients_with_both_classes_is_the_sum_over_all_labels(records):
    chance = sum(
        0.3 ** sum(labels) * 0.7 ** (records - sum(labels))
        for labels in itertools.product((0, 1), repeat=records)
        if 0 < sum(labels) < records
    )
    assert federated.both_classes(np.array([records]), 0.3)[0] == pytest.approx(chance)


def test_many_clients_tend_to_the_formula():
    near, far = (abs(federated.shifted(k, 0.2).overall() - federated.many_shifted(0.2)) for k in (500, 5))
    assert near < 1e-3 < far


# ---------------------------------------------------------------- tables


def test_shares_of_cells_give_the_statistic_of_the_people():
    for case, cells in (("normals", 16), ("tau", 36)):
        arrays = runs.cells_of(case, 3, cells)
        shares = [np.bincount(array, minlength=cells) / array.size for array in arrays]
        if case == "tau":
            truth = runs.drawn(case, 3)[3] * (1 - 1 / runs.SIZE)  # pairs of a person with himself are ties
        else:
            label = np.repeat([1, 0], [len(array) for array in arrays])
            truth = dpairs.exact("auc", {"score": np.concatenate(arrays), "label": label})
        assert runs.value_of(case, shares) == pytest.approx(truth, rel=1e-12)


def test_every_package_was_run_as_often_as_the_page_says():
    counts = {(each["package"], len(each["errors"])) for each in exhibits.measured("comparison")}
    assert counts == {
        ("dpairs", 20),
        ("pure-ldp", 20),
        ("pure-ldp", 6),
        ("multi-freq-ldpy", 20),
        ("opendp", 20),
        ("opendp", 3),
    }


@pytest.mark.parametrize(("words", "code"), [(["--help"], 0), (["nobody"], 2)])
def test_the_runs_explain_themselves_and_name_an_unknown_package(words, code, capsys):
    with pytest.raises(SystemExit) as ended:
        runs.main(words)
    said = capsys.readouterr()
    assert ended.value.code == code
    assert "multi-freq-ldpy" in said.out + said.err
