"""`dpairs demo`: three statistics of 200,000 made-up people, private and exact, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..checks import integer
from ..domains import Domain, Interval, Levels
from ..estimate import Estimate
from ..simulate import simulate
from ..statistics import exact
from ..study import Study
from .plots import plot_against_epsilon
from .show import output, print_json, print_table, progress

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SHOWN = 1.0


def population(people: int, seed: int) -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Three made-up data sets: (question, statistic, data, keywords of its study)."""
    rng = np.random.default_rng(seed)
    ill = rng.random(people) < 0.3
    risk = np.clip(rng.normal(np.where(ill, 0.58, 0.42), 0.15), 0, 1)
    wealth, mood = rng.normal(size=people), rng.normal(size=people)
    salary = np.digitize(wealth, [-1.2, -0.4, 0.4, 1.2]) + 1
    happiness = np.digitize(0.5 * wealth + mood, [-1.3, -0.4, 0.4, 1.3]) + 1
    income = np.clip(rng.lognormal(0, 0.7, people), 0, 10)
    grade: Domain = Levels(range(1, 6))
    return [
        (
            "Does the model rank the ill above the healthy?",
            "auc",
            {"score": risk, "label": ill},
            {"domain": Interval(0, 1), "bins": 16},
        ),
        (
            "Does a higher salary go with happiness?",
            "kendall_tau",
            {"x": salary, "y": happiness},
            {"domain": (grade, grade)},
        ),
        (
            "How unequal are incomes?",
            "gini_coefficient",
            {"value": income},
            {"domain": Interval(0, 10), "bins": 32},
        ),
    ]


def demo(
    people: Annotated[int, typer.Option(help="How many people.")] = 200_000,
    seed: Annotated[
        int | None, typer.Option(help="Makes the noise reproducible; by default it is the system's.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The picture to write.")] = Path("demo.png"),
    as_json: Annotated[bool, typer.Option("--json", help="Print results as JSON.")] = False,
) -> None:
    """Ask 200,000 made-up people three questions without learning anybody's answer."""
    integer("people", people, 20_000, 100_000_000)
    questions = population(people, seed=2026)
    panels: list[tuple[str, float, list[Estimate]]] = []
    with progress("asking", len(questions) * len(EPSILONS)) as advance:
        for question, statistic, data, keywords in questions:
            truth = exact(statistic, data)
            answers = []
            for place, epsilon in enumerate(EPSILONS):
                study = Study.create(statistic, epsilon=epsilon, **keywords)
                answers.append(simulate(study, data, None if seed is None else seed + place))
                advance(1)
            panels.append((question, truth, answers))
    titles = [(answers[0].statistic.replace("_", " "), truth, answers) for _, truth, answers in panels]
    plot_against_epsilon(titles, 0.95, out)
    shown = [(question, truth, answers[EPSILONS.index(SHOWN)]) for question, truth, answers in panels]
    if as_json:
        print_json(
            [
                {"question": question, "exact": truth, "estimate": each.to_json()}
                for question, truth, each in shown
            ]
        )
        return
    rows = []
    for question, truth, each in shown:
        low, high = each.confidence_interval()
        rows.append((question, each.statistic, truth, each.value, f"{low:.4f} to {high:.4f}"))
    print_table(
        ("question", "statistic", "exact", "private", "95% interval"),
        rows,
        title=f"{people:,} people, epsilon = {SHOWN:g}, one small integer from each",
    )
    output.print(f"privacy: {shown[0][2].privacy}", highlight=False, style="dim")
    output.print(f"epsilon from {EPSILONS[0]:g} to {EPSILONS[-1]:g}: see {out}", highlight=False)
