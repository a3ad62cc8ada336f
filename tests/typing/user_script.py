"""What a user writes, with every keyword of every protocol and call: type checkers take all of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dpairs
from dpairs import Categories, Estimate, Integers, Interval, Levels, Plan, Study
from dpairs.mechanisms.optimize import optimize

label: NDArray[np.int64] = np.array([0, 1] * 500)
score: NDArray[np.float64] = np.linspace(0, 1, 1000)
words: list[str] = ["yes", "no"] * 500

# ---------------------------------------------------------------- one call on data at hand

estimates: list[Estimate] = [
    dpairs.auc(
        label,
        score,
        epsilon=1,
        positive=1,
        labels="public",
        ties="half",
        domain=(0, 1),
        trust="two_servers",
        rounds=2,
        peers=False,
        protocol="two_servers",
        seed=1,
    ),
    dpairs.auc(y_true=words, y_score=score.tolist(), epsilon=1.0, positive="yes", domain=Interval(0, 1)),
    dpairs.mann_whitney(
        score[:500],
        score[500:],
        epsilon=2,
        alternative="greater",
        labels="private",
        domain=[0.0, 1.0],
        trust="nobody",
        rounds=1,
        peers=True,
        protocol=None,
        seed=None,
    ),
    dpairs.kendall_tau(
        score,
        label,
        epsilon=2,
        variant="a",
        domain=((0, 1), Integers(0, 1)),
        trust="all",
        rounds=2,
        peers=True,
        protocol="projection",
        seed=2,
    ),
    dpairs.gini(
        score, epsilon=2, domain=(0, 1), trust="nobody", rounds=1, peers=False, protocol=None, seed=1
    ),
    dpairs.gini_mean_difference(
        score, epsilon=2, domain=(0, 1), trust="partner", rounds=2, peers=True, protocol="pairwise", seed=1
    ),
    dpairs.variance(
        score, epsilon=2, domain=(0, 1), trust=None, rounds=2, peers=False, protocol="histogram", seed=1
    ),
    dpairs.collision_entropy(
        words, epsilon=2, domain=["yes", "no"], trust=None, rounds=1, peers=False, protocol=None, seed=1
    ),
]

# ---------------------------------------------------------------- a study by each protocol

studies: list[Study] = [
    Study.create("auc", epsilon=1, domain=(0, 1), n=10_000, ties="zero", labels="private", seed=1),
    Study.create("kendall_tau", epsilon=1, domain=(Levels(range(1, 6)), (0, 1)), variant="b"),
    Study.create(
        "gini_mean_difference",
        epsilon=1,
        protocol="histogram",
        domain=(0, 1),
        bins=16,
        mechanism="optimized",
        kernel="average",
        rounding="simple",
        n=1000,
        prior=[1.0] * 16,
        search=optimize,
        seed=1,
    ),
    Study.create(
        "auc",
        epsilon=1,
        protocol="tree",
        domain=Integers(0, 1023),
        bins=None,
        splitting="budget-advanced",
        rows="others",
        answer="one-bit",
        delta=1e-6,
        n=None,
    ),
    Study.create(
        "variance",
        epsilon=1,
        protocol="projection",
        domain=(0, 1),
        pilot_fraction=0.2,
        pilot="histogram",
        bins=8,
        n=50_000,
        mechanism="krr",
        prior=None,
    ),
    Study.create(
        "gini_mean_difference",
        epsilon=1,
        protocol="projection",
        domain=(0, 1),
        pilot="histogram",
        bins=8,
        mechanism="optimized",
        prior=[0.125] * 8,
        search=lambda kernels, prior, epsilon: optimize(kernels, prior, epsilon),
    ),
    Study.create(
        "kendall_tau",
        epsilon=1,
        protocol="pairwise",
        domain=(Levels(range(1, 6)), Levels(range(1, 6))),
        pairs=3,
        noise="response",
        bits=8,
        matching="permutations",
        bins=None,
        delta=None,
    ),
    Study.create(
        "auc",
        epsilon=1,
        protocol="two_servers",
        domain=(0, 1),
        answered_by="people",
        release="value",
        rounds=2,
        bins=32,
        split=0.5,
        noise="gaussian",
        delta=1e-6,
        n=1000,
    ),
    Study.create(
        "auc",
        epsilon=1,
        protocol="sites",
        domain=(0, 1),
        rounds=2,
        bins=32,
        split=0.5,
        noise="laplace",
        delta=0.0,
        n=1000,
        sites=5,
        unit="person",
        max_records_per_person=4,
        hide_sizes=False,
    ),
    Study.create("collision_entropy", epsilon=1, domain=Categories(["a", "b"]), options={"bins": None}),
]

# ---------------------------------------------------------------- plans, simulations, answers

plan: Plan = dpairs.plan(
    "auc",
    domain=(0, 1),
    epsilon=1,
    n={"positive": 500, "negative": 500},
    rounds=2,
    peers=True,
    trust="all",
    protocol=None,
    sites=4,
    optimized=False,
    like={"p": score, "sick": words},
    columns={"score": "p", "label": "sick"},
    positive="yes",
    progress=lambda steps: None,
    search=None,
    ties="half",
    labels="public",
)
people: int = sum(
    dpairs.plan("kendall_tau", domain=((0, 1), (0, 1)), epsilon=1, error=0.05, variant="a")
    .options[0]
    .sizes.values()
)
begun: Study = plan.begin()
estimate: Estimate = dpairs.simulate(
    begun,
    {"p": score, "sick": words},
    seed=1,
    estimator=None,
    crypto=None,
    columns={"score": "p", "label": "sick"},
    positive="yes",
    progress=None,
)
low, high = estimate.confidence_interval(confidence_level=0.9, target="sample")
width: float = high - low
exact: float = dpairs.exact("auc", {"score": score, "label": label})

study = Study.create("auc", epsilon=1, domain=(0, 1), bins=16)
tally = dpairs.Tally(study)
person = dpairs.Participant(study, index=0, stratum="positive")
report: dpairs.Report = person.report(score=0.7)
tally.add(report)
ledger = dpairs.Ledger(limit=5.0)
ledger.spend(study, "an answer")
for shown in (plan, study, tally, ledger, estimate):
    text: str = str(shown)
    facts: dict[str, object] = shown.to_dict()
