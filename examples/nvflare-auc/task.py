"""The records of each site, and a logistic regression that sites train together."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score

RECORDS, FEATURES = 40_000, 12


def records(site: int, sites: int, part: str = "train"):
    """One site's features and labels; every site's instrument reads some features differently."""
    X, y = make_classification(
        RECORDS, FEATURES, n_informative=6, weights=[0.7], class_sep=0.7, flip_y=0.1, random_state=23
    )
    rng = np.random.default_rng(23)
    here, test = rng.integers(0, sites, RECORDS) == site, rng.random(RECORDS) < 0.5
    X[:, :4] += 2 * rng.normal(size=(sites, 4))[site]
    chosen = here & (test if part == "test" else ~test)
    return X[chosen], y[chosen]


def predict(weights, X):
    """The model's score of each record, from 0 to 1."""
    return 1 / (1 + np.exp(-(X @ weights[:-1] + weights[-1])))


def train(weights, X, y, steps=50, rate=0.3):
    """A few steps of gradient descent."""
    weights = weights.copy()
    for _ in range(steps):
        error = predict(weights, X) - y
        weights -= rate * np.append(X.T @ error, error.sum()) / len(y)
    return weights


def local_auc(weights, X, y):
    return float(roc_auc_score(y, predict(weights, X)))


def true_auc(weights, sites):
    """Over all sites' test records at once: what nobody in a real federation can compute."""
    parts = [records(site, sites, "test") for site in range(sites)]
    X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    return local_auc(weights, X, y)
