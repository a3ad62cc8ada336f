"""Make every figure and every measured table of the pages on pairs and their circuits.

    python docs/figures/make_pairs.py                  # all of them, some minutes on two processors
    python docs/figures/make_pairs.py noise gates      # only the named ones

Everything is seeded: a second run gives the same numbers. ``ratings`` and ``best`` need the file
``tripadvisor_ratings.csv.gz`` in the folder that the variable DPAIRS_DATA names.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
from make_figures import at_hand, data_folder, save, table
from make_tree import run_all
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from numpy.typing import NDArray

import dpairs
from dpairs.garbled.custom import Table
from dpairs.garbled.function import PairFunction
from dpairs.garbled.kernels import Concordance, Distance, Equal, LessThan, PairKernel, SquaredDistance
from dpairs.garbled.noise import Noise
from dpairs.garbled.noise_registry import best_noise, candidates, noise
from dpairs.garbled.session import Collector, Evaluator, Garbler
from dpairs.garbled.wire import Pair
from dpairs.protocols import theory
from dpairs.protocols.pairwise.protocol import Pairwise
from experiments import ratings_population, sources
from experiments.limits import OF_NORMAL
from experiments.results import Spread
from experiments.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from experiments.synthetic import people

RUNS = 20
Matrix = NDArray[np.float64]


# ---------------------------------------------------------------- ratings

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FEW = (0.5, 1.0, 2.0, 10.0)
NOISES = ("laplace", "response", "kary")
ROUNDS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Rated:
    """One simulated study of the hotel ratings."""

    protocol: str
    epsilon: float
    run: int
    pairs: int = 1
    noise: str = ""


def ratings() -> dict[str, NDArray[np.int64]]:
    """What people gave for the room and for cleanliness; -1 is no rating, the lowest level."""
    return sources.ratings(data_folder())


def rated(job: Rated) -> float:
    """The error of one run against tau-a of these people; a new seed gives new pairs and new noise."""
    options: dict[str, Any] = {}
    if job.protocol == "pairwise":
        options = {"pairs": job.pairs, "noise": job.noise}
    elif job.protocol == "histogram":
        options = {"mechanism": "krr"}
    study = dpairs.Study.create(
        "kendall_tau",
        protocol=job.protocol,
        epsilon=job.epsilon,
        domain=(sources.LEVELS, sources.LEVELS),
        seed=job.run,
        **options,
    )
    crypto = {"crypto": "ideal"} if job.protocol == "pairwise" else {}
    return dpairs.simulate(study, ratings(), seed=job.run, **crypto).value - truth()


@cache
def truth() -> float:
    """tau-a of all people."""
    return dpairs.exact("kendall_tau", ratings())


def chosen(epsilon: float, pairs: int) -> str:
    """The noise that a study takes when none is named."""
    return best_noise(2, epsilon / pairs).name


def all_pairs(epsilon: float, run: int) -> float:
    """The baseline's error: the noise of all pairs added up is one normal number."""
    spread = ratings_population.population(data_folder(), rated_only=False).all_pairs_error(epsilon)
    return float(people(run).normal(0, spread))


def mean_error(errors: list[float]) -> tuple[float, float]:
    """The mean absolute error and its standard error."""
    sizes = Spread.of(np.abs(errors))
    return sizes.mean, sizes.doubt


def rating_jobs() -> dict[str, dict[float, list[Rated]]]:
    """All runs, by the words of their row."""
    found: dict[str, dict[float, list[Rated]]] = {}
    for name in NOISES:
        found[f"`{name}`, $P = 1$"] = {
            loss: [Rated("pairwise", loss, run, 1, name) for run in range(RUNS)] for loss in FEW
        }
    for pairs in ROUNDS:
        found[f"best noise, $P = {pairs}$"] = {
            loss: [Rated("pairwise", loss, run, pairs, chosen(loss, pairs)) for run in range(RUNS)]
            for loss in EPSILONS
        }
    for name, protocol in (("randomized response (`krr`)", "histogram"), ("`projection`", "projection")):
        found[name] = {loss: [Rated(protocol, loss, run) for run in range(RUNS)] for loss in EPSILONS}
    return found


