"""The vectors of pairs by their definition, read off the files alone; test_vectors.py runs them."""

import json
from pathlib import Path
from typing import Any

from dpairs import Study
from vectors.makers.pairwise import protocol_of

FOLDER = Path(__file__).parent.parent / "vectors"


def load(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def test_every_noise_and_every_matching_has_a_file():
    studies = [Study.from_json(load(path.stem)["study"]) for path in FOLDER.glob("pairwise_*.json")]
    protocols = [protocol_of(study) for study in studies]
    assert {each.noise.name for each in protocols} == {"response", "kary", "laplace"}
    assert {each.matching for each in protocols} == {"permutations", "disjoint", "classes"}
    # Below and above the break-even of the transfers' extension.
    assert {each.function.circuit.evaluator > 145 for each in protocols} == {True, False}


def number_of(bits: list[int]) -> int:
    return sum(bit << place for place, bit in enumerate(bits))


def bits_of(step: dict[str, Any]) -> list[int]:
    """The XOR of both tapes, bit by bit: little-endian words, lowest bit first."""
    one, other = (bytes.fromhex(step[side]["tape"]) for side in ("garbler", "evaluator"))
    mixed = number_of_bytes(one) ^ number_of_bytes(other)
    return [mixed >> place & 1 for place in range(8 * len(one))]


def number_of_bytes(tape: bytes) -> int:
    return int.from_bytes(tape, "little")


def test_a_response_follows_its_definition():
    """AUC: a toss for ties, then 16 random bits below the floor flip the answer. Read off the file alone."""
    vector = load("pairwise_auc")
    noise = json.loads(vector["study"])["protocol"]["noise"]
    steps = [step for step in vector["operations"] if step["operation"] == "pair"]
    assert noise["name"] == "response"
    for step in steps:
        tie, *bits = bits_of(step)
        x, y = (round(step[side]["values"]["score"] * (2**32 - 1)) for side in ("garbler", "evaluator"))
        won = int(x < y or (x == y and tie == 1))
        flipped = number_of(bits[: noise["precision"]]) < int(noise["floor"])
        assert step["symbol"] == won ^ flipped
    assert len(steps) >= 8


def test_a_k_ary_response_follows_its_definition():
    """Kendall: 16 random bits and one more; below the floor, another of the three levels."""
    vector = load("pairwise_kendall_tau")
    noise = json.loads(vector["study"])["protocol"]["noise"]
    assert (noise["name"], noise["top"]) == ("kary", "2")
    steps = [step for step in vector["operations"] if step["operation"] == "pair"]
    for step in steps:
        bits = bits_of(step)
        one, other = (step[side]["values"] for side in ("garbler", "evaluator"))
        signs = [(one[name] > other[name]) - (one[name] < other[name]) for name in "xy"]
        level = 1 + signs[0] * signs[1]
        drawn, fair = number_of(bits[: noise["precision"]]), bits[noise["precision"]]
        shift = 1 + fair if drawn < int(noise["floor"]) else 0
        assert step["symbol"] == (level + shift) % 3
    assert len(steps) == 24


def test_laplace_noise_follows_its_definition():
    """Gini: digits by comparison, a sign, and random bits that round the level; clamped just outside."""
    vector = load("pairwise_gini_interval")
    noise = json.loads(vector["study"])["protocol"]["noise"]
    t, thresholds, shift = noise["precision"], [int(each) for each in noise["thresholds"]], noise["shift"]
    steps_ = -(-int(noise["top"]) >> shift)
    for step in (step for step in vector["operations"] if step["operation"] == "pair"):
        bits = bits_of(step)
        x, y = (round(step[side]["values"]["value"] * 65535) for side in ("garbler", "evaluator"))
        draws = [number_of(bits[place * t : (place + 1) * t]) for place in range(len(thresholds))]
        *digits, far = [int(draw < limit) for draw, limit in zip(draws, thresholds, strict=True)]
        up, rest = bits[t * len(thresholds)], bits[t * len(thresholds) + 1 :]
        level = abs(x - y) + number_of(rest[:shift]) >> shift
        size = 2 ** len(digits) if far else number_of(digits)
        noisy = level + size + 1 if up else level - size
        assert step["symbol"] == min(max(noisy, 0), steps_ + 1)
