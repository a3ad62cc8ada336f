"""The vectors of pairs: this program gives the symbols and messages written down, and refuses the rest."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpairs
from dpairs import Report, Study, Tally
from dpairs.garbled.session import Collector
from vectors.make_pair_vectors import (
    VECTORS,
    WHOLE_TAPE,
    ideal_symbol,
    named,
    pairs_of,
    protocol_of,
    session,
    shown,
    stream,
)

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "vectors").glob("pairwise_*.json"))
NUMBERS = ("value", "standard_error", "sample_standard_error")

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


class Player:
    """Does the operations of one file."""

    def __init__(self, vector: dict[str, Any]) -> None:
        self.study = Study.from_json(vector["study"])
        self.people: dict[str, int] = vector["operations"][0]["people"]
        self.wires: list[bytes] = []
        self.tally = Tally(self.study)

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        kinds = [domain.kind for domain in self.study.domains]
        whole = dict(zip(self.study.statistic.domain_columns, kinds, strict=True))
        return {name: int(value) if whole[name] == "integers" else value for name, value in given.items()}

    def match(self, step: dict[str, Any]) -> None:
        found = pairs_of(self.study, step["people"])
        columns = (found.numbers, found.pairings, found.garblers, found.evaluators)
        rows = [list(row) for row in zip(*(each.tolist() for each in columns), strict=True)]
        assert sorted(rows) == step["pairs"]

    def pair(self, step: dict[str, Any]) -> None:
        """Both ways: from the coins directly, and by a session whose tapes begin with them."""
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
        collector = Collector(protocol_of(self.study).function, pair)
        assert collector.decode(bytes.fromhex(step["table"]), bytes.fromhex(step["labels"])) == step["symbol"]

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
        name = step["operation"]
        {
            "match": self.match,
            "pair": self.pair,
            "session": self.session,
            "decode": self.decode,
            "tally": self.tally_,
            "estimate": self.estimate,
            "load_study": self.load_study,
            "load_tally": self.load_tally,
            "read_report": self.read_report,
        }[name](step)


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
    assert [path.stem for path in FILES] == sorted(VECTORS)
    bad = [path for path in FILES if "_bad_" in path.stem]
    assert len(bad) >= 4
    for path in FILES:
        successes = {step["success"] for step in load(path)["operations"]}
        assert successes == ({True, False} if path in bad else {True}), path.stem
    done = {step["operation"] for path in FILES for step in load(path)["operations"] if not step["success"]}
    assert done == {"load_study", "pair", "match", "decode", "load_tally", "read_report"}


def test_every_noise_and_every_matching_has_a_file():
    protocols = [protocol_of(Study.from_json(load(path)["study"])) for path in FILES]
    assert {each.noise.name for each in protocols} == {"response", "kary", "laplace"}
    assert {each.matching for each in protocols} == {"permutations", "disjoint", "classes"}
    # Below and above the break-even of the transfers' extension.
    assert {each.function.circuit.evaluator > 145 for each in protocols} == {True, False}


def test_the_command_writes_these_files(tmp_path):
    subprocess.run([sys.executable, ROOT / "vectors" / "make_pair_vectors.py", tmp_path], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in FILES]
    for path in FILES:
        again = (tmp_path / path.name).read_bytes()
        assert without_estimates(again) == without_estimates(path.read_bytes()), path.stem


def without_estimates(content: bytes) -> list[bytes]:
    """The lines, except the estimates' numbers: another processor may round their last digit otherwise."""
    starts = tuple(f'   "{name}": '.encode() for name in NUMBERS)
    return [line for line in content.splitlines(keepends=True) if not line.startswith(starts)]


# ---------------------------------------------------------------- a second opinion, in whole numbers


def number_of(bits: list[int]) -> int:
    return sum(bit << place for place, bit in enumerate(bits))


def coins_of(step: dict[str, Any]) -> list[int]:
    """The XOR of both tapes, bit by bit: little-endian words, lowest bit first."""
    one, other = (bytes.fromhex(step[side]["tape"]) for side in ("garbler", "evaluator"))
    mixed = number_of_bytes(one) ^ number_of_bytes(other)
    return [mixed >> place & 1 for place in range(8 * len(one))]


def number_of_bytes(tape: bytes) -> int:
    return int.from_bytes(tape, "little")


def test_a_response_follows_its_definition():
    """AUC: a toss for ties, then 16 coins below the floor flip the answer. Read off the file alone."""
    vector = load(ROOT / "vectors" / "pairwise_auc.json")
    noise = json.loads(vector["study"])["protocol"]["noise"]
    steps = [step for step in vector["operations"] if step["operation"] == "pair"]
    assert noise["name"] == "response"
    for step in steps:
        tie, *coins = coins_of(step)
        x, y = (round(step[side]["values"]["score"] * (2**32 - 1)) for side in ("garbler", "evaluator"))
        won = int(x < y or (x == y and tie == 1))
        flipped = number_of(coins[: noise["precision"]]) < int(noise["floor"])
        assert step["symbol"] == won ^ flipped
    assert len(steps) >= 8


def test_a_k_ary_response_follows_its_definition():
    """Kendall: 16 coins and a fair one; below the floor, another of the three levels."""
    vector = load(ROOT / "vectors" / "pairwise_kendall_tau.json")
    noise = json.loads(vector["study"])["protocol"]["noise"]
    assert (noise["name"], noise["top"]) == ("kary", "2")
    steps = [step for step in vector["operations"] if step["operation"] == "pair"]
    for step in steps:
        coins = coins_of(step)
        one, other = (step[side]["values"] for side in ("garbler", "evaluator"))
        signs = [(one[name] > other[name]) - (one[name] < other[name]) for name in "xy"]
        level = 1 + signs[0] * signs[1]
        drawn, fair = number_of(coins[: noise["precision"]]), coins[noise["precision"]]
        shift = 1 + fair if drawn < int(noise["floor"]) else 0
        assert step["symbol"] == (level + shift) % 3
    assert len(steps) == 24


def test_laplace_noise_follows_its_definition():
    """Gini: digits by comparison, a sign, and coins that round the level; clamped just outside."""
    vector = load(ROOT / "vectors" / "pairwise_gini_interval.json")
    noise = json.loads(vector["study"])["protocol"]["noise"]
    t, thresholds, shift = noise["precision"], [int(each) for each in noise["thresholds"]], noise["shift"]
    steps_ = -(-int(noise["top"]) >> shift)
    for step in (step for step in vector["operations"] if step["operation"] == "pair"):
        coins = coins_of(step)
        x, y = (round(step[side]["values"]["value"] * 65535) for side in ("garbler", "evaluator"))
        draws = [number_of(coins[place * t : (place + 1) * t]) for place in range(len(thresholds))]
        *digits, far = [int(draw < limit) for draw, limit in zip(draws, thresholds, strict=True)]
        up, rest = coins[t * len(thresholds)], coins[t * len(thresholds) + 1 :]
        level = abs(x - y) + number_of(rest[:shift]) >> shift
        size = 2 ** len(digits) if far else number_of(digits)
        noisy = level + size + 1 if up else level - size
        assert step["symbol"] == min(max(noisy, 0), steps_ + 1)
