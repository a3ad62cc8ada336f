"""The map in CONTRIBUTING shows the house as it is, and the house keeps its rules."""

import re
import tomllib
from pathlib import Path

from grimp import ImportGraph

from tools.import_contract import PackagesContract

from .conftest import SLOW_FIRST

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dpairs"
MOST_LINES = 400
MOST_FILES = 10
OWN = (
    *("src", "tests", "experiments", "benchmarks", "vectors", "examples", "tools", "docs/hooks"),
    *("js/src", "js/test"),
)
BESIDE = {"__init__.py", "__main__.py", "py.typed"}
VAGUE = {"utils", "util", "common", "helpers", "misc"}
NAMES = re.compile(r"((?:[\w/.]+(?:/|\.py)(?: +|$))+)")


def shown(text: str) -> set[str]:
    """The paths that a map names; what is indented further lies within the folder above."""
    paths: set[str] = set()
    folders: list[tuple[int, str]] = []
    for line in text.splitlines():
        named = NAMES.match(line.lstrip())
        if not named:
            continue
        indent = len(line) - len(line.lstrip())
        folders = [(depth, folder) for depth, folder in folders if depth < indent]
        above = "".join(folder for _, folder in folders)
        names = named[1].split()
        paths |= {above + name for name in names}
        if names[0].endswith("/"):
            folders.append((indent, names[0]))
    return paths


def the_map() -> set[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.split("## Where things are\n")[1].split("\n## ")[0]
    return shown("\n".join(line for line in section.splitlines() if line.startswith("    ")))


def packages() -> set[str]:
    return {
        path.parent.relative_to(ROOT).as_posix() + "/"
        for path in SOURCE.rglob("__init__.py")
        if path.parent != SOURCE
    }


def modules() -> set[str]:
    return {f"src/dpairs/{path.name}" for path in SOURCE.glob("*.py") if path.name not in BESIDE}


def test_the_map_names_every_package_and_every_module_of_the_flow():
    assert packages() | modules() <= the_map()


def test_the_map_names_nothing_that_is_not_there():
    missing = {path for path in the_map() if not (ROOT / path).exists()}
    assert not missing


def test_the_map_is_read():
    """Negative control: folders within folders, several names of one line, and words that are none."""
    text = "src/\n  a.py  b.py   both\n  c/   what c is\n    d/  e/   inside\ntests/  words.of no file"
    assert shown(text) == {"src/", "src/a.py", "src/b.py", "src/c/", "src/c/d/", "src/c/e/", "tests/"}


def test_the_top_is_the_flow_and_nothing_else():
    assert (
        len([path for path in SOURCE.iterdir() if path.is_file() and path.name not in BESIDE]) <= MOST_FILES
    )


def own_files() -> list[Path]:
    """What is written here: not what others wrote, and not what a tool made of it."""
    return [
        path
        for folder in OWN
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".js", ".mjs"}
        and not {"vendor", ".venv"} & set(path.relative_to(ROOT).parts)
        and not path.name.endswith(".min.js")
    ]


def test_files_are_short_and_have_a_name():
    for path in own_files():
        assert len(path.read_text().splitlines()) <= MOST_LINES, path
        assert path.stem not in VAGUE, path


def test_every_folder_with_programs_has_short_files():
    """A folder that is renamed or empty would not be looked at."""
    found = own_files()
    for folder in OWN:
        assert any(path.is_relative_to(ROOT / folder) for path in found), folder


def test_what_is_left_out_of_the_coverage_has_a_reason():
    """`# pragma: no cover - a full disk`: lines that only a real failure reaches are named."""
    for path in SOURCE.rglob("*.py"):
        for line in path.read_text().splitlines():
            if "pragma: no cover" in line:
                assert re.search(r"# pragma: no cover - \w+ \w+", line), f"{path}: {line}"


def test_every_stage_has_its_layer():
    """A package or module without a layer would be free to import what it likes."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each["id"] == "layers"]
    named = {name.strip() for layer in layers for name in re.split("[|:]", layer)}
    here = {f"dpairs.{path.stem}" for path in SOURCE.iterdir() if path.name not in BESIDE | {"__pycache__"}}
    assert named == here


def test_files_that_are_run_first_are_there():
    assert [name for name in SLOW_FIRST if not (ROOT / "tests" / name).is_file()] == []


def test_a_package_that_nobody_allowed_is_refused():
    """Negative control of the contract in pyproject.toml: what is not named, and what is not needed."""
    graph = ImportGraph()
    graph.add_module("ours.core")
    graph.add_module("ours.edge.http")
    for package in ("numpy", "requests", "json"):
        graph.add_module(package, is_squashed=True)
    for package in ("numpy", "json"):
        graph.add_import(importer="ours.core", imported=package)
    graph.add_import(importer="ours.edge.http", imported="requests")

    def wrong(*beside: str) -> list[str]:
        options = {"everywhere": ["numpy"], "beside": list(beside)}
        contract = PackagesContract("packages", {"root_packages": ["ours"]}, options)
        sentences: list[str] = contract.check(graph, verbose=False).metadata["wrong"]
        return sentences

    assert wrong("ours.edge: requests") == []
    assert wrong() == ["ours.edge.http may not import requests"]
    assert wrong("ours.edge.htt: requests")[1:] == wrong()
    assert wrong("ours.edge: requests, httpx") == ["ours.edge does not import httpx any more"]
