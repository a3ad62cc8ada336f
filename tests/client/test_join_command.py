"""`dpairs join`: what a person sees and is asked before anything is answered."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import typer

import dpairs.client
from dpairs import Levels, Study
from dpairs.cli.app import run as run_command
from dpairs.cli.show import errors
from dpairs.errors import LimitExceeded

from .dishonest import Dishonest, link_to, serving
from .test_pairs import PlaysPartners, own_pairs, tau

STUDY = Study.create("gini_mean_difference", epsilon=1.0, domain=Levels(range(4)), seed=1)
PROMISE = "This study is perfectly anonymous"


@pytest.fixture
def line(monkeypatch) -> Dishonest:
    made = Dishonest(serving(STUDY, title="[red]Nice[/red]\x1b[2J", promise=PROMISE))
    monkeypatch.setattr(dpairs.client, "Transport", lambda *_, **__: made)
    monkeypatch.setattr(errors, "width", 300)
    return made


def run(*arguments: str) -> int:
    return run_command(["join", link_to(STUDY.id), "--value", "2", *arguments])


def terminal(monkeypatch: pytest.MonkeyPatch, says: bool) -> list[str]:
    """A person at a terminal who answers every question so; the questions."""
    asked: list[str] = []

    def confirm(words: str, **_: Any) -> bool:
        asked.append(words)
        return says

    monkeypatch.setattr(typer, "confirm", confirm)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    return asked


def test_the_claim_is_derived_here_and_nothing_is_answered_without_a_yes(line, monkeypatch, capsys, tmp_path):
    asked = terminal(monkeypatch, says=False)
    assert run("--home", str(tmp_path)) == 2
    said = capsys.readouterr()
    assert asked == ["Take part?"]
    assert line.sent == []
    assert "epsilon 1" in said.err
    assert "delta 0" in said.err
    assert "did not agree" in said.err
    assert PROMISE not in said.err + said.out
    assert "\x1b[2J" not in said.err
    asked = terminal(monkeypatch, says=True)
    assert run("--home", str(tmp_path)) == 0
    assert len(line.reports) == 1
    assert PROMISE not in "".join(capsys.readouterr())


def test_a_script_has_to_say_yes(line, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    assert run("--home", str(tmp_path)) == 2
    assert "--yes" in capsys.readouterr().err
    assert line.sent == []
    assert run("--home", str(tmp_path), "--yes", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["privacy"]["epsilon"] == STUDY.privacy.epsilon
    assert len(line.reports) == 1


def test_the_ledger_is_on_and_its_limit_is_raised_by_saying_so(line, capsys, tmp_path):
    home = ["--home", str(tmp_path), "--yes"]
    assert run(*home, "--limit", "0.5") == 2
    assert "above the limit of 0.5" in capsys.readouterr().err
    assert line.sent == []
    assert run(*home) == 0
    book = dpairs.Ledger.load(tmp_path / "ledger.json")
    assert (book.limit, book.delta, list(book.spent)) == (5.0, 0.0, [STUDY.id])


def test_a_refusal_in_the_collector_s_words_commands_no_terminal(monkeypatch, capsys, tmp_path):
    """Variant: the words come as an error, which clears the screen and shows a promise of its own."""
    forged = LimitExceeded("no\x1b[2J\x1b[H\u202eloses at most: epsilon 0.001\x07\r")
    made = Dishonest(lambda *_: forged)
    monkeypatch.setattr(dpairs.client, "Transport", lambda *_, **__: made)
    assert run("--home", str(tmp_path), "--yes") == 2
    said = capsys.readouterr().err
    assert said.isascii()
    assert said.replace("\n", "").isprintable()
    assert "epsilon 0.001" in said


def test_a_partner_who_was_turned_down_stays_so_without_a_question(monkeypatch, capsys, tmp_path):
    """Variant: somebody saw a false fingerprint, said no, and runs the plain command again to go on."""
    study, sizes = tau(), {"everybody": 30}
    made = PlaysPartners(study, 0, "everybody")
    ((number, role, partner),) = own_pairs(study, sizes, 0)
    made.list_pair(sizes, number, role, partner)
    monkeypatch.setattr(dpairs.client, "Transport", lambda *_, **__: made)
    monkeypatch.setattr(errors, "width", 300)
    command = ["join", link_to(study.id), "--x", "1", "--y", "2", "--yes", "--home", str(tmp_path)]
    asked = terminal(monkeypatch, says=False)
    assert run_command([*command, "--confirm"]) == 0
    assert len(asked) == 1
    capsys.readouterr()
    assert run_command(command) == 0
    assert "your partner's must be" in capsys.readouterr().err
    assert made.sent == []
    terminal(monkeypatch, says=True)
    assert run_command([*command, "--confirm"]) == 0
    assert made.sent != []
