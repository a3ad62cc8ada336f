"""Sessions of a collector that serves whatever it likes, and the exact loss of what a device answered in one.

All studies are about one secret, a level from 0 to 3, whatever they call it, so that losses add up.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

import dpairs
from dpairs import Levels, Study
from dpairs.protocols.histogram import Histogram
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.protocols.tree.protocol import Tree
from dpairs.randomness import WORDS, TapeRandomness

from ..studies import signed

SECRETS = range(4)
DOMAIN = Levels(SECRETS)
EPSILONS = (0.05, 0.2, 0.4, 0.8, 1.0, 2.5, 8.0, 40.0)
LIMITS = ((0.5, 0.0), (1.0, 0.0), (2.0, 0.0), (5.0, 0.0), (9.0, 0.0), (1.0, 0.02), (5.0, 0.3), (2.0, 1e-5))
"""A person's epsilon and delta over all studies."""
GARBAGE = (b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"format":"dpairs-study"}', b'{"a":' * 300, b"1e999")
MOST_ANSWERS = 4


@dataclass(frozen=True)
class Served:
    """What is served when a device follows a link: what is called the open round, and what the first."""

    link: str
    now: bytes
    first: bytes
    index: int
    stratum: str
    column: str


# ---------------------------------------------------------------- studies


@lru_cache(maxsize=1)
def base_studies() -> tuple[Study, ...]:
    made: list[Study] = []
    for seed, epsilon in enumerate(EPSILONS):
        common: dict[str, Any] = {"epsilon": epsilon, "domain": DOMAIN, "seed": seed}
        made += [
            Study.create("gini_mean_difference", mechanism="krr", **common),
            Study.create("variance", **common),
            Study.create("auc", mechanism="krr", **common),
            Study.create("auc", protocol="tree", **common),
            Study.create("auc", protocol="tree", splitting="budget", **common),
        ]
        made += [
            Study.create(
                "auc",
                protocol="tree",
                splitting="budget-advanced",
                delta=delta,
                **{**common, "epsilon": least},
            )
            for delta in (1e-6, 0.01, 0.9)
            for least in [min(epsilon, 2.5)]
        ]
        made += [
            Study.create(name, protocol="projection", pilot="histogram", pilot_fraction=share, **common)
            for name in ("gini_mean_difference", "auc")
            for share in (0.25, 0.5)
        ]
    return tuple(made)


@lru_cache(maxsize=1)
def second_rounds() -> tuple[Study, ...]:
    rng = np.random.default_rng(1)
    found = []
    for study in base_studies():
        if study.protocol.rounds == 2:
            values = rng.integers(0, 4, 4000)
            data = {"value": values, "score": values, "label": rng.integers(0, 2, 4000)}
            found.append(dpairs.simulate_tally(study, data, seed=2).study)
    return tuple(found)


def _leaves(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    found = [each for key, value in items for each in _leaves(value, (*path, key))]
    return found or [path]


def _mutated(rng: random.Random, study: Study) -> bytes:
    """One leaf of a study's file changed, with the id that belongs to it then."""
    spec = json.loads(study.to_json())
    path = rng.choice([path for path in _leaves(spec) if path and path[0] != "id"])
    place = spec
    for key in path[:-1]:
        place = place[key]
    old, other = place[path[-1]], rng.choice(base_studies())
    numbers = [0, 1, -1, 2**64, 1e300, 0.5, 1e-9, rng.random(), rng.choice(EPSILONS)]
    choices: list[Any] = [*numbers, None, [], {}, "", "everybody", other.id, str(rng.getrandbits(64))]
    if isinstance(old, (int, float)) and not isinstance(old, bool):
        choices = [old * rng.choice([0.5, 2, -1, 1.01]), old + rng.choice([-1, 1]), *choices]
    place[path[-1]] = rng.choice(choices)
    return signed(spec).encode()


def _forged_second(rng: random.Random, agreed: Study) -> bytes:
    """A second round of some study, under the name of another, with terms of its own."""
    spec = json.loads(rng.choice(second_rounds()).to_json())
    other = json.loads(rng.choice(second_rounds()).to_json())
    spec["protocol"]["first"]["study"] = agreed.id
    for change in rng.sample(["epsilon", "share", "mechanism", "seed", "functions", "as agreed"], 2):
        if change == "epsilon":
            spec["epsilon"] = rng.choice(EPSILONS)
        elif change == "share":
            spec["protocol"]["first"]["share"] = rng.randrange(1, 64)
        elif change in ("mechanism", "functions"):
            spec["protocol"][change] = other["protocol"][change]
        elif change == "seed":
            spec["seed"] = f"{agreed.seed:032x}"
        else:
            told = json.loads(agreed.to_json())
            spec.update({name: told[name] for name in ("epsilon", "seed", "domain", "statistic")})
            spec["protocol"]["first"]["share"] = told["protocol"].get("share", 7)
    return signed(spec).encode()


def _texts(rng: random.Random, link: Study) -> tuple[bytes, bytes]:
    """What is served as the open round, and as the first."""
    honest = link.to_json().encode()
    follows = [each for each in second_rounds() if each.first_id == link.id]
    now = rng.choices(
        [
            lambda: honest,
            lambda: rng.choice(follows).to_json().encode() if follows else honest,
            lambda: _forged_second(rng, link),
            lambda: _mutated(rng, rng.choice([link, *follows])),
            lambda: rng.choice(base_studies() + second_rounds()).to_json().encode(),
            lambda: honest[: rng.randrange(len(honest))],
            lambda: rng.choice(GARBAGE),
        ],
        [6, 6, 6, 4, 2, 1, 1],
    )[0]()
    first = rng.choices(
        [lambda: honest, lambda: now, lambda: _mutated(rng, link), lambda: rng.choice(GARBAGE)], [8, 2, 2, 1]
    )[0]()
    return now, first


def session(rng: random.Random) -> tuple[float, float, list[Served]]:
    """A person's limit, and what a collector serves the person's device one after another."""
    limit, delta = rng.choice(LIMITS)
    links = rng.sample(base_studies(), rng.randrange(1, MOST_ANSWERS + 1))
    served = []
    for _ in range(rng.randrange(3, 13)):
        link = rng.choice(links)
        now, first = _texts(rng, link)
        stratum, column = link.statistic.strata[0], link.statistic.private_columns[0]
        served.append(Served(link.id, now, first, rng.randrange(200), stratum, column))
    return limit, delta, served


# ---------------------------------------------------------------- what an answer reveals, exactly


def pmf(study: Study, stratum: str, index: int, secret: int) -> list[Fraction]:
    """The exact probability of every symbol that this person may send."""
    way: Any = study.protocol.pilot if isinstance(study.protocol, Projection) else study.protocol
    column, place = np.array([secret], dtype=object), study.strata.index(stratum)
    if isinstance(way, Histogram):
        cell = way.grid.place([column], study.statistic.private_columns, TapeRandomness(b""))
        return way.mechanism.pmf(int(cell[0]))
    if isinstance(way, SecondRound):
        return way.mechanism.pmf(float(way.influences[stratum]([column], study.statistic.private_columns)[0]))
    assert isinstance(way, Tree)
    assert way.parities == 1
    # With the largest words nothing is turned over; each bit is then answered on its own.
    tape = TapeRandomness((WORDS - 1).to_bytes(8, "little") * way.answers)
    truth = int(way.randomize(study.coins, place, index, [column], tape)[0])
    bits = [way.responses[0].pmf(truth >> bit & 1) for bit in range(way.answers)]
    return [
        _product(bits[bit][symbol >> bit & 1] for bit in range(way.answers)) for symbol in range(way.symbols)
    ]


def _product(factors: Iterable[Fraction]) -> Fraction:
    return math.prod(factors, start=Fraction(1))


Table = list[list[Fraction]]
"""A row of probabilities for each secret."""


def largest_ratio(tables: Sequence[Table]) -> Fraction:
    """e to the exact joint loss: answers are independent, so the worst of each may come together."""
    return max(
        (
            _product(max(p / q for p, q in zip(table[one], table[other], strict=True)) for table in tables)
            for one, other in itertools.permutations(SECRETS, 2)
        ),
        default=Fraction(1),
    )


def hockey_stick(tables: Sequence[Table], epsilon: float) -> float:
    """The joint delta at ``epsilon``: the largest sum of (P - e^epsilon Q)+ over all answers together."""
    worst = 0.0
    for one, other in itertools.permutations(SECRETS, 2):
        mine, theirs = np.ones(1), np.ones(1)
        for table in tables:
            rows = [np.array([float(each) for each in table[secret]]) for secret in (one, other)]
            mine, theirs = np.outer(mine, rows[0]).ravel(), np.outer(theirs, rows[1]).ravel()
        worst = max(worst, float(np.maximum(mine - math.exp(epsilon) * theirs, 0.0).sum()))
    return worst


def within(tables: Sequence[Table], limit: float, delta: float) -> bool:
    """Whether the answers together are (limit, delta)-private, exactly."""
    with localcontext() as context:
        context.prec = 60
        most = Fraction(Decimal(limit).exp()) * (1 - Fraction(1, 10**50))
    if largest_ratio(tables) <= most:
        return True
    return delta > 0 and hockey_stick(tables, limit) <= delta * (1 + 1e-9)
