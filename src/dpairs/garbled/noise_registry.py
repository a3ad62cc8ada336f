"""Which noise for a kernel: by name, from a study's file, or the one of least variance."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ..errors import BadFile, BadParameter
from ..formats.checks import choice, fields, required
from .kary import MAX_KARY, KaryNoise
from .laplace import MAX_RESOLUTION, LaplaceNoise
from .noise import BitNoise, Noise

NOISES: dict[str, type[BitNoise] | type[KaryNoise] | type[LaplaceNoise]] = {
    BitNoise.name: BitNoise,
    KaryNoise.name: KaryNoise,
    LaplaceNoise.name: LaplaceNoise,
}
"""Noise for pairs, by name."""


def noise(name: str, top: int, epsilon: float, precision: int | None = None) -> Noise:
    """The named noise for levels 0 .. top; 16 bits of precision for responses, 40 for Laplace.

    >>> noise("response", 1, 1.0).variance(0) == noise("kary", 1, 1.0).variance(0)
    True
    """
    kind = NOISES[choice("noise", name, NOISES)]
    return kind.for_epsilon(top, epsilon, kind.precision if precision is None else precision)


def noise_from_json(spec: Any) -> Noise:
    """Read noise back from its JSON form.

    >>> made = noise("laplace", 100, 1.0)
    >>> noise_from_json(made.to_json()) == made
    True
    """
    if not isinstance(spec, Mapping):
        raise BadFile(f"noise must be a JSON object, not {type(spec).__name__}")
    kind = NOISES[choice("noise", spec.get("name"), NOISES)]
    names = [each.name for each in dataclasses.fields(kind)]
    fields(f"noise {kind.name!r}", spec, ("name", *names))
    required(f"noise {kind.name!r}", spec, names)
    return kind(**{each: _read(each, spec[each]) for each in names})


def _read(name: str, value: Any) -> Any:
    """Thresholds and levels are decimal strings, for languages whose numbers end at 2^53."""
    if name == "thresholds":
        if not isinstance(value, list) or len(value) > MAX_RESOLUTION + 1:
            raise BadFile(f"noise field 'thresholds' must be a list of at most {MAX_RESOLUTION + 1} numbers")
        return tuple(_read("threshold", each) for each in value)
    wanted = int if name in ("precision", "shift") else str
    text = str(value) if isinstance(value, (int, str)) else ""
    if type(value) is not wanted or len(text) > 20 or not (text.isascii() and text.isdigit()):
        raise BadFile(f"noise field {name!r} must be a whole number below 2^64, not {value!r:.40}")
    return int(text)


@lru_cache(maxsize=64)
def candidates(top: int, epsilon: float) -> Mapping[str, Noise]:
    """Every noise that fits the kernel and the epsilon."""
    noises: dict[str, Noise] = {}
    for name in NOISES:
        if name == "kary" and not 2 <= top < MAX_KARY:  # for two levels it is the response itself
            continue
        try:
            noises[name] = noise(name, top, epsilon)
        except BadParameter:
            continue
    if not noises:
        raise BadParameter(f"no noise reaches epsilon {epsilon!r} for levels up to {top}")
    return MappingProxyType(noises)


def best_noise(top: int, epsilon: float, levels: Sequence[int] | None = None) -> Noise:
    """The noise of least variance, on average over ``levels``; in the worst case if none are given.

    One bit wins at small epsilon, where Laplace's tails cost more than rounding does; Laplace wins when
    epsilon is large, and k-ary response when there are few levels.

    >>> best_noise(2**32 - 1, 0.5).name, best_noise(2**32 - 1, 8.0).name
    ('response', 'laplace')
    """

    def cost(noise: Noise) -> float:
        if levels is not None:
            return sum(noise.variance(level) for level in levels) / len(levels)
        return max(noise.variance(level) for level in (0, top // 2, top))

    return min(candidates(top, epsilon).values(), key=cost)
