"""Fitted constants: one file, which the docs and everybody else read."""

import re
from pathlib import Path

from dpairs.protocols import fitted

ROOT = Path(__file__).parents[2]
CONSTANTS = {name: value for name, value in vars(fitted).items() if name.isupper()}


def test_the_docs_print_them_as_they_are():
    text = (ROOT / "docs" / "projection.md").read_text()
    printed = re.findall(r"`([A-Z_]+)`, ([\d.]+)", text)
    assert {"UNEVEN", "UNEVEN_LINE", "SMOOTH", "SMOOTH_PLANE"} <= {name for name, _ in printed}
    for name, value in printed:
        assert float(value.rstrip(".")) == CONSTANTS[name], name


def test_nobody_else_gives_them_a_value():
    for path in (ROOT / "src").rglob("*.py"):
        if path.name != "fitted.py":
            given = set(re.findall(r"^([A-Z_]+)(?:, [A-Z_]+)* = [\d.]", path.read_text(), flags=re.MULTILINE))
            assert not given & set(CONSTANTS), path


def test_a_script_measures_them_again():
    named = re.search(r"`(experiments/\w+\.py)`", fitted.__doc__ or "")
    assert named is not None
    assert "fitted" in (ROOT / named[1]).read_text()
