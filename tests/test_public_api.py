"""The public names, what they say about themselves, and what importing dpairs brings in."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpairs
from dpairs import (
    Categories,
    DpairsError,
    Integers,
    Interval,
    Kernel,
    Levels,
    Participant,
    Study,
    Tally,
    errors,
)
from dpairs.randomness import SystemRandomness, TapeRandomness

from .every import every

SOURCE = Path(dpairs.__file__).parent
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(dpairs.__path__, "dpairs.")
    # Migrations run within alembic alone, and two packages within federated tools, which are not here.
    if not module.name.startswith(
        ("dpairs.cli", "dpairs.collector.migrations.", "dpairs.flower", "dpairs.nvflare")
    )
)
ERRORS = {name: item for name, item in vars(errors).items() if inspect.isclass(item)}


# ---------------------------------------------------------------- names


def test_all_is_what_can_be_imported():
    public = {
        name for name, item in vars(dpairs).items() if not name.startswith("_") and not inspect.ismodule(item)
    }
    # A function may have the name of its module, which it then hides. Theory is a module of functions.
    assert set(dpairs.__all__) == public | {"__version__", "theory"}


def test_all_is_sorted_as_ruff_sorts_it():
    def kind(name: str) -> tuple[bool, str]:
        return (not name[0].isupper(), name)

    assert dpairs.__all__ == sorted(dpairs.__all__, key=kind)
    assert len(set(dpairs.__all__)) == len(dpairs.__all__)


@every("name", sorted(set(dpairs.__all__) - {"__version__"}))
def test_every_name_has_a_docstring(name):
    item = getattr(dpairs, name)
    text = item.__doc__ or ""
    assert len(text) > 20, name
    # A dataclass without a docstring is given its signature as one.
    assert not text.startswith(f"{name}("), name


def test_every_error_is_in_the_tree_and_in_its_drawing():
    drawn = errors.__doc__ or ""
    for name, error in ERRORS.items():
        assert issubclass(error, DpairsError)
        assert re.search(rf"\b{name}\b", drawn), name
        assert getattr(dpairs, name) is error


def test_the_drawing_has_the_shape_of_the_tree():
    """A class is drawn four columns to the right of its parent."""
    parents: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^[ │├└─]*([A-Z]\w+)", line)
        if found and found[1] in ERRORS and line.startswith("    "):
            depth = found.start(1)
            parents[depth] = found[1]
            if depth > 4:
                assert ERRORS[found[1]].__bases__[0].__name__ == parents[depth - 4]
    assert len(parents) == 4


# ---------------------------------------------------------------- examples


def test_examples_in_docstrings_run():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    modules = map(importlib.import_module, ["dpairs", *MODULES])
    # To run a docstring without examples takes a while too.
    examples = [test for module in modules for test in finder.find(module) if test.examples]
    for test in examples:
        runner.run(test)
    assert len(examples) > 15
    assert runner.summarize().failed == 0


# ---------------------------------------------------------------- imports


def test_importing_dpairs_is_light():
    heavy = ["scipy", "pandas", "polars", "pyarrow", "matplotlib", "typer", "rich", "sklearn"]
    program = f"import sys, dpairs; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_participant_needs_no_scipy():
    program = (
        "import sys, dpairs;"
        "study = dpairs.Study.create('auc', epsilon=1.0, domain=dpairs.Interval(0, 1), bins=16);"
        "dpairs.Participant(study, 1, 'positive').report(score=0.5);"
        "print('scipy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# ---------------------------------------------------------------- where bits may come from

BANNED = ("random", "secrets", "pickle", "numpy.random", "os.urandom")
MAY_USE = {"randomness/private.py", "randomness/coins.py", "cli/demo.py"}
"""The source of private bits, public coins, and the demonstration, which makes up data."""


def banned_uses(text: str) -> set[str]:
    """The banned modules and functions that a program names, whatever it calls them; not its docstrings."""
    aliases: dict[str, str] = {}
    named: set[str] = set()
    nodes = list(ast.walk(ast.parse(text)))
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                aliases[each.asname or each.name.split(".")[0]] = (
                    each.name if each.asname else each.name.split(".")[0]
                )
                named.add(each.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for each in node.names:
                aliases[each.asname or each.name] = f"{node.module}.{each.name}"
                named |= {str(node.module), f"{node.module}.{each.name}"}
    for node in nodes:
        if isinstance(node, ast.Attribute):
            named.add(dotted(node, aliases))
    return {ban for ban in BANNED for name in named if name == ban or name.startswith(ban + ".")}


def dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, aliases)}.{node.attr}"
    return aliases.get(node.id, f"local {node.id}") if isinstance(node, ast.Name) else "local"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import random", {"random"}),
        ("from random import choice", {"random"}),
        ("import numpy as np\nnp.random.default_rng()", {"numpy.random"}),
        ("from numpy.random import default_rng", {"numpy.random"}),
        ("from numpy import random", {"numpy.random"}),
        ("import os as system\nsystem.urandom(8)", {"os.urandom"}),
        ("from os import urandom", {"os.urandom"}),
        ("def f():\n    import pickle, secrets", {"pickle", "secrets"}),
        ('"""numpy.random, pickle"""\nimport os\nrandom = 1\nself.random\nos.fsync', set()),
        ("from .randomness import source", set()),
    ],
)
def test_the_scan_finds_what_it_looks_for(text, found):
    assert banned_uses(text) == found


def test_only_the_randomness_module_draws_bits():
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place not in MAY_USE:
            assert banned_uses(path.read_text(encoding="utf-8")) == set(), place
    assert banned_uses((SOURCE / "randomness/private.py").read_text(encoding="utf-8")) == {
        "numpy.random",
        "os.urandom",
    }


# ---------------------------------------------------------------- what repr shows

SECRET = 0.123456789
STUDY = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=64, mechanism="krr", seed=1)


def test_a_participant_shows_no_value():
    tape = bytes(range(64, 80))
    person = Participant(STUDY, 17, "positive", bits=TapeRandomness(tape))
    before = repr(person)
    report = person.report(score=SECRET)
    for text in (before, repr(person), str(person), repr(report), repr(STUDY), str(vars(person))):
        assert "123456" not in text
    assert "index=17" in before
    assert before == repr(person), "whether somebody answered is not shown either"


def test_nothing_of_the_value_stays_with_the_participant():
    person = Participant(STUDY, 17, "positive")
    person.report(score=SECRET)
    held = [item for item in vars(person).values() if not isinstance(item, (Study, SystemRandomness))]
    assert sorted(map(str, held)) == ["17", "True", "positive"]


def test_a_tape_is_not_shown():
    tape = TapeRandomness(bytes(range(65, 81)))
    assert "ABCDEFGH" not in repr(tape)
    assert "0x41" not in repr(tape)


def test_a_tally_shows_sizes_and_no_counts():
    tally = Tally(STUDY)
    tally.add_symbols("positive", np.array([7] * 31 + [9] * 11))
    assert "42" in repr(tally)
    assert "31" not in repr(tally).replace(STUDY.id[:16], "")


@pytest.mark.parametrize("domain", [Interval(0, 1), Integers(0, 9), Levels(["a", "b"]), Categories([1, 2.5])])
def test_domains_show_how_to_make_them(domain):
    assert eval(repr(domain), vars(dpairs)) == domain


def test_a_kernel_is_a_statistic():
    assert isinstance(Kernel(np.subtract, range=(0, 1), domain=Interval(0, 1)), dpairs.Statistic)
