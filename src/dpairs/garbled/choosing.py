"""Which noise for a kernel: the one of least variance."""

from __future__ import annotations

from collections.abc import Sequence

from ..checks import choice
from ..errors import BadParameter
from .kary import MAX_KARY, KaryNoise
from .laplace import LaplaceNoise
from .noise import BitNoise, Noise

NAMES = ("response", "kary", "laplace")


def noise(name: str, top: int, epsilon: float, precision: int | None = None) -> Noise:
    """The named noise for levels 0 .. top; 16 bits of precision for responses, 40 for Laplace.

    >>> noise("response", 1, 1.0).variance(0) == noise("kary", 1, 1.0).variance(0)
    True
    """
    choice("noise", name, NAMES)
    if name == "laplace":
        return LaplaceNoise.for_epsilon(top, epsilon, precision or 40)
    kind = BitNoise if name == "response" else KaryNoise
    return kind.for_epsilon(top, epsilon, precision or 16)


def candidates(top: int, epsilon: float) -> dict[str, Noise]:
    """Every noise that fits the kernel and the epsilon."""
    found: dict[str, Noise] = {}
    for name in NAMES:
        if name == "kary" and not 2 <= top < MAX_KARY:  # for two levels it is the response itself
            continue
        try:
            found[name] = noise(name, top, epsilon)
        except BadParameter:
            continue
    if not found:
        raise BadParameter(f"no noise reaches epsilon {epsilon!r} for levels up to {top}")
    return found


def best_noise(top: int, epsilon: float, levels: Sequence[int] | None = None) -> Noise:
    """The noise of least variance, on average over ``levels``; in the worst case if none are given.

    One bit wins at small epsilon, where Laplace's tails cost more than rounding does; Laplace wins when
    epsilon is large, and k-ary response when there are few levels.

    >>> best_noise(2**32 - 1, 0.5).name, best_noise(2**32 - 1, 8.0).name
    ('response', 'laplace')
    """

    def cost(each: Noise) -> float:
        if levels is not None:
            return sum(each.variance(level) for level in levels) / len(levels)
        return max(each.variance(level) for level in (0, top // 2, top))

    return min(candidates(top, epsilon).values(), key=cost)
