"""Write the test vectors: `python tests/make_vectors.py [folder]`. Their layout is in vectors/README.md.

Everything is derived from the names below, so that a second run writes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from dpairs import (
    BadFile,
    BadParameter,
    BadValue,
    Categories,
    DpairsError,
    Integers,
    Interval,
    Kernel,
    Levels,
    Participant,
    Report,
    Study,
    Tally,
    TapeExhausted,
    WrongStudy,
)
from dpairs.canonical import canonical, digest
from dpairs.mechanisms import KaryResponse, ProjectiveResponse
from dpairs.randomness import WORDS, TapeRandomness

FOLDER = Path(__file__).parent.parent / "vectors"
PEOPLE = 40
DIGITS = 13
"""Estimates are written to so many digits: the last ones depend on the processor."""

Person = tuple[str, dict[str, Any]]
"""Stratum and values."""


def stream(name: str, count: int) -> bytes:
    """Bytes that look random and are the same everywhere."""
    return hashlib.shake_128(name.encode()).digest(count)


def tape_of(words: Iterable[int]) -> str:
    return b"".join(word.to_bytes(8, "little") for word in words).hex()


# ---------------------------------------------------------------- operations


class Vector:
    """A study and the operations on it, run as they are written down."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.tally = Tally(study)
        self.operations: list[dict[str, Any]] = []

    def good(self, operation: str, **fields: Any) -> None:
        self.operations.append({"operation": operation, "success": True, **fields})

    def bad(
        self, operation: str, error: type[DpairsError], why: str, act: Callable[[], Any], **fields: Any
    ) -> None:
        """An operation that must fail, and does."""
        try:
            act()
        except error as raised:
            if type(raised) is not error:
                raise
        else:
            raise AssertionError(f"{why}: accepted")
        self.operations.append(
            {"operation": operation, "success": False, "error": error.__name__, "comment": why, **fields}
        )

    def report(self, index: int, person: Person, tape: str, comment: str = "") -> bytes:
        stratum, values = person
        bits = TapeRandomness(bytes.fromhex(tape))
        made = Participant(self.study, index, stratum, bits=bits).report(**values)
        self.tally.add(made)
        self.good(
            "report",
            **({"comment": comment} if comment else {}),
            index=str(index),
            stratum=stratum,
            values=written(self.study, values),
            tape=tape,
            symbol=made.symbol,
            wire=bytes(made).hex(),
        )
        return bytes(made)

    def count(self) -> None:
        """The tally of all reports above."""
        self.good("tally", tally=self.tally.to_json())

    def answer(self) -> None:
        """The tally of all reports above and its estimate."""
        self.count()
        estimate = self.tally.estimate()
        self.good(
            "estimate",
            value=rounded(estimate.value),
            standard_error=rounded(estimate.standard_error),
            sample_standard_error=rounded(estimate.sample_standard_error),
        )

    def text(self) -> str:
        content = {
            "study": self.study.to_json(),
            "study_id": self.study.id,
            "operations": self.operations,
        }
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def written(study: Study, values: dict[str, Any]) -> dict[str, Any]:
    """Values as JSON: whole numbers of an `integers` domain have up to 64 bits, so they are strings."""
    whole = {
        name
        for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True)
        if isinstance(domain, Integers)
    }
    return {name: str(value) if name in whole else value for name, value in values.items()}


def rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


# ---------------------------------------------------------------- good ones


def answers(name: str, study: Study, people: list[Person], words: int = 1) -> Vector:
    vector = Vector(study)
    tapes = stream(name, PEOPLE * 8 * words)
    for place, person in enumerate(people):
        # Far apart, up to the largest index there is.
        index = place if place < PEOPLE - 1 else 2**63 - 1
        vector.report(index, person, tapes[place * 8 * words : (place + 1) * 8 * words].hex())
    vector.answer()
    return vector


def numbers(name: str, *edges: float) -> list[float]:
    """Numbers of [0, 1]: the edges of bins, then any."""
    drawn = struct.unpack(f">{PEOPLE}H", stream(name + " values", 2 * PEOPLE))
    return [*edges, *(round(each / 65535, 4) for each in drawn)][:PEOPLE]


def picks(name: str, values: list[Any]) -> list[Any]:
    return [values[byte % len(values)] for byte in stream(name + " values", PEOPLE)]