def rating_errors() -> dict[str, dict[float, tuple[float, float]]]:
    """The mean absolute error of each row at each epsilon."""
    jobs = rating_jobs()
    run_all("ratings", [job for row in jobs.values() for group in row.values() for job in group], rated)
    found = {
        name: {loss: mean_error(run_all("ratings", group, rated)) for loss, group in row.items()}
        for name, row in jobs.items()
    }
    found["all pairs, advanced composition"] = {
        loss: mean_error([all_pairs(loss, run) for run in range(RUNS)]) for loss in EPSILONS
    }
    return found


def ratings_table() -> None:
    """Kendall's tau of the hotel ratings: noise, number of pairs, and other protocols."""
    if not at_hand("ratings", sources.RATINGS):
        return
    found = rating_errors()
    rows = []
    for name in NOISES:
        row = found[f"`{name}`, $P = 1$"]
        rows.append([f"`{name}`", *(f"{row[loss][0]:.4f} ± {row[loss][1]:.4f}" for loss in FEW)])
    row = found["best noise, $P = 1$"]
    names = [f"{row[loss][0]:.4f} (`{chosen(loss, 1)}`)" for loss in FEW]
    rows.append(["chosen by default", *names])
    table("pairs_ratings_noise", ["$P = 1$", *(f"eps {loss:g}" for loss in FEW)], rows)
    rest = [name for name in found if name.split(",")[0].strip("`") not in NOISES]
    table(
        "pairs_ratings",
        ["", *(f"eps {loss:g}" for loss in EPSILONS)],
        [[name, *(f"{found[name][loss][0]:.4f}" for loss in EPSILONS)] for name in rest],
    )
    figure, axes = plt.subplots(figsize=(7.4, 4.6))
    styles = zip((BLUE, GREEN, ORANGE, PURPLE, VERMILION, SKY, BLACK), "osD^vPX", strict=True)
    for name, (colour, mark) in zip(rest, styles, strict=True):
        mean, error = np.array([found[name][loss] for loss in EPSILONS]).T
        words = name.replace("`", "").replace("best noise", "pairs")
        line = "-" if name.startswith("best") else "--"
        axes.errorbar(EPSILONS, mean, error, fmt=mark + line, color=colour, ms=4.5, lw=1.4, label=words)
    axes.set(xscale="log", yscale="log", xlabel="epsilon (natural log units)")
    axes.set_ylabel("mean absolute error")
    axes.set_xticks(EPSILONS, [f"{loss:g}" for loss in EPSILONS])
    axes.set_yticks([0.0001, 0.001, 0.01, 0.1, 1.0], ["0.0001", "0.001", "0.01", "0.1", "1"])
    axes.minorticks_off()
    axes.set_title(f"tau-a of 243,837 hotel ratings (exact {truth():.4f}), {RUNS} runs", fontsize=9.5)
    axes.legend(fontsize=8.5)
    figure.tight_layout()
    save(figure, "pairs_ratings")


# ---------------------------------------------------------------- best P

