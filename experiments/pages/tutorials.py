"""The pictures of the tutorials, each drawn from what its page computes."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
import tempfile
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from numpy.typing import NDArray

import dpairs
from dpairs.garbled.session import PairDecoder
from dpairs.protocols.projection.pilot import PublicNoise
from dpairs.randomness import SeededRandomness

from ..exhibits import FIGURES, picture
from ..style import BLACK, BLUE, GREEN, ORANGE, SKY, VERMILION

BLOCK = re.compile(r"^```(python|console)[^\n]*\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
STUDY = re.compile(r"^\$ dpairs (study create (?:[^\n]*\\\n)*[^\n]*)\n", re.MULTILINE)


def followed(name: str) -> dict[str, Any]:
    """The names that a tutorial's Python leaves behind, with the studies that its commands make."""
    names: dict[str, Any] = {"__name__": "__page__"}
    text = (FIGURES.parent / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        for language, code in BLOCK.findall(text):
            if language == "python":
                exec(compile(code, name, "exec"), names)
                continue
            for command in STUDY.findall(code):
                words = shlex.split(command.replace("\\\n", " "))
                command_line = [sys.executable, "-m", "dpairs", *words]
                subprocess.run(command_line, check=True, stdout=subprocess.DEVNULL)
    return names


def root_mean_square(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


# ---------------------------------------------------------------- auc


@picture("tutorial_auc")
def auc() -> Any:
    """The scores of both classes, and forty studies of them."""
    page = followed("auc-on-phones")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.5), layout="constrained")
    edges = np.linspace(0, 1, 41)
    for stratum, words, colour in (("negative", "stayed", BLUE), ("positive", "cancelled", ORANGE)):
        left.hist(page["scores"][stratum], edges, color=colour, alpha=0.75, label=words)
    left.set(xlabel="score, on the phone", ylabel="phones", title="what stays on the phones")
    left.legend()
    exact = page["exact"]
    for place, run in enumerate(page["runs"][:40]):
        low, high = run.confidence_interval(0.95, target="sample")
        colour = BLUE if low <= exact <= high else VERMILION
        right.plot([low, high], [place, place], color=colour, lw=1.6)
        right.plot(run.value, place, "o" if colour == BLUE else "D", color=colour, ms=3.5)
    right.axvline(exact, color=BLACK, ls="--", lw=1.2)
    right.text(exact + 0.002, 41.5, f"exact {exact:.3f}", fontsize=8.5)
    right.set(
        xlabel="AUC, with 95% interval", ylabel="study", ylim=(-1, 44), title="forty studies of these phones"
    )
    return figure


# ---------------------------------------------------------------- salary