def everybody(**columns: list[Any]) -> list[Person]:
    return [
        ("everybody", dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)
    ]


def in_classes(scores: list[Any]) -> list[Person]:
    return [(("positive", "negative")[place % 2], {"score": score}) for place, score in enumerate(scores)]


def auc_krr() -> Vector:
    study = Study.create("auc", epsilon=2.0, domain=Interval(0, 1), bins=5, mechanism="krr", seed=1)
    return answers("auc_krr", study, in_classes(numbers("auc_krr", 0.0, 1.0, 0.2, 0.4, 0.6, 0.8)))


def auc_projective() -> Vector:
    study = Study.create(
        "auc", epsilon=1.0, domain=Interval(-3, 5), bins=32, mechanism="projective", ties="zero", seed=2
    )
    scores = [8 * number - 3 for number in numbers("auc_projective", 0.0, 1.0, 0.5)]
    return answers("auc_projective", study, in_classes(scores))


def auc_private_labels() -> Vector:
    study = Study.create(
        "auc", epsilon=3.0, domain=Interval(0, 1), bins=4, mechanism="krr", labels="private", seed=3
    )
    name = "auc_private_labels"
    labels = picks(name + " labels", [0, 1])
    return answers(name, study, everybody(score=numbers(name, 0.25, 1.0), label=labels))


