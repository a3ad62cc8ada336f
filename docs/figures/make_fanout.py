"""Which fan-out and which oracle suit the trees best? Makes docs/figures/tree_fanout.txt.

    python docs/figures/make_fanout.py

Each class has n people with scores in 0 .. 2^alpha - 1, evenly split over the levels of a tree of fan-out B.
Every oracle here is a subset oracle: of a level's N nodes a report names k, with the person's node among
them with probability p = k e^eps / (k e^eps + N - k), and any other node with q = (k - p) / (N - 1).

    one bit        k = N/2   one sign of a Hadamard row: what the tree protocol does
    response       k = 1     k-ary randomized response on the nodes
    optimal        k about N / (e^eps + 1): least variance of an empty node (subset selection, projective)
    several bits   k = N/m   m = 2^b signs of b rows; b makes the worse of an empty and a full node least

The split of people is simulated; the noise of their reports is Gaussian with the exact covariance of the
oracle (to 1/N above 64 nodes). The estimator is least squares over the levels, then pruning.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

PEOPLE, ALPHA, RUNS = 10**5, 12, 100
EPSILONS, FANOUTS = (1.0, 3.0, 5.0), (2, 4, 8, 16)
SHAPES = ("auc_one", "ithdigit", "normals", "ur")
ORACLES = ("one bit", "response", "optimal", "several bits")
PRUNING = 2.0


def chances(nodes: int, size: int, epsilon: float) -> tuple[float, float]:
    odds = np.exp(epsilon)
    own = size * odds / (size * odds + nodes - size)
    return own, (size - own) / (nodes - 1)


def variances(nodes: int, size: int, epsilon: float) -> tuple[float, float]:
    """Per report: of a node that holds everybody, and of an empty one."""
    own, other = chances(nodes, size, epsilon)
    return own * (1 - own) / (own - other) ** 2, other * (1 - other) / (own - other) ** 2


def subset_size(nodes: int, epsilon: float, oracle: str) -> int:
    if oracle == "one bit":
        return nodes // 2
    if oracle == "response":
        return 1
    if oracle == "optimal":
        near = int(nodes / (np.exp(epsilon) + 1))
        return min(
            (k for k in (near, near + 1) if 1 <= k < nodes), key=lambda k: variances(nodes, k, epsilon)[1]
        )
    return min(
        (nodes >> b for b in range(1, nodes.bit_length())), key=lambda k: max(variances(nodes, k, epsilon))
    )


def reports(counts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Noise of unit variance from the people's own nodes, and from the others; both sum to zero."""
    nodes = counts.size
    each = np.sqrt(counts) * rng.standard_normal(nodes)
    own = each - (each.sum() - each) / (nodes - 1)
    if nodes <= 64:
        draws = rng.standard_normal((nodes, nodes))
        np.fill_diagonal(draws, 0.0)
        draws -= draws.sum(1, keepdims=True) / (nodes - 1)
        np.fill_diagonal(draws, 0.0)
        return own, np.sqrt(counts) @ draws
    rest = counts.sum() - counts
    draws = np.sqrt(rest) * rng.standard_normal(nodes)
    return own, draws - rest / rest.sum() * draws.sum()


def measure(scores: np.ndarray, steps: list[int], rng: np.random.Generator) -> list[tuple[np.ndarray, ...]]:
    """For each level the counts and both noises, scaled from the level's people to everybody."""
    levels, depth = [], 0
    for step, part in zip(steps, np.array_split(scores, len(steps)), strict=True):
        depth += step
        counts = np.bincount(part >> (ALPHA - depth), minlength=1 << depth).astype(float)
        levels.append(tuple(each * (scores.size / part.size) for each in (counts, *reports(counts, rng))))
    return levels


