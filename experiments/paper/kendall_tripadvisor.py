"""The paper's figure on Kendall's tau: hotel ratings, by randomized response, by few pairs, by all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpairs.simulate import simulate
from dpairs.study import Study

from .. import sources
from ..experiment import Figure, Findings, Picture, Setting, Table
from ..runs import Results, Row
from ..style import curve, log_axes, panels
from .kendall_statements import ALL, CLAMPED, LAPLACE, OURS, READINGS, RESPONSE, checks, ways, words
from .paper_pairs import added, between, paper_pairs
from .ratings_population import population

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
ROUNDS = (1, 2, 4, 8)


def settings(quick: bool) -> list[Setting]:
    """Both readings of the data, at every epsilon."""
    return [
        {"missing": reading, "epsilon": epsilon, "most": 2 if quick else ROUNDS[-1]}
        for reading in READINGS
        for epsilon in ((1.0, 10.0) if quick else EPSILONS)
    ]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """One study of each kind, of the same people."""
    reading, epsilon = str(setting["missing"]), float(setting["epsilon"])
    people = population(data, reading == "left out")
    table = sources.ratings(data, reading == "left out")

    def row(method: str, pairs: int, value: float, expected: float) -> Row:
        return {
            "method": method,
            "pairs": pairs,
            "value": value,
            "truth": people.truth,
            "expected": expected,
            "people": people.people,
        }

    def study(protocol: str, **options: str | int) -> Study:
        domain = (sources.LEVELS, sources.LEVELS)
        return Study.create(
            "kendall_tau", protocol=protocol, epsilon=epsilon, domain=domain, seed=seed, options=options
        )

    response = simulate(study("histogram", mechanism="krr"), table, seed=seed).raw
    rows = [row(RESPONSE, 0, response, people.response_error(epsilon))]
    draw = np.random.default_rng([seed, READINGS.index(reading), round(1000 * epsilon)])
    kernel = partial(between, people.kernel, people.cells)
    rounds = [each for each in ROUNDS if each <= int(setting["most"])]
    for pairs in rounds:
        estimate = paper_pairs(kernel, people.people, pairs, epsilon, 2.0, draw)
        rows.append(row(LAPLACE, pairs, estimate, people.pairs_error(pairs, 8 * (pairs / epsilon) ** 2)))
    for name, pairs in ((CLAMPED, 1), *((OURS, each) for each in rounds)):
        options = {"noise": "laplace"} if name == CLAMPED else {}
        asked = study("pairwise", pairs=pairs, **options)
        estimate = simulate(asked, table, seed=seed, crypto="ideal").raw
        # A kernel in [0, 1] has a quarter of the noise.
        noise = 4 * added(asked, (people.kernel + 1) / 2, people.shares)
        rows.append(row(name, pairs, estimate, people.pairs_error(pairs, noise)))
    # 30 billion Laplace numbers add up to a normal one.
    deviation = people.all_pairs_error(epsilon)
    return [*rows, row(ALL, people.people - 1, people.truth + deviation * float(draw.normal()), deviation)]


def drawing(results: Results) -> Any:
    """The error against epsilon: the paper's figure, the same with our noise, and the other reading."""
    figure, axes = panels(3, width=4.1, height=3.9, sharey=True)
    epsilons, looks = results.values("epsilon"), (0, *ROUNDS)
    shown = (("kept", LAPLACE), ("kept", OURS), ("left out", LAPLACE))
    for panel, (reading, noise) in zip(axes, shown, strict=True):
        part = results.where(missing=reading)
        for method, pairs in (way for way in ways(part) if way[0] in (RESPONSE, ALL, noise)):
            errors = [part.where(method=method, pairs=pairs, epsilon=each).error for each in epsilons]
            place = looks.index(pairs) if pairs in looks else len(looks)  # the same in every panel
            curve(panel, epsilons, errors, place, words(method, pairs).split(", ")[0])
        log_axes(panel, epsilons, (0.0001, 0.001, 0.01, 0.1, 1))
        panel.set_ylim(bottom=0.00002)
        panel.set(xlabel="epsilon (natural log units)", title=f"{noise}; missing ratings {reading}")
        panel.set_title(panel.get_title(), fontsize=9.5)
    axes[0].set_ylabel("mean absolute error of tau-a")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=6, fontsize=8.5)
    return figure


def pictures(results: Results) -> Iterator[Picture]:
    yield Picture(
        "kendall-tripadvisor",
        partial(drawing, results),
        "Kendall's tau-a of hotel ratings. Mean absolute error over runs; bars are the standard deviation "
        "over runs, as in the paper, cut where they reach below 0. P is the number of pairs that each person "
        "computes in. All pairs is drawn as one normal number of the noise's variance, and has a delta of "
        "1e-8.",
    )


def findings(results: Results) -> Findings:
    """The paper's statements on this figure."""
    return Findings(checks(results), [_table(results, reading) for reading in READINGS])


def _table(results: Results, reading: str) -> Table:
    part = results.where(missing=reading)
    epsilons = part.values("epsilon")
    people, truth = part.values("people")[0], part.values("truth")[0]
    rows = [
        [
            words(method, pairs),
            *(str(part.where(method=method, pairs=pairs, epsilon=each).error) for each in epsilons),
        ]
        for method, pairs in ways(part)
    ]
    return Table(
        f"Mean absolute error ± its standard error; missing ratings {reading}: {people:,} people, "
        f"tau-a {truth:.4f}",
        ["", *(f"epsilon {each:g}" for each in epsilons)],
        rows,
    )


EXPERIMENT = Figure(
    name="kendall-tripadvisor",
    title="Kendall's tau of hotel ratings",
    paper="Main text, the figure on Kendall's tau.",
    says="All pairs with advanced composition is worst, and randomized response on the 36 cells slightly "
    "better. Few random pairs are best, by about an order of magnitude for epsilon up to 2. One pair for "
    "each person is best there; more pairs pay for a large epsilon. Tau is 0.58.",
    does="Kendall's tau-a of what people gave for room and cleanliness, with a missing rating as the lowest "
    "level and with such people left out (errata 9). The paper's pairs have plain Laplace numbers, as the "
    "paper simulates them. Ours are simulated without circuits, which draws the same symbols; their noise is "
    "clamped to the kernel's range and has less variance. Of all pairs only the noise is simulated, as one "
    "normal number of its variance, with delta 1e-8: that promise is weaker than the others.",
    settings=settings,
    measure=measure,
    pictures=pictures,
    findings=findings,
    needs=(sources.RATINGS,),
)
