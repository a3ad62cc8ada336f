"""The paper's statements on Kendall's tau of hotel ratings, checked against runs."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import chdtr, chdtrc

from dpairs.protocols import theory

from ..experiment import Check
from ..runs import Results, Summary

READINGS = ("kept", "left out")
"""What is done with missing ratings: the paper's figure is the first."""
RESPONSE, ALL = "randomized response", "all pairs"
LAPLACE, CLAMPED, OURS = "Laplace", "our clamped Laplace", "our noise"
NOISES = (LAPLACE, OURS)
"""In a pair: the paper's plain Laplace numbers, and what a study takes when none is named."""
ORDER = math.sqrt(10)
"""About an order of magnitude: nearer to 10 than to 1, on a logarithmic scale."""


FAILURE = 0.001
"""The chance that true theorems are refused."""


def ways(results: Results) -> list[tuple[str, int]]:
    """Every method with its number of pairs; of all pairs there are as many as people."""
    return list(dict.fromkeys((str(row["method"]), int(row["pairs"])) for row in results))


def words(method: str, pairs: int) -> str:
    return method if method in (RESPONSE, ALL) else f"P = {pairs}, {method}"


def checks(results: Results) -> list[Check]:
    """The paper's statements on this figure."""
    epsilons = results.values("epsilon")
    kept = results.where(missing="kept")

    def error(method: str, pairs: int, epsilon: float) -> Summary:
        return kept.where(method=method, pairs=pairs, epsilon=epsilon).error

    def response(epsilon: float) -> Summary:
        return error(RESPONSE, 0, epsilon)

    every = kept.where(method=ALL).values("pairs")[0]
    truths = {reading: results.where(missing=reading).values("truth")[0] for reading in READINGS}
    gains = {
        name: {each: response(each).mean / error(name, 1, each).mean for each in epsilons} for name in NOISES
    }
    statements = [
        Check(
            "Kendall's tau-a of the ratings is 0.58.",
            f"{truths['kept']:.4f} with missing ratings as the lowest level, {truths['left out']:.4f} "
            "without them",
            0.575 <= truths["kept"] < 0.595,
        )
    ]
    for most, source in ((1.0, ""), (2.0, ", as the paper says")):
        for name in NOISES:
            told = {each: gain for each, gain in gains[name].items() if each <= most}
            statements.append(
                Check(
                    f"One pair for each person ({name}) has about a tenth of the error of randomized "
                    f"response (nearer to a tenth than to the whole) for epsilon up to {most:g}{source}.",
                    ", ".join(f"{gain:.1f} times less at {each:g}" for each, gain in told.items()),
                    all(gain >= ORDER for gain in told.values()),
                    "Asked for is at least the root of 10 times less. Randomized response gains fast from "
                    "epsilon 1 on, when e^epsilon nears the 36 cells; a pair's noise falls as 1/epsilon.",
                )
            )
    statements += [_more_pairs(kept, name) for name in NOISES]
    worst = {each: max(ways(kept), key=lambda way: error(way[0], way[1], each).mean) for each in epsilons}
    other = [each for each, way in worst.items() if way[0] != ALL]
    statements.append(
        Check(
            "All pairs has the largest error.",
            f"at epsilon {', '.join(f'{each:g}' for each in epsilons if each not in other)}"
            + "".join(f"; at {each:g} it is {words(*worst[each])}" for each in other),
            not other,
            _tiny(kept, other),
        )
    )
    ratio = {each: error(ALL, every, each).mean / response(each).mean for each in epsilons}
    statements.append(
        Check(
            "Randomized response is slightly better than all pairs.",
            "the error of all pairs is "
            + ", ".join(f"{each:.2f} times at {epsilon:g}" for epsilon, each in ratio.items()),
            all(each > 1 for each in ratio.values()),
            _tiny(kept, [epsilon for epsilon, each in ratio.items() if each <= 1]),
        )
    )
    return [*statements, _larger(kept), _as_predicted(results)]


def _larger(kept: Results) -> Check:
    """P pairs of Laplace numbers have a mean squared error of B / P + C P, which is least at sqrt(B / C)."""
    epsilon, n = max(kept.values("epsilon")), int(kept.values("people")[0])
    part = kept.where(epsilon=epsilon)
    pairs = [count for method, count in ways(part) if method == LAPLACE]
    errors = {count: part.where(method=LAPLACE, pairs=count).error.mean for count in pairs}
    response = part.where(method=RESPONSE)
    noise = 16 / (n * epsilon**2)
    rest = max(float(part.where(method=LAPLACE, pairs=1).rows[0]["expected"]) ** 2 - noise, 0.0)
    least, target = math.sqrt(2 * math.sqrt(rest * noise)), float(response.rows[0]["expected"])
    return Check(
        f"For epsilon {epsilon:g} a larger P (Laplace) matches randomized response: its error is at most a "
        "quarter more.",
        f"{response.error.mean:.5f} by randomized response; "
        + ", ".join(f"{error:.5f} with P = {count}" for count, error in errors.items())
        + f"; by the theorems no P has less than {least / target:.1f} times its root mean square error",
        min(errors.values()) <= 1.25 * response.error.mean or least <= 1.25 * target,
        f"Each pair gets epsilon / P, so the noise of all pairs together grows with P. The best P is "
        f"{math.sqrt(rest / noise):.0f}, with a root mean square error of {least:.5f}; randomized response "
        f"has {target:.5f}.",
    )


def _more_pairs(kept: Results, name: str) -> Check:
    """P > 1 is not better up to epsilon 2, and better at the largest."""
    epsilons, rounds = kept.values("epsilon"), [pairs for method, pairs in ways(kept) if method == name]
    errors = {
        epsilon: {pairs: kept.where(method=name, pairs=pairs, epsilon=epsilon).error for pairs in rounds}
        for epsilon in epsilons
    }
    best = {epsilon: min(each, key=lambda pairs: each[pairs].mean) for epsilon, each in errors.items()}
    high = [epsilon for epsilon in epsilons if epsilon <= 2]
    clear = [  # more pairs are better by more than chance
        epsilon
        for epsilon in high
        if errors[epsilon][1].mean - errors[epsilon][best[epsilon]].mean
        > 2 * math.hypot(errors[epsilon][1].standard_error, errors[epsilon][best[epsilon]].standard_error)
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
    expected = {
        method: {row["epsilon"]: float(row["expected"]) for row in kept.where(method=method)}
        for method in (RESPONSE, ALL)
    }
    truly = [each for each in kept.values("epsilon") if expected[RESPONSE][each] > expected[ALL][each]]
    return (
        f"At epsilon {', '.join(f'{each:g}' for each in epsilons)} randomized response on 36 cells is worse; "
        f"by the theorems it is at {', '.join(f'{each:g}' for each in truly) or 'none'}, the rest is chance. "
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
    tails = 2 * np.minimum(chdtr(counts, sums), chdtrc(counts, sums))
    chance = min(1.0, float(tails.min()) * tails.size)
    return Check(
        "The errors are those of the theorems (with errata 4 and 5).",
        f"mean square over the theorem's: {means.mean():.3f} over all {means.size} points, between "
        f"{means.min():.2f} and {means.max():.2f}; chance of a point as far away: {chance:.2g}",
        chance > FAILURE,
    )