def solve(levels: list, steps: list[int], epsilon: float, oracle: str) -> tuple[list, list]:
    """Least squares over the levels: estimates and variances of every level."""
    share = PEOPLE / len(steps)
    estimates, noise, depth = [], [], 0
    for step, (counts, own, others) in zip(steps, levels, strict=True):
        depth += step
        nodes = 1 << depth
        size = subset_size(nodes, epsilon, oracle)
        p, q = chances(nodes, size, epsilon)
        rest = (
            max(0.0, (q * (1 - q) - p * (1 - p) / (nodes - 1) ** 2) * (nodes - 1) / (nodes - 2))
            if nodes > 2
            else 0.0
        )
        estimates.append(counts + (np.sqrt(p * (1 - p)) * own + np.sqrt(rest) * others) / (p - q))
        full, empty = variances(nodes, size, epsilon)
        mean = (full + (nodes - 1) * empty) / (nodes - 1)
        noise.append(mean * PEOPLE**2 / share + PEOPLE / nodes * (PEOPLE / share - 1))
    sums, spread = list(estimates), list(noise)
    for level in range(len(steps) - 2, -1, -1):
        fan = 1 << steps[level + 1]
        below = fan * spread[level + 1]
        weight = below / (below + noise[level])
        sums[level] = weight * estimates[level] + (1 - weight) * sums[level + 1].reshape(-1, fan).sum(1)
        spread[level] = below * noise[level] / (below + noise[level])
    parent = np.array([float(PEOPLE)])
    for level, step in enumerate(steps):
        family = sums[level].reshape(-1, 1 << step)
        parent = (family + ((parent - family.sum(1)) / (1 << step))[:, None]).ravel()
        sums[level] = parent
    return sums, spread


def pruned_auc(positive: tuple[list, list], negative: tuple[list, list], steps: list[int]) -> float:
    total, nodes = 0.0, np.array([0])
    h, g = np.array([float(PEOPLE)]), np.array([float(PEOPLE)])
    for level in range(len(steps) + 1):
        keep = np.full(h.size, level < len(steps))
        if 0 < level < len(steps):
            v, w = PRUNING * positive[1][level - 1], PRUNING * negative[1][level - 1]
            keep = np.maximum(h, np.sqrt(v) / 2) * np.maximum(g, np.sqrt(w) / 2) >= np.sqrt(v * w)
        total += h[~keep] @ g[~keep] / 2
        if not keep.any():
            break
        fan = 1 << steps[level]
        above, below = (side[0][level].reshape(-1, fan)[nodes[keep]] for side in (positive, negative))
        total += (above * (np.cumsum(below, 1) - below)).sum()
        nodes = (nodes[keep][:, None] * fan + np.arange(fan)).ravel()
        h, g = above.ravel(), below.ravel()
    return total / PEOPLE**2


def population(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Both classes' scores and their AUC."""
    top = 2**ALPHA
    if name == "auc_one":
        classes = np.full(PEOPLE, top - 1), np.zeros(PEOPLE, int)
    elif name == "ithdigit":
        classes = np.full(PEOPLE, int(1e-4 * top)), np.zeros(PEOPLE, int)
    elif name == "ur":
        classes = rng.integers(0, top, PEOPLE), rng.integers(0, top, PEOPLE)
    else:
        draws = [np.clip(rng.normal(centre, 0.15, PEOPLE), 0, 1) for centre in (0.6, 0.4)]
        classes = tuple(np.minimum((each * top).astype(int), top - 1) for each in draws)
    h, g = (np.bincount(each, minlength=top).astype(float) for each in classes)
    return *classes, float(h @ (np.cumsum(g) - g / 2)) / PEOPLE**2


def steps_of(fanout: int) -> list[int]:
    bits = fanout.bit_length() - 1
    steps = [bits] * (ALPHA // bits)
    return [step + (place < ALPHA - bits * len(steps)) for place, step in enumerate(steps)]


def main() -> None:
    errors: dict[tuple, list[float]] = {}
    for shape in SHAPES:
        for run in range(RUNS):
            rng = np.random.default_rng([1, SHAPES.index(shape), run])
            above, below, truth = population(shape, rng)
            for fanout in FANOUTS:
                steps = steps_of(fanout)
                classes = [measure(each, steps, rng) for each in (above, below)]
                for epsilon in EPSILONS:
                    for oracle in ORACLES:
                        trees = [solve(each, steps, epsilon, oracle) for each in classes]
                        miss = abs(pruned_auc(*trees, steps) - truth)
                        errors.setdefault((shape, epsilon, fanout, oracle), []).append(miss)
        print(f"{shape} done", file=sys.stderr)
    mean = {key: float(np.mean(misses)) for key, misses in errors.items()}
    lines = ["| fan-out, oracle | " + " | ".join(f"eps {e:g}: {s}" for e in EPSILONS for s in SHAPES) + " |"]
    lines.append("| --- |" + " ---: |" * (len(EPSILONS) * len(SHAPES)))
    for fanout in FANOUTS:
        for oracle in ORACLES:
            cells = [mean[s, e, 2, "one bit"] / mean[s, e, fanout, oracle] for e in EPSILONS for s in SHAPES]
            lines.append(f"| {fanout}, {oracle} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    (Path(__file__).parent / "tree_fanout.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
