"""`dpairs demo`: two servers and 400 made-up people; a collector, 20,000 people over HTTP, 200 real pairs."""

from __future__ import annotations

import json
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..data.domains import Interval, Levels
from ..errors import BadParameter, Unavailable
from ..formats.checks import integer
from ..planning import plan
from ..statistics import exact
from ..study import Study
from .extras import need
from .show import output, print_json, print_table, progress

if TYPE_CHECKING:
    from ..client import Analyst

EPSILON, EPSILON_OF_PAIRS = 1.0, 2.0
PROCESSES = 3
LEAST_PEOPLE = 1000
GRADES = Levels(range(1, 6))
LOOK = 0.3
"""Seconds between looks at how far a study is."""
Row = dict[str, Any]


def scores(people: int, seed: int) -> tuple[list[Row], list[str], float]:
    """Made-up risk scores, who is ill, and the AUC."""
    rng = np.random.default_rng(seed)
    ill = rng.random(people) < 0.3
    risk = np.clip(rng.normal(np.where(ill, 0.58, 0.42), 0.15), 0, 1)
    rows: list[Row] = [{"score": float(each)} for each in risk]
    truth = exact("auc", {"score": risk, "label": ill})
    return rows, ["positive" if each else "negative" for each in ill], truth


def grades(people: int, seed: int) -> tuple[list[Row], float]:
    """Made-up salaries and happiness, from 1 to 5, and Kendall's tau."""
    rng = np.random.default_rng(seed)
    wealth, mood = rng.normal(size=people), rng.normal(size=people)
    x = np.digitize(wealth, [-1.2, -0.4, 0.4, 1.2]) + 1
    y = np.digitize(wealth + mood, [-1.7, -0.5, 0.5, 1.7]) + 1
    rows: list[Row] = [{"x": int(a), "y": int(b)} for a, b in zip(x, y, strict=True)]
    return rows, exact("kendall_tau", {"x": x, "y": y})


def demo(
    people: Annotated[int, typer.Option(help="How many people answer on their own, from 1000.")] = 20_000,
    pairs: Annotated[int, typer.Option(help="How many pairs compute together.")] = 200,
    port: Annotated[int, typer.Option(help="The collector's port; 0 takes a free one.")] = 0,
    folder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep the collector's database here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print results as JSON.")] = False,
) -> None:
    """Let made-up people take part, as real ones would.

    They answer to two servers, to a collector, and in pairs. In a terminal, the collector's pages stay open
    until you press Enter.
    """
    integer("people", people, LEAST_PEOPLE, 1_000_000)
    integer("pairs", pairs, 2, 100_000)
    modules = ("dpairs.client", "dpairs.collector", "dpairs.aggregator.app")
    need("the demonstration", "client,service,servers", *modules)
    if folder is not None and not folder.is_dir():
        raise BadParameter(f"the demonstration did not start: {folder} is not a folder")
    from .demo_servers import PEOPLE, two_servers

    with (
        _ending(),
        tempfile.TemporaryDirectory() as temporary,
        _collector(folder or Path(temporary), port) as (address, analyst),
    ):
        if not as_json:
            output.print(f"Watch the collector's studies: [bold]{address}/[/]", highlight=False)
            output.print(f"The analyst's token: {analyst.token}\n", highlight=False, soft_wrap=True)
        first = two_servers(*scores(PEOPLE, seed=2025), EPSILON)
        if not as_json:
            _print([first], "What the analyst learned, and neither server")
        with _clients() as pool:
            results = [_two_rounds(analyst, pool, people), _pairs(analyst, pool, pairs)]
        if as_json:
            print_json([first, *results])
            return
        _print(results, "What the collector learned, and nobody's value")
        if sys.stdin.isatty() and output.is_terminal:
            output.print(f"\nThe collector's page is still open: [bold]{address}/[/]", highlight=False)
            output.input("Press Enter to stop. ")


