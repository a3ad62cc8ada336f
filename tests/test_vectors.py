"""The vectors: this program gives the bytes that are written down, and refuses what must be refused."""

import base64
import itertools
import json
import math
import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Participant, Report, Study, Tally
from dpairs.garbled.session import PairDecoder
from dpairs.randomness import TapeRandomness
from vectors.makers.pairwise import (
    WHOLE_TAPE,
    ideal_symbol,
    named,
    pairs_of,
    protocol_of,
    session,
    shown,
)
from vectors.makers.vector import stream

ROOT = Path(__file__).parent.parent
FILES = sorted(set((ROOT / "vectors").glob("*.json")) - set((ROOT / "vectors").glob("two_servers_*.json")))
"""All but those of shares, which test_shared_vectors.py plays."""
NUMBERS = ("value", "standard_error", "sample_standard_error")
FEWEST = 60
"""How many files there are at least: an empty folder must not pass."""

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------- one operation each


class Player:
    """Does the operations of one file."""

    def __init__(self, vector: dict[str, Any]) -> None:
        self.study = Study.from_json(vector["study"])
        self.people: dict[str, int] = vector["operations"][0].get("people", {})  # of a study of pairs
        self.wires: list[bytes] = []
        self.tally = Tally(self.study)

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        kinds = dict(
            zip(self.study.statistic.domain_columns, (d.kind for d in self.study.domains), strict=True)
        )
        return {name: int(value) if kinds.get(name) == "integers" else value for name, value in given.items()}

    def report(self, step: dict[str, Any]) -> None:
        bits = TapeRandomness(bytes.fromhex(step["tape"]))
        person = Participant(
            self.study, int(step["index"]), step["stratum"], max_delta=self.study.delta, bits=bits
        )
        report = person.report(**self.values(step["values"]))
        assert report.symbol == step["symbol"]
        assert bytes(report).hex() == step["wire"]
        self.wires.append(bytes(report))

    def match(self, step: dict[str, Any]) -> None:
        found = pairs_of(self.study, step["people"])
        columns = (found.numbers, found.pairings, found.garblers, found.evaluators)
        rows = [list(row) for row in zip(*(each.tolist() for each in columns), strict=True)]
        assert sorted(rows) == step["pairs"]

    def pair(self, step: dict[str, Any]) -> None:
        """Both ways: from the random bits directly, and by a session whose tapes begin with them."""
        pair = named(self.study, self.people, step["number"])
        sides = (step["garbler"], step["evaluator"])
        values = (self.values(sides[0]["values"]), self.values(sides[1]["values"]))
        tapes = (bytes.fromhex(sides[0]["tape"]), bytes.fromhex(sides[1]["tape"]))
        assert ideal_symbol(self.study, values, tapes) == step["symbol"]
        whole = (tapes[0] + stream("one", WHOLE_TAPE), tapes[1] + stream("other", WHOLE_TAPE))
        assert session(self.study, pair, values, whole)[1] == step["symbol"]
        report = Report(self.study, "pairs", step["number"], step["symbol"])
        assert bytes(report).hex() == step["wire"]
        self.wires.append(bytes(report))

    def session(self, step: dict[str, Any]) -> None:
        pair = named(self.study, self.people, step["number"])
        sides = (step["garbler"], step["evaluator"])
        values = (self.values(sides[0]["values"]), self.values(sides[1]["values"]))
        tapes = (stream(sides[0]["tape_of"], WHOLE_TAPE), stream(sides[1]["tape_of"], WHOLE_TAPE))
        messages, symbol = session(self.study, pair, values, tapes)
        assert {name: shown(message) for name, message in messages.items()} == step["messages"]
        assert symbol == step["symbol"] == ideal_symbol(self.study, values, tapes)

    def decode(self, step: dict[str, Any]) -> None:
        pair = named(self.study, self.people, step["number"])
        collector = PairDecoder(protocol_of(self.study).function, pair)
        assert collector.decode(bytes.fromhex(step["table"]), bytes.fromhex(step["labels"])) == step["symbol"]

    def tally_(self, step: dict[str, Any]) -> None:
        self.tally = Tally(self.study)
        for wire in self.wires:
            self.tally.add(Report.from_bytes(wire, self.study))
        assert self.tally.to_json() == step["tally"]

    def estimate(self, step: dict[str, Any]) -> None:
        estimate = self.tally.estimate(self.tally.study.protocol.estimators[0])
        for name in NUMBERS:
            wanted = math.inf if step[name] is None else step[name]
            assert getattr(estimate, name) == pytest.approx(wanted, rel=1e-12, abs=0)

    def asks(self, step: dict[str, Any]) -> None:
        asked = [index for index in range(step["count"]) if self.study.asks(step["stratum"], index)]
        assert asked == step["asked"]

    def next(self, step: dict[str, Any]) -> None:
        made = self.study.next(self.tally)
        assert made.to_json() == step["study"]
        assert made.id == step["study_id"]
        assert Study.from_json(step["study"], first=self.study) == made
        self.study = made
        self.wires, self.tally = [], Tally(self.study)

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
            "match": self.match,
            "pair": self.pair,
            "session": self.session,
            "decode": self.decode,
            "tally": self.tally_,
            "estimate": self.estimate,
            "asks": self.asks,
            "next": self.next,
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
    assert len(bad) >= 18
    for path in FILES:
        successes = {step["success"] for step in load(path)["operations"]}
        assert successes == ({True, False} if path in bad else {True}), path.stem
    refused = {step["operation"] for path in bad for step in load(path)["operations"] if not step["success"]}
    assert refused == {"load_study", "report", "read_report", "load_tally", "pair", "match", "decode"}


