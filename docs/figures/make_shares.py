"""Make the figure and the tables of the page on verified shares: ``python docs/figures/make_shares.py``."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import matplotlib.pyplot as plt
from dpairs.experiments.style import BLUE, GREEN, ORANGE
from make_figures import save, table
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from dpairs.vdaf import instances
from dpairs.vdaf.prio3 import Prio3

CELLS = tuple(2**exponent for exponent in range(4, 13))


# ---------------------------------------------------------------- the picture


def box(axes: Any, x: float, y: float, width: float, height: float, colour: str, *lines: str) -> None:
    """A box around (x, y) with a title and smaller lines below it."""
    shape = FancyBboxPatch(
        (x - width / 2, y - height / 2),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=1.5",
        facecolor=colour,
        edgecolor=colour,
        alpha=0.16,
    )
    axes.add_patch(shape)
    top = y + height / 2 - 3
    for i, line in enumerate(lines):
        bold = {"weight": "bold", "fontsize": 10.5} if i == 0 else {"fontsize": 8.7}
        axes.text(x, top - 3.9 * i, line, ha="center", va="center", **bold)


def arrow(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """From a box to another."""
    style = {"arrowstyle": "-|>", "mutation_scale": 13, "color": "#444444", "lw": 1.2}
    axes.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, **style))


def words(axes: Any, x: float, y: float, text: str, **how: Any) -> None:
    """A label on a plate, so that an arrow behind it does not cross the letters."""
    plate = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.text(x, y, text, ha="center", va="center", fontsize=8.7, bbox=plate, **how)


def picture() -> None:
    """Who holds what: a participant, two servers, a sum."""
    figure, axes = plt.subplots(figsize=(9.4, 5.6))
    axes.set(xlim=(0, 100), ylim=(0, 62))
    axes.axis("off")
    box(
        axes,
        14,
        33,
        25,
        21,
        BLUE,
        "participant",
        "cell 2 of 4:",
        "x = (0, 0, 1, 0)",
        "a proof that x",
        "is one-hot",
    )
    box(axes, 62, 52, 30, 17, GREEN, "leader", "x - y  (mod p)", "proof - its mask", "looks uniform")
    box(
        axes,
        62,
        13,
        30,
        17,
        ORANGE,
        "helper",
        "a seed of 32 bytes,",
        "from it: y and the mask",
        "looks uniform",
    )
    box(axes, 92, 33, 15, 13, BLUE, "result", "counts of all", "valid reports")
    arrow(axes, (27, 38), (46.5, 51))
    words(axes, 30, 50, "share 0: 8 bytes a cell\nand three proofs")
    arrow(axes, (27, 28), (46.5, 15))
    words(axes, 31, 16.5, "share 1: 64 bytes")
    arrow(axes, (58, 43), (58, 22))
    words(axes, 52.5, 32.5, "its part of\nthe check")
    arrow(axes, (68, 22), (68, 43))
    words(axes, 76, 32.5, "both parts fit:\nvalid; else refused")
    arrow(axes, (77.5, 49), (90, 40))
    arrow(axes, (77.5, 16), (90, 26))
    words(axes, 89, 48, "sum of shares")
    words(axes, 89, 17, "sum of shares")
    words(axes, 14, 8, "One check per report,\none message each way.", color="#555555")
    figure.tight_layout(pad=0.3)
    save(figure, "shares_flow")


# ---------------------------------------------------------------- tables


def power(chance: Fraction) -> str:
    """A power of two that is at least the chance."""
    return f"2^{math.ceil(math.log2(chance))}^".replace("^-", "<sup>-").replace("^", "</sup>")


def row(name: str, vdaf: Prio3) -> list[str]:
    """Proofs, field, bytes to each server, bytes between them, the chance of a cheat."""
    public = vdaf.public_size
    return [
        name,
        f"{vdaf.proofs} in {vdaf.circuit.field!r}",
        f"{vdaf.input_size(0) + public:,}",
        f"{vdaf.input_size(1) + public:,}",
        f"{vdaf.verifier_size + vdaf.message_size + 10:,}",
        power(vdaf.soundness_error()),
    ]


def sizes() -> None:
    """Bytes of one report by the number of cells."""
    rows = []
    for cells in CELLS:
        ours, theirs = instances.one_hot(cells), instances.histogram(cells)
        rows.append(
            [
                f"{cells:,}",
                f"{ours.report_size:,}",
                f"{theirs.report_size:,}",
                f"{ours.report_size / theirs.report_size:.2f}",
                power(ours.soundness_error()),
                power(theirs.soundness_error()),
            ]
        )
    head = (
        "cells",
        "`one_hot`, bytes",
        "`histogram`, bytes",
        "ratio",
        "`one_hot`, a cheat",
        "`histogram`, a cheat",
    )
    table("shares_bytes", head, rows)


def schemes() -> None:
    """Every scheme at one size."""
    made = {
        "`count()`": instances.count(),
        "`sum_up(65535)`": instances.sum_up(65535),
        "`sum_vec(16, 255)`": instances.sum_vec(16, 255),
        "`sum_vec_with_multiproof(16, 255)`": instances.sum_vec_with_multiproof(16, 255),
        "`histogram(256)`": instances.histogram(256),
        "`multihot_count_vec(256, 4)`": instances.multihot_count_vec(256, 4),
        "`one_hot(256)`": instances.one_hot(256),
    }
    head = (
        "scheme",
        "proofs",
        "to the leader, bytes",
        "to the helper, bytes",
        "between them, bytes",
        "a cheat",
    )
    table("shares_schemes", head, [row(name, vdaf) for name, vdaf in made.items()])


if __name__ == "__main__":
    picture()
    sizes()
    schemes()
