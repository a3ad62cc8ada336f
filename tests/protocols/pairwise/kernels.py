"""Studies of pairs, and the kernels that they compute."""

from typing import Any

import numpy as np

from dpairs import (
    Categories,
    Integers,
    Interval,
    Kernel,
    Levels,
    Study,
)
from dpairs.protocols.pairwise.protocol import Pairwise

GAPS = Levels([-1, 0, 0.5, 10])
MOODS = Categories(["", "good", "bad", "über"])
TWO = (Levels([1, 2]), Levels([1, 2]))


def pairwise(statistic: Any, domain: Any = None, **options: Any) -> Study:
    return Study.create(
        statistic, **{"epsilon": 2.0, "protocol": "pairwise", "domain": domain, "seed": 1, **options}
    )


def protocol_of(study: Study) -> Pairwise:
    assert isinstance(study.protocol, Pairwise)
    return study.protocol


def one_sentence(error: BaseException) -> str:
    said = str(error)
    assert said
    assert "\n" not in said
    assert ". " not in said
    assert not said.endswith(".")
    return said


def near(a: Any, b: Any) -> Any:
    return np.minimum(np.abs(a - b), 0.5)


def both_equal(a: Any, b: Any) -> Any:
    return 1.0 * (a[0] == b[0]) * (a[1] == b[1])


def sign(a: float, b: float) -> int:
    return (a > b) - (a < b)


KERNELS: dict[str, tuple[Study, tuple[list[Any], ...], Any]] = {
    # A study, the values of each column, and the kernel of the evaluator's and the garbler's values.
    "auc-half": (
        pairwise("auc", Integers(0, 9)),
        ([0, 1, 5, 9],),
        lambda a, b: 0.5 * (a[0] == b[0]) + (a[0] > b[0]),
    ),
    "auc-zero": (
        pairwise("auc", Levels([1, 3, 7]), ties="zero"),
        ([1, 3, 7],),
        lambda a, b: float(a[0] > b[0]),
    ),
    "auc-interval": (
        pairwise("auc", Interval(-3, 5), bits=64),
        ([-3, 5, 0.1, 0.1 + 1e-15, -2.999],),
        lambda a, b: 0.5 * (a[0] == b[0]) + (a[0] > b[0]),
    ),
    "kendall": (
        pairwise("kendall_tau", (Levels([1, 2, 9]), Integers(-1, 1))),
        ([1, 2, 9], [-1, 0, 1]),
        lambda a, b: sign(a[0], b[0]) * sign(a[1], b[1]),
    ),
    "gini-interval": (
        pairwise("gini_mean_difference", Interval(10, 20), bits=32),
        ([10, 12.5, 13.75, 20],),
        lambda a, b: abs(a[0] - b[0]),
    ),
    "gini-integers": (
        pairwise("gini_mean_difference", Integers(-50, 70)),
        ([-50, 0, 1, 70],),
        lambda a, b: abs(a[0] - b[0]),
    ),
    "variance-interval": (
        pairwise("variance", Interval(-1, 1), bits=20),
        ([-1, 0.25, 1],),
        lambda a, b: (a[0] - b[0]) ** 2 / 2,
    ),
    "variance-integers": (
        pairwise("variance", Integers(0, 255)),
        ([0, 3, 100, 255],),
        lambda a, b: (a[0] - b[0]) ** 2 / 2,
    ),
    "collision": (
        pairwise("collision_entropy", MOODS),
        (["", "good", "bad", "über"],),
        lambda a, b: float(a[0] == b[0]),
    ),
    "collision-integers": (
        pairwise("collision_entropy", Integers(0, 2**32 - 1)),
        ([0, 1, 2**31, 2**32 - 1],),
        lambda a, b: float(a[0] == b[0]),
    ),
    "custom-levels": (
        pairwise(Kernel(near, range=(0, 0.5), domain=Levels([0, 0.25, 1]))),
        ([0, 0.25, 1],),
        lambda a, b: min(abs(a[0] - b[0]), 0.5),
    ),
    "custom-two-columns": (
        pairwise(Kernel(both_equal, range=(0, 1), domain=(Levels([1, 2]), Integers(0, 3)))),
        ([1, 2], [0, 1, 2, 3]),
        lambda a, b: float(a == b),
    ),
}
LISTED: dict[str, tuple[Study, tuple[list[Any], ...], Any]] = {
    # Numbers with gaps go through a table, whose entries are what they are.
    "gini-levels": (
        pairwise("gini_mean_difference", GAPS),
        (list(GAPS.values),),
        lambda a, b: abs(a[0] - b[0]),
    ),
    "gini-far-levels": (
        pairwise("gini_mean_difference", Levels([0, 1, 1_000_000])),
        ([0, 1, 1_000_000],),
        lambda a, b: abs(a[0] - b[0]),
    ),
    "variance-levels": (
        pairwise("variance", GAPS),
        (list(GAPS.values),),
        lambda a, b: (a[0] - b[0]) ** 2 / 2,
    ),
}


def people_for(study: Study, n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    made: dict[str, np.ndarray] = {}
    for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True):
        if isinstance(domain, Interval):
            made[name] = rng.uniform(domain.low, domain.high, n)
        elif isinstance(domain, Integers):
            made[name] = rng.integers(domain.low, domain.high, n, endpoint=True)
        else:
            made[name] = np.array(domain.values)[rng.integers(0, domain.size, n)]
    if "label" in study.statistic.columns:
        made["label"] = np.arange(n) % 3 % 2
    return made