@picture("tutorial_salary")
def salary() -> Any:
    """The first round's picture, the number that it gives each answer, and who is asked when."""
    page = followed("salary-and-happiness")
    first, last = page["first"], page["second"].protocol
    figure, (shares, numbers, rounds) = plt.subplots(
        1, 3, figsize=(10.6, 3.5), layout="constrained", width_ratios=[1, 1, 1.05]
    )
    bands, smileys = np.arange(1, 7), np.arange(1, 6)
    counts = {"everybody": page["pilot"].counts("everybody")}
    pilot = first.protocol.pilot.pilot(counts, PublicNoise(first.coins))
    masses = pilot.masses["everybody"].reshape(6, 5)
    pairs = tuple(each.reshape(-1) for each in np.meshgrid(bands, smileys, indexing="ij"))
    influence = last.influences["everybody"]
    scaled = influence(pairs, ("x", "y")).reshape(6, 5)
    low, high = last.analysis.ranges["everybody"]
    heights = (low + (high - low) * scaled) / 2  # a pair counts for both of its people
    top = np.abs(heights).max()
    for panel, values, style, title in (
        (shares, 100 * masses, {"cmap": "cividis"}, "first round: % of members"),
        (numbers, heights, {"cmap": "PuOr_r", "vmin": -top, "vmax": top}, "the number of each answer"),
    ):
        shade = panel.imshow(values.T, origin="lower", extent=(0.5, 6.5, 0.5, 5.5), **style)
        figure.colorbar(shade, ax=panel, shrink=0.8)
        panel.set(xlabel="salary band", ylabel="happiness", title=title, xticks=bands, yticks=smileys)
        panel.grid(visible=False)
    asked = np.array([first.asks("everybody", index) for index in range(128)]).reshape(8, 16)
    rounds.imshow(asked, cmap=ListedColormap([SKY, ORANGE]), vmin=0, vmax=1)
    for index, is_first in enumerate(asked.reshape(-1)):
        rounds.text(index % 16, index // 16, "1" if is_first else "2", ha="center", va="center", fontsize=7)
    rounds.set(title="128 members, by round", xticks=[], yticks=[])
    rounds.grid(visible=False)
    return figure


# ---------------------------------------------------------------- pairs


@picture("tutorial_pairs")
def pairs() -> Any:
    """What a symbol says about the truth, and the estimate as pairs come in."""
    page = followed("two-people-one-circuit")
    study, protocol = page["study"], page["protocol"]
    figure, (chances, growth) = plt.subplots(
        1, 2, figsize=(9.6, 3.4), layout="constrained", width_ratios=[1, 1.8]
    )
    table = np.array([[float(p) for p in protocol.noise.pmf(level)] for level in range(3)])
    chances.imshow(table, cmap="Blues", vmin=0, vmax=1)
    for (row, column), chance in np.ndenumerate(table):
        colour = "white" if chance > 0.5 else BLACK
        chances.text(column, row, f"{chance:.0%}", ha="center", va="center", color=colour)
    names = ["-1", "0", "+1"]
    chances.set(xlabel="what comes out", ylabel="the truth", title="one pair, epsilon 2")
    chances.set_xticks(range(3), names)
    chances.set_yticks(range(3), names)
    chances.grid(visible=False)
    tally = dpairs.Tally(study)
    rows: list[tuple[float, ...]] = []
    messages = zip(page["pairs"].numbers, page["meetings"], page["tables"], page["labels"], strict=True)
    for number, (pair, *_), garblers, evaluators in messages:
        symbol = PairDecoder(protocol.function, pair).decode(garblers, evaluators)
        tally.add(dpairs.Report(study, "pairs", int(number), symbol))
        if tally.n >= 10 and tally.n % 5 == 0:
            estimate = tally.estimate()
            rows.append((tally.n, estimate.value, *estimate.confidence_interval(0.95)))
    n, value, low, high = np.array(rows).T
    growth.fill_between(n, low, high, color=SKY, alpha=0.4, lw=0, label="95% interval")
    growth.plot(n, value, color=BLUE, label="estimate")
    exact = dpairs.exact("kendall_tau", {"x": page["way"], "y": page["sleep"]})
    growth.axhline(exact, color=BLACK, ls="--", lw=1.2, label="exact, all 600 people")
    growth.axhline(0, color=BLACK, lw=0.8)
    growth.set(xlabel="pairs decoded", ylabel="Kendall's tau", title="real circuits, one pair after another")
    growth.legend(loc="lower right")
    return figure


# ---------------------------------------------------------------- gini


@picture("tutorial_gini")
def gini() -> Any:
    """Incomes with the end of the scale, and what clipping, rounding and noise do for several ends."""
    page = followed("inequality-without-incomes")
    income, truth = page["income"], page["truth"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.5), layout="constrained")
    left.hist(income, np.geomspace(3, 1000, 60), color=SKY)
    left.axvline(150, color=VERMILION, ls="--", lw=1.4)
    left.text(165, 900, "end of\nthe scale", color=VERMILION, va="center", fontsize=9)
    left.set(
        xscale="log", yscale="log", ylim=(0.7, None), xlabel="income, thousands a year", ylabel="households"
    )
    left.set_xticks([5, 10, 30, 100, 300, 1000], ["5", "10", "30", "100", "300", "1,000"])
    left.set_title("what no household says")
    tops = np.array([60, 80, 100, 125, 150, 200, 250, 320, 400, 550])  # 32 bins are too few for 800
    rows = [_three_errors(income, truth, float(top)) for top in tops]
    parts = (
        ("clipping", "o", ORANGE),
        ("rounding, 32 bins", "s", GREEN),
        ("noise", "^", BLUE),
        ("whole", "D", BLACK),
    )
    for (words, marker, colour), values in zip(parts, np.array(rows).T, strict=True):
        style = {"lw": 2.2} if words == "whole" else {"lw": 1.2}
        right.plot(tops, values, color=colour, marker=marker, ms=4, label=words, **style)
    right.set(xscale="log", yscale="log", xlabel="end of the scale, thousands a year", ylabel="error")
    right.set_xticks([60, 100, 150, 250, 400], ["60", "100", "150", "250", "400"])
    right.minorticks_off()
    right.set(title="error of the Gini coefficient, epsilon 2", ylim=(1e-4, 0.5))
    right.legend(fontsize=8.5, loc="upper center", ncols=2)
    return figure


