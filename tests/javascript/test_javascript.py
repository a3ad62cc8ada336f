"""JavaScript and Python agree: the same studies, bits and values give the same bytes and the same refusals.

Random studies, people and damage are made here and written to one file; one node process answers them.
"""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Categories, Integers, Interval, Kernel, Levels, Participant, Report, Study
from dpairs.data.grids import Axis, CutAxis, Grid
from dpairs.data.positions import placed
from dpairs.formats.canonical import canonical, digest
from dpairs.mechanisms import BitResponse, TableResponse, WindowResponse
from dpairs.protocols import Histogram, Projection, SecondRound
from dpairs.protocols.projection.pilot_histogram import PilotHistogram
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.projection.reading import Earlier
from dpairs.protocols.tree.protocol import Tree
from dpairs.randomness import TapeRandomness
from dpairs.statistics.influence import Influence
from dpairs.statistics.vertices import vertex_shape
from tests.formats.test_fuzz_parsers import VALUES, every, mutated, two_rounds
from vectors.makers.reports import public_coins

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).with_name("cases.mjs")
OLDEST = 20
STUDIES_EACH, PEOPLE_EACH, FEWEST = 60, 6, 200
"""How many studies of each protocol, people of each study, and good reports of each protocol at least."""
DEEPEST = 64
DAMAGED, SIGNED = 600, 2400
"""Texts damaged anywhere, and texts with one field replaced and an id that fits."""


