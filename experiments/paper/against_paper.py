"""The paper's generic protocol beside ours, on one sample: rows, a picture and statements that are shared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpairs.data.domains import Domain
from dpairs.errors import NotEstimable
from dpairs.mechanisms.base import Mechanism
from dpairs.mechanisms.optimize import optimize
from dpairs.simulate import simulate
from dpairs.statistics import exact
from dpairs.study import Study

from ..experiment import Check, Picture, Table
from ..runs import Results, Row, Summary
from ..style import curve, log_axes, panels

_searched: dict[tuple[Any, ...], Mechanism] = {}


def search(kernels: list[NDArray[np.float64]], prior: NDArray[np.float64], epsilon: float) -> Mechanism:
    """The best mechanism for the kernels, the same for every run of a setting: searched for once."""
    key = (epsilon, prior.tobytes(), *(kernel.tobytes() for kernel in kernels))
    if key not in _searched:
        _searched[key] = optimize(kernels, prior, epsilon)
    return _searched[key]


PAPER, TWO_ROUNDS = "paper (krr)", "projection"
WAYS: Mapping[str, dict[str, Any]] = {
    PAPER: {"mechanism": "krr", "kernel": "midpoint"},
    "projective": {"protocol": "histogram"},
    "optimized": {"mechanism": "optimized", "search": search},
    TWO_ROUNDS: {"protocol": "projection"},
}
"""The paper's protocol, two better mechanisms in its place, and our two rounds."""
LEVEL = 0.95
CHANCE = 3.0
"""Standard errors by which one error must exceed another to be called larger."""


def answers(
    statistic: str,
    domain: Domain,
    table: dict[str, Any],
    epsilon: float,
    seed: int,
    most: float | None = None,
) -> list[Row]:
    """An estimate by each way; bins by the paper's rule.

    ``most`` is the largest value that the statistic can have, and stands for an estimate that does not exist.
    """
    truth, size = exact(statistic, table), table["value"].size
    rows: list[Row] = []
    for name, options in WAYS.items():
        study = Study.create(statistic, epsilon=epsilon, domain=domain, seed=seed, n=size, **options)
        try:
            found = simulate(study, table, seed=seed)
            if math.isinf(found.standard_error):
                raise NotEstimable("noise hides what the value is divided by")
            value, error = found.value, found.sample_standard_error
            # Binning is outside the interval. A study without bins has none.
            binning = found.quantization.estimate or 0.0
            low, high = found.confidence_interval(LEVEL, target="sample")
            held, widened = low <= truth <= high, low - binning <= truth <= high + binning
            exists = True
        except NotEstimable:
            if most is None:
                raise
            value, error, binning, held, widened, exists = most, 0.0, 0.0, False, False, False
        rows.append(
            {
                "way": name,
                "value": value,
                "truth": truth,
                "standard_error": error,
                "binning": binning,
                "held": int(held),
                "widened": int(widened),
                "exists": int(exists),
            }
        )
    return rows


Errors = Callable[[Results], Summary]


def relative(results: Results) -> Summary:
    """Absolute errors as shares of the truth."""
    truth = results.column("truth")
    return Summary.of(np.abs(results.column("value") - truth) / truth)


def absolute(results: Results) -> Summary:
    return results.error


def drawing(results: Results, errors: Errors, axis: str, ticks: Sequence[float]) -> Any:
    """A panel for each shape (across) and statistic (down)."""
    shapes, statistics, epsilons = (results.values(each) for each in ("shape", "statistic", "epsilon"))
    figure, grid = panels(
        len(shapes), len(statistics), width=3.7, height=2.9, squeeze=False, sharex=True, sharey=True
    )
    for line, statistic in zip(grid, statistics, strict=True):
        for panel, shape in zip(line, shapes, strict=True):
            part = results.where(shape=shape, statistic=statistic)
            for place, way in enumerate(results.values("way")):
                found = [errors(part.where(way=way, epsilon=each)) for each in epsilons]
                curve(panel, epsilons, found, place, way, bars="standard_error")
            log_axes(panel, epsilons)
            panel.set_yscale("log")
            panel.set_yticks(ticks, [f"{tick:.5f}".rstrip("0").rstrip(".") for tick in ticks])
            panel.minorticks_off()
            panel.set_title(f"{str(statistic).replace('_', ' ')}, {shape}", fontsize=9.5)
        line[0].set_ylabel(axis)
    for panel in grid[-1]:
        panel.set_xlabel("epsilon (natural log units)")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncol=4, fontsize=8.5)
    return figure


def picture(
    results: Results, name: str, errors: Errors, axis: str, ticks: Sequence[float], caption: str
) -> Picture:
    return Picture(name, partial(drawing, results, errors, axis, ticks), caption)


def groups(results: Results) -> list[tuple[str, str]]:
    """Every statistic of every shape."""
    return list(dict.fromkeys((str(row["statistic"]), str(row["shape"])) for row in results))


def tables(results: Results, errors: Errors, caption: str) -> list[Table]:
    """One table for each statistic."""
    epsilons = results.values("epsilon")
    intervals = {"held": "95% intervals that hold it"}
    if results.column("binning").any():
        intervals["widened"] = "widened for binning"
    return [
        Table(
            f"{str(statistic).replace('_', ' ')}: {caption}",
            ["", *(f"epsilon {each:g}" for each in epsilons), *intervals.values()],
            [
                [
                    f"{shape}, {way}",
                    *(_short(errors(part.where(epsilon=each))) for each in epsilons),
                    *(f"{part.column(name).mean():.1%}" for name in intervals),
                ]
                for shape in results.values("shape")
                for way in results.values("way")
                for part in [results.where(statistic=statistic, shape=shape, way=way)]
            ],
        )
        for statistic in results.values("statistic")
    ]