def test_the_command_writes_these_files(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["vectors", str(tmp_path)])
    runpy.run_module("vectors", run_name="__main__")
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


# ---------------------------------------------------------------- two rounds, by their definition


ROUNDS = [path for path in FILES if path.stem.startswith("projection") and "_bad_" not in path.stem]
each_of_two = pytest.mark.parametrize("path", ROUNDS, ids=lambda path: path.stem)


def rounds(path: Path) -> tuple[dict[str, Any], dict[str, Any], list[list[dict[str, Any]]]]:
    """Both studies, and the operations of each round."""
    vector = load(path)
    steps = vector["operations"]
    turn = next(place for place, step in enumerate(steps) if step["operation"] == "next")
    first, second = json.loads(vector["study"]), json.loads(steps[turn]["study"])
    return first, second, [steps[:turn], steps[turn + 1 :]]


def asked_first(study_id: str, stratum: int, index: int, share: int) -> bool:
    """One of the ``share`` smallest of the 64 public words of the index's block."""
    block = index // 64
    key = np.array([int(study_id[:16], 16), int(study_id[16:32], 16)], dtype=np.uint64)
    counter = np.array([16 * block, stratum, 4, 0], dtype=np.uint64)
    words = np.random.Philox(key=key, counter=counter).random_raw(64).tolist()
    return sorted(words).index(words[index % 64]) < share


@each_of_two
def test_each_person_is_asked_in_the_round_that_the_coins_say(path):
    first, second, parts = rounds(path)
    share, name = first["protocol"]["share"], load(path)["study_id"]
    assert second["protocol"]["first"]["study"] == name
    assert second["protocol"]["first"]["share"] == share
    strata = list(Study.from_json(load(path)["study"]).strata)
    seen = []
    for turn, steps in enumerate(parts):
        for step in steps:
            if step["operation"] == "report":
                person = strata.index(step["stratum"]), int(step["index"])
                assert asked_first(name, *person, share) == (turn == 0)
                seen.append(person)
            elif step["operation"] == "asks":
                place = strata.index(step["stratum"])
                expected = [
                    i for i in range(step["count"]) if asked_first(name, place, i, share) == (turn == 0)
                ]
                assert step["asked"] == expected
    assert len(set(seen)) == len(seen), "nobody answers twice"


def height(study: dict[str, Any], stratum: str, values: dict[str, Any]) -> float:
    """The function of one column, read off the JSON: linear between the two vertices of a bin."""
    words = base64.b64decode(study["protocol"]["functions"][stratum], validate=True)
    heights = [int.from_bytes(words[start : start + 2], "big") for start in range(0, len(words), 2)]
    ((value,), (edges,), (domain,)) = values.values(), study["protocol"]["edges"], study["domain"]
    if edges is None:
        return heights[domain["values"].index(value)] / 65535
    if domain["kind"] == "integers":
        edges, offset = [int(edge) for edge in edges], int(value) - int(domain["low"])
        vertex = 0
        for low, high in itertools.pairwise(edges):
            if offset < high:
                if high - low == 1:
                    return heights[vertex] / 65535
                through = (offset - low) / (high - low - 1)
                return (heights[vertex] * (1 - through) + heights[vertex + 1] * through) / 65535
            vertex += 1 if high - low == 1 else 2
        raise AssertionError("outside")
    place = max(place for place, edge in enumerate(edges[:-1]) if edge <= value)
    through = (value - edges[place]) / (edges[place + 1] - edges[place])
    return (heights[2 * place] * (1 - through) + heights[2 * place + 1] * through) / 65535


def scalar_symbol(mechanism: dict[str, Any], number: float, words: list[int]) -> int:
    """The definition of a mechanism for numbers, in whole numbers."""
    steps, floor = round(number * 2**32), int(mechanism["floor"])
    if mechanism["name"] == "bit":
        boost = 2**64 - 2 * floor
        high, low = divmod(boost, 2**32)
        return int(words[0] < floor + steps * high + (steps * low >> 32))
    symbols, width, boost = mechanism["symbols"], mechanism["width"], int(mechanism["boost"])
    place = steps * (symbols - width)
    if "knots" in mechanism:
        knots = [0, *mechanism["knots"], 2**32]
        below = max(at for at in range(symbols - width) if knots[at] <= steps)
        share = Fraction(steps - knots[below], knots[below + 1] - knots[below])
        place = below * 2**32 + math.floor(share * 2**32 + Fraction(1, 2))
    start = place + (words[0] >> 32) >> 32
    word = words[1]
    if word < symbols * floor:
        return word // floor
    rest = word - symbols * floor
    return start + rest // boost if rest < width * boost else rest - width * boost


@each_of_two
def test_second_symbols_follow_the_definition(path):
    _, second, parts = rounds(path)
    reports = [step for step in parts[1] if step["operation"] == "report"]
    assert len(reports) >= 16
    if len(second["domain"]) > 1 or "label" in reports[0]["values"]:
        # Of two columns the function is bilinear; the vectors themselves check that.
        assert path.stem in (
            "projection_histogram_kendall_tau_b",
            "projection_tree_plane",
            "projection_tree_private_labels",
        )
        return
    for step in reports:
        tape = bytes.fromhex(step["tape"])
        words = [int.from_bytes(tape[start : start + 8], "little") for start in range(0, len(tape), 8)]
        number = height(second, step["stratum"], step["values"])
        assert step["symbol"] == scalar_symbol(second["protocol"]["mechanism"], number, words)