def node() -> str:
    """The program, or a reason to skip."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed, so the JavaScript side is not checked")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    number = re.match(r"v(\d+)", version)
    if number is None or int(number[1]) < OLDEST:
        pytest.skip(f"node {version.strip()} is older than {OLDEST}, so the JavaScript side is not checked")
    return found


# ---------------------------------------------------------------- random studies


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


def numeric(rng: random.Random, least: float = -math.inf) -> Any:
    while True:
        domain = ordered(rng)
        if isinstance(domain, Levels):
            if domain.numeric and float(domain.values[0]) >= least:
                return domain
        elif isinstance(domain, Interval) and domain.scaled:
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
    names = {"mean": "gini_mean_difference", "coefficient": "gini_coefficient", "variance": "variance"}
    return names[kind], numeric(rng, 0.0 if kind == "coefficient" else -math.inf), {}


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
    study = Study.create(
        which,
        epsilon=epsilon(rng),
        domain=domain,
        bins=bins,
        seed=rng.getrandbits(128),
        kernel=rng.choice(["average", "midpoint"]),
        rounding=rng.choice(["simple", "random"]) if binned else "simple",
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
    mechanism: Any = (
        WindowResponse.for_epsilon(symbols, rng.randint(1, symbols - 1), first.epsilon)
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


# ---------------------------------------------------------------- random people


def value_of(domain: Any, rng: random.Random) -> Any:
    if isinstance(domain, Interval):
        inside = domain.low + (domain.high - domain.low) * rng.random()
        if domain.edges:
            at = rng.choice(domain.edges)
            inside = rng.choice([at, math.nextafter(at, -math.inf), math.nextafter(at, math.inf), inside])
        edge = domain.low + (domain.high - domain.low) * (rng.randint(0, 64) / 64)
        number = min(
            max(rng.choice([inside, inside, edge, domain.low, domain.high]), domain.low), domain.high
        )
        return int(number) if number == int(number) and abs(number) < 2**63 and rng.random() < 0.5 else number
    if isinstance(domain, Integers):
        number = rng.choice([domain.low, domain.high, rng.randint(domain.low, domain.high)])
        return float(number) if abs(number) < 2**53 and rng.random() < 0.3 else number
    return rng.choice(domain.values)


def bad_value(domain: Any, rng: random.Random) -> Any:
    """A value that is not in the domain, or perhaps is: both languages say the same."""
    if isinstance(domain, Interval):
        near = [math.nextafter(domain.low, -math.inf), math.nextafter(domain.high, math.inf)]
        return rng.choice(
            [*near, math.nan, math.inf, -math.inf, "0.5", "", True, None, [0.5], 2**64, -(2**70)]
        )
    if isinstance(domain, Integers):
        outside = [domain.low - 1, domain.high + 1, 2**64, -(2**63) - 1, float(domain.high) * 2, 0.5, 1e300]
        return rng.choice([*outside, math.nan, math.inf, "3", False, None, [0.5]])
    known = domain.values[0]
    return rng.choice(
        [math.nan, 0.25, 2**53 + 1, 10**30, "a\0", "A", "unknown", True, None, [0.5], f"{known}"]
    )


LABELS = [0, 1, -1, True, False, "positive", "negative", 1.0, 0.0]
BAD_LABELS = [2, -2, 0.5, math.nan, "yes", "", "positive\0", None, [0.5], 10**30, 2**53 + 1]


def person(study: Study, index: int, stratum: str | None, rng: random.Random) -> dict[str, Any]:
    values = {
        name: value_of(domain, rng)
        for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True)
    }
    if "label" in study.statistic.private_columns:
        values["label"] = rng.choice(LABELS)
    return {
        "index": index,
        "stratum": stratum,
        "values": values,
        "tape": rng.randbytes(8 * 80),
        "limit": None,
    }


def people_of(study: Study, rng: random.Random) -> list[dict[str, Any]]:
    """Good ones, at small and at the largest indices, and one or two that cannot be."""
    found: list[dict[str, Any]] = []
    while len(found) < PEOPLE_EACH:
        stratum = rng.choice(study.strata)
        index = rng.choice([rng.randrange(1000), rng.randrange(2**53), 2**53 - 1])
        if study.asks(stratum, index):
            found.append(person(study, index, stratum, rng))
    words = [0, 2**64 - 1, 2**63, 2**32]
    found[0]["tape"] = b"".join(rng.choice(words).to_bytes(8, "little") for _ in range(80))
    return [*found, *bad_people(study, found[0], rng)]


def bad_people(study: Study, good: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    names = list(good["values"])
    name = rng.choice(names)
    domains = dict(zip(study.statistic.domain_columns, study.domains, strict=True))
    bad = bad_value(domains[name], rng) if name in domains else rng.choice(BAD_LABELS)
    other = {**good["values"], rng.choice(["extra", "label", "value", "x"]): 1}
    return [
        {**good, "values": {**good["values"], name: bad}},
        rng.choice(
            [
                {**good, "tape": good["tape"][: rng.choice([0, 7, 8, 15, 16])]},
                {**good, "values": other},
                {**good, "values": {each: good["values"][each] for each in names if each != name}},
                {**good, "stratum": rng.choice(["unsure", "", "everybody", None])},
                {**good, "index": rng.choice([-1, 2**53, 2**64, 0.5, "7"])},
                {**good, "index": rng.randrange(200), "stratum": study.strata[-1]},
                {**good, "limit": rng.choice([0.01, 1.0, 100.0, 0.0, -1.0])},
            ]
        ),
    ]


# ---------------------------------------------------------------- what Python says


def tagged(value: Any) -> list[str]:
    kind = "none" if value is None else type(value).__name__
    return [kind, value if isinstance(value, str) else repr(value)]


def answered(study: Study, given: dict[str, Any]) -> dict[str, Any]:
    try:
        bits = TapeRandomness(given["tape"])
        limits = {"max_epsilon": given["limit"], "max_delta": study.delta}
        me = Participant(study, given["index"], given["stratum"], **limits, bits=bits)
        report = me.report(**given["values"])
    except dpairs.DpairsError as error:
        return {"error": type(error).__name__, "message": str(error)}
    return {"symbol": str(report.symbol), "wire": bytes(report).hex(), "json": canonical(report.to_json())}


def chance(study: Study, given: dict[str, Any], symbol: int) -> Fraction | None:
    """The exact probability of a report, where Python has it in one place."""
    way: Any = study.protocol
    if isinstance(way, Projection) and isinstance(way.pilot, Histogram):
        way = way.pilot
    columns = [np.array([given["values"][name]], dtype=object) for name in study.statistic.private_columns]
    if "label" in study.statistic.private_columns:
        columns[-1] = np.array([int(given["values"]["label"] in (1, True, "positive"))])
    if isinstance(way, Histogram) and way.rounding == "simple":
        cell = way.grid.place(columns, study.statistic.private_columns, TapeRandomness(b""))
        return way.mechanism.pmf(int(cell[0]))[symbol]
    if isinstance(way, SecondRound):
        height = way.influences[given["stratum"] or study.strata[0]](columns, study.statistic.private_columns)
        return way.mechanism.pmf(float(height[0]))[symbol]
    return None


def read(text: bytes) -> dict[str, Any]:
    try:
        return {"id": Study.from_json(text).id}
    except dpairs.DpairsError as error:
        return {"error": type(error).__name__, "message": str(error)}


def read_report(study: Study, wire: bytes) -> dict[str, Any]:
    try:
        return {"json": canonical(Report.from_bytes(wire, study).to_json())}
    except dpairs.DpairsError as error:
        return {"error": type(error).__name__, "message": str(error)}


def read_line(study: Study, line: str) -> dict[str, Any]:
    try:
        return {"json": canonical(Report.from_json(json.loads(line), study).to_json())}
    except dpairs.DpairsError as error:
        return {"error": type(error).__name__, "message": str(error)}


# ---------------------------------------------------------------- damage


def signed(content: dict[str, Any]) -> bytes:
    """A study's text whose id does belong to its contents."""
    content = {name: value for name, value in content.items() if name != "id"}
    try:
        return canonical({**content, "id": digest(content)}).encode()
    except (UnicodeEncodeError, ValueError):
        return json.dumps({**content, "id": "0" * 64}).encode()


