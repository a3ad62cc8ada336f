"""JavaScript and Python agree: the same studies, bits and values give the same bytes and the same refusals.

Random studies, people and damage are written to one file; one node process answers them.
"""

from __future__ import annotations

import json
import random
import subprocess
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Integers, Interval, Levels, Participant, Report, Study
from dpairs.formats.canonical import canonical
from dpairs.protocols import Histogram, Projection, SecondRound
from dpairs.protocols.projection.pilot_histogram import PilotHistogram
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.tree.protocol import Tree
from dpairs.randomness import TapeRandomness
from tests.formats.test_fuzz_parsers import mutated, two_rounds
from vectors.makers.reports import public_coins

from .damage import one_changed, otherwise_written
from .people import FEWEST, STUDIES_EACH, people_of, person
from .program import ROOT, node
from .studies import MAKERS, deep_trees, made

DEEPEST = 64
DAMAGED, SIGNED = 600, 2400
"""Texts damaged anywhere, and texts with one field replaced and an id that fits."""


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
