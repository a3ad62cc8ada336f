"""`dpairs plan`: which protocol, how many people, how much privacy, what error."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..data.domains import Domain
from ..data.tables import whole
from ..errors import BadParameter
from ..formats.checks import integer
from ..planning import Option, Plan, Shape
from ..planning import plan as make_plan
from ..planning.shapes import draw
from ..privacy.shuffling import shuffled_epsilon
from ..simulate import simulate
from ..statistics import STATISTICS, Statistic, exact
from ..statistics import statistic as statistic_named
from .cache import remembered
from .columns import batches, column_names, counted_in_lines
from .show import output, print_json, print_table, progress
from .study import DOMAIN_HELP, OPTION_HELP, parse_domain, parse_options

CHECK_PEOPLE = 1_000_000
"""People whose exact value stands for the population when a plan is checked."""
UNSEEN = 2**32
"""The number of the first run on people that a plan has not drawn from the data."""


def plan(
    statistic: Annotated[str, typer.Argument(help=f"One of {', '.join(STATISTICS)}.")],
    domain: Annotated[
        list[str] | None, typer.Option("--domain", "-d", metavar="DOMAIN", help=DOMAIN_HELP)
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="The largest privacy loss allowed.")
    ] = None,
    people: Annotated[
        int | None, typer.Option("--people", "--n", "-n", help="How many people there are.")
    ] = None,
    positives: Annotated[int | None, typer.Option(help="People of the positive class, for AUC.")] = None,
    negatives: Annotated[int | None, typer.Option(help="People of the negative class, for AUC.")] = None,
    target_error: Annotated[
        float | None, typer.Option("--target-error", "--error", help="The standard error you want.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="1 leaves out protocols with two rounds.")] = 2,
    peers: Annotated[bool, typer.Option(help="People may compute in pairs.")] = False,
    trust: Annotated[
        str | None, typer.Option(help="Whom people may trust: nobody, partner, two_servers or all.")
    ] = None,
    protocol: Annotated[str | None, typer.Option(help="Plan only this protocol.")] = None,
    optimized: Annotated[
        bool, typer.Option(help="Also search for a mechanism; takes seconds the first time.")
    ] = False,
    ties: Annotated[str | None, typer.Option(help="AUC: half (default) or zero.")] = None,
    labels: Annotated[str | None, typer.Option(help="AUC: public (default) or private.")] = None,
    variant: Annotated[str | None, typer.Option(help="Kendall's tau: a (default) or b.")] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help=OPTION_HELP)] = None,
    guess: Annotated[
        float | None, typer.Option(help="Your guess of the AUC; assumes two normal classes.")
    ] = None,
    like: Annotated[
        Path | None, typer.Option(help="A CSV or Parquet file with data of similar people, to simulate on.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="--like: NAME=COLUMN, if a column has another name in the file."),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="--like: the label of the positive class, if labels are words.")
    ] = None,
    even: Annotated[
        bool, typer.Option(help="Plan for evenly spread values, not for the worst of several shapes.")
    ] = False,
    shuffled: Annotated[
        float | None, typer.Option(help="Also show what a trusted shuffler would add, at this delta.")
    ] = None,
    check: Annotated[int | None, typer.Option(help="Simulate this many runs and compare.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the recommended study.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write error curves of all options.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Compare all protocols for a study before you ask anybody.

    Give two of --epsilon, --people (or --positives and --negatives) and --target-error; the planner solves
    for the third. Without --domain, values are numbers from 0 to 1.
    """
    domains: tuple[Domain, ...] = tuple(map(parse_domain, domain or ["interval:0,1"]))
    own = {"ties": ties, "labels": labels, "variant": variant, **parse_options(option)}
    chosen: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    made = statistic_named(statistic, **chosen)
    if not domain and len(made.domain_columns) == 2:
        domains = domains * 2
    if sum(given is not None and given is not False for given in (guess, like, even)) > 1:
        raise BadParameter("say only one of --guess, --like and --even")
    shape: Any = guess if guess is not None else "even" if even else None
    if like is not None:
        asks = _Asks(made, domains)
        with counted_in_lines(like):
            names = column_names(asks, column)
            shape = whole(batches(asks, like, names, positive), made.columns)
    asked: dict[str, Any] = {
        "rounds": rounds,
        "peers": peers,
        "trust": trust,
        "like": shape,
        "protocol": protocol,
        "optimized": optimized,
    }
    n: Any = people
    if positives is not None or negatives is not None:
        if positives is None or negatives is None or people is not None:
            raise BadParameter("give --positives and --negatives together, and no --people")
        n = {"positive": positives, "negative": negatives}

    if sum(given is not None for given in (epsilon, n, target_error)) != 2:
        raise BadParameter("give two of --epsilon, --people and --target-error; the plan computes the third")

    def ask(loss: float | None, count: Any, error: float | None = None, **more: Any) -> Plan:
        return make_plan(made, domain=domains, epsilon=loss, n=count, error=error, **asked, **more)

    def slow() -> AbstractContextManager[Callable[[int], None] | None]:
        if like is not None:
            return progress("simulating studies of such people", None)
        return progress("searching mechanisms", None) if optimized else nullcontext()

    with slow() as advance:
        planned = ask(epsilon, n, target_error, search=remembered(advance), progress=advance)
    if planned.question.sample is not None:
        asked["like"] = planned.question.sample  # which remembers what was simulated
    if out is not None:
        planned.best.save(out)
    checked = _checked(planned, check) if check is not None else {}
    if plot is not None:
        from ..pictures import save  # drawing takes a second to load
        from ..planning.curves import POINTS

        with progress("planning", 2 * POINTS) as step:
            save(planned.plot(step), plot)
    central = (
        {}
        if shuffled is None
        else {
            each.protocol: shuffled_epsilon(each.study.epsilon, each.crowd, shuffled)
            for each in planned.options
        }
    )
    if as_json:
        print_json({**planned.to_json(), "shuffled_epsilon": central, "checked": checked})
        return
    _print(planned, central, shuffled, checked)
    if protocol is None:
        asked["trust"] = "all"
        with slow() as advance:
            wider = planned if trust == "all" else ask(epsilon, n, target_error, progress=advance)
        _print_trust(wider)
    if out is not None:
        output.print(f"recommended study written to {out}", highlight=False)
    if plot is not None:
        output.print(f"picture written to {plot}", highlight=False)


