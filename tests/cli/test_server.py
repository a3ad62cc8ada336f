"""Two servers by hand: every step of a study on files."""

import json
from typing import Any

import pytest

from dpairs import Interval, Study
from dpairs.cli.app import run

pytest.importorskip("numba")
MULTIPLIED = (
    "server multiply study.json --tally helper.json --secret helper.secret --out offer",
    "server multiply study.json --tally leader.json --secret leader.secret --inbound offer --out reply",
    "server multiply study.json --tally helper.json --secret helper.secret --inbound reply "
    "--out corrections --products helper.products",
    "server multiply study.json --tally leader.json --secret leader.secret --offer offer "
    "--inbound corrections --products leader.products",
)


def refused(line):
    return run(line.split()) == 2


def steps(*lines):
    for line in lines:
        assert run(line.split()) == 0, line


def answers(people):
    for index in range(people):
        stratum = ("positive", "negative")[index % 2]
        steps(f"report study.json --index {index} --stratum {stratum} --score {0.05 * index:.2f} --shares in")


def verified(leader="leader.json", helper="helper.json"):
    steps(
        "server verify study.json --server 0 --key key --shares in/server-0.jsonl --out begun",
        "server verify study.json --server 1 --key key --shares in/server-1.jsonl --inbound begun "
        f"--out answered --tally {helper}",
        "server verify study.json --server 0 --key key --shares in/server-0.jsonl --inbound answered "
        f"--tally {leader}",
    )


def test_a_study_by_hand(folder, capsys):
    steps(
        "study create auc --protocol two_servers --epsilon 50 --domain interval:0,1 --bins 32 "
        "--release value --split 0.2 --noise laplace --out study.json"
    )
    assert Study.load("study.json").protocol.to_json()["bins"] == [32]
    Study.create("auc", protocol="two_servers", epsilon=50.0, domain=Interval(0, 1), bins=32).save(
        "study.json"
    )
    steps("server key key")
    answers(12)
    # A line that was altered on its way is left out, and nobody else's is.
    lines = (folder / "in" / "server-0.jsonl").read_text().splitlines()
    share = json.loads(lines[0])
    share["share"] = ("00" if share["share"][:2] != "00" else "01") + share["share"][2:]
    (folder / "in" / "server-0.jsonl").write_text("\n".join([json.dumps(share), *lines[1:]]) + "\n")
    verified()
    steps(
        *MULTIPLIED,
        "server release study.json --tally helper.json --products helper.products --book one.book "
        "--out helper.part",
        "server release study.json --tally leader.json --products leader.products --book zero.book "
        "--out leader.part",
        "server open study.json leader.part helper.part --out release.json",
    )
    capsys.readouterr()
    steps("estimate study.json release.json --json")
    estimate = json.loads(capsys.readouterr().out)
    assert estimate["n"] == 11
    # Of 5 positives and 6 negatives, at an epsilon that adds next to no noise.
    assert abs(estimate["value"] - 15 / 30) < 0.05
    assert not (folder / "helper.secret").exists()
    # Noise is drawn once.
    again = "server release study.json --tally helper.json --products helper.products --out b --book"
    assert refused(f"{again} one.book")
    assert "already" in capsys.readouterr().err.replace("\n", " ")
    # A book is one server's.
    assert refused(f"{again} zero.book")


def test_two_rounds_by_hand(folder, capsys):
    Study.create("auc", protocol="two_servers", epsilon=50.0, rounds=2, domain=Interval(0, 1), bins=4).save(
        "study.json"
    )
    steps("server key key")
    answers(10)
    verified()
    assert refused("server multiply study.json --tally helper.json --secret s --out offer")
    steps(
        "server release study.json --tally helper.json --book one.book --out helper.part",
        "server release study.json --tally leader.json --book zero.book --out leader.part",
        "server open study.json helper.part leader.part --out release.json",
        "study next study.json release.json --out second.json",
    )
    second = Study.load(folder / "second.json")
    assert second.protocol.round == 2


def test_wrong_files_are_refused_in_a_sentence(folder, capsys):
    Study.create("auc", protocol="two_servers", epsilon=1.0, domain=Interval(0, 1), bins=4).save("study.json")
    steps("server key key")
    assert refused("server key key")
    answers(2)
    assert refused("server verify study.json --server 0 --key key --shares in/server-1.jsonl --out o")
    assert "is for server 1" in capsys.readouterr().err.replace("\n", " ")
    assert refused("server verify study.json --server 1 --key key --shares in/server-1.jsonl")
    assert "needs --inbound" in capsys.readouterr().err.replace("\n", " ")
    (folder / "short").write_text("00\n")
    assert refused("server verify study.json --server 0 --key short --shares in/server-0.jsonl")
    (folder / "bad.jsonl").write_text("{}\n")
    assert refused("server verify study.json --server 0 --key key --shares bad.jsonl --out o")
    assert refused("server open study.json key key --out o")


def test_shares_never_go_into_one_file_of_reports(folder, capsys):
    """Anybody who has both shares learns the value."""
    asked: dict[str, Any] = {"epsilon": 1.0, "domain": Interval(0, 1), "bins": 8}
    Study.create("auc", protocol="two_servers", **asked).save("study.json")
    Study.create("auc", protocol="histogram", **asked).save("alone.json")
    given = "--index 0 --stratum positive --score 0.5"
    assert refused(f"report study.json {given} --append reports.jsonl")
    assert "reports of this study are shares" in capsys.readouterr().err
    assert refused(f"report alone.json {given} --shares in")
    assert "has no servers" in capsys.readouterr().err
    assert not (folder / "reports.jsonl").exists()
    assert not (folder / "in").exists()
