"""The paper's figure on Kendall's tau: hotel ratings, by randomized response, by few pairs, by all pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import chi2

from .. import theory
from ..simulate import simulate
from ..study import Study
from . import sources
from .experiment import Check, Experiment, Findings, Picture, Setting, Table
from .paper_pairs import added, between, paper_pairs
from .ratings_population import population
from .results import Results, Row, Spread
from .style import curve, log_axes, panels

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
ROUNDS = (1, 2, 4, 8)
READINGS = {"kept": 8, "left out": 2}
"""What is done with missing ratings, and the most pairs of a person then: the paper's figure is the first."""
RESPONSE, ALL = "randomized response", "all pairs"
LAPLACE, CLAMPED, OURS = "Laplace", "our clamped Laplace", "our noise"
NOISES = (LAPLACE, OURS)
"""In a pair: the paper's plain Laplace numbers, and what a study takes when none is named."""
ORDER = math.sqrt(10)
"""About an order of magnitude: nearer to 10 than to 1, on a logarithmic scale."""


FAILURE = 0.001
"""The chance that true theorems are refused."""


def settings(quick: bool) -> list[Setting]:
    """Both readings of the data, at every epsilon."""
    return [
        {"missing": reading, "epsilon": epsilon, "most": 2 if quick else most}
        for reading, most in READINGS.items()
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
            "kendall_tau", protocol=protocol, epsilon=epsilon, domain=domain, seed=seed, **options
        )

    response = simulate(study("histogram", mechanism="krr"), table, seed=seed).value
    rows = [row(RESPONSE, 0, response, people.response_error(epsilon))]
    draw = np.random.default_rng([seed, list(READINGS).index(reading), round(1000 * epsilon)])
    kernel = partial(between, people.kernel, people.cells)
    rounds = [each for each in ROUNDS if each <= int(setting["most"])]
    for pairs in rounds:
        found = paper_pairs(kernel, people.people, pairs, epsilon, 2.0, draw)
        rows.append(row(LAPLACE, pairs, found, people.pairs_error(pairs, 8 * (pairs / epsilon) ** 2)))
    for name, pairs in ((CLAMPED, 1), *((OURS, each) for each in rounds)):
        options = {"noise": "laplace"} if name == CLAMPED else {}
        asked = study("pairwise", pairs=pairs, **options)
        found = simulate(asked, table, seed=seed, crypto="ideal").value
        # A kernel in [0, 1] has a quarter of the noise.
        noise = 4 * added(asked, (people.kernel + 1) / 2, people.shares)
        rows.append(row(name, pairs, found, people.pairs_error(pairs, noise)))
    # 30 billion Laplace numbers add up to a normal one.
    spread = people.all_pairs_error(epsilon)
    return [*rows, row(ALL, people.people - 1, people.truth + spread * float(draw.normal()), spread)]


def ways(results: Results) -> list[tuple[str, int]]:
    """Every method with its number of pairs; of all pairs there are as many as people."""
    return list(dict.fromkeys((str(row["method"]), int(row["pairs"])) for row in results))


def words(method: str, pairs: int) -> str:
    """For a legend."""
    return method if method in (RESPONSE, ALL) else f"P = {pairs}, {method}"


def pictures(results: Results) -> Iterator[Picture]:
    """The error against epsilon: the paper's figure, the same with our noise, and the other reading."""
    figure, axes = panels(3, width=4.1, height=3.9, sharey=True)
    epsilons, looks = results.values("epsilon"), (0, *ROUNDS)
    shown = (("kept", LAPLACE), ("kept", OURS), ("left out", LAPLACE))
    for panel, (reading, noise) in zip(axes, shown, strict=True):
        part = results.where(missing=reading)
        for method, pairs in (way for way in ways(part) if way[0] in (RESPONSE, ALL, noise)):
            found = [part.where(method=method, pairs=pairs, epsilon=each).error for each in epsilons]
            place = looks.index(pairs) if pairs in looks else len(looks)  # the same in every panel
            curve(panel, epsilons, found, place, words(method, pairs).split(", ")[0], bars="doubt")
        log_axes(panel, epsilons, (0.0001, 0.001, 0.01, 0.1, 1))
        panel.set(xlabel="epsilon (natural log units)", title=f"{noise}; missing ratings {reading}")
        panel.set_title(panel.get_title(), fontsize=9.5)
    axes[0].set_ylabel("mean absolute error of tau-a")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=6, fontsize=8.5)
    yield Picture(
        "kendall-tripadvisor",
        figure,
        "Kendall's tau-a of hotel ratings. Mean absolute error over runs; bars are the standard error of "
        "that mean. P is the number of pairs that each person computes in. All pairs is drawn as one normal "
        "number of the noise's variance, and has a delta of 1e-8.",
    )