@dataclass(frozen=True)
class _Asks:
    """Which columns a file must have."""

    statistic: Statistic
    domains: tuple[Domain, ...]


def _print(plan: Plan, central: dict[str, float], delta: float | None, checked: dict[str, float]) -> None:
    head, *rows = plan.rows()
    if checked:
        place = [row[0] for row in rows].index("standard error") + 1
        rows.insert(place, ("  simulated", *[f"{checked[each.protocol]:.3g}" for each in plan.options]))
    if central:
        gains = [f"{central[each.protocol]:.3g}" if each.crowd > 1 else "no gain" for each in plan.options]
        rows.append(("shuffled", *gains))
    print_table(head, rows, title=plan.title)
    why, *others = plan.notes()
    output.print(why, highlight=False)
    for note in others:
        output.print(note, highlight=False, style="dim")
    if central and delta is not None:
        output.print(
            f"shuffled: the epsilon against an analyst who sees only shuffled reports, at delta {delta:g}, "
            "if the shuffler is trusted; against everybody else the study's epsilon holds. A report hides "
            "only among those with the same public coins: a person whom these single out gains nothing.",
            style="dim",
            highlight=False,
        )


def _print_trust(plan: Plan) -> None:
    """What each kind of trust needs: one line."""
    what: Callable[[Option], str] = {
        "error": lambda option: f"a standard error of {option.error:.3g}",
        "n": lambda option: f"{sum(option.sizes.values()):,} people",
        "epsilon": lambda option: f"epsilon {option.study.epsilon:.3g}",
    }[plan.solved]
    kinds = [f"{trust}: {what(option)} ({option.protocol})" for trust, option in plan.by_trust.items()]
    output.print("If people trust " + "; ".join(kinds) + ".", highlight=False)


def _checked(plan: Plan, runs: int) -> dict[str, float]:
    """The root mean square error over simulated populations, by protocol."""
    integer("check", runs, 2, 10_000)
    result: dict[str, float] = {}
    sample = plan.question.sample
    with progress("simulating", runs * len(plan.options)) as advance:
        for option in plan.options:
            truth = _truth(plan, option.shape) if sample is None else sample.truth
            errors = []
            for run in range(runs):
                if sample is None:
                    people = draw(option.shape, option.sizes, run)
                else:
                    people = sample.draw(option.sizes, UNSEEN + run)
                estimate = simulate(option.study, people, seed=run, estimator=option.estimator)
                errors.append(estimate.value - truth)
                advance(1)
            result[option.protocol] = float(np.sqrt(np.mean(np.square(errors))))
    return result


def _truth(plan: Plan, shape: Shape) -> float:
    """Of the shape that a prediction is for: of several, the worst."""
    sizes = {name: CHECK_PEOPLE // len(shape.masses) for name in shape.masses}
    return exact(plan.statistic, draw(shape, sizes, 2**40), domain=plan.domains)
