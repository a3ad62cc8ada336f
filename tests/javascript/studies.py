"""Random studies of every protocol and statistic."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

import dpairs
from dpairs import Categories, Integers, Interval, Kernel, Levels, Study
from dpairs.data.grids import Axis, CutAxis, Grid
from dpairs.data.positions import placed
from dpairs.mechanisms import BitResponse, TableResponse, WindowResponse
from dpairs.protocols import Histogram, Projection, SecondRound
from dpairs.protocols.projection.reading import Earlier
from dpairs.statistics.influence import Influence
from dpairs.statistics.vertices import vertex_shape


def interval(rng: random.Random) -> Interval:
    low = rng.choice([0.0, -3.0, 0.1, rng.uniform(-1e6, 1e6), rng.uniform(-1e-9, 1e-9), -1e300])
    width = rng.choice([1.0, 8.0, rng.uniform(1e-3, 1e6), 1e12])
    return Interval(low, 1e300 if low == -1e300 else low + width)


def scaled(rng: random.Random) -> Interval:
    """With the edges of a scale, or with any: neighbouring floats, huge and tiny steps."""
    low, high = rng.choice([(1.0, 1e6), (1e-300, 1e300), (0.5, 0.75), (3.0, rng.uniform(4, 1e9))])
    if rng.random() < 0.5:
        return Interval(*rng.choice([(low, high), (-high, high), (0.0, high)]), scale="asinh")
    if rng.random() < 0.5:
        return Interval(low, high, scale="log")
    inner = {rng.uniform(low, high) for _ in range(rng.randint(1, 20))}
    inner |= {math.nextafter(each, high) for each in inner if rng.random() < 0.3}
    return Interval(low, high, edges=tuple(sorted(inner - {low, high})))


def integers(rng: random.Random) -> Integers:
    if rng.random() < 0.4:
        return rng.choice(
            [Integers(-(2**63), 2**63 - 1), Integers(0, 2**64 - 1), Integers(-(2**53) - 1, 2**53 + 1)]
        )
    low = rng.choice([0, 1, -5, rng.randint(-(2**62), 2**62)])
    return Integers(low, low + rng.choice([4, 9, 63, 1000, rng.randint(10, 2**61)]))


def listed(rng: random.Random) -> list[Any]:
    count = rng.randint(2, 9)
    return rng.choice(
        [
            list(range(count)),
            list(range(-3, count)),
            sorted(rng.sample([0.5, -2, 1e21, 1e-7, 2**53, 3, 0.1 + 0.2, 1e300, -1e-300, 7], count)),
            rng.sample(
                ["", "a", "straße", "日本", "𝄞 clef", 'quote " \\ and\nline', "é", "\u2028", "'"], count
            ),
        ]
    )


def ordered(rng: random.Random) -> Any:
    return rng.choice([interval, scaled, integers, lambda rng: Levels(listed(rng))])(rng)


def categories(rng: random.Random) -> Categories:
    values = listed(rng)
    rng.shuffle(values)
    return Categories(values)


DISTANCES = {"mean": "gini_mean_difference", "coefficient": "gini_coefficient", "variance": "variance"}


def numeric(rng: random.Random, least: float = -math.inf, edges: bool = False) -> Any:
    """A domain of distances; of those with edges only where these may be points."""
    while True:
        domain = ordered(rng)
        if isinstance(domain, Levels):
            if domain.numeric and float(domain.values[0]) >= least:
                return domain
        elif isinstance(domain, Interval) and domain.scaled and not edges:
            continue
        elif domain.low >= least and not (isinstance(domain, Interval) and domain.high > 1e200):
            return domain


def statistic(rng: random.Random, protocol: str) -> tuple[Any, Any, dict[str, Any]]:
    """A statistic, its domains and its options."""
    kinds = ["auc", "mann_whitney", "kendall_tau", "mean", "coefficient", "variance", "entropy", "kernel"]
    kind = rng.choice([*kinds, "vus"] if protocol == "projection" else kinds)
    if kind == "auc":
        return "auc", ordered(rng), {"ties": rng.choice(["half", "zero"]), "labels": private(rng)}
    if kind == "mann_whitney":
        return kind, ordered(rng), {"labels": private(rng)}
    if kind == "kendall_tau":
        return kind, (ordered(rng), ordered(rng)), {"variant": rng.choice("ab")}
    if kind == "vus":
        return kind, ordered(rng), {"ties": rng.choice(["half", "zero"])}
    if kind == "entropy":
        return "collision_entropy", rng.choice([integers, categories])(rng), {}
    if kind == "kernel":
        domain = rng.choice([Interval(0, 1), (Levels([0, 1, 2]), Interval(-1, 1)), Levels([0.5, 2])])
        return kernel(domain), None, {}
    least = 0.0 if kind == "coefficient" else -math.inf
    return DISTANCES[kind], numeric(rng, least, protocol == "histogram"), {}


def private(rng: random.Random) -> str:
    return rng.choice(["public", "public", "private"])


def kernel(domain: Any) -> Kernel:
    if isinstance(domain, tuple):
        return Kernel(far_in_both, range=(0, 9), domain=domain, label="é")
    return Kernel(lambda a, b: np.minimum(np.abs(a - b), 0.5), range=(0, 0.5), lipschitz=1.0, domain=domain)


def far_in_both(a: Any, b: Any) -> Any:
    return np.abs(a[0] - b[0]) * np.abs(a[1] - b[1])


def bins_of(which: Any, domain: Any, rng: random.Random, power: bool) -> list[int]:
    domains = (
        which.domain if isinstance(which, Kernel) else domain if isinstance(domain, tuple) else (domain,)
    )
    found = []
    for each in domains:
        most = 32 if len(domains) > 1 else 200
        size = 10**9 if isinstance(each, Interval) else each.size
        if isinstance(each, (Levels, Categories)):
            found.append(size)
        elif power:
            found.append(
                2 ** rng.randint(1, min(3 if len(domains) > 1 else 8, max(1, (size - 1).bit_length())))
            )
        else:
            found.append(rng.randint(2, min(most, size)))
    return found


def histogram(rng: random.Random) -> Study:
    which, domain, options = statistic(rng, "histogram")
    bins = bins_of(which, domain, rng, power=False)
    domains = (
        which.domain if isinstance(which, Kernel) else domain if isinstance(domain, tuple) else (domain,)
    )
    binned = any(isinstance(each, Interval) for each in domains)
    points = domain.edges if isinstance(domain, Interval) and which in DISTANCES.values() else ()
    if points:
        bins = [min(*bins, len(points) + 2)]
    study = Study.create(
        which,
        epsilon=epsilon(rng),
        domain=domain,
        bins=bins,
        seed=rng.getrandbits(128),
        kernel=rng.choice(["average", "midpoint"]),
        rounding="random" if points else rng.choice(["simple", "random"]) if binned else "simple",
        mechanism=rng.choice(["krr", "projective", "projective"]),
        **options,
    )
    way = study.protocol
    assert isinstance(way, Histogram)
    if way.grid.cells > 12 or rng.random() < 0.5:
        return study
    table = table_response(way.grid.cells, study.epsilon, rng)
    own = Histogram(way.statistic, way.domains, way.bins, way.rounding, way.kernel, table)
    return Study(way.statistic, study.domains, own, study.epsilon, 0.0, study.seed)


def table_response(cells: int, loss: float, rng: random.Random) -> TableResponse:
    """A mechanism as a search would find it: entries of a symbol within e^epsilon of each other."""
    symbols = rng.randint(2, 12)
    raw = np.array([[1 + rng.random() * math.expm1(loss / 2) for _ in range(symbols)] for _ in range(cells)])
    channel = raw / raw.sum(axis=1, keepdims=True)
    return TableResponse.rounded(channel, np.array([rng.random() for _ in range(cells)]), loss)


def epsilon(rng: random.Random) -> float:
    return rng.choice([0.1, 0.5, 1.0, 2.0, 4.0, 8.0, rng.uniform(0.05, 6), 1])


def tree(rng: random.Random) -> Study:
    domain = ordered(rng)
    most = 52 if isinstance(domain, Interval) else (domain.size - 1).bit_length()
    bins = None
    if isinstance(domain, (Interval, Integers)):
        bins = 2 ** rng.choice([1, 2, 5, most, rng.randint(1, max(most, 1))])
        bins = min(bins, 2 ** max(most, 1))
    splitting = rng.choice(["users", "users", "users-independent", "budget", "budget-advanced"])
    several = splitting.startswith("users") and rng.random() < 0.5
    options = {"delta": rng.choice([1e-3, 1e-8])} if "advanced" in splitting else {}
    return Study.create(
        "auc",
        protocol="tree",
        epsilon=epsilon(rng),
        domain=domain,
        seed=rng.getrandbits(128),
        options={
            "bins": bins,
            "splitting": splitting,
            "rows": "others" if several else rng.choice(["others", "all"]),
            "answer": "several-bits" if several else "one-bit",
            "ties": rng.choice(["half", "zero"]),
            **options,
        },
    )


def deep_trees() -> list[Study]:
    """Through every level up to the deepest: rows are drawn in another way from level 33 on."""
    common: dict[str, Any] = {"protocol": "tree", "domain": Integers(0, 2**64 - 1), "seed": 1}
    return [
        Study.create("auc", epsilon=1.0, **common),
        Study.create("auc", epsilon=6.0, answer="several-bits", **common),
    ]


def first_round(rng: random.Random) -> Study:
    which, domain, options = statistic(rng, "projection")
    pilot = "tree" if which == "vus" else rng.choice(["histogram", "tree"])
    if pilot == "histogram" or not isinstance(domain, (Levels, Categories)):
        bins: Any = bins_of(which, domain, rng, power=pilot == "tree")
        bins = bins[0] if len(bins) == 1 else bins
        if pilot == "tree" and isinstance(bins, list):
            domains = which.domain if isinstance(which, Kernel) else domain
            bins = [
                each if isinstance(of, (Interval, Integers)) else None
                for each, of in zip(bins, domains, strict=True)
            ]
    else:
        bins = None
    return Study.create(
        which,
        protocol="projection",
        epsilon=epsilon(rng),
        domain=domain,
        seed=rng.getrandbits(128),
        options={
            "pilot": pilot,
            "bins": bins,
            "pilot_fraction": rng.choice([None, 1 / 64, 0.25, 0.5, 63 / 64]),
            **options,
        },
    )


def second_round(rng: random.Random) -> Study:
    """A second round with any edges and heights: more than a first round would give."""
    first = first_round(rng)
    which = first.statistic.described()
    axes: list[Axis] = []
    columns = which.cell_domains(placed(first.domains))
    for domain in columns:
        count = rng.randint(0, 6 if len(columns) > 1 else 20)
        if isinstance(domain, Interval):
            inner = {domain.low + (domain.high - domain.low) * rng.random() for _ in range(count)}
            axes.append(
                CutAxis.at(domain, [domain.low, *sorted(inner - {domain.low, domain.high}), domain.high])
            )
        elif isinstance(domain, Integers):
            offsets = {rng.randrange(1, domain.size) for _ in range(count)}
            near = {min(each + 1, domain.size - 1) for each in offsets if rng.random() < 0.4}
            axes.append(CutAxis.at(domain, [0, *sorted(offsets | near), domain.size]))
        else:
            axes.append(Axis(domain, domain.size))
    grid = Grid(tuple(axes))
    vertices = math.prod(vertex_shape(grid))
    influences = {
        stratum: Influence(
            grid, np.array([rng.choice([0, 65535, rng.randrange(65536)]) for _ in range(vertices)])
        )
        for stratum in which.strata
    }
    window = first.epsilon > 1 and rng.random() < 0.6
    symbols = rng.choice([2, 3, 5, 16, 64])
    width = rng.randint(1, symbols - 1)
    knots: tuple[int, ...] = ()
    if rng.random() < 0.5:
        below = rng.choice([2**8, 2**32])
        knots = tuple(sorted(rng.sample(range(1, below), symbols - width - 1)))
    mechanism: Any = (
        WindowResponse.for_epsilon(symbols, width, first.epsilon, knots)
        if window
        else BitResponse.for_epsilon(first.epsilon)
    )
    share = first.protocol.share if isinstance(first.protocol, Projection) else 1
    protocol = SecondRound(
        which,
        placed(first.domains),
        Earlier(first.id, share),
        mechanism,
        influences,
    )
    return Study(which, first.domains, protocol, first.epsilon, 0.0, first.seed).following(first)


MAKERS = {"histogram": histogram, "tree": tree, "first": first_round, "second": second_round}


def made(maker: Any, rng: random.Random, count: int) -> list[Study]:
    """So many studies; options that do not go together are drawn again."""
    found: list[Study] = []
    while len(found) < count:
        try:
            found.append(maker(rng))
        except dpairs.BadParameter:
            continue
    return found