def findings(results: Results) -> Findings:
    """The paper's statements on this figure."""
    epsilons = results.values("epsilon")
    kept = results.where(missing="kept")

    def error(method: str, pairs: int, epsilon: float) -> Spread:
        return kept.where(method=method, pairs=pairs, epsilon=epsilon).error

    def response(epsilon: float) -> Spread:
        return error(RESPONSE, 0, epsilon)

    every = kept.where(method=ALL).values("pairs")[0]
    truths = {reading: results.where(missing=reading).values("truth")[0] for reading in READINGS}
    gains = {
        name: {each: response(each).mean / error(name, 1, each).mean for each in epsilons} for name in NOISES
    }
    checks = [
        Check(
            "Kendall's tau-a of the ratings is 0.58.",
            f"{truths['kept']:.4f} with missing ratings as the lowest level, {truths['left out']:.4f} "
            "without them",
            0.575 <= truths["kept"] < 0.595,
        )
    ]
    for most, source in ((1.0, "as we read it"), (2.0, "as the paper says")):
        for name in NOISES:
            told = {each: gain for each, gain in gains[name].items() if each <= most}
            checks.append(
                Check(
                    f"One pair for each person ({name}) has about a tenth of the error of randomized "
                    f"response for epsilon up to {most:g} ({source}).",
                    ", ".join(f"{gain:.1f} times at {each:g}" for each, gain in told.items()),
                    all(gain >= ORDER for gain in told.values()),
                    "Asked for is at least the root of 10. Randomized response gains fast from epsilon 1 on, "
                    "when e^epsilon grows to the 36 cells, and Laplace noise does not.",
                )
            )
    checks += [_more_pairs(kept, name) for name in NOISES]
    worst = {each: max(ways(kept), key=lambda way: error(way[0], way[1], each).mean) for each in epsilons}
    other = [each for each, way in worst.items() if way[0] != ALL]
    checks.append(
        Check(
            "All pairs has the largest error.",
            f"at epsilon {', '.join(f'{each:g}' for each in epsilons if each not in other)}"
            + "".join(f"; at {each:g} it is {words(*worst[each])}" for each in other),
            not other,
            _tiny(kept, other),
        )
    )
    ratio = {each: error(ALL, every, each).mean / response(each).mean for each in epsilons}
    checks.append(
        Check(
            "Randomized response is slightly better than all pairs.",
            "the error of all pairs is "
            + ", ".join(f"{each:.2f} times at {epsilon:g}" for epsilon, each in ratio.items()),
            all(each > 1 for each in ratio.values()),
            _tiny(kept, [epsilon for epsilon, each in ratio.items() if each <= 1]),
        )
    )
    checks.append(_as_predicted(results))
    return Findings(checks, [_table(results, reading) for reading in READINGS])


def _more_pairs(kept: Results, name: str) -> Check:
    """P > 1 is not better up to epsilon 2, and better at the largest."""
    epsilons, rounds = kept.values("epsilon"), [pairs for method, pairs in ways(kept) if method == name]
    found = {
        epsilon: {pairs: kept.where(method=name, pairs=pairs, epsilon=epsilon).error for pairs in rounds}
        for epsilon in epsilons
    }
    best = {epsilon: min(each, key=lambda pairs: each[pairs].mean) for epsilon, each in found.items()}
    high = [epsilon for epsilon in epsilons if epsilon <= 2]
    clear = [  # more pairs are better by more than chance
        epsilon
        for epsilon in high
        if found[epsilon][1].mean - found[epsilon][best[epsilon]].mean
        > 2 * math.hypot(found[epsilon][1].doubt, found[epsilon][best[epsilon]].doubt)
    ]
    predicted = {
        epsilon: min(
            rounds,
            key=lambda pairs: kept.where(method=name, pairs=pairs, epsilon=epsilon).values("expected")[0],
        )
        for epsilon in epsilons
    }
    return Check(
        f"More than one pair ({name}) pays only for a large epsilon.",
        "least error with P = " + ", ".join(f"{pairs} at {epsilon:g}" for epsilon, pairs in best.items()),
        not clear and best[epsilons[-1]] > 1,
        "The theorem's best P is "
        + ", ".join(f"{p} at {epsilon:g}" for epsilon, p in predicted.items())
        + ".",
    )


def _tiny(kept: Results, epsilons: list[float]) -> str:
    """Why randomized response is worse than all pairs there."""
    if not epsilons:
        return ""
    people = int(kept.values("people")[0])
    least = min(epsilons)
    noisy = theory.krr_variance_bound(people, 36, least)
    second = 1 - 1 / (people * (1 - theory.redraw_probability(36, least)) ** 2) / noisy
    return (
        f"At epsilon {', '.join(f'{each:g}' for each in epsilons)} randomized response on 36 cells is worse. "
        f"Its variance has a part in 1/epsilon^4 (of its bound at {least:g}, {second:.0%} is that part), and "
        "all pairs only one in 1/epsilon^2. Their promise is weaker, too: it has a delta."
    )


def _as_predicted(results: Results) -> Check:
    """Measured squares, all together, beside the theorems'."""
    square = (results.column("value") - results.column("truth")) ** 2 / results.column("expected") ** 2
    groups: dict[tuple[str | int | float, ...], list[float]] = {}
    for row, each in zip(results, square, strict=True):
        key = row["missing"], row["method"], row["pairs"], row["epsilon"]
        groups.setdefault(key, []).append(float(each))
    sums = np.array([sum(each) for each in groups.values()])
    counts = np.array([len(each) for each in groups.values()])
    means = sums / counts
    # Errors are nearly normal, so each sum is a chi square; the least of all tails counts.
    tails = 2 * np.minimum(chi2.cdf(sums, counts), chi2.sf(sums, counts))
    chance = min(1.0, float(tails.min()) * tails.size)
    return Check(
        "The errors are those of the theorems (with errata 4 and 5).",
        f"mean square over the theorem's: {means.mean():.3f} over all {means.size} points, between "
        f"{means.min():.2f} and {means.max():.2f}; chance of a point as far away: {chance:.2g}",
        chance > FAILURE,
    )


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


EXPERIMENT = Experiment(
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