def auc_integers_64_bits() -> Vector:
    low, high = -(2**63), 2**63 - 1
    study = Study.create("auc", epsilon=2.0, domain=Integers(low, high), bins=5, mechanism="krr", seed=4)
    # Bins are as equal as whole numbers allow: bin i begins at ceil(i 2^64 / 5).
    starts = [low - (-place * 2**64 // 5) for place in range(1, 5)]
    edges = [low, high, *(start - back for start in starts for back in (1, 0))]
    name = "auc_integers_64_bits"
    drawn = struct.unpack(f">{PEOPLE}q", stream(name + " values", 8 * PEOPLE))
    return answers(name, study, in_classes([*edges, *drawn][:PEOPLE]))


def kendall_tau_krr() -> Vector:
    levels = Levels(range(1, 5))
    study = Study.create("kendall_tau", epsilon=3.0, domain=(levels, levels), mechanism="krr", seed=5)
    x, y = (picks(f"kendall_tau_krr {side}", [1, 2, 3, 4]) for side in "xy")
    return answers("kendall_tau_krr", study, everybody(x=x, y=y))


def kendall_tau_b_projective() -> Vector:
    moods = ["awful", "bad", "so-so", "fair", "good", "great", "über"]
    study = Study.create(
        "kendall_tau",
        epsilon=2.0,
        domain=(Levels([0, 0.5, 2]), Levels(moods)),
        variant="b",
        mechanism="projective",
        seed=6,
    )
    name = "kendall_tau_b_projective"
    return answers(name, study, everybody(x=picks(name + " x", [0, 0.5, 2]), y=picks(name + " y", moods)))


def gini_mean_difference_random_rounding() -> Vector:
    study = Study.create(
        "gini_mean_difference",
        epsilon=2.0,
        domain=Interval(0, 1),
        bins=5,
        rounding="random",
        mechanism="krr",
        seed=7,
    )
    name = "gini_mean_difference_random_rounding"
    return answers(name, study, everybody(value=numbers(name, 0.0, 1.0, 0.25, 0.5)), words=2)


def gini_coefficient_integers() -> Vector:
    study = Study.create(
        "gini_coefficient", epsilon=1.0, domain=Integers(0, 1_000_000), bins=7, mechanism="projective", seed=8
    )
    name = "gini_coefficient_integers"
    values = [round(1_000_000 * number) for number in numbers(name, 0.0, 1.0)]
    return answers(name, study, everybody(value=values))


def variance_levels() -> Vector:
    levels = [-1, 0, 0.5, 10]
    study = Study.create("variance", epsilon=2.0, domain=Levels(levels), kernel="midpoint", seed=9)
    return answers("variance_levels", study, everybody(value=picks("variance_levels", levels)))


def collision_entropy_strings() -> Vector:
    words = ["", "straße", "日本", "𝄞 clef", 'quote " \\ and\nline']
    study = Study.create("collision_entropy", epsilon=3.0, domain=Categories(words), mechanism="krr", seed=10)
    name = "collision_entropy_strings"
    return answers(name, study, everybody(value=picks(name, words[1:3] * 3 + words)))


def custom_kernel() -> Vector:
    within = Kernel(
        lambda a, b: np.minimum(np.abs(a - b), 0.5),
        range=(0, 0.5),
        lipschitz=1.0,
        domain=Interval(0, 1),
        label="distance up to 1/2",
    )
    study = Study.create(within, epsilon=2.0, bins=4, mechanism="krr", seed=11)
    return answers("custom_kernel", study, everybody(value=numbers("custom_kernel", 0.0, 1.0)))


# ---------------------------------------------------------------- words at the thresholds


def at_words(study: Study, cells: list[Any], words: dict[str, int]) -> Vector:
    vector = Vector(study)
    for value in cells:
        for comment, word in words.items():
            index = len(vector.operations)
            vector.report(index, ("everybody", {"value": value}), tape_of([word]), f"{comment}: {word}")
    vector.answer()
    return vector


def krr_thresholds() -> Vector:
    study = Study.create("variance", epsilon=1.0, domain=Levels(range(5)), mechanism="krr", seed=12)
    krr = study.protocol.mechanism  # type: ignore[attr-defined]
    assert isinstance(krr, KaryResponse)
    top = krr.inputs * krr.floor
    words = {
        "first word": 0,
        "floor - 1": krr.floor - 1,
        "floor": krr.floor,
        "k floor - 1": top - 1,
        "k floor": top,
        "last word": WORDS - 1,
    }
    return at_words(study, [0, 2, 4], words)


def projective_thresholds() -> Vector:
    study = Study.create("variance", epsilon=1.0, domain=Levels(range(20)), mechanism="projective", seed=13)
    plane = study.protocol.mechanism  # type: ignore[attr-defined]
    assert isinstance(plane, ProjectiveResponse)
    assert plane.dimension == 4
    assert plane.leftover > 2, "choose another epsilon: this one leaves too few words over"
    top = plane.symbols * plane.floor
    end = top + plane.favoured * plane.boost
    words = {
        "first word": 0,
        "floor - 1": plane.floor - 1,
        "floor": plane.floor,
        "symbols floor - 1": top - 1,
        "symbols floor": top,
        "symbols floor + boost - 1": top + plane.boost - 1,
        "symbols floor + boost": top + plane.boost,
        "last boosted word": end - 1,
        "first leftover word": end,
        "second leftover word": end + 1,
        "last word": WORDS - 1,
    }
    return at_words(study, [0, 7, 19], words)


def projective_line() -> Vector:
    """Few cells and a large epsilon: the geometry is a line and the mechanism k-ary randomized response."""
    study = Study.create("variance", epsilon=4.0, domain=Levels(range(3)), mechanism="projective", seed=14)
    line = study.protocol.mechanism  # type: ignore[attr-defined]
    assert isinstance(line, ProjectiveResponse)
    assert line.dimension == 2
    top = line.symbols * line.floor
    words = {
        "first word": 0,
        "floor - 1": line.floor - 1,
        "floor": line.floor,
        "symbols floor - 1": top - 1,
        "symbols floor": top,
        "last word": WORDS - 1,
    }
    return at_words(study, [0, 1, 2], words)


# ---------------------------------------------------------------- bad ones


def small_study(seed: int = 15) -> Study:
    return Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=5, mechanism="krr", seed=seed)


def signed(content: dict[str, Any]) -> str:
    """A study's text whose id does belong to its contents."""
    content = {name: value for name, value in content.items() if name != "id"}
    return canonical({**content, "id": digest(content)})


def bad_study() -> Vector:
    study = small_study()
    vector, text, content = Vector(study), study.to_json(), json.loads(study.to_json())
    protocol = content["protocol"]

    def refuse(why: str, changed: str) -> None:
        assert changed != text
        vector.bad("load_study", BadFile, why, lambda: Study.from_json(changed), text=changed)

    vector.good("load_study", text=text)
    vector.good("load_study", comment="spaces and the order of keys mean nothing", text=spaced(content))
    refuse("cut off", text[: len(text) // 2])
    refuse("empty", "")
    refuse("text after the end", text + "}")
    refuse("one digit edited", text.replace('"epsilon":1,', '"epsilon":2,'))
    refuse("a digit of the id edited", text.replace(study.id, study.id[:-1] + "x"))
    refuse("a key twice", text.replace('"epsilon":1,', '"epsilon":1,"epsilon":1,'))
    refuse("an unknown field", signed({**content, "comment": "hello"}))
    refuse("an unknown field of the protocol", signed({**content, "protocol": {**protocol, "x": 1}}))
    refuse("a field is missing", signed({name: content[name] for name in content if name != "seed"}))
    refuse("another version", signed({**content, "version": 2}))
    refuse("another format", signed({**content, "format": "dpairs-tally"}))
    refuse("promises less epsilon than its mechanism loses", signed({**content, "epsilon": 0.99}))
    refuse("delta that no protocol uses", signed({**content, "delta": 0.1}))
    refuse("unknown protocol", signed({**content, "protocol": {**protocol, "name": "raw"}}))
    floor = {**protocol["mechanism"], "floor": int(protocol["mechanism"]["floor"])}
    refuse("a threshold as a number", signed({**content, "protocol": {**protocol, "mechanism": floor}}))
    inputs = {**protocol["mechanism"], "inputs": 4}
    refuse("a mechanism for other cells", signed({**content, "protocol": {**protocol, "mechanism": inputs}}))
    refuse("a list", "[]")
    return vector


def spaced(content: dict[str, Any]) -> str:
    return json.dumps(dict(sorted(content.items(), reverse=True)), indent=2)


def bad_report() -> Vector:
    study, other = small_study(), small_study(seed=16)
    vector = Vector(study)
    wire = vector.report(17, ("positive", {"score": 0.5}), tape_of([0]))
    foreign = bytes(Report(other, "positive", 17, 0))

    def refuse(error: type[DpairsError], why: str, changed: bytes) -> None:
        act = lambda: Report.from_bytes(changed, study)  # noqa: E731
        vector.bad("read_report", error, why, act, wire=changed.hex())

    def edited(place: int, value: int) -> bytes:
        return wire[:place] + bytes([value]) + wire[place + 1 :]

    vector.good("read_report", wire=wire.hex(), stratum="positive", index="17", symbol=0)
    refuse(BadValue, "a byte too many", wire + b"\0")
    refuse(BadValue, "cut off", wire[:-1])
    refuse(BadValue, "empty", b"")
    refuse(BadValue, "another wire version", edited(0, 2))
    refuse(WrongStudy, "another study's report", foreign)
    refuse(BadValue, "unknown stratum", edited(9, 2))
    refuse(BadParameter, "symbol out of range", edited(18, 5))
    refuse(BadParameter, "index of 2^63", wire[:10] + (2**63).to_bytes(8, "big") + wire[18:])
    return vector


def bad_tally() -> Vector:
    study, other = small_study(), small_study(seed=16)
    vector = Vector(study)
    for index, word in enumerate((0, 0, WORDS - 1)):
        vector.report(index, ("positive", {"score": 0.9}), tape_of([word]))
    vector.report(3, ("negative", {"score": 0.1}), tape_of([WORDS - 1]))
    vector.count()
    text, content = vector.tally.to_json(), json.loads(vector.tally.to_json())

    def refuse(error: type[DpairsError], why: str, changed: str) -> None:
        act = lambda: Tally.from_json(changed, study)  # noqa: E731
        vector.bad("load_tally", error, why, act, text=changed)

    def positive(symbols: list[Any], counts: list[Any]) -> str:
        table = {"symbols": symbols, "counts": counts}
        return canonical({**content, "counts": {**content["counts"], "positive": table}})

    vector.good("load_tally", text=text)
    refuse(WrongStudy, "another study's tally", text.replace(study.id, other.id))
    refuse(BadFile, "a negative count", positive([0, 4], [2, -1]))
    refuse(BadFile, "a count of zero", positive([0, 4], [2, 0]))
    refuse(BadFile, "a count that is no whole number", positive([0, 4], [2, 1.5]))
    refuse(BadFile, "a count of 2^53", positive([0, 4], [2, 2**53]))
    refuse(BadFile, "symbols out of order", positive([4, 0], [1, 2]))
    refuse(BadFile, "a symbol twice", positive([0, 0], [1, 1]))
    refuse(BadFile, "a symbol out of range", positive([0, 5], [2, 1]))
    refuse(BadFile, "a negative symbol", positive([-1, 0], [2, 1]))
    refuse(BadFile, "more symbols than counts", positive([0, 4], [2]))
    counts = {**content["counts"], "unsure": {"symbols": [], "counts": []}}
    refuse(BadFile, "unknown stratum", canonical({**content, "counts": counts}))
    only = {"positive": content["counts"]["positive"]}
    refuse(BadFile, "a stratum is missing", canonical({**content, "counts": only}))
    refuse(BadFile, "another version", canonical({**content, "version": 2}))
    refuse(BadFile, "a study instead", study.to_json())
    refuse(BadFile, "a key twice", text.replace('"version":1', '"version":1,"version":1'))
    refuse(BadFile, "cut off", text[:-1])
    refuse(BadParameter, "an unknown field", canonical({**content, "comment": "hello"}))
    return vector


def bad_participant() -> Vector:
    study = small_study()
    vector = Vector(study)

    def refuse(
        error: type[DpairsError],
        why: str,
        *,
        index: int = 17,
        stratum: str = "positive",
        values: dict[str, Any] | None = None,
        words: int = 1,
        cut: int = 0,
    ) -> None:
        given = {"score": 0.5} if values is None else values
        tape = bytes(8 * words - cut)

        def act() -> None:
            Participant(study, index, stratum, bits=TapeRandomness(tape)).report(**given)

        vector.bad(
            "report", error, why, act, index=str(index), stratum=stratum, values=given, tape=tape.hex()
        )

    vector.report(17, ("positive", {"score": 0.5}), tape_of([0]))
    refuse(TapeExhausted, "no tape", words=0)
    refuse(TapeExhausted, "tape a byte too short", cut=1)
    refuse(BadValue, "value above the domain", values={"score": 1.0000000000000002})
    refuse(BadValue, "value below the domain", values={"score": -5e-324})
    refuse(BadValue, "value that is no number", values={"score": "0.5"})
    refuse(BadValue, "value missing", values={})
    refuse(BadValue, "a value too many", values={"score": 0.5, "label": 1})
    refuse(BadValue, "null", values={"score": None})
    refuse(BadParameter, "unknown stratum", stratum="unsure")
    refuse(BadParameter, "negative index", index=-1)
    refuse(BadParameter, "index of 2^63", index=2**63)
    return vector


def bad_random_rounding() -> Vector:
    """Random rounding takes a word of its own, so one word is not enough."""
    study = Study.create(
        "gini_mean_difference", epsilon=1.0, domain=Interval(0, 1), bins=5, rounding="random", seed=17
    )
    vector, tape = Vector(study), bytes(8)

    def act() -> None:
        Participant(study, 0, bits=TapeRandomness(tape)).report(value=0.5)

    vector.report(0, ("everybody", {"value": 0.5}), tape_of([0, 0]))
    person = {"index": "0", "stratum": "everybody", "values": {"value": 0.5}}
    vector.bad("report", TapeExhausted, "one word where two are needed", act, **person, tape=tape.hex())
    return vector


VECTORS: dict[str, Callable[[], Vector]] = {
    "histogram_auc_integers_64_bits": auc_integers_64_bits,
    "histogram_auc_krr": auc_krr,
    "histogram_auc_private_labels": auc_private_labels,
    "histogram_auc_projective": auc_projective,
    "histogram_collision_entropy_strings": collision_entropy_strings,
    "histogram_custom_kernel": custom_kernel,
    "histogram_gini_coefficient_integers": gini_coefficient_integers,
    "histogram_gini_mean_difference_random_rounding": gini_mean_difference_random_rounding,
    "histogram_kendall_tau_b_projective": kendall_tau_b_projective,
    "histogram_kendall_tau_krr": kendall_tau_krr,
    "histogram_variance_levels": variance_levels,
    "histogram_thresholds_krr": krr_thresholds,
    "histogram_thresholds_projective": projective_thresholds,
    "histogram_thresholds_projective_line": projective_line,
    "histogram_bad_study": bad_study,
    "histogram_bad_report": bad_report,
    "histogram_bad_tally": bad_tally,
    "histogram_bad_participant": bad_participant,
    "histogram_bad_random_rounding": bad_random_rounding,
}


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    for name, make in VECTORS.items():
        (folder / f"{name}.json").write_text(make().text(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
