"""Records of sites, and their answers."""

import numpy as np
from scipy.stats import norm

import dpairs
from dpairs import Interval, Levels, Study

UNIT = Interval(0, 1)
FAILURE = 1e-4
"""The chance that a correct interval's coverage is refused, for fresh seeds."""
TRUTH = float(norm.cdf(0.1 / (0.15 * np.sqrt(2))))
SHARES = (0.4, 0.3, 0.2, 0.09, 0.01)


def records(seed, n, offsets=(0.0,) * 5):
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(5), [round(share * n) for share in SHARES])
    label = (rng.random(site.size) < 0.3).astype(int)
    score = rng.normal(0.45 + 0.1 * label + np.array(offsets)[site], 0.15).clip(0, 1)
    return {"score": score, "label": label, "site": np.array(list("abcde"))[site]}


def part(data, sites):
    kept = np.isin(data["site"], list(sites))
    return {name: values[kept] for name, values in data.items()}


def at(data, site):
    return {name: values for name, values in part(data, [site]).items() if name != "site"}


def exact(data, name="auc"):
    return dpairs.exact(name, {key: values for key, values in data.items() if key != "site"})


def ratios(study, count, n):
    """Errors over their standard errors, around the population's value and the sample's; and the error."""
    population, sample, errors = [], [], []
    for seed in range(count):
        data = records([n, seed], n)
        true, estimate = exact(data), dpairs.simulate(study, data, seed)
        population.append((estimate.value - TRUTH) / estimate.standard_error)
        sample.append((estimate.value - true) / estimate.sample_standard_error)
        errors.append(estimate.value - true)
    return np.array(population), np.array(sample), float(np.sqrt(np.mean(np.square(errors))))


def sample_of(name, domain, n, rng):
    x = rng.beta(2, 3, n)
    if name == "kendall_tau":
        y = (x + rng.random(n)) / 2
        if isinstance(domain[0], Levels):
            x, y = (np.minimum((4 * each).astype(int), 3) for each in (x, y))
        return {"x": x, "y": y}
    if name == "vus":
        label = rng.integers(0, 3, n)
        return {"score": np.clip(rng.normal(0.3 + 0.2 * label, 0.2), 0, 1), "label": label}
    if name == "mann_whitney":
        return {"score": x, "label": rng.integers(0, 2, n)}
    if name == "collision_entropy":
        return {"value": rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])}
    return {"value": x}


def tau_errors(count, n, sites=3):
    """Errors of tau over stated ones, and how many intervals cover the sample's tau."""
    study = Study.create(
        "kendall_tau", protocol="sites", epsilon=1.0, n=n, sites=sites, domain=(UNIT, UNIT), seed=1
    )
    found, hits = [], 0
    for seed in range(count):
        rng = np.random.default_rng([seed, n])
        data = sample_of("kendall_tau", (UNIT, UNIT), n, rng)
        true = dpairs.exact("kendall_tau", data)
        estimate = dpairs.simulate(study, {**data, "site": rng.integers(0, sites, n)}, seed=seed)
        low, high = estimate.confidence_interval(target="sample")
        hits += low <= true <= high
        found.append((estimate.value - true) / estimate.sample_standard_error)
    return np.array(found), hits
