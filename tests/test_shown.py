"""What one sees: tables as text and HTML, short reprs, pictures, and what the command line says."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import dpairs
from dpairs.formats.display import html_table, number, text_table

LABEL = np.arange(2_000) % 2
SCORE = np.clip(np.random.default_rng(1).normal(0.4 + 0.2 * LABEL, 0.15), 0, 1)


def test_a_table_as_text_keeps_columns_under_each_other():
    shown = text_table("title", [("a", "one\ntwo", "x"), ("longer", "three", "y")], ["A note."])
    assert shown.splitlines() == [
        "title",
        "  a       one    x",
        "          two",
        "  longer  three  y",
        "A note.",
    ]


def test_a_table_as_html_escapes_what_it_shows():
    shown = html_table("<b>", [("<script>", "a\nb")], ["1 < 2"])
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "a<br>b" in shown
    assert "1 &lt; 2" in shown
    assert "color" not in shown  # the page's own, light or dark


def test_a_number_has_the_digits_that_matter():
    assert [number(each) for each in (None, 0.123456789, 1234567.0)] == ["-", "0.12346", "1.2346e+06"]


def test_reprs_are_short_and_tables_are_not_reprs():
    study = dpairs.Study.create("auc", epsilon=1, domain=(0, 1), bins=16, seed=1)
    plan = dpairs.plan("auc", domain=(0, 1), epsilon=1, n=2_000)
    estimate = dpairs.auc(LABEL, SCORE, epsilon=4, seed=1)
    for shown in (study, dpairs.Tally(study), dpairs.Ledger(5.0), plan, estimate):
        assert len(repr(shown)) < 250, repr(shown)
        assert repr(shown).startswith(type(shown).__name__)
        assert "\n" not in repr(shown)
        assert len(str(shown).splitlines()) > 1
        assert len(str(shown)) < 6_000
        assert shown._repr_html_().count("<tr>") == shown._repr_html_().count("</tr>") > 0


def test_an_estimate_draws_its_interval_beside_the_one_without_privacy():
    pytest.importorskip("matplotlib")
    estimate = dpairs.auc(LABEL, SCORE, epsilon=4, seed=1)
    figure = estimate.plot(level=0.9)
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["private, epsilon 4", "without privacy"]
    low, high = axes.get_xlim()
    interval = estimate.confidence_interval(0.9)
    assert low <= interval.low < interval.high <= high
    assert "90%" in axes.get_title(loc="left")
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


@pytest.mark.usefixtures("few_bins")
def test_a_plan_draws_errors_that_fall_with_people_and_with_epsilon():
    pytest.importorskip("matplotlib")
    steps: list[int] = []
    plan = dpairs.plan("auc", domain=(0, 1), epsilon=1, n=20_000, rounds=1, protocol="histogram")
    figure = plan.plot(steps.append)
    assert len(steps) == 26
    for axes in figure.axes:
        assert axes.get_legend_handles_labels()[1][-1] == "without privacy"
        for line in axes.get_lines():
            errors = [float(each) for each in np.asarray(line.get_ydata()) if math.isfinite(each)]
            assert errors[0] >= errors[-1] > 0


def test_a_picture_that_cannot_be_written_is_one_sentence(tmp_path):
    pytest.importorskip("matplotlib")
    from dpairs.pictures import blank, save

    save(blank(1, 1), tmp_path / "empty.png")
    assert (tmp_path / "empty.png").read_bytes().startswith(b"\x89PNG")
    for path in (tmp_path / "empty.nokind", tmp_path / "none" / "empty.png"):
        with pytest.raises(dpairs.BadFile, match="cannot be written"):
            save(blank(1, 1), path)


# ---------------------------------------------------------------- the command line


def test_messages_name_flags():
    from dpairs.cli.app import with_flags

    assert with_flags("give bins=... or protocol='tree'") == "give --bins ... or --protocol tree"
    assert with_flags("set max_epsilon=2 and columns=...") == "set --max-epsilon 2 and --column ..."
    assert with_flags("no keyword=3 of ours") == "no keyword=3 of ours"


def test_the_doctor_knows_every_extra_and_a_missing_one(monkeypatch, tmp_path):
    from dpairs.cli import doctor

    monkeypatch.setenv("DPAIRS_HOME", str(tmp_path))
    found = doctor.examine()
    assert found["versions"]["dpairs"] == dpairs.__version__
    assert "nothing answered yet" in found["places"]["ledger"]
    study = dpairs.Study.create("auc", epsilon=1, domain=(0, 1), bins=16)
    ledger = dpairs.Ledger(5.0)
    ledger.spend(study, "one")
    ledger.save(tmp_path / "ledger.json")
    assert "of 5 spent in 1 answers" in doctor.examine()["places"]["ledger"]
    monkeypatch.setenv("DPAIRS_HOME", str(tmp_path / "ledger.json" / "below"))
    assert "is not a folder" in doctor.examine()["places"]["this person's folder"]
    monkeypatch.setenv("DPAIRS_HOME", str(tmp_path))
    (tmp_path / "ledger.json").write_text("{")
    assert "spent" not in doctor.examine()["places"]["ledger"]
    state = doctor._extra("plots", ["no-such-package"])
    assert state == {"works": False, "says": "not installed: no-such-package"}
    monkeypatch.setitem(doctor.MODULES, "plots", "dpairs.no_such_module")
    assert not doctor._extra("plots", ["numpy"])["works"]


def simulated(
    capsys: pytest.CaptureFixture[str], folder: Path, rows: list[str] | bytes, *more: str
) -> tuple[int, str]:
    from dpairs.cli.app import run

    people = rows if isinstance(rows, bytes) else ("\n".join(rows) + "\n").encode()
    (folder / "people.csv").write_bytes(people)
    study = dpairs.Study.create("auc", epsilon=4, domain=(0, 1), bins=16, seed=1)
    study.save(folder / "study.json")
    code = run(["simulate", str(folder / "study.json"), str(folder / "people.csv"), *more])
    printed = capsys.readouterr()
    return code, " ".join((printed.out + printed.err).split())


def test_a_file_is_told_by_its_lines_and_words(capsys, tmp_path):
    good = ["score,label", *["0.1,0", "0.9,1"] * 50]
    assert simulated(capsys, tmp_path, good)[0] == 0
    code, said = simulated(capsys, tmp_path, [*good[:4], "n/a,1", *good[4:]])
    assert code == 2
    assert "'n/a' in line 5" in said
    code, said = simulated(capsys, tmp_path, [*good[:4], "1.5,1", *good[4:]])
    assert code == 2
    assert "in line 5" in said
    code, said = simulated(capsys, tmp_path, [*good[:3], "", "1.5,1", *good[4:]])  # a blank line counts
    assert "in line 5" in said
    code, said = simulated(capsys, tmp_path, [*good[:4], "0.5,perhaps", *good[4:]])
    assert "'perhaps' in line 5" in said
    code, said = simulated(capsys, tmp_path, [*good[:4], "0.5", *good[4:]])
    assert "line 5 has 1 columns" in said


def test_files_as_spreadsheets_write_them(capsys, tmp_path):
    good = ["score,label", *["0.1,0", "0.9,1"] * 50]
    for sign in ";\t":
        assert simulated(capsys, tmp_path, [row.replace(",", sign) for row in good])[0] == 0
    for content, reason in (
        ("\n".join(good).encode("utf-16"), "UTF-16"),
        ("näme\n".encode("latin-1") * 99, "UTF-8"),
        (b"PK\x03\x04\0\0", "not a text file"),
        (",".join(map(str, range(20_000))).encode(), "more than 10,000 columns"),
        (b"score,score,label\n0.1,0.1,0\n", "2 columns 'score'"),
    ):
        code, said = simulated(capsys, tmp_path, content)
        assert code == 2
        assert reason in said


def test_labels_in_words_and_columns_of_other_names(capsys, tmp_path):
    rows = ["p_hat,died", *["0.1,no", "0.9,yes"] * 50]
    named = ["--column", "score=p_hat", "--column", "label=died"]
    assert simulated(capsys, tmp_path, rows, *named, "--positive", "yes")[0] == 0
    code, said = simulated(capsys, tmp_path, rows, *named, "--positive", "perhaps")
    assert code == 2
    assert "perhaps" in said
    code, said = simulated(capsys, tmp_path, rows, "--column", "score=p_hatt")
    assert code == 2
    assert "p_hat" in said
