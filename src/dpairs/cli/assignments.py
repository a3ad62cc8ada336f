"""Flags that are given as NAME=VALUE, once for each name."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import BadParameter


def assignments(flag: str, value: str, texts: Iterable[str] | None) -> dict[str, str]:
    """What each name was given; ``value`` says what stands behind the equals sign.

    >>> assignments("--column", "COLUMN", ["score=p_hat", "label=died"])
    {'score': 'p_hat', 'label': 'died'}
    """
    given: dict[str, str] = {}
    for text in texts or ():
        name, _, content = text.partition("=")
        if not name.isidentifier() or not content or name in given:
            raise BadParameter(f"{flag} is NAME={value}, and each name is given once, not {text!r}")
        given[name] = content
    return given
