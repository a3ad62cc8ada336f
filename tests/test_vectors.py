"""The vectors: this program gives the bytes that are written down, and refuses what must be refused."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpairs
from dpairs import Participant, Report, Study, Tally
from dpairs.randomness import TapeRandomness

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "vectors").glob("*.json"))
NUMBERS = ("value", "standard_error", "sample_standard_error")
FEWEST = 19
"""How many files there are at least: an empty folder must not pass."""

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------- one operation each


class Player:
    """Does the operations of one file."""

    def __init__(self, vector: dict[str, Any]) -> None:
        self.study = Study.from_json(vector["study"])
        self.wires: list[bytes] = []
        self.tally = Tally(self.study)

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        kinds = dict(
            zip(self.study.statistic.domain_columns, (d.kind for d in self.study.domains), strict=True)
        )
        return {name: int(value) if kinds.get(name) == "integers" else value for name, value in given.items()}

    def report(self, step: dict[str, Any]) -> None:
        bits = TapeRandomness(bytes.fromhex(step["tape"]))
        person = Participant(self.study, int(step["index"]), step["stratum"], bits=bits)
        report = person.report(**self.values(step["values"]))
        assert report.symbol == step["symbol"]
        assert bytes(report).hex() == step["wire"]
        self.wires.append(bytes(report))

    def tally_(self, step: dict[str, Any]) -> None:
        self.tally = Tally(self.study)
        for wire in self.wires:
            self.tally.add(Report.from_bytes(wire, self.study))
        assert self.tally.to_json() == step["tally"]

    def estimate(self, step: dict[str, Any]) -> None:
        estimate = self.tally.estimate()
        for name in NUMBERS:
            assert getattr(estimate, name) == pytest.approx(step[name], rel=1e-12, abs=0)

    def load_study(self, step: dict[str, Any]) -> None:
        assert Study.from_json(step["text"]) == self.study

    def load_tally(self, step: dict[str, Any]) -> None:
        assert Tally.from_json(step["text"], self.study).to_json() == step["text"]

    def read_report(self, step: dict[str, Any]) -> None:
        report = Report.from_bytes(bytes.fromhex(step["wire"]), self.study)
        assert (report.stratum, str(report.index), report.symbol) == (
            step["stratum"],
            step["index"],
            step["symbol"],
        )

    def do(self, step: dict[str, Any]) -> None:
        {
            "report": self.report,
            "tally": self.tally_,
            "estimate": self.estimate,
            "load_study": self.load_study,
            "load_tally": self.load_tally,
            "read_report": self.read_report,
        }[step["operation"]](step)


@each_file
def test_operations(path):
    vector = load(path)
    player = Player(vector)
    assert player.study.id == vector["study_id"]
    assert player.study.to_json() == vector["study"]
    for number, step in enumerate(vector["operations"]):
        if step["success"]:
            player.do(step)
            continue
        with pytest.raises(dpairs.DpairsError) as raised:
            player.do(step)
        assert type(raised.value).__name__ == step["error"], (number, step["comment"])


# ---------------------------------------------------------------- the files themselves


def test_there_are_good_and_bad_files():
    bad = [path for path in FILES if "_bad_" in path.stem]
    assert len(FILES) >= FEWEST
    assert len(bad) >= 4
    for path in FILES:
        successes = {step["success"] for step in load(path)["operations"]}
        assert successes == ({True, False} if path in bad else {True}), path.stem


def test_the_command_writes_these_files(tmp_path):
    subprocess.run([sys.executable, ROOT / "tests" / "make_vectors.py", tmp_path], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in FILES]
    for path in FILES:
        again = (tmp_path / path.name).read_bytes()
        assert without_estimates(again) == without_estimates(path.read_bytes()), path.stem


def without_estimates(content: bytes) -> list[bytes]:
    """The lines, except the estimates' numbers: another processor may round their last digit otherwise."""
    starts = tuple(f'   "{name}": '.encode() for name in NUMBERS)
    return [line for line in content.splitlines(keepends=True) if not line.startswith(starts)]


# ---------------------------------------------------------------- a second opinion, in whole numbers


def geometry(order: int, dimension: int) -> list[tuple[int, ...]]:
    """The points of the projective space: vectors whose first coordinate that is not 0 is 1."""
    vectors = itertools.product(range(order), repeat=dimension)
    return [v for v in vectors if any(v) and next(c for c in v if c) == 1]


def symbol_of(mechanism: dict[str, Any], cell: int, word: int) -> int:
    """The definition of a mechanism, read off the study's JSON: stretches of words, one after the other."""
    floor, inputs = int(mechanism["floor"]), mechanism["inputs"]
    if mechanism["name"] == "krr":
        return word // floor if word < inputs * floor else cell
    order, boost = mechanism["order"], int(mechanism["boost"])
    if mechanism["dimension"] == 2:
        symbols, favoured = inputs, [cell]
    else:
        points = geometry(order, mechanism["dimension"])
        dots = [sum(a * b for a, b in zip(points[cell], point, strict=True)) for point in points]
        symbols, favoured = len(points), [place for place, dot in enumerate(dots) if dot % order == 0]
    if word < symbols * floor:
        return word // floor
    rest = word - symbols * floor
    if rest < len(favoured) * boost:
        return favoured[rest // boost]
    return rest - len(favoured) * boost


@pytest.mark.parametrize(
    "path", [path for path in FILES if "_thresholds_" in path.stem], ids=lambda path: path.stem
)
def test_symbols_at_the_thresholds_follow_the_definition(path):
    vector = load(path)
    study = json.loads(vector["study"])
    levels = study["domain"][0]["values"]
    reports = [step for step in vector["operations"] if step["operation"] == "report"]
    for step in reports:
        word = int.from_bytes(bytes.fromhex(step["tape"]), "little")
        cell = levels.index(step["values"]["value"])
        assert step["symbol"] == symbol_of(study["protocol"]["mechanism"], cell, word), step["comment"]
    assert len(reports) >= 18


def test_leftover_words_give_the_same_symbols_whatever_the_value():
    vector = load(ROOT / "vectors" / "histogram_thresholds_projective.json")
    given: dict[str, set[int]] = {}
    for step in vector["operations"]:
        if "leftover" in step.get("comment", ""):
            given.setdefault(step["comment"], set()).add(step["symbol"])
    assert list(given.values()) == [{0}, {1}]
