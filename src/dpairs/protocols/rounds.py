"""Who is asked in which round: public coins, drawn so that every block of people splits alike.

Of each 64 consecutive indices of a stratum, ``share`` are asked in the first round and the others in the
second. Nobody is asked in both, and everybody can check it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from ..randomness.coins import WORDS_IN_BLOCK, Coins, Purpose, windows

if TYPE_CHECKING:
    from .base import Protocol

BLOCK = 64


def asked_in(
    protocol: Protocol, coins: Coins, stratum: int, first: int, count: int
) -> NDArray[np.bool_] | None:
    """What `Protocol.asked` says, refused unless it is None or a truth value of each of ``count`` indices."""
    asked: Any = protocol.asked(coins, stratum, first, count)
    if asked is None:
        return None
    if not isinstance(asked, np.ndarray) or asked.dtype != np.bool_ or asked.shape != (count,):
        raise BadParameter(
            f"round {protocol.round} of this {protocol.name} study has to say of each of {count} people "
            "whether they are asked (asked): an array of so many truth values, or None for everybody"
        )
    return asked


def asked_first(coins: Coins, stratum: int, first: int, count: int, share: int) -> NDArray[np.bool_]:
    """Whether each of ``count`` consecutive indices is asked in the first round.

    In a block, these are the ``share`` indices with the smallest public words.
    """
    start, end = first // BLOCK, -(-(first + count) // BLOCK)
    if end - start == 1:
        return _asked_of_block(coins, stratum, start, share)[first - start * BLOCK :][:count].copy()
    return _asked_of_blocks(coins, stratum, start, end, share)[first - start * BLOCK :][:count]


@lru_cache(maxsize=16)
def _asked_of_block(coins: Coins, stratum: int, block: int, share: int) -> NDArray[np.bool_]:
    """Kept: of one person it is asked before the report, in it, and when it is counted."""
    return _asked_of_blocks(coins, stratum, block, block + 1, share)


def _asked_of_blocks(coins: Coins, stratum: int, start: int, end: int, share: int) -> NDArray[np.bool_]:
    words_each = BLOCK // WORDS_IN_BLOCK
    words = coins.words(Purpose.ROUND, stratum, start * words_each, (end - start) * words_each)
    order = np.argsort(words.reshape(end - start, BLOCK), axis=1, kind="stable")
    asked = np.zeros((end - start, BLOCK), dtype=bool)
    np.put_along_axis(asked, order[:, :share], True, axis=1)
    return asked.reshape(-1)


def place_in_first(coins: Coins, stratum: int, index: int, share: int) -> int:
    """How many smaller indices are asked in the first round: a number without gaps for those who are."""
    start = index // BLOCK * BLOCK
    before = asked_first(coins, stratum, start, index - start, share) if index > start else np.zeros(0)
    return start // BLOCK * share + int(before.sum())


def places_in_first(
    coins: Coins, stratum: int, ascending: NDArray[np.int64], share: int
) -> NDArray[np.int64]:
    """`place_in_first` of many indices, all asked in the first round."""
    places = np.empty_like(ascending)
    for part, first, there in windows(ascending):
        asked = asked_first(coins, stratum, first, there.size, share)
        places[part] = place_in_first(coins, stratum, first, share) + (np.cumsum(asked) - 1)[there]
    return places