def one_changed(study: Study, rng: random.Random) -> bytes:
    """One field replaced, removed, renamed, or written in another way that means the same."""
    content = json.loads(study.to_json())
    del content["id"]
    box, key = rng.choice(list(every(content)))
    old = box[key]
    near: list[Any] = []
    if isinstance(old, (int, float)):
        near = [old + 1, old - 1, -old, float(old), str(old), old * (1 - 1e-9), old * (1 + 1e-9), 2**53 + 1]
    elif isinstance(old, str):
        near = [old + "0", "0" + old, old[:-1], old.upper(), [old]]
        if old.isdigit():
            near += [str(int(old) + 1), str(int(old) - 1), int(old)]
    elif isinstance(old, list):
        near = [old[:-1], old * 2, old[::-1], [*old, None]]
    action = rng.random()
    if action < 0.1:
        del box[key]
    elif action < 0.15 and isinstance(box, dict):
        box[rng.choice(["which", "self", "name", "comment", "", "\ud800"])] = box.pop(key)
    elif action < 0.6 and near:
        box[key] = rng.choice(near)
    else:
        box[key] = rng.choice(VALUES)
    return signed(content)


def otherwise_written(study: Study) -> list[bytes]:
    """Texts with the same meaning, and some that look so."""
    text = study.to_json()
    content = json.loads(text)
    turned = json.dumps(dict(sorted(content.items(), reverse=True)), indent=2)
    return [
        each.encode()
        for each in (
            turned,
            json.dumps(content, ensure_ascii=True),
            f"\ufeff{text}",
            f" \n{text}\t\r ",
            f"{text}x",
            f"\f{text}",
            text.replace('"version":1', '"version":1.0'),
            text.replace('"version":1', '"version":true'),
            text.replace('"version":1', '"version":1e0'),
            text.replace('"version":1', '"version":01'),
            text.replace('"round":1', '"round":1.0'),
            text.replace('"delta":0', '"delta":-0.0'),
            text.replace('"delta":0', '"delta":0e5'),
            text.replace('"delta":0', '"delta":1e999'),
            text.replace('"delta":0', '"delta":NaN'),
            text.replace('"format"', '"for\\u006dat"'),
            text.replace('"format"', '"for\\mat"'),
            text.replace('"format"', '"for\tmat"'),
            text.replace('{"delta"', '{"delta":0,"delta"'),
            text.replace('{"delta"', '{,"delta"'),
            text.replace('"version":1', '"version":' + "1" * 5000),
            text.replace('"version":1', '"version":' + "[" * 300 + "]" * 300),
        )
    ]


