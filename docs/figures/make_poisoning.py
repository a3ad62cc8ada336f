"""The tables of docs/poisoning.md: what liars can do, and what built attacks reach.

    python docs/figures/make_poisoning.py

prints Markdown. Populations are two normals with means 0.4 and 0.6 and standard deviation 0.1, cut off to
[0, 1], 50,000 people in each class. Takes a quarter of a minute.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs
from dpairs.randomness import SeededRandomness

PEOPLE = 50_000
"""Of each class."""
SHARE = 0.01
SEEDS = range(5)
Symbols = dict[str, NDArray[Any]]


class Truth:
    """The words of a liar who does not randomize: the truth about a cell, and 0 for a second round's bit.

    At the worst values both classes' functions are lowest, so that 0 is the truth there.
    """

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.full(count, 2**64 - 1, dtype=np.uint64)


def population(seed: int) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)  # noqa: TID251 - made-up people
    means = {"positive": 0.6, "negative": 0.4}
    return {name: np.clip(rng.normal(mean, 0.1, PEOPLE), 0, 1) for name, mean in means.items()}


def study(epsilon: float = 1.0, **options: Any) -> dpairs.Study:
    return dpairs.Study.create("auc", epsilon=epsilon, domain=dpairs.Interval(0, 1), seed=1, **options)


def honest(made: dpairs.Study, values: dict[str, NDArray[Any]], seed: int) -> tuple[Symbols, Symbols]:
    """The indices of those who are asked, and their honest symbols."""
    protocol: Any = made.protocol
    asked, symbols = {}, {}
    for place, name in enumerate(made.strata):
        who = protocol.asked(made.coins, place, 0, PEOPLE)
        asked[name] = np.arange(PEOPLE) if who is None else np.flatnonzero(who)
        bits = SeededRandomness(2 * seed + place)
        symbols[name] = protocol.randomize(made.coins, place, 0, (values[name][asked[name]],), bits)
    return asked, symbols


def tally(made: dpairs.Study, asked: Symbols, symbols: Symbols) -> dpairs.Tally:
    found = dpairs.Tally(made)
    for name in made.strata:
        found.add_reports(name, asked[name], symbols[name])
    return found


def lies(made: dpairs.Study, asked: Symbols, symbols: Symbols, who: Symbols) -> Symbols:
    """Some symbols replaced by those of the worst value: positives at 0, negatives at 1, no noise."""
    protocol: Any = made.protocol
    false = {name: each.copy() for name, each in symbols.items()}
    for place, (name, worst) in enumerate((("positive", 0.0), ("negative", 1.0))):
        column = (np.full(asked[name].size, worst),)
        bad = protocol.randomize(made.coins, place, 0, column, Truth())
        false[name][who[name]] = bad[who[name]]
    return false


def bands() -> None:
    print("| protocol | epsilon 0.5 | epsilon 1 | epsilon 2 | epsilon 5 |\n| --- | --- | --- | --- | --- |")
    kinds: dict[str, dict[str, Any]] = {
        "`projection`": {"protocol": "projection"},
        "`pairwise`, one pair each": {"protocol": "pairwise"},
        "`histogram`, 16 bins": {"protocol": "histogram", "bins": 16},
        "`histogram`, 16 bins, `krr`": {"protocol": "histogram", "bins": 16, "mechanism": "krr"},
    }
    values = population(0)
    score = np.concatenate(list(values.values()))
    data = {"score": score, "label": np.repeat([1, 0], PEOPLE)}
    for name, options in kinds.items():
        cells = []
        for epsilon in (0.5, 1.0, 2.0, 5.0):
            found = dpairs.simulate(study(epsilon, **options), data, seed=1).manipulation(share=SHARE)
            change = f"{found.change:.3f}" if math.isfinite(found.change) else "no bound"
            cells.append(f"{change} (times {found.multiplier:.3g})")
        print(f"| {name} | {' | '.join(cells)} |")


def chosen(made: dpairs.Study, asked: Symbols, how: str, seed: int) -> Symbols:
    """Which places of the asked lie: 1% of everybody, as they come or where they count most."""
    rng = np.random.default_rng(100 + seed)  # noqa: TID251 - made-up people
    protocol: Any = made.protocol
    picked = {}
    for place, name in enumerate(made.strata):
        number = int(SHARE * asked[name].size)
        if how == "as they come":
            picked[name] = rng.choice(asked[name].size, number, replace=False)
        else:
            levels, _ = protocol._assigned(made.coins, place, 0, PEOPLE)
            picked[name] = np.flatnonzero(levels == 1)[:number]
    return picked


def trees() -> None:
    print("\n| `tree`, 1,024 bins, epsilon 1 | pruned | the paper's |\n| --- | --- | --- |")
    made = study(protocol="tree", bins=2**10)
    for how in ("as they come", "all at level 1"):
        moved: dict[str, list[float]] = {"pruned": [], "paper": []}
        for seed in SEEDS:
            asked, symbols = honest(made, population(seed), seed)
            false = lies(made, asked, symbols, chosen(made, asked, how, seed))
            for estimator, found in moved.items():
                before, after = (
                    tally(made, asked, each).estimate(estimator).value for each in (symbols, false)
                )
                found.append(after - before)
        print(f"| 1% of liars, {how} | {np.mean(moved['pruned']):.3f} | {np.mean(moved['paper']):.3f} |")


def rounds() -> None:
    """Liars of the first round, of the second, and of both, in a `projection` study."""
    first = study(protocol="projection", n=2 * PEOPLE)
    moved: dict[str, list[float]] = {"first round": [], "second round": [], "both": []}
    for seed in SEEDS:
        values = population(seed)
        asked, symbols = honest(first, values, seed)
        false = lies(first, asked, symbols, chosen(first, asked, "as they come", seed))
        answers = {}
        for pilot, said in (("honest", symbols), ("false", false)):
            second = first.next(tally(first, asked, said))
            later, answered = honest(second, values, seed)
            wrong = lies(second, later, answered, chosen(second, later, "as they come", seed))
            for name, each in (("honest", answered), ("false", wrong)):
                answers[pilot, name] = tally(second, later, each).estimate().value
        moved["first round"].append(answers["false", "honest"] - answers["honest", "honest"])
        moved["second round"].append(answers["honest", "false"] - answers["honest", "honest"])
        moved["both"].append(answers["false", "false"] - answers["honest", "honest"])
    print(
        "\n| `projection`, epsilon 1, 1% of liars as they come | mean of 5 | furthest |\n| --- | --- | --- |"
    )
    for name, found in moved.items():
        print(f"| {name} | {np.mean(found):.3f} | {min(found):.3f} |")


if __name__ == "__main__":
    bands()
    trees()
    rounds()