def _three_errors(income: NDArray[np.float64], truth: float, top: float) -> tuple[float, float, float, float]:
    """Clipping and rounding alone, the noise around them, and all together, of 40 runs."""
    clipped = {"value": np.minimum(income, top)}

    def values(epsilon: float, runs: int) -> NDArray[np.float64]:
        study = dpairs.Study.create(
            "gini_coefficient", epsilon=epsilon, domain=dpairs.Interval(0, top), bins=32, seed=1
        )
        return np.array([dpairs.simulate(study, clipped, seed=run).value for run in range(runs)])

    exact, quiet, loud = dpairs.exact("gini_coefficient", clipped), values(30.0, 1)[0], values(2.0, 40)
    return (
        abs(exact - truth),
        abs(quiet - exact),
        root_mean_square(loud - quiet),
        root_mean_square(loud - truth),
    )


# ---------------------------------------------------------------- kernel


@picture("tutorial_kernel")
def kernel() -> Any:
    """A function of two people, its table, and what three protocols make of it."""
    page = followed("your-own-kernel")
    rides, leave, exact = page["rides"], page["leave"], page["exact"]
    figure, (one, table, studies) = plt.subplots(1, 3, figsize=(10.8, 3.4), layout="constrained")
    hours = np.linspace(6, 10, 801)
    one.plot(hours, page["fit"](8.0, hours), color=BLUE, lw=2)
    one.set(xlabel="the other leaves at", ylabel="fit", title="one leaves at eight", xticks=range(6, 11))
    coarse: Any = dpairs.Study.create(rides, epsilon=2.0, bins=16, seed=1).statistic
    shade = table.imshow(coarse.matrix, origin="lower", extent=(6, 10, 6, 10), cmap="cividis")
    figure.colorbar(shade, ax=table, shrink=0.8)
    table.set(xlabel="one leaves at", ylabel="the other", title="table of 16 bins", xticks=range(6, 11))
    table.grid(visible=False)
    kinds = (("histogram", {"bins": 32}), ("projection", {"n": leave.size}), ("pairwise", {"bins": 32}))
    for place, ((protocol, options), colour) in enumerate(zip(kinds, (ORANGE, BLUE, GREEN), strict=True)):
        study = dpairs.Study.create(rides, protocol=protocol, epsilon=2.0, seed=1, **options)
        values = [dpairs.simulate(study, {"value": leave}, seed=run).value for run in range(20)]
        studies.plot(place + np.linspace(-0.25, 0.25, 20), values, "o", color=colour, ms=4)
    studies.axhline(exact, color=BLACK, ls="--", lw=1.2)
    studies.set_xticks(range(3), [name for name, _ in kinds])
    studies.set(ylabel="estimate", title="twenty studies each, epsilon 2")
    return figure


# ---------------------------------------------------------------- audit


@picture("tutorial_audit")
def audit() -> Any:
    """What a good and a broken device send, and what audits of them find."""
    page = followed("auditing-a-mechanism")
    figure, panels = plt.subplot_mosaic(
        [["good", "bounds"], ["two_answers", "bounds"]],
        figsize=(9.6, 3.9),
        layout="constrained",
        width_ratios=[1, 1.6],
    )
    for name, words in (("good", "good"), ("two_answers", "broken: formula for two answers")):
        table = page["table"] if name == "good" else page["broken"][name]
        for place, colour in ((0, BLUE), (1, ORANGE)):
            heights = [float(p) for p in table[place]]
            panels[name].bar(
                np.arange(4) + 0.4 * place - 0.2, heights, 0.4, color=colour, label=f"answer {place}"
            )
        panels[name].set(ylim=(0, 0.8), ylabel="probability", title=words, xticks=range(4))
        panels[name].grid(visible=False, axis="x")
    panels["good"].legend(fontsize=8.5)
    panels["two_answers"].set_xlabel("symbol")
    times = np.array([100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000])
    bits = SeededRandomness(2)
    for name, words, colour, marker in (
        ("two_answers", "broken", VERMILION, "D"),
        ("good", "good", BLUE, "o"),
    ):
        device = page["devices"][name]
        bounds = np.array(
            [[page["lower_bound"](device, count, bits) for _ in range(200)] for count in times.tolist()]
        )
        low, middle, high = np.quantile(bounds, [0.05, 0.5, 0.95], axis=1)
        panels["bounds"].fill_between(times, low, high, color=colour, alpha=0.2, lw=0)
        panels["bounds"].plot(times, middle, color=colour, marker=marker, ms=4, label=words)
    panels["bounds"].axhline(page["epsilon"], color=BLACK, ls="--", lw=1.2, label="epsilon as claimed")
    panels["bounds"].set(
        xscale="log",
        xlabel="times that each answer was asked",
        ylabel="epsilon is at least",
        title="audits by sampling, 95% confidence",
    )
    panels["bounds"].legend()
    return figure