def _short(summary: Summary) -> str:
    return f"{summary.mean:.3g} ± {summary.standard_error:.1g}"


def where_lost(results: Results, errors: Errors, way: str) -> str:
    """Where one of our ways is worse than the paper's by more than chance, in words."""
    lost = []
    for statistic, shape in groups(results):
        for epsilon in results.values("epsilon"):
            part = results.where(statistic=statistic, shape=shape, epsilon=epsilon)
            ours, paper = errors(part.where(way=way)), errors(part.where(way=PAPER))
            if _clearly_above(ours, paper):
                lost.append(
                    f"{statistic.replace('_', ' ')} of {shape} at epsilon {epsilon:g} "
                    f"({ours.mean / paper.mean:.1f} times)"
                )
    return f"The error of {way} is clearly above the paper's for: " + (", ".join(lost) or "nothing") + "."


def falls(results: Results, errors: Errors, reason: str = "") -> Check:
    """The error falls with epsilon: from first to last, and no step rises by more than chance.

    ``reason`` says why it might not.
    """
    epsilons = results.values("epsilon")
    rises, flat, steps, gains = [], [], 0, []
    for statistic, shape in groups(results):
        for way in results.values("way"):
            part = results.where(statistic=statistic, shape=shape, way=way)
            by_epsilon = [errors(part.where(epsilon=each)) for each in epsilons]
            words = f"{statistic.replace('_', ' ')} of {shape}, {way}"
            steps += len(by_epsilon) - 1
            rises += [
                f"{words}, from {low:g} to {high:g}"
                for low, high, one, two in zip(
                    epsilons, epsilons[1:], by_epsilon, by_epsilon[1:], strict=False
                )
                if _clearly_above(two, one)
            ]
            gains.append(by_epsilon[0].mean / by_epsilon[-1].mean)
            if gains[-1] <= 1:
                flat.append(words)
    return Check(
        "The error falls as epsilon grows.",
        f"from epsilon {epsilons[0]:g} to {epsilons[-1]:g} by {min(gains):.1f} to {max(gains):.0f} times; "
        f"{len(rises)} of {steps} steps rise by more than {CHANCE:g} standard errors",
        not rises and not flat,
        f"Not so: {'; '.join(flat + rises)}. {reason}".rstrip(),
    )


def absent(results: Results) -> str:
    """In how many runs of each way there was no estimate."""
    runs = {way: int((1 - results.where(way=way).column("exists")).sum()) for way in results.values("way")}
    return ", ".join(f"{count} runs of {way}" for way, count in runs.items()) + "."


def ours_at_most(results: Results, errors: Errors, way: str, epsilon: float = 1.0) -> Check:
    """One of our ways has at most the paper's error, everywhere, at this epsilon."""
    ratios, reported, lost = [], [], []
    for statistic, shape in groups(results):
        part = results.where(statistic=statistic, shape=shape, epsilon=epsilon)
        ours, paper = part.where(way=way), part.where(way=PAPER)
        ratios.append(errors(ours).mean / errors(paper).mean)
        reported.append(ours.column("standard_error").mean() / paper.column("standard_error").mean())
        if _clearly_above(errors(ours), errors(paper)):
            lost.append(f"{statistic.replace('_', ' ')} of {shape} ({ratios[-1]:.2f} times)")
    return Check(
        f"At epsilon {epsilon:g} the error of {way} is at most that of the paper's protocol, but for chance "
        f"({CHANCE:g} standard errors).",
        f"{min(ratios):.2f} to {max(ratios):.2f} times the paper's in {len(ratios)} comparisons; by the "
        f"reported standard errors {min(reported):.2f} to {max(reported):.2f} times",
        not lost,
        f"Larger for {', '.join(lost)}.",
    )


def _clearly_above(one: Summary, other: Summary) -> bool:
    """By more than chance: a mean of 20 absolute errors is uncertain by a sixth."""
    return one.mean - other.mean > CHANCE * math.hypot(one.standard_error, other.standard_error)


def covered(results: Results, way: str) -> Check:
    """The intervals of one way, widened by what binning may do, hold the exact value often enough."""
    part = results.where(way=way)
    bare, held = (float(part.column(name).mean()) for name in ("held", "widened"))
    # Runs of one population at several epsilons share its people, but not their noise.
    deviation = math.sqrt(LEVEL * (1 - LEVEL) / len(part))
    words = "intervals" if not part.column("binning").any() else "intervals, widened for binning,"
    return Check(
        f"The {LEVEL:.0%} {words} of {way} hold the exact value of these people.",
        f"{held:.1%} of {len(part)} do" + ("" if bare == held else f"; {bare:.1%} before they are widened"),
        held >= LEVEL - 3 * deviation,
        "Fewer than 95% by more than three standard errors of that share. Fewest: " + _fewest(part) + ".",
    )


def _fewest(part: Results) -> str:
    shares = {
        f"{row['statistic']} of {row['shape']} at epsilon {row['epsilon']:g}".replace("_", " "): float(
            part.where(statistic=row["statistic"], shape=row["shape"], epsilon=row["epsilon"])
            .column("widened")
            .mean()
        )
        for row in part
    }
    least = sorted(shares, key=lambda words: shares[words])[:3]
    return ", ".join(f"{shares[words]:.0%} for {words}" for words in least)
