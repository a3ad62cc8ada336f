"""Every line of the threat model names tests, and those tests exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
MODEL = PAGE.partition("### Who attacks, and what stops it")[2].partition("### The ledger's arithmetic")[0]
NAMED = re.compile(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`")
IN_JAVASCRIPT = re.compile(r"js: ([^|]+?) \|")


def rows() -> list[str]:
    lines = [line for line in MODEL.splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith(("| ---", "| it may", "| what may happen"))]


def test_every_line_names_a_test():
    assert len(rows()) > 25
    for row in rows():
        assert row.count("|") == 5, row
        assert NAMED.search(row) or IN_JAVASCRIPT.search(row), row


def test_every_test_that_is_named_is_there():
    named = NAMED.findall(MODEL)
    assert len(named) > 30
    for path, name in named:
        assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"
    titles = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "js" / "test").glob("*.js"))
    for title in IN_JAVASCRIPT.findall(MODEL):
        assert f'test("{title}"' in titles, title


def test_every_test_of_two_servers_is_there():
    page = (ROOT / "docs" / "two-servers.md").read_text(encoding="utf-8")
    model = page.partition("## Threat model")[2].partition("## As services")[0]
    lines = [line for line in model.splitlines() if line.startswith("| ")][2:]
    assert len(lines) > 25
    files = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for line in lines:
        named = re.findall(r"`(test_[a-z0-9_]+)`", line)
        assert named or "**not covered**" in line, line
        for name in named:
            assert f"\ndef {name}(" in files, name
