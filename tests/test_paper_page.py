"""The table of the paper: every function and every test that it names exists, and no item is left out."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from experiments import exhibits

from .every import every

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
ERRATA = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
NAME = re.compile(r"`((?:dpairs|experiments)(?:\.\w+)+)`")
TEST = re.compile(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`")
NOT_BUILT = "not built, because"
PRINTED = {
    "Definition": 3,
    "Algorithm": 3,
    "Theorem": 5,
    "Lemma": 6,
    "Corollary": 5,
    "Remark": 6,
    "Figure": 7,
    "Table": 1,
}
"""The numbered parts of the paper, counted in its source."""
LABELS = {
    "algo:DP-hist",
    "algo:fo",
    "algo:local",
    "cor:dphist-main",
    "def:hierhist",
    "fig:2pc",
    "fig:algo",
    "fig:experiments-auc",
    "fig:experiments-auc-diabetes-generic",
    "fig:experiments-auc-synthetic-auc",
    "fig:experiments-auc-synthetic-generic",
    "fig:hh-example",
    "lem:discretevariance",
    "lem:fomse",
    "lem:lip",
    "lem:pairwiseindep",
    "lem:recursed",
    "tab:auc_errors",
    "thm:aucacc",
    "thm:discrete-case",
    "thm:dphist-main",
    "thm:mseorder",
    "thm:subsampling",
}
"""Those of its labels that are not of sections and formulas."""
VERDICTS = [
    (58, "; holds", "auc-diabetes", "The tree protocol is robust to d", True),
    (59, "; does not hold", "auc-diabetes", "Beyond epsilon 2 little is gained", False),
    (62, "not below epsilon 1", "kendall-tripadvisor", "All pairs has the largest error", False),
    (62, "not below epsilon 1", "kendall-tripadvisor", "Randomized response is slightly better", False),
    (63, "up to epsilon 1 with the paper's noise", "kendall-tripadvisor", "One pair.*Laplace.*up to 1", True),
    (
        63,
        "up to epsilon 1 with the paper's noise",
        "kendall-tripadvisor",
        "One pair.*Laplace.*up to 2",
        False,
    ),
    (64, "; holds", "kendall-tripadvisor", r"More than one pair \(Laplace\)", True),
    (65, "; does not hold", "kendall-tripadvisor", "For epsilon 10 a larger P", False),
    (124, "; holds", "auc-synthetic-tree", "auc_one is the tree's hard case", True),
    (124, "; holds", "auc-synthetic-tree", "On ithdigit the error is low", True),
    (
        125,
        "not at epsilon 4",
        "auc-synthetic-generic",
        r"The generic protocol fails.*\(epsilon up to 2\)",
        True,
    ),
    (125, "not at epsilon 4", "auc-synthetic-generic", r"The generic protocol fails.*\(epsilon 4\)", False),
    (127, "the AUC is 0.714", "auc-diabetes-generic", "The scores of positives and negatives", False),
]
"""What the page says of a judged statement, and where the report judges it."""


def rows(page: str = PAGE) -> list[list[str]]:
    """Number, item, what has it, and what checks it."""
    lines = re.findall(r"^\| (\d+) \| (.*) \| (.*) \| (.*) \|$", page, re.MULTILINE)
    return [list(line) for line in lines]


def there(path: str) -> object:
    """What a dotted path leads to."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(path)


def test_every_item_has_its_row():
    assert [int(number) for number, *_ in rows()] == list(range(1, len(rows()) + 1))
    counts = {kind: sum(bool(re.match(rf"{kind}\b", item)) for _, item, _, _ in rows()) for kind in PRINTED}
    assert counts == PRINTED
    labels = re.findall(r"`((?:algo|cor|def|fig|lem|tab|thm):[\w-]+)`", PAGE)
    assert sorted(labels) == sorted(LABELS)


def test_the_page_says_how_many_there_are():
    for kind, count in PRINTED.items():
        assert re.search(rf"\b{count} {kind.lower().removesuffix('y')}(ies|y|s)?\b", PAGE), kind


def test_every_row_names_what_has_it_and_what_checks_it():
    for number, _, here, checked in rows():
        if here.startswith(NOT_BUILT):
            assert checked == "none", number
        else:
            assert NAME.search(here), number
            assert TEST.search(checked), number
    assert sum(here.startswith(NOT_BUILT) for _, _, here, _ in rows()) < 10


@every("path", sorted(set(NAME.findall(PAGE))))
def test_every_name_is_there(path):
    there(path)


def test_every_test_is_there():
    named = TEST.findall(PAGE) + TEST.findall(ERRATA)
    assert len(named) > 120
    for path, name in named:
        assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"


def test_errata_are_numbered_alike_and_each_names_its_tests():
    """The table, the headings and the sentence that counts them; "erratum N" on any page is one of them."""
    table = rows(ERRATA)
    numbers = list(range(1, len(table) + 1))
    assert [int(number) for number, *_ in table] == numbers
    assert [int(number) for number in re.findall(r"^## (\d+)\. ", ERRATA, re.MULTILINE)] == numbers
    assert len(numbers) == 16
    assert "In sixteen places" in ERRATA
    for number, _, _, checked in table:
        assert TEST.search(checked), number
    for page in (ROOT / "docs").rglob("*.md"):
        for link in re.findall(r"errat(?:um|a)[\s-]+(\d+)", page.read_text(encoding="utf-8")):
            assert int(link) in numbers, page


def test_verdicts_are_those_of_the_report():
    report = exhibits.text("report")
    for number, words, experiment, statement, agrees in VERDICTS:
        assert words in rows()[number - 1][2], number
        line = rf"^\| {experiment} \| {statement}[^|]* \|[^|]*\| ([a-z ]+) \|$"
        (verdict,) = re.findall(line, report, re.MULTILINE)
        assert (verdict == "agrees") == agrees, (number, verdict)


@pytest.mark.parametrize("path", ["dpairs.theory.no_such_bound", "dpairs.no_module.name", "nothing.at.all"])
def test_names_that_are_not_there_are_noticed(path):
    """Negative control."""
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        there(path)
