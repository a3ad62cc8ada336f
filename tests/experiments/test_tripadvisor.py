"""The paper's hotel ratings, where they are at hand (environment variable DPAIRS_DATA)."""

import os
from pathlib import Path

import numpy as np
import pytest

import dpairs

FILE = Path(os.environ.get("DPAIRS_DATA", "")) / "tripadvisor_ratings.csv.gz"
pytestmark = pytest.mark.data
LEVELS = dpairs.Levels([-1, 1, 2, 3, 4, 5])


@pytest.fixture(scope="module")
def ratings() -> dict[str, np.ndarray]:
    import pandas as pd

    frame = pd.read_csv(FILE, usecols=["rooms", "cleanliness"])
    return {"x": frame["rooms"].to_numpy(), "y": frame["cleanliness"].to_numpy()}


def test_erratum_9_both_readings(ratings):
    assert ratings["x"].size == 243_837
    assert dpairs.exact("kendall_tau", ratings) == pytest.approx(0.5857, abs=5e-5)
    rated = (ratings["x"] > 0) & (ratings["y"] > 0)
    kept = {name: values[rated] for name, values in ratings.items()}
    assert rated.sum() == 185_687
    assert dpairs.exact("kendall_tau", kept) == pytest.approx(0.4354, abs=5e-5)


@pytest.mark.parametrize(("epsilon", "reference"), [(1.0, 0.0347), (2.0, 0.0067)])
def test_randomized_response_has_the_reference_error(ratings, epsilon, reference):
    """An independent implementation's mean absolute error over 20 runs; ours over 100, within 30%.

    The mean of 20 absolute normal errors has a relative deviation of 17%, of 100 one of 8%.
    """
    study = dpairs.Study.create(
        "kendall_tau", epsilon=epsilon, domain=(LEVELS, LEVELS), mechanism="krr", seed=1
    )
    truth = dpairs.exact("kendall_tau", ratings)
    errors = [abs(dpairs.simulate(study, ratings, seed=run).value - truth) for run in range(100)]
    assert np.mean(errors) == pytest.approx(reference, rel=0.3)


def test_projective_response_nearly_halves_the_standard_error_at_epsilon_1(ratings):
    found = {}
    for mechanism in ("krr", "projective"):
        study = dpairs.Study.create(
            "kendall_tau", epsilon=1.0, domain=(LEVELS, LEVELS), mechanism=mechanism, seed=1
        )
        found[mechanism] = dpairs.simulate(study, ratings, seed=1).standard_error
    assert found["projective"] < 0.6 * found["krr"]
