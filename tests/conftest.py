"""What every run of the tests says at its end: what was not tested, and why."""

from __future__ import annotations

import gc
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the process that only hands out tests reads this file, too
    from .collector.browser import Browser
    from .collector.postgres import Cluster

REQUIRED_IN_CI = ("node",)
"""Programs without which a run that decides over a change must not pass."""
HERE = Path(__file__).parent
SLOW_FIRST = (
    *("engines/test_postgresql.py", "engines/test_spark.py"),  # one cluster of Spark
    *(f"collector/pages/test_{of}.py" for of in ("analyst", "people", "every_page")),  # one collector
    "aggregator/test_pages.py",  # one browser
    *("cli/test_simulate.py", "cli/test_server_attacks.py", "collector/test_kills.py"),
    *("collector/test_jepsen.py", "experiments/test_command.py", "collector/test_openapi.py"),
    *("client/test_device.py", "client/test_crashes.py"),
    *("test_notebooks.py", "test_typing.py", "test_docs.py", "federated/test_federated.py"),
)
"""Files that take longest, as the head of the first worker's queue: idle workers take from a queue's end.

Begun last, one of them would keep the others waiting; cut in two, a cluster or a browser is started twice.
"""


def pytest_sessionstart(session: pytest.Session) -> None:
    if os.environ.get("CI"):
        for program in REQUIRED_IN_CI:
            if shutil.which(program) is None:
                pytest.exit(f"{program} is not installed; with CI set, tests that need it must run", 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collected tests stay to the end: to look for garbage among them took a third of the collection.

    Afterwards it is looked for more rarely than by default, which takes 1.4% of the tests' time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


def pytest_unconfigure() -> None:
    """What was set aside is looked at once more: DuckDB says on the way out what it takes for leaks."""
    gc.unfreeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first. Tests on the paper's data are a step of its own: pytest -m data."""
    rank = {HERE / name: place for place, name in enumerate(SLOW_FIRST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
    if not os.environ.get("DPAIRS_DATA"):
        absent = pytest.mark.skip(
            reason="no folder of the paper's data (set DPAIRS_DATA, run pytest -m data)"
        )
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(absent)


@pytest.fixture
def few_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that look at two numbers of bins instead of seven: the finest take most of a plan's time."""
    from dpairs.protocols.histogram import predict

    monkeypatch.setattr(predict, "BINS", (8, 32))
    monkeypatch.setattr(predict, "BINS_PAIR", (4, 8))


@pytest.fixture
def few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that rehearse a study as rarely as they ever do, for tests that do not judge the stated error."""
    from dpairs.planning import rehearse

    for name in ("RUNS", "FRESH"):
        monkeypatch.setattr(rehearse, name, rehearse.LEAST_RUNS)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL cluster, started by the first test that asks for it."""
    from .collector.postgres import Cluster

    made = Cluster()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all pages."""
    from .collector.browser import Browser

    made = Browser("", tmp_path_factory.mktemp("browser"))
    yield made
    made.driver.quit()


def reasons(reports: list[pytest.TestReport | pytest.CollectReport]) -> Counter[str]:
    """How many tests or whole files were left out for each reason, in the order of the reports."""
    left_out: dict[str, str] = {}
    for report in reports:
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        left_out[report.nodeid] = text.removeprefix("Skipped: ").rstrip(
            "."
        )  # each worker collects every file
    return Counter(left_out.values())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    left_out = reasons(terminalreporter.stats.get("skipped", []))
    if left_out:
        terminalreporter.section("not tested")
        for reason, count in left_out.items():
            terminalreporter.line(f"not tested: {reason} ({count} left out)")
