"""`dpairs decode`: messages become reports, and what is no message is counted or passed over."""

import json
from pathlib import Path

import numpy as np
import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.garbled.session import PairDecoder
from dpairs.garbled.wire import HEAD

from .terminals import PAIRWISE, PEOPLE, TAU, numbers_of, protocol_of, refused, said, together


def decoded(capsys, *files: str) -> dict[str, int]:
    capsys.readouterr()
    assert run(["decode", "study.json", *files, *PEOPLE, "-o", "reports.jsonl", "--json"]) == 0
    outcome = json.loads(said(capsys)[0])
    return {name: outcome[name] for name in ("decoded", "refused", "dropped_out")}


@pytest.fixture
def messages(study, folder) -> list[str]:
    """The lines of three pairs, tables and labels by turns."""
    return [line for number in numbers_of(study)[:3] for line in together(study, number, x=(1, 3), y=(2, 1))]


def write(path: str, lines: list[str]) -> None:
    Path(path).write_text("\n".join(lines) + "\n")


def test_one_message_alone_is_a_drop_out(study, messages, capsys):
    write("m.jsonl", messages[:-1])
    assert decoded(capsys, "m.jsonl") == {"decoded": 2, "refused": 0, "dropped_out": 1}
    write("m.jsonl", [*messages[:4], messages[5]])
    assert decoded(capsys, "m.jsonl") == {"decoded": 2, "refused": 0, "dropped_out": 1}
    reports = [json.loads(line) for line in Path("reports.jsonl").read_text().splitlines()]
    assert [each["index"] for each in reports] == sorted(numbers_of(study)[:2])
    assert all(each["stratum"] == "pairs" and each["study"] == study.id for each in reports)


def test_the_symbol_is_the_sessions(study, messages, capsys):
    write("m.jsonl", messages)
    assert decoded(capsys, "m.jsonl")["decoded"] == 3
    protocol = protocol_of(study)
    pairs = protocol.match(study.coins, {"everybody": 6})
    expected = []
    for place, number in enumerate(numbers_of(study)[:3]):
        table, labels = (
            bytes.fromhex(json.loads(line)["message"]) for line in messages[2 * place : 2 * place + 2]
        )
        symbol = PairDecoder(protocol.function, pairs.pair(study.id, number, 1)).decode(table, labels)
        expected.append((number, symbol))
    found = [json.loads(line) for line in Path("reports.jsonl").read_text().splitlines()]
    assert sorted(expected) == [(each["index"], each["symbol"]) for each in found]


@pytest.mark.parametrize("which", [0, 1])
def test_a_flipped_digit_is_refused_and_counted(study, messages, capsys, which):
    """Wherever it is: each digit of a message is flipped once, in the head, the link and the payload."""
    rng = np.random.default_rng(which)
    spec = json.loads(messages[which])
    size = len(spec["message"])
    for place in {0, 2, 4, 20, 40, 2 * HEAD.size, size - 1, *rng.integers(0, size, 12).tolist()}:
        digit = f"{int(spec['message'][place], 16) ^ 1:x}"
        changed = {**spec, "message": spec["message"][:place] + digit + spec["message"][place + 1 :]}
        write("m.jsonl", [json.dumps(changed), *(line for line in messages if line != messages[which])])
        assert decoded(capsys, "m.jsonl") == {"decoded": 2, "refused": 1, "dropped_out": 0}, place


def test_messages_of_different_exchanges_or_pairs_are_refused(study, messages, capsys):
    first, second, _ = numbers_of(study)[:3]
    again = together(study, first, x=(1, 3), y=(2, 1))
    write("m.jsonl", [messages[0], again[1], *messages[2:]])
    assert decoded(capsys, "m.jsonl") == {"decoded": 2, "refused": 1, "dropped_out": 0}
    # The first pair's messages under the second's number.
    moved = [json.dumps({**json.loads(line), "pair": second}) for line in messages[:2]]
    write("m.jsonl", [*moved, *messages[4:]])
    assert decoded(capsys, "m.jsonl") == {"decoded": 1, "refused": 1, "dropped_out": 0}
    unknown = [json.dumps({**json.loads(line), "pair": 10**30}) for line in messages[:2]]
    write("m.jsonl", [*unknown, *messages[4:]])
    assert decoded(capsys, "m.jsonl") == {"decoded": 1, "refused": 1, "dropped_out": 0}
    # A table in the place of labels.
    swapped = [json.dumps({**json.loads(messages[0]), "kind": "labels"}), messages[0]]
    write("m.jsonl", [*swapped, *messages[4:]])
    assert decoded(capsys, "m.jsonl") == {"decoded": 1, "refused": 1, "dropped_out": 0}


