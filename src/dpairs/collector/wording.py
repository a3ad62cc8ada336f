"""Texts that others read on a page: everything in them can be seen, in the order in which it is written.

Pages show texts as texts, so markup does no harm. A mark that turns the direction of writing does: it turns
what the page itself says around it, such as what is promised.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from ..errors import BadParameter

SPACES = "\t\n\r"
TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Letters of one direction need none of these; joiners within words and emoji are others."""


def check_words(name: str, given: Any) -> None:
    """Refuse letters that nobody sees and that change what others see, in any text of a JSON value."""
    for place, text in _texts(name, given):
        for letter in text:
            if letter in TURNS or (unicodedata.category(letter) == "Cc" and letter not in SPACES):
                raise BadParameter(
                    f"{place} holds U+{ord(letter):04X}: a control character, or a mark that turns the "
                    "direction of what is written around it"
                )


def check_title(title: str) -> None:
    """Refuse one that nobody could see or click on."""
    if not any(unicodedata.category(letter)[0] in "LNPS" for letter in title):
        raise BadParameter("title must have a letter that can be seen")


def _texts(place: str, given: Any) -> Iterator[tuple[str, str]]:
    if isinstance(given, str):
        yield place, given
    elif isinstance(given, dict):
        for key, value in given.items():
            yield f"a name in {place}", str(key)
            yield from _texts(f"{place}.{key}", value)
    elif isinstance(given, list):
        for value in given:
            yield from _texts(place, value)