BEST = (0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Population:
    """Shares of people in cells, and the kernel's levels of two cells."""

    masses: Matrix
    levels: NDArray[np.int64]
    step: float

    def noise(self, made: Noise) -> float:
        """The variance that noise adds to a pair, on average over pairs."""
        each = [made.variance(level) for level in range(int(self.levels.max()) + 1)]
        return self.step**2 * float(self.masses @ np.array(each)[self.levels] @ self.masses)

    @property
    def zetas(self) -> tuple[float, float]:
        """zeta_1 and zeta_2."""
        return theory.zetas(self.step * self.levels, self.masses)

    @property
    def value(self) -> float:
        """The mean of step times level over pairs."""
        return self.step * float(self.masses @ self.levels @ self.masses)


def concordance(x: NDArray[np.int64], y: NDArray[np.int64], masses: Matrix) -> Population:
    """Kendall's kernel on cells: level 0, 1 or 2."""
    signs = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    return Population(masses, signs.astype(np.int64) + 1, 1.0)


def rated_population() -> Population:
    """The shares of the 36 pairs of ratings."""
    data = ratings()
    cells, counts = np.unique(np.stack([data["x"], data["y"]]), axis=1, return_counts=True)
    return concordance(cells[0], cells[1], counts / counts.sum())


def best() -> None:
    """The error against the number of pairs of a person, and where it is least."""
    if not at_hand("best", sources.RATINGS):
        return
    shares, n = rated_population(), ratings()["x"].size
    zetas = shares.zetas
    print(f"best: zeta_1 = {zetas[0]:.4f}, zeta_2 = {zetas[1]:.4f}")
    # Around the people themselves: what the choice of people adds is left out.
    sampling = theory.ustatistic_variance(n, *zetas)

    def added(share: float) -> float:
        return shares.noise(best_noise(2, share))

    figure, axes = plt.subplots(figsize=(7.0, 4.4))
    counts, rows = np.arange(1, 33), []
    for loss, colour, mark in zip(BEST, (BLUE, SKY, GREEN, ORANGE, VERMILION), "osD^v", strict=True):
        squares = [theory.pairs_mse(n, int(p), *zetas, added(loss / p)) - sampling for p in counts]
        curve = OF_NORMAL * np.sqrt(squares)
        least = theory.best_pairs(n, loss, *zetas, added)
        jobs = {p: [Rated("pairwise", loss, run, p, chosen(loss, p)) for run in range(RUNS)] for p in ROUNDS}
        run_all("best", [job for group in jobs.values() for job in group], rated)
        mean, error = np.array([mean_error(run_all("best", jobs[p], rated)) for p in ROUNDS]).T
        axes.plot(counts, curve, "-", color=colour, lw=1.4, label=f"epsilon {loss:g}")
        axes.errorbar(ROUNDS, mean, error, fmt=mark, color=colour, ms=4)
        axes.plot(least, curve[least - 1], "*", color=colour, ms=13, mec=BLACK, mew=0.8, zorder=5)
        cells = [f"{curve[p - 1]:.5f}" for p in (1, 2, 4, 8, 16, 32)]
        rows.append([f"{loss:g}", str(least), f"{curve[least - 1]:.5f}", *cells])
    axes.plot([], [], "*", color="white", ms=11, mec=BLACK, mew=0.8, label="the best P")
    axes.errorbar([], [], [], fmt="o", color=BLACK, ms=4, label="measured, 20 runs")
    axes.set(xscale="log", yscale="log", xlabel="P, pairs of each person", ylabel="mean absolute error")
    axes.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    ticks = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_title("tau-a of the hotel ratings: theorem (lines) and simulation (points)", fontsize=9.5)
    axes.legend(fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    save(figure, "pairs_best")
    heads = [f"$P = {p}$" for p in (1, 2, 4, 8, 16, 32)]
    table("pairs_best", ["epsilon", "best $P$", "its error", *heads], rows)


# ---------------------------------------------------------------- noise

KERNELS = (
    ("two levels (AUC, collision)", 1),
    ("three levels (Kendall)", 2),
    ("32 bits (Gini)", 2**32 - 1),
)
SHOWN = (("response", BLUE, "-"), ("kary", GREEN, "-."), ("laplace", VERMILION, "--"))


def worst(made: Noise) -> float:
    """The largest variance over levels, for a kernel of range 1: what a study chooses by."""
    return max(made.variance(level) for level in (0, made.top // 2, made.top)) / made.top**2


def takes_over(top: int) -> list[tuple[float, str]]:
    """Where the best noise changes as epsilon grows: epsilon, and who is best from there on."""
    grid = np.geomspace(0.05, 16, 120)
    names = [best_noise(top, loss).name for loss in grid]
    found = []
    for low, high, before, after in zip(grid, grid[1:], names, names[1:], strict=False):
        if before != after:
            for _ in range(20):
                middle = (low + high) / 2
                low, high = (middle, high) if best_noise(top, middle).name == before else (low, middle)
            found.append((high, after))
    return found


def choice_row(words: str, top: int) -> list[str]:
    """Which noise a study takes, in words."""
    told = ", ".join(f"`{name}` from {place:.2f} on" for place, name in takes_over(top))
    return [words, f"`{best_noise(top, 0.05).name}`", told or "-"]


def noise_table() -> None:
    """When one bit beats Laplace: exact variances."""
    figure, panels = plt.subplots(1, 3, figsize=(10.2, 3.7), sharey=True)
    grid, rows, choices = np.geomspace(0.1, 10, 41), [], []
    for panel, (words, top) in zip(panels, KERNELS, strict=True):
        for name, colour, line in SHOWN:
            if name == "kary" and top != 2:
                continue
            values = [worst(noise(name, top, loss)) * loss**2 / 2 for loss in grid]
            panel.plot(grid, values, line, color=colour, lw=1.7, label=name)
        panel.axhline(1, ls=":", color=BLACK, lw=1.3, label="Laplace, continuous: $2/\\varepsilon^2$")
        for place, _ in takes_over(top):
            panel.axvline(place, color="#777777", lw=0.9)
        panel.set(xscale="log", yscale="log", xlabel="epsilon of the pair", ylim=(0.02, 20), title=words)
        panel.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
        panel.minorticks_off()
        panel.title.set_fontsize(9.5)
        choices.append(choice_row(words, top))
        made = {loss: candidates(top, loss) for loss in FEW}
        for name in ("response", "kary", "laplace"):
            if name in made[1.0]:
                cells = [f"{worst(made[loss][name]):.4g}" for loss in FEW]
                rows.append([f"{words}, `{name}`", *cells])
    ticks = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20]
    panels[0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panels[0].set_ylabel("variance, over that of\ncontinuous Laplace noise")
    figure.legend(*panels[1].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    save(figure, "pairs_noise")
    table("pairs_noise", ["kernel, noise", *(f"eps {loss:g}" for loss in FEW)], rows)
    choices.append(choice_row("100 values (Gini)", 99))
    table("pairs_choice", ["kernel", "chosen for a small epsilon", "then"], choices)


# ---------------------------------------------------------------- theorem

PEOPLE = 6400
THEOREM_RUNS = 2000
THEOREM_ROUNDS = (1, 2, 4)
LOSS = 4.0
BATCH = 50


@dataclass(frozen=True)
class Drawn:
    """Runs of one study with new people each time."""

    kernel: str
    pairs: int
    first: int


@cache
def population(kernel: str) -> tuple[Population, Any]:
    """Where people are drawn from, and the domain."""
    if kernel == "kendall_tau":
        x, y = np.indices((5, 5)).reshape(2, -1)
        masses = np.exp(-0.5 * (x - y) ** 2) * (1 + x)
        return concordance(x, y, masses / masses.sum()), (dpairs.Integers(0, 4),) * 2
    values = np.arange(100 if kernel == "gini_mean_difference" else 8)
    if kernel == "gini_mean_difference":  # incomes: many low ones
        masses, levels = np.exp(-values / 25), np.abs(values[:, None] - values)
        step = 1 / 99
    else:
        masses, levels, step = 1 / (1.0 + values), np.eye(8, dtype=np.int64), 1.0
    return Population(masses / masses.sum(), levels, step), dpairs.Integers(0, len(values) - 1)


def repeated(job: Drawn) -> list[tuple[float, float]]:
    """Value and standard error of each run, for the kernel moved to start at 0 (and of range 1 for Gini)."""
    source, domain = population(job.kernel)
    found = []
    for run in range(job.first, job.first + BATCH):
        cells = people(run).choice(source.masses.size, PEOPLE, p=source.masses)
        data = {"x": cells // 5, "y": cells % 5} if job.kernel == "kendall_tau" else {"value": cells}
        study = theorem_study(job.kernel, domain, job.pairs, run)
        estimate = dpairs.simulate(study, data, seed=run, crypto="ideal")
        value, error = estimate.value, estimate.standard_error
        if job.kernel == "collision_entropy":  # the collision probability, whose logarithm it is
            value = estimate.details["collision_probability"]
            error *= value
        found.append((value, error))
    return found


def theorem_study(kernel: str, domain: Any, pairs: int, seed: int) -> dpairs.Study:
    """One study of the comparison."""
    return dpairs.Study.create(
        kernel, protocol="pairwise", epsilon=LOSS, domain=domain, pairs=pairs, seed=seed
    )


def theorem() -> None:
    """The theorem's mean squared error against simulations."""
    kernels = (
        ("kendall_tau", "Kendall", 1.0, -1.0),
        ("gini_mean_difference", "Gini", 1 / 99, 0.0),
        ("collision_entropy", "collision", 1.0, 0.0),
    )
    jobs = {
        (kernel, p): [Drawn(kernel, p, first) for first in range(0, THEOREM_RUNS, BATCH)]
        for kernel, *_ in kernels
        for p in THEOREM_ROUNDS
    }
    run_all("theorem", [job for group in jobs.values() for job in group], repeated)
    rows = []
    for kernel, words, scale, offset in kernels:
        source, domain = population(kernel)
        for p in THEOREM_ROUNDS:
            protocol = cast(Pairwise, theorem_study(kernel, domain, p, 0).protocol)
            added = source.noise(protocol.noise)
            expected = theory.pairs_mse(PEOPLE, p, *source.zetas, added)
            batches = run_all("theorem", jobs[kernel, p], repeated)
            value, error = np.array([each for batch in batches for each in batch]).T
            value, error = scale * value, scale * error
            off = value - offset - source.value
            squares = off**2
            mean, doubt = squares.mean(), squares.std(ddof=1) / math.sqrt(squares.size)
            within = float(np.mean(np.abs(off) <= 1.959964 * error))
            rows.append(
                [
                    f"{words}, $P = {p}$, `{protocol.noise.name}`",
                    f"{1e6 * expected:.3g}",
                    f"{2 * added / (p * PEOPLE) / expected:.0%}",
                    f"{1e6 * mean:.3g} ± {1e6 * doubt:.2g}",
                    f"{mean / expected:.3f}",
                    f"{float(np.mean(error**2)) / mean:.3f}",
                    f"{within:.1%}",
                ]
            )
    head = ["kernel", "theorem, MSE·10⁶", "of it noise", "simulated", "simulated / theorem"]
    table("pairs_theorem", [*head, "reported / simulated", "95% intervals that hold it"], rows)


# ---------------------------------------------------------------- gates

SHAPES: tuple[tuple[str, PairKernel, tuple[tuple[str, int], ...]], ...] = (
    ("AUC, 32 bits, ties tossed", LessThan(2**32 - 1), (("response", 16), ("laplace", 40))),
    ("AUC, 64 bits, ties tossed", LessThan(2**64 - 1), (("response", 16),)),
    ("collision, 32 bits", Equal(2**32 - 1), (("response", 16),)),
    ("Kendall, 6 levels", Concordance(5), (("response", 16), ("kary", 16), ("laplace", 40))),
    ("Kendall, 8 bits", Concordance(255), (("response", 16), ("kary", 16), ("laplace", 40))),
    ("Gini, 32 bits", Distance(2**32 - 1), (("response", 16), ("laplace", 40))),
    ("variance, 16 bits", SquaredDistance(2**16 - 1), (("response", 16), ("laplace", 40))),
    (
        "a table of 16 x 16, levels to 1,024",
        Table.of(np.abs(np.subtract.outer(np.arange(16), np.arange(16))) ** 1.5),
        (("response", 16), ("laplace", 40)),
    ),
)
PAIR = Pair("11" * 32, garbler=1, evaluator=2)


def gates() -> None:
    """Gates, transfers and bytes of one pair, from the circuits and from whole sessions; epsilon 1."""
    rows = []
    for words, kernel, noises in SHAPES:
        for name, precision in noises:
            function = PairFunction(kernel, noise(name, kernel.top, 1.0, precision))
            sizes = session(function)
            direct = sum(sizes[:3])
            extended = " (extended)" if len_extended(sizes) else ""
            rows.append(
                [
                    f"{words}, `{name}`",
                    f"{function.circuit.ands:,}",
                    f"{function.circuit.evaluator:,}{extended}",
                    *(f"{size:,}" for size in sizes[:3]),
                    f"{direct:,}",
                    f"{sum(sizes[3:]):,}",
                ]
            )
    head = ["kernel, noise", "ANDs", "transferred bits", "offer", "choice", "circuit"]
    table("pairs_gates", [*head, "between the two", "to the collector"], rows)


def len_extended(sizes: list[int]) -> bool:
    """Whether the offer was the long one of a transfer extension."""
    return sizes[0] > 1000


def session(function: PairFunction) -> list[int]:
    """The bytes of the five messages of one pair, whose symbol the collector could read."""
    garbler = Garbler(function, PAIR, [1] * function.kernel.columns)
    evaluator = Evaluator(function, PAIR, [2] * function.kernel.columns)
    offer = garbler.offer()
    choice = evaluator.choose(offer)
    circuit = garbler.answer(choice)
    labels, decoding = evaluator.evaluate(circuit), garbler.table()
    Collector(function, PAIR).decode(decoding, labels)
    return [len(wire) for wire in (offer, choice, circuit, labels, decoding)]


# ---------------------------------------------------------------- drawing


def drawing() -> None:
    """Three parties, five messages, and what each of the three can read."""
    figure, axes = plt.subplots(figsize=(9.4, 6.6))
    axes.set(xlim=(0, 100), ylim=(0, 74))
    axes.axis("off")
    columns = {"garbler": (17, ORANGE), "evaluator": (51, BLUE), "collector": (85, GREEN)}
    holds = {
        "garbler": "value x\ncoins g\nboth labels of every wire",
        "evaluator": "value y\ncoins e\none label of every wire",
        "collector": "nothing but the study\nand who is paired",
    }
    for name, (place, colour) in columns.items():
        axes.plot([place, place], [17.5, 61], color="#999999", lw=1.2, ls=(0, (4, 3)), zorder=0)
        box(axes, place, 67, 27, 12, colour)
        axes.text(place, 71, name, ha="center", va="center", weight="bold", fontsize=11)
        axes.text(place, 65.6, holds[name], ha="center", va="center", fontsize=8.5)
    messages = (
        ("garbler", "evaluator", 56, "1  OFFER", "a point of the group"),
        ("evaluator", "garbler", 48.5, "2  CHOICE", "a point for every two bits of y and e"),
        ("garbler", "evaluator", 41, "3  CIRCUIT", "masked labels, garbled gates"),
        ("evaluator", "collector", 32, "4  LABELS", "the labels of the output"),
        ("garbler", "collector", 24, "5  TABLE", "hashes: which label is 0, which is 1"),
    )
    for start, end, height, title, below in messages:
        left, right = columns[start][0], columns[end][0]
        arrow = FancyArrowPatch(
            (left, height),
            (right, height),
            arrowstyle="-|>",
            mutation_scale=14,
            color=columns[start][1],
            lw=1.8,
        )
        axes.add_patch(arrow)
        middle = (left + right) / 2
        axes.text(middle, height + 0.7, title, ha="center", va="bottom", fontsize=9, weight="bold", **PLATE)
        axes.text(middle, height - 0.8, below, ha="center", va="top", fontsize=8.5, **PLATE)
    reads = {
        "garbler": "cannot read\ny, e, the noise, the symbol",
        "evaluator": "cannot read\nx, g, the noise, the symbol",
        "collector": "reads one symbol\nnot x, y, nor the noise",
    }
    for name, (place, colour) in columns.items():
        box(axes, place, 12, 27, 8.5, colour)
        axes.text(place, 12, reads[name], ha="center", va="center", fontsize=9)
    axes.text(
        50,
        2.5,
        "inside the circuit: symbol = noise(kernel(x, y)) with the random bits g XOR e, which nobody knows",
        ha="center",
        va="center",
        color=VERMILION,
        fontsize=9.5,
    )
    figure.tight_layout(pad=0.3)
    save(figure, "pairs_session")


PLATE: dict[str, Any] = {"bbox": {"fc": "white", "ec": "none", "pad": 0.8}}


def box(axes: Any, x: float, y: float, width: float, height: float, colour: str) -> None:
    """A rounded box around a point."""
    vertex = (x - width / 2, y - height / 2)
    style = "round,pad=0.2,rounding_size=1.2"
    axes.add_patch(FancyBboxPatch(vertex, width, height, boxstyle=style, ec=colour, fc="white", lw=2))


TABLES: dict[str, Callable[[], None]] = {
    "drawing": drawing,
    "gates": gates,
    "noise": noise_table,
    "theorem": theorem,
    "ratings": ratings_table,
    "best": best,
}

if __name__ == "__main__":
    # Two processes of one thread each; they read this when they import numpy.
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    for chosen_table in sys.argv[1:] or TABLES:
        TABLES[chosen_table]()
