"""The populations' own values, into results/zoo-truths.json.

    python -m experiments.zoo.truths    those that the file does not have

The exact statistic of 2^21 quasi-random people (Owen-scrambled Sobol points, seed 1), values outside the
domain moved to its ends. A second computation from 2^20 points says how many digits hold. Of an entropy, that
of their shares: a sample's leaves out each person's pair with themselves, and can lie above the largest
entropy that a population has.
"""

from __future__ import annotations

import json
import math
from functools import cache

import numpy as np

from ..exhibits import RESULTS
from .population import Columns, exact
from .third import EVERY

STORE = RESULTS / "zoo-truths.json"


@cache
def truths() -> dict[str, float]:
    """Every population's values, by "population/statistic"."""
    return {key: both[0] for key, both in json.loads(STORE.read_text(encoding="utf-8")).items()}


def own(statistic: str, people: Columns) -> float:
    """Of the population that these people stand for."""
    if statistic != "collision_entropy":
        return exact(statistic, people)
    shares = np.unique(people["value"], return_counts=True)[1] / people["value"].size
    return -math.log(float(shares @ shares))


def main() -> None:
    values: dict[str, list[float]] = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}
    for name, population in EVERY.items():
        if all(f"{name}/{statistic}" in values for statistic in population.statistics):
            continue
        fine, coarse = population.dense(21), population.dense(20)
        for statistic in population.statistics:
            # Labels do not change what an AUC is.
            key = f"{name}/{statistic}"
            plain = statistic.replace(":private", ":public")
            values[key] = values.get(f"{name}/{plain}") or [own(plain, fine), own(plain, coarse)]
            print(key, values[key], flush=True)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(both)}" for key, both in values.items())
    STORE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