def test_a_wrong_count_of_people_refuses_all(study, messages, capsys, folder):
    write("m.jsonl", messages)
    refused(
        capsys,
        ["decode", "study.json", "m.jsonl", "--people", "8", "-o", "r.jsonl"],
        "no pair could be decoded",
    )
    assert not (folder / "r.jsonl").exists()


def test_another_studys_messages(study, messages, capsys, folder):
    assert run([*TAU, *PAIRWISE[:-1], "2", "--pairs", "2", "-o", "other.json"]) == 0
    write("m.jsonl", messages)
    refused(capsys, ["decode", "other.json", "m.jsonl", *PEOPLE, "-o", "r.jsonl"], "no pair could be decoded")
    assert not (folder / "r.jsonl").exists()
    # With the other study's id written over it, the message itself tells.
    other = dpairs.Study.load("other.json")
    renamed = [json.dumps({**json.loads(line), "study": other.id}) for line in messages]
    write("m.jsonl", renamed)
    refused(capsys, ["decode", "other.json", "m.jsonl", *PEOPLE, "-o", "r.jsonl"], "refused")
    assert not (folder / "r.jsonl").exists()


ODD_LINES = [
    "",
    "not json",
    "[1]",
    "null",
    "7",
    "{}",
    '"text"',
    "9" * 9000,
    "[" * 100_000,
    '{"study": 1, "pair": [], "kind": {}, "message": null}',
]


def test_lines_that_are_no_messages_are_passed_over(study, messages, capsys):
    spec = json.loads(messages[0])
    odd = [
        {**spec, "message": "xyz"},
        {**spec, "message": 7},
        {**spec, "kind": "offer"},
        {**spec, "kind": ["table"]},
        {**spec, "pair": "first"},
        {**spec, "pair": None},
        {**spec, "pair": [0]},
        {"study": study.id},
    ]
    write("m.jsonl", [*ODD_LINES, *map(json.dumps, odd), *messages])
    assert decoded(capsys, "m.jsonl") == {"decoded": 3, "refused": 0, "dropped_out": 0}


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN"])
def test_a_pair_that_is_no_number_is_passed_over(study, messages, capsys, number):
    spec = json.dumps({**json.loads(messages[0]), "pair": 0})
    odd = spec.replace('"pair": 0', f'"pair": {number}')
    assert number in odd
    write("m.jsonl", [odd, *messages])
    assert decoded(capsys, "m.jsonl") == {"decoded": 3, "refused": 0, "dropped_out": 0}


def test_a_spoiled_copy_does_not_undo_a_good_message(study, messages, capsys):
    """Anybody can add a line. The first message stays, as the first answer does in a tally."""
    forged = json.dumps({**json.loads(messages[0]), "message": "00"})
    write("m.jsonl", [*messages, forged])
    assert decoded(capsys, "m.jsonl")["decoded"] == 3


def test_files_that_cannot_be_read_or_written(study, messages, capsys, folder):
    write("m.jsonl", messages)
    (folder / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    decode = ["decode", "study.json", "m.jsonl", *PEOPLE]
    refused(
        capsys, ["decode", "study.json", "none.jsonl", *PEOPLE, "-o", "r.jsonl"], "none.jsonl cannot be read"
    )
    refused(
        capsys, ["decode", "study.json", "binary.jsonl", *PEOPLE, "-o", "r.jsonl"], "binary.jsonl cannot be"
    )
    refused(capsys, [*decode, "-o", "no/such/r.jsonl"], "no/such/r.jsonl")
    refused(capsys, ["decode", "m.jsonl", "m.jsonl", *PEOPLE, "-o", "r.jsonl"], "study")
    assert not (folder / "r.jsonl").exists()