@contextmanager
def _ending() -> Iterator[None]:
    """Told to end, we end as for Ctrl-C, so that servers and collector end with us."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _collector(folder: Path, port: int) -> Iterator[tuple[str, Analyst]]:
    """A collector in a process of its own."""
    from ..client import Analyst

    command = [sys.executable, "-m", "dpairs", "serve", "--port", str(port), "--rate", "0", "--json"]
    command += ["--log-level", "warning", "--new-token", "--database", f"sqlite:///{folder}/dpairs.sqlite"]
    # Its own session, so that Ctrl-C reaches us first.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:  # noqa: S603
        try:
            said = process.stdout.readline() if process.stdout is not None else ""
            if not said:
                raise Unavailable("the collector did not start; what it printed says why")
            known = json.loads(said)
            yield known["address"], Analyst(known["address"], known["token"])
        finally:
            process.terminate()


def _clients() -> ProcessPoolExecutor:
    # A fresh interpreter for each: threads and open connections are not to be copied.
    return ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn"))


def _two_rounds(analyst: Analyst, pool: Executor, people: int) -> Row:
    """The AUC of everybody's score, in the two rounds that the planner proposes."""
    rows, strata, truth = scores(people, seed=2026)
    sizes = {name: strata.count(name) for name in ("positive", "negative")}
    made = plan("auc", domain=Interval(0, 1), epsilon=EPSILON, n=sizes)
    option = next(each for each in made.options if each.rounds == 2)
    study = option.begin()
    link = analyst.begin(
        study,
        "Risk score",
        "Does the model rank the ill above the healthy?",
        people=people,
    )
    crowds = [(link, rows[start::PROCESSES], strata[start::PROCESSES]) for start in range(PROCESSES)]

    def watch(number: str) -> int:
        state = analyst.progress(number)
        stages, enrolled = state["stages"], sum(state["enrolled"].values())
        first = stages[0]
        if len(stages) == 1 and enrolled == people and first["reports"] == first["asked"]:
            analyst.advance(number)
        return sum(sum(stage["reports"].values()) for stage in stages)

    return _run(analyst, pool, study, crowds, people, f"{people:,} people", watch, truth, option.error)


def _pairs(analyst: Analyst, pool: Executor, pairs: int) -> Row:
    """Kendall's tau of people who compute two by two."""
    rows, truth = grades(2 * pairs, seed=2027)
    study = Study.create(
        "kendall_tau", protocol="pairwise", epsilon=EPSILON_OF_PAIRS, domain=(GRADES, GRADES)
    )
    link = analyst.begin(
        study,
        "Salary and happiness",
        "Does a higher salary go with happiness?",
        people=2 * pairs,
    )
    crowds = [
        (link, rows[start::PROCESSES], [None] * len(rows[start::PROCESSES])) for start in range(PROCESSES)
    ]

    def watch(number: str) -> int:
        state = analyst.progress(number)
        if state["next_step"] is not None and sum(state["enrolled"].values()) == 2 * pairs:
            analyst.advance(number)
        return 2 * int(sum(state["stages"][0]["reports"].values()))

    return _run(analyst, pool, study, crowds, 2 * pairs, f"{pairs:,} pairs", watch, truth, None)


def _run(
    analyst: Analyst,
    pool: Executor,
    study: Study,
    crowds: list[tuple[str, list[Row], list[Any]]],
    total: int,
    who: str,
    watch: Callable[[str], int],
    truth: float,
    predicted: float | None,
) -> Row:
    """Let all crowds take part, each in a process of its own, and read the estimate."""
    began = time.monotonic()
    with progress(who, total) as advance:
        waiting: list[Future[dict[str, int]]] = [pool.submit(_crowd, *each) for each in crowds]
        shown = 0
        while not all(each.done() for each in waiting):
            done = watch(study.id)
            advance(done - shown)
            shown = done
            time.sleep(LOOK)
            if any(each.done() and each.exception() is not None for each in waiting):
                break
        sent = sum(sum(each.result().values()) for each in waiting)
    analyst.close(study.id)
    estimate = analyst.estimate_json(study.id)
    return {
        "statistic": estimate["statistic"],
        "protocol": estimate["protocol"],
        "who": who,
        "took_part": sent,
        "truth": truth,
        "estimate": estimate["value"],
        "interval_95": estimate["confidence_interval_95"],
        "standard_error": estimate["standard_error"],
        "predicted_error": predicted,
        "epsilon": estimate["privacy"]["epsilon"],
        "seconds": round(time.monotonic() - began, 1),
    }


def _crowd(link: str, people: list[Row], strata: list[Any]) -> dict[str, int]:
    """One client process: how many people ended in which state."""
    from ..client.crowd import take_part

    states = [each.state for each in take_part(link, people, strata)]
    return {state: states.count(state) for state in set(states)}


def _print(results: list[Row], title: str) -> None:
    rows = []
    for result in results:
        low, high = result["interval_95"]
        rows.append(
            (
                f"{result['statistic']}, {result['protocol']}",
                result["who"],
                result["epsilon"],
                result["truth"],
                result["estimate"],
                f"{low:.3f} to {high:.3f}",
                f"{result['seconds']:.0f} s",
            )
        )
    names = ("statistic", "who", "epsilon", "truth", "estimate", "95% interval", "took")
    print_table(names, rows, title=title)
