"""Of the pages on pairs and their circuits: noise, gates, and who reads what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from dpairs.garbled.custom import Table as KernelTable
from dpairs.garbled.function import PairFunction
from dpairs.garbled.kernels import Concordance, Distance, Equal, LessThan, PairKernel, SquaredDistance
from dpairs.garbled.noise import Noise
from dpairs.garbled.noise_registry import best_noise, candidates, noise
from dpairs.garbled.session import Evaluator, Garbler, PairDecoder
from dpairs.garbled.wire import Pair

from ..exhibits import picture, results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Results, Row
from ..style import BLACK, BLUE, GREEN, ORANGE, VERMILION

FEW = (0.5, 1.0, 2.0, 10.0)
KERNELS = (
    ("two levels (AUC, collision)", 1),
    ("three levels (Kendall)", 2),
    ("32 bits (Gini)", 2**32 - 1),
)
MANY = ("100 values (Gini)", 99)
SHOWN = (("response", BLUE, "-"), ("kary", GREEN, "-."), ("laplace", VERMILION, "--"))


def worst(made: Noise) -> float:
    """The largest variance over levels, for a kernel of range 1: what a study chooses by."""
    return max(made.variance(level) for level in (0, made.top // 2, made.top)) / made.top**2


def choice_settings(quick: bool) -> list[Setting]:
    return [
        {"kernel": words, "top": top}
        for words, top in (*KERNELS[:2], *(() if quick else (*KERNELS[2:], MANY)))
    ]


def choices(setting: Setting, seed: int, data: Path) -> list[Row]:
    """Which noise a study takes: the first, and where another takes over as epsilon grows."""
    top = int(setting["top"])
    grid = np.geomspace(0.05, 16, 120).tolist()
    names = [best_noise(top, loss).name for loss in grid]
    rows: list[Row] = [{"from": 0.0, "noise": names[0]}]
    for low, high, before, after in zip(grid, grid[1:], names, names[1:], strict=False):
        if before != after:
            for _ in range(20):
                middle = (low + high) / 2
                low, high = (middle, high) if best_noise(top, middle).name == before else (low, middle)
            rows.append({"from": high, "noise": after})
    return rows


EXPERIMENT = Experiment("noise", "Which noise a pair takes", choice_settings, choices, runs=1)


def takes_over(top: int) -> Results:
    return results("noise").where(top=top)


def choice_row(words: str, top: int) -> list[str]:
    """Which noise a study takes, in words."""
    first, *others = takes_over(top)
    told = ", ".join(f"`{row['noise']}` from {row['from']:.2f} on" for row in others)
    return [words, f"`{first['noise']}`", told or "-"]


@table("pairs_noise")
def noise_table() -> Table:
    """Exact variances at the worst level."""
    rows = []
    for words, top in KERNELS:
        made = {loss: candidates(top, loss) for loss in FEW}
        rows += [
            [f"{words}, `{name}`", *(f"{worst(made[loss][name]):.4g}" for loss in FEW)]
            for name in ("response", "kary", "laplace")
            if name in made[1.0]
        ]
    return Table("", ["kernel, noise", *(f"eps {loss:g}" for loss in FEW)], rows)


@table("pairs_choice")
def choice_table() -> Table:
    rows = [choice_row(words, top) for words, top in (*KERNELS, MANY)]
    return Table("", ["kernel", "chosen for a small epsilon", "then"], rows)


@picture("pairs_noise")
def noises() -> Any:
    """When one bit beats Laplace."""
    figure, panels = plt.subplots(1, 3, figsize=(10.2, 3.7), sharey=True)
    grid = np.geomspace(0.1, 10, 41)
    for panel, (words, top) in zip(panels, KERNELS, strict=True):
        for name, colour, line in SHOWN:
            if name == "kary" and top != 2:
                continue
            values = [worst(noise(name, top, loss)) * loss**2 / 2 for loss in grid]
            panel.plot(grid, values, line, color=colour, lw=1.7, label=name)
        panel.axhline(1, ls=":", color=BLACK, lw=1.3, label="Laplace, continuous: $2/\\varepsilon^2$")
        for place in takes_over(top).column("from")[1:]:
            panel.axvline(place, color="#777777", lw=0.9)
        panel.set(xscale="log", yscale="log", xlabel="epsilon of the pair", ylim=(0.02, 20), title=words)
        panel.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
        panel.minorticks_off()
        panel.title.set_fontsize(9.5)
    ticks = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20]
    panels[0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    panels[0].set_ylabel("variance, over that of\ncontinuous Laplace noise")
    figure.legend(*panels[1].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    return figure


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
        KernelTable.of(np.abs(np.subtract.outer(np.arange(16), np.arange(16))) ** 1.5),
        (("response", 16), ("laplace", 40)),
    ),
)
PAIR = Pair("11" * 32, garbler=1, evaluator=2)


def pair_function(kernel: PairKernel, name: str, precision: int) -> PairFunction:
    return PairFunction(kernel, noise(name, kernel.top, 1.0, precision))


@table("pairs_gates")
def gates() -> Table:
    """Gates, transfers and bytes of one pair, from the circuits and from whole sessions; epsilon 1."""
    rows = []
    for words, kernel, noises in SHAPES:
        for name, precision in noises:
            function = pair_function(kernel, name, precision)
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
    return Table("", [*head, "between the two", "to the collector"], rows)


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
    PairDecoder(function, PAIR).decode(decoding, labels)
    return [len(wire) for wire in (offer, choice, circuit, labels, decoding)]


# ---------------------------------------------------------------- drawing


@picture("pairs_session")
def drawing() -> Any:
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
    return figure


PLATE: dict[str, Any] = {"bbox": {"fc": "white", "ec": "none", "pad": 0.8}}


def box(axes: Any, x: float, y: float, width: float, height: float, colour: str) -> None:
    """A rounded box around a point."""
    vertex = (x - width / 2, y - height / 2)
    style = "round,pad=0.2,rounding_size=1.2"
    axes.add_patch(FancyBboxPatch(vertex, width, height, boxstyle=style, ec=colour, fc="white", lw=2))
