"""`dpairs pair` and hostile partners: each ends in one sentence, and in time."""

import struct
import threading
from collections.abc import Callable

import pytest

import dpairs
from dpairs.cli.app import run

from .terminals import (
    FIRST,
    VALUES,
    Line,
    caller,
    framed,
    honest_garbler,
    numbers_of,
    one_error,
    partner,
    refused,
    said,
)


def closes(study: dpairs.Study, line: Line) -> None:
    """At once."""


def closes_within(study: dpairs.Study, line: Line) -> None:
    line.sendall(struct.pack(">I", 100) + bytes(50))


def closes_within_the_length(study: dpairs.Study, line: Line) -> None:
    line.sendall(b"\x00\x00")


def garbage(study: dpairs.Study, line: Line) -> None:
    line.sendall(framed(bytes(range(256)) * 4))


def nothing_but_a_head(study: dpairs.Study, line: Line) -> None:
    line.sendall(framed(b""))


def huge(study: dpairs.Study, line: Line) -> None:
    line.sendall(b"\xff\xff\xff\xff" + bytes(100))


def a_web_browser(study: dpairs.Study, line: Line) -> None:
    line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")


HOSTILE: dict[str, tuple[Callable[[dpairs.Study, Line], None], str]] = {
    "closes": (closes, "closed the connection"),
    "closes within a message": (closes_within, "closed the connection"),
    "closes within a length": (closes_within_the_length, "closed the connection"),
    "garbage": (garbage, "version"),
    "an empty message": (nothing_but_a_head, "head of 34 bytes"),
    "a huge length": (huge, "4294967295 bytes; at most 67108864 are read"),
    "a web browser": (a_web_browser, "announces a message"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_partner_who_listens(name, study, folder, capsys):
    act, words = HOSTILE[name]
    with partner(study, act) as port:
        refused(capsys, [*FIRST, "--connect", f"127.0.0.1:{port}", "--timeout", "30"], words)
    assert not (folder / "mine.jsonl").exists()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_partner_who_connects(name, study, folder, capsys, monkeypatch):
    act, words = HOSTILE[name]
    other = caller(monkeypatch, study, act)
    capsys.readouterr()
    assert run([*FIRST, "--listen", f"127.0.0.1:{other.port}", "--timeout", "30"]) == 2
    other.join()
    out, err = said(capsys)
    assert out == ""
    # A partner who is gone may also be noticed while sending.
    one_error(err, *([] if "partner cannot be reached" in err and name.startswith("closes") else [words]))
    assert not (folder / "mine.jsonl").exists()


@pytest.mark.parametrize("sent", [b"", b"\x00\x00\x01\x00", b"\x00\x00\x01\x00" + bytes(10)])
def test_a_partner_who_falls_silent(sent, study, folder, capsys):
    done = threading.Event()

    def silent(study: dpairs.Study, line: Line) -> None:
        line.sendall(sent)
        done.wait(60)

    with partner(study, silent) as port:
        refused(
            capsys,
            [*FIRST, "--connect", f"127.0.0.1:{port}", "--timeout", "0.3"],
            "did not answer within 0.3 sec",
        )
        done.set()
    assert not (folder / "mine.jsonl").exists()


def test_a_partner_of_another_pair(study, folder, capsys):
    other = numbers_of(study)[1]
    with partner(study, lambda study, line: honest_garbler(study, line, other)) as port:
        refused(capsys, [*FIRST, "--connect", f"127.0.0.1:{port}"], "another pair of this study")
    assert not (folder / "mine.jsonl").exists()


def test_a_partner_of_another_study(study, folder, capsys):
    other = dpairs.Study.create(
        "kendall_tau", epsilon=4.0, protocol="pairwise", domain=study.domains, pairs=2, seed=2
    )
    with partner(other, honest_garbler) as port:
        refused(capsys, [*FIRST, "--connect", f"127.0.0.1:{port}"], "belongs to study")
    assert not (folder / "mine.jsonl").exists()


def test_a_partner_who_counts_other_people(study, folder, capsys):
    """The pairing depends on how many there are: two who disagree notice it."""
    with partner(study, honest_garbler) as port:
        arguments = ["pair", "study.json", "--number", "0", "--people", "8", *VALUES, "-o", "mine.jsonl"]
        refused(capsys, [*arguments, "--connect", f"127.0.0.1:{port}"], "another pair")
    assert not (folder / "mine.jsonl").exists()
