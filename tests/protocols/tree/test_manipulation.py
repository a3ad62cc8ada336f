"""What liars can do to a tree: the bound against every replacement, and what a built attack reaches."""

import json
import math
from functools import cache, partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs.errors import NotEnoughData
from dpairs.protocols.sides import of_symbols
from dpairs.protocols.tree.manipulation import _bound, _grown
from dpairs.randomness import SeededRandomness

from ...every import every

ROUNDING = 1e-9
PEOPLE = 5
KINDS: dict[str, dict[str, Any]] = {
    "users": {},
    "all rows": {"rows": "all"},
    "independent": {"splitting": "users-independent"},
    "budget": {"splitting": "budget"},
    "several bits": {"answer": "several-bits", "epsilon": 4.0},
}
ESTIMATORS = ("pruned", "paper", "paper-zero")


def a_study(bins: int, **more: Any) -> dpairs.Study:
    given: dict[str, Any] = {"protocol": "tree", "epsilon": 2.0, "bins": bins, "seed": 5} | more
    return dpairs.Study.create("auc", domain=dpairs.Interval(0, 1), **given)


def counted(study: dpairs.Study, symbols: dict[str, np.ndarray]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for stratum, each in symbols.items():
        made[stratum] = study.empty_counts(stratum)
        made[stratum].add(0, each)
    return made


def counted_of(study: dpairs.Study, stratum: str, symbols: tuple[int, ...]) -> tuple[Any, str]:
    """The counts of one stratum, and their text."""
    made = counted(study, {stratum: np.array(symbols)})[stratum]
    return made, json.dumps(made.to_json())


def bound(study: dpairs.Study, counts: dict[str, Any], estimator: str, people: int) -> Any:
    """The bound before it is called useless."""
    protocol: Any = study.protocol
    return _bound(_grown(protocol.evidence(counts), estimator), people)


@every("most", [1, 2])
@every("estimator", ESTIMATORS)
@every("kind", KINDS)
def test_no_replacement_of_a_small_tree_leaves_the_bound(kind, estimator, most):
    rng = np.random.default_rng(3)
    looked = 0
    for seed in range(40):
        study = a_study(4, seed=seed, **KINDS[kind])
        size = of_symbols(study).symbols
        symbols = {stratum: rng.integers(0, size, PEOPLE) for stratum in study.strata}
        counts = counted(study, symbols)
        try:
            value = of_symbols(study).estimate(counts, estimator).value
        except NotEnoughData:
            continue
        looked += 1
        found = bound(study, counts, estimator, most)
        who = [(stratum, index) for stratum in study.strata for index in range(PEOPLE)]
        one = cache(partial(counted_of, study))
        seen = set()  # who repeats the truth is no liar: other liars say the same then
        for liars in combinations(who, most):
            for said in product(range(size), repeat=most):
                false = {stratum: each.copy() for stratum, each in symbols.items()}
                for (stratum, index), symbol in zip(liars, said, strict=True):
                    false[stratum][index] = symbol
                lied = {stratum: one(stratum, tuple(each.tolist())) for stratum, each in false.items()}
                told = "".join(text for _, text in lied.values())
                if told in seen:  # the same counts are the same estimate
                    continue
                seen.add(told)
                made = {stratum: each for stratum, (each, _) in lied.items()}
                moved = of_symbols(study).estimate(made, estimator).value - value
                assert -found.down - ROUNDING <= moved <= found.up + ROUNDING
        if looked == 3 - most:
            break
    assert looked


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_liar_of_many_people_is_bounded_well(estimator):
    """Every single lie, by level, row and bit: none leaves the bound, and some reach a fifth of it."""
    study = a_study(16, epsilon=1.0)
    rng = np.random.default_rng(1)
    data = {"score": np.clip(rng.normal(0.4 + 0.2 * (np.arange(8000) < 4000), 0.1), 0, 1)}
    symbols = {}
    protocol: Any = study.protocol
    for place, stratum in enumerate(study.strata):
        column = data["score"][4000 * place : 4000 * (place + 1)]
        symbols[stratum] = protocol.randomize(study.coins, place, 0, (column,), SeededRandomness(place))
    counts = counted(study, symbols)
    value = protocol.estimate(counts, estimator).value
    found = protocol.manipulation(counts, estimator, 1)
    furthest = 0.0
    for place, stratum in enumerate(study.strata):
        cells = protocol.cells_of(study.coins, place, np.arange(4000), symbols[stratum])
        for index in np.unique(cells, return_index=True)[1]:
            false = {name: each.copy() for name, each in symbols.items()}
            false[stratum][index] ^= 1
            moved = protocol.estimate(counted(study, false), estimator).value - value
            assert -found.down - ROUNDING <= moved <= found.up + ROUNDING
            furthest = max(furthest, abs(moved))
    # The negative control: a band of a fifth of the width is left.
    assert furthest > found.change / 5


def test_deep_trees_and_many_liars_have_no_useful_bound():
    rng = np.random.default_rng(2)
    for bins, liars in ((2**20, 1), (2**6, 300)):
        study = a_study(bins, epsilon=1.0)
        counts = counted(study, {stratum: rng.integers(0, 2, 3000) for stratum in study.strata})
        found = of_symbols(study).manipulation(counts, "pruned", liars)
        assert found.change == math.inf
        assert found.to_json()["change"] is None
        assert found.multiplier == pytest.approx((math.e + 1) / (math.e - 1), rel=1e-6)
