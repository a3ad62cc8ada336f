"""Tables and pictures of the documentation, by name.

Each is made from kept results, or computed at once. A page has ``{{ name }}`` where a table belongs, which
is filled in when the pages are built; pictures are files of ``docs/figures`` that ``make figures`` draws.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from dpairs.errors import BadParameter

from . import report, runs, style
from .experiment import Table
from .runs import Results

HERE = Path(__file__).parent
RESULTS = HERE / "results"
FIGURES = HERE.parent / "docs" / "figures"
PAGES = (
    "benchmarks",
    "comparison",
    "concepts",
    "federated",
    "internet",
    "mechanisms",
    "pairs",
    "paper_pages",
    "plan",
    "plan_zoo",
    "projection",
    "projection_drawings",
    "quantization",
    "scale",
    "shares",
    "theory",
    "tree",
    "tutorials",
    "sites",
    "two_servers",
    "two_servers_coverage",
    "two_servers_crowded",
    "two_servers_curves",
    "two_servers_zoo",
    "zoo",
)
TEXTS: dict[str, Callable[[], str]] = {}
PICTURES: dict[str, Callable[[], Any]] = {}


def table(name: str) -> Callable[[Callable[[], Table]], Callable[[], Table]]:
    """The function below it makes the table of this name."""

    def kept(make: Callable[[], Table]) -> Callable[[], Table]:
        TEXTS[name] = lambda: report.table(make())
        return make

    return kept


def picture(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """The function below it makes the picture of this name."""

    def kept(make: Callable[[], Any]) -> Callable[[], Any]:
        PICTURES[name] = make
        return make

    return kept


@cache
def results(name: str) -> Results:
    """The kept rows of an experiment."""
    return runs.read(RESULTS / f"{name}.csv")[1]


@cache
def measured(name: str) -> Any:
    """What was kept as JSON."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def load() -> None:
    """Know every table and picture."""
    for page in PAGES:
        import_module(f"{__package__}.pages.{page}")


def text(name: str) -> str:
    """What stands on a page in place of ``{{ name }}``."""
    load()
    if name not in TEXTS:
        raise BadParameter(f"there is no table {name!r}; there are {', '.join(sorted(TEXTS))}")
    return TEXTS[name]()


def draw(names: Sequence[str] = ()) -> Iterator[Path]:
    """Draw these pictures, or all, into the documentation."""
    load()
    for name in names or PICTURES:
        if name not in PICTURES:
            raise BadParameter(f"there is no picture {name!r}; there are {', '.join(sorted(PICTURES))}")
        path = FIGURES / f"{name}.png"
        style.save(PICTURES[name](), path)
        yield path
