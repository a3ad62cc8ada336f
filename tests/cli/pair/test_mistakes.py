"""`dpairs pair` and the mistakes of a person: each is one sentence."""

import socket
import subprocess
import sys

import pytest

from ...ports import free_port
from .terminals import FIRST, PEOPLE, honest_garbler, one_error, partner, refused

MISTAKES: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "no such pair": (
        ["--number", "1", "--connect", ":9000"],
        ("there is no pair 1", "the 6 pairs are 0, 64"),
    ),
    "negative pair": (["--number", "-1", "--connect", ":9000"], ("--number",)),
    "neither side": ([], ("either --listen HOST:PORT or --connect",)),
    "both sides": (["--listen", ":9000", "--connect", ":9000"], ("either --listen HOST:PORT or --connect",)),
    "too many people": (["--people", "7", "--connect", ":9000"], ("once for each of everybody",)),
    "no port": (["--connect", "127.0.0.1"], ("HOST:PORT",)),
    "port 0": (["--listen", "127.0.0.1:0"], ("HOST:PORT",)),
    "port 65536": (["--listen", "127.0.0.1:65536"], ("HOST:PORT",)),
    "port of letters": (["--connect", "127.0.0.1:http"], ("HOST:PORT",)),
    "port squared": (["--connect", "127.0.0.1:9²"], ("HOST:PORT",)),
    "host too long": (["--connect", "a" * 70 + ":9000"], ()),
    "value outside": (["--x", "9", "--connect", ":9000"], ("x must be a whole number from 1 to 3, not 9",)),
    "value of another study": (["--value", "1", "--connect", ":9000"], ("needs x and y, not value",)),
    "timeout negative": (["--listen", "127.0.0.1:{port}", "--timeout", "-1"], ("timeout",)),
    "timeout nan": (["--listen", "127.0.0.1:{port}", "--timeout", "nan"], ("timeout",)),
    "timeout infinite": (["--listen", "127.0.0.1:{port}", "--timeout", "inf"], ("timeout",)),
    "timeout nan, connecting": (["--connect", "127.0.0.1:{port}", "--timeout", "nan"], ("timeout",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_wrong_pairs(name, study, folder, capsys):
    more, words = MISTAKES[name]
    port = str(free_port())
    refused(capsys, [*FIRST, *(each.replace("{port}", port) for each in more)], *words)
    assert not (folder / "mine.jsonl").exists()


def test_a_missing_value_is_not_guessed(study, folder, capsys):
    refused(capsys, [*FIRST[:-4], "-o", "mine.jsonl", "--connect", ":9"], "y is missing")


def test_the_partner_does_not_come(study, folder, capsys):
    port = free_port()
    refused(
        capsys,
        [*FIRST, "--listen", f"127.0.0.1:{port}", "--timeout", "0.3"],
        "did not answer within 0.3 seconds",
    )
    refused(capsys, [*FIRST, "--connect", f"127.0.0.1:{port}", "--timeout", "0.3"], "partner", "refused")
    assert not (folder / "mine.jsonl").exists()


def test_an_address_of_somebody_else(study, folder, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused(capsys, [*FIRST, "--listen", f"127.0.0.1:{port}"], "in use")


def test_a_folder_that_is_not_there(study, folder, capsys):
    with partner(study, honest_garbler) as port:
        out = [*FIRST[:-1], "no/such/mine.jsonl", "--connect", f"127.0.0.1:{port}"]
        refused(capsys, out, "no/such/mine.jsonl")


def test_real_pairs_say_which_packages_they_need(study, folder):
    """Without the extra `pairs` there is a sentence, not a traceback."""
    for arguments in (
        [*FIRST, "--connect", "127.0.0.1:9", "--timeout", "0.1"],
        ["decode", "study.json", "study.json", *PEOPLE, "-o", "x"],
    ):
        code = (
            "import sys; sys.modules['rbcl'] = sys.modules['cryptography'] = None\n"
            f"from dpairs.cli.app import run; sys.exit(run({arguments!r}))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr[-300:]
        one_error(done.stderr, "pairs")