# ---------------------------------------------------------------- the comparison


@pytest.fixture(scope="module")
def world() -> dict[str, Any]:
    """Studies of every kind, with people."""
    rng = random.Random(2026)
    studies: dict[str, list[Study]] = {name: made(maker, rng, STUDIES_EACH) for name, maker in MAKERS.items()}
    real = [
        *two_rounds("auc", Interval(0, 1), bins=4),
        *two_rounds("kendall_tau", (Levels(range(2)), Integers(0, 4)), variant="b"),
        *two_rounds("vus", Integers(-(2**63), 2**63 - 1), bins=8),
    ]
    studies["first"] += real[0::2]
    studies["second"] += real[1::2]
    people = {name: [people_of(study, rng) for study in each] for name, each in studies.items()}
    for deep in deep_trees():
        studies["tree"].append(deep)
        people["tree"].append([person(deep, index, "negative", rng) for index in range(DEEPEST)])
    return {"studies": studies, "people": people}


@pytest.fixture(scope="module")
def cases(world: dict[str, Any]) -> dict[str, Any]:
    """Everything that both languages are asked."""
    rng = random.Random(2027)
    flat = [study for each in world["studies"].values() for study in each]
    # Small ones: the same fields, and less text.
    small = [study for study in flat if len(study.to_json()) < 3000]
    texts = [signed_text for study in small[:: len(small) // 25] for signed_text in otherwise_written(study)]
    texts += [mutated(rng.choice(small).to_json().encode(), rng) for _ in range(DAMAGED)]
    texts += [one_changed(rng.choice(small), rng) for _ in range(SIGNED)]
    # Python also reads UTF-16 and UTF-32, which it takes NULs at the beginning for.
    texts = [text for text in texts if b"\0" not in text[:4] and text[:2] not in (b"\xff\xfe", b"\xfe\xff")]
    wires, lines = [], []
    for study in flat[::7]:
        size = 18 + max(1, ((study.protocol.symbols - 1).bit_length() + 7) // 8)
        head = bytes([1]) + bytes.fromhex(study.id)[:8]
        made_up = [
            head + bytes([0]) + rng.randrange(300).to_bytes(8, "big") + rng.randbytes(size - 18)
            for _ in range(3)
        ]
        made_up += [mutated(made_up[0], rng) for _ in range(5)] + [head[:1] + bytes(8) + made_up[0][9:]]
        wires.append((study, made_up))
        good = {"study": study.id, "stratum": study.strata[0], "index": rng.randrange(300), "symbol": 1}
        lines.append(
            (
                study,
                [
                    json.dumps({**good, **change})
                    for change in (
                        {}, {"index": 1.0}, {"index": "1"}, {"symbol": True}, {"symbol": 2**70},
                        {"symbol": -1}, {"symbol": study.protocol.symbols - 1}, {"stratum": "x"},
                        {"stratum": None}, {"study": "x"}, {"study": None}, {"more": 1}, {"index": 2**53},
                    )
                ],
            )
        )  # fmt: skip
    return {"flat": flat, "texts": texts, "wires": wires, "lines": lines}


@pytest.fixture(scope="module")
def said(
    world: dict[str, Any], cases: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What JavaScript answers."""
    program = node()
    asked = {
        "studies": [
            {
                "text": study.to_json(),
                "first": None if study.first is None else study.first.to_json(),
                "people": [
                    {
                        "index": tagged(given["index"]),
                        "stratum": given["stratum"],
                        "values": {name: tagged(value) for name, value in given["values"].items()},
                        "tape": given["tape"].hex(),
                        "maxEpsilon": given["limit"],
                    }
                    for given in people
                ],
            }
            for name in MAKERS
            for study, people in zip(world["studies"][name], world["people"][name], strict=True)
        ],
        "texts": [text.hex() for text in cases["texts"]],
        "reports": [(study.to_json(), [wire.hex() for wire in wires]) for study, wires in cases["wires"]],
        "lines": [(study.to_json(), lines) for study, lines in cases["lines"]],
    }
    path = tmp_path_factory.mktemp("javascript") / "cases.json"
    path.write_text(json.dumps(asked))
    done = subprocess.run(
        [program, ROOT / "tests" / "javascript" / "cases.mjs", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers: dict[str, Any] = json.loads(done.stdout)
    starts = np.cumsum([0, *(len(world["studies"][name]) for name in MAKERS)]).tolist()
    answers["by_name"] = {
        name: answers["studies"][start:end]
        for name, start, end in zip(MAKERS, starts[:-1], starts[1:], strict=True)
    }
    return answers


each_protocol = pytest.mark.parametrize("name", MAKERS)


@each_protocol
def test_studies(name, world, said):
    """Id, text, classes, exact epsilon, the sentence of the claim, and who is asked."""
    for study, found in zip(world["studies"][name], said["by_name"][name], strict=True):
        assert found["id"] == study.id
        assert found["firstId"] == study.first_id
        assert found["same"]
        assert found["strata"] == list(study.strata)
        assert found["columns"] == list(study.statistic.private_columns)
        assert found["symbols"] == str(study.protocol.symbols)
        assert found["epsilon"] == study.privacy.epsilon
        assert found["claim"] == str(study.privacy)
        assert found["asked"] == [[study.asks(stratum, i) for i in range(70)] for stratum in study.strata]


@each_protocol
def test_reports(name, world, said):
    """Symbol, bytes and line of every report; the name of every refusal."""
    good = refused = exact = 0
    for study, people, found in zip(
        world["studies"][name], world["people"][name], said["by_name"][name], strict=True
    ):
        for given, both in zip(people, found["people"], strict=True):
            wanted = answered(study, given)
            for one in both:
                assert one.get("error") == wanted.get("error"), (study.to_json()[:600], given, wanted, one)
                if "error" in wanted:
                    continue
                assert {key: one[key] for key in wanted} == wanted, (study.to_json()[:600], given)
                coins = public_coins(study, given["stratum"] or study.strata[0], given["index"])
                assert one["coins"] == coins.get("coins", [])
                assert one["wide"] == (study.protocol.symbols > 2**53)
                assert one["again"] == [wanted["json"]] * 2
                probability = Fraction(*map(int, one["probability"]))
                assert 0 < probability <= 1
                known = chance(study, given, int(wanted["symbol"]))
                if known is not None:
                    exact += 1
                    assert probability == known
            good += "error" not in wanted
            refused += "error" in wanted
    assert good >= FEWEST
    assert refused >= STUDIES_EACH
    assert exact >= FEWEST or name in ("tree", "first")


def test_the_studies_are_of_every_kind(world):
    ways = {
        (name, study.statistic.name, type(getattr(study.protocol, "pilot", study.protocol)).__name__)
        for name, each in world["studies"].items()
        for study in each
    }
    assert {statistic for name, statistic, _ in ways if name == "histogram"} >= {
        *("auc", "mann_whitney", "kendall_tau", "gini_mean_difference", "gini_coefficient", "variance"),
        *("collision_entropy", "kernel"),
    }
    assert {kind for name, _, kind in ways if name == "first"} == {
        PilotHistogram.__name__,
        PilotTree.__name__,
    }
    assert {statistic for name, statistic, _ in ways if name == "second"} >= {"vus", "named_kernel", "auc"}
    mechanisms = {
        getattr(study.protocol, "mechanism").name  # noqa: B009 - not every protocol has one
        for name in ("histogram", "second")
        for study in world["studies"][name]
    }
    assert mechanisms == {"krr", "projective", "table", "bit", "window"}
    trees = {
        study.protocol.splitting for study in world["studies"]["tree"] if isinstance(study.protocol, Tree)
    }
    assert len(trees) == 4


def test_changed_studies_are_refused_or_accepted_alike(cases, said):
    accepted = 0
    for text, found in zip(cases["texts"], said["texts"], strict=True):
        wanted = read(text)
        accepted += "id" in wanted
        assert (found.get("id"), found.get("error")) == (wanted.get("id"), wanted.get("error")), (
            text,
            wanted,
            found,
        )
    assert len(cases["texts"]) > 3000
    assert 100 < accepted < len(cases["texts"]) / 2


def test_damaged_reports_are_refused_or_accepted_alike(cases, said):
    for (study, wires), answers in zip(cases["wires"], said["reports"], strict=True):
        for wire, found in zip(wires, answers, strict=True):
            wanted = read_report(study, wire)
            assert (found.get("json"), found.get("error")) == (wanted.get("json"), wanted.get("error")), wire
    for (study, lines), answers in zip(cases["lines"], said["lines"], strict=True):
        for line, found in zip(lines, answers, strict=True):
            wanted = read_line(study, line)
            assert (found.get("json"), found.get("error")) == (wanted.get("json"), wanted.get("error")), line


def test_messages_are_the_same_sentences(world, cases, said):
    """Except Python's guesses, texts that are no JSON, and some where one side reads another field first."""
    pairs = [
        (answered(study, given), both[0])
        for name in MAKERS
        for study, people, found in zip(
            world["studies"][name], world["people"][name], said["by_name"][name], strict=True
        )
        for given, both in zip(people, found["people"], strict=True)
    ]
    pairs += [(read(text), found) for text, found in zip(cases["texts"], said["texts"], strict=True)]
    sentences = [
        (wanted["message"].partition("; did you mean")[0], found["message"])
        for wanted, found in pairs
        if "error" in wanted and "is not valid JSON" not in found["message"]
    ]
    other = [pair for pair in sentences if pair[0] != pair[1]]
    assert len(other) < 0.05 * len(sentences), other[:20]


def test_a_pairwise_study_is_refused_in_one_sentence(tmp_path):
    study = Study.create("auc", protocol="pairwise", epsilon=1.0, domain=Interval(0, 1), seed=1)
    path = tmp_path / "cases.json"
    path.write_text(
        json.dumps({"studies": [], "texts": [study.to_json().encode().hex()], "reports": [], "lines": []})
    )
    done = subprocess.run(
        [node(), ROOT / "tests" / "javascript" / "cases.mjs", path],
        capture_output=True,
        text=True,
        check=True,
    )
    (found,) = json.loads(done.stdout)["texts"]
    assert found["error"] == "BadFile"
    assert "needs two people who compute together" in found["message"]


# ---------------------------------------------------------------- its own tests, and what is shipped


def test_its_own_tests_pass():
    """In one process: `node --test` starts one for each file, which takes as long as the tests."""
    files = sorted((ROOT / "js" / "test").glob("*.test.js"))
    program = "".join(f"await import({json.dumps(path.as_uri())});" for path in files)
    command = [node(), "--input-type=module", "--eval", program]
    done = subprocess.run(command, cwd=ROOT / "js", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) >= len(files) > 10


def test_version_and_licence_are_those_of_the_package():
    package = json.loads((ROOT / "js" / "package.json").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    version = re.search(r'^fallback-version = "(.*)"$', project, re.MULTILINE)
    licence = re.search(r'^license = "(.*)"$', project, re.MULTILINE)
    assert version is not None
    assert licence is not None
    assert package["version"] == version[1]
    assert f'VERSION = "{version[1]}"' in (ROOT / "js" / "src" / "index.js").read_text()
    assert package["license"] == licence[1]
    assert (ROOT / "js" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    # What a user installs is these files alone; linters and types are for working on them.
    assert {key for key in package if key.lower().endswith("dependencies")} <= {"devDependencies"}
