"""Checks of arguments, each ending in one sentence that says what is allowed."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import BadFile, BadMessage, BadParameter, TrailingBytes, WrongStudy


def real(name: str, value: Any) -> float:
    """Return ``value`` as a finite float, or say that ``name`` must be one."""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadParameter(f"{name} must be a finite number, not {value!r}") from None
    if not math.isfinite(number):
        raise BadParameter(f"{name} must be a finite number, not {value!r}")
    return number


def positive(name: str, value: Any) -> float:
    """Return ``value`` as a finite float above zero."""
    number = real(name, value)
    if number <= 0:
        raise BadParameter(f"{name} must be above 0, not {value!r}")
    return number


def below_one(name: str, value: Any) -> float:
    """Return ``value`` as a float from 0 up to, and without, 1: a probability that is not certainty."""
    number = real(name, value)
    if not 0 <= number < 1:
        raise BadParameter(f"{name} must be at least 0 and below 1, not {value!r}")
    return number


def integer(name: str, value: Any, low: int, high: int) -> int:
    """Return ``value`` as an int in ``low..high`` (both allowed)."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
        if not low <= number <= high:
            raise TypeError
    except TypeError:
        raise BadParameter(
            f"{name} must be a whole number from {_shown(low)} to {_shown(high)}, not {value!r}"
        ) from None
    return number


def _shown(bound: int) -> str:
    """A bound as people read it.

    >>> _shown(4096), _shown(2**62), _shown(2**128 - 1), _shown(-(2**63))
    ('4096', '2^62', '2^128 - 1', '-2^63')
    """
    if abs(bound) <= 2**40:
        return str(bound)
    if bound < 0:
        return f"-{_shown(-bound)}"
    power = (bound + 1).bit_length() - 1
    return {2**power: f"2^{power}", 2**power - 1: f"2^{power} - 1"}.get(bound, str(bound))


def boolean(name: str, value: Any) -> bool:
    """Return ``value`` if it is True or False, and nothing that only counts as one of them."""
    if type(value) is not bool:
        raise BadParameter(f"{name} must be True or False, not {value!r}")
    return value


def text(name: str, value: Any) -> str:
    """Return ``value`` if it is a string that can be written down."""
    try:
        if not isinstance(value, str):
            raise TypeError
        value.encode()
    except (TypeError, UnicodeEncodeError):
        raise BadParameter(f"{name} must be a text of valid characters, not {value!r}") from None
    return str(value)


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``allowed``."""
    names = sorted(allowed)
    if not isinstance(value, str) or value not in names:
        raise BadParameter(
            f"{name} must be one of {', '.join(map(repr, names))}, not {value!r}{did_you_mean(value, names)}"
        )
    return value


def did_you_mean(value: Any, names: Iterable[str]) -> str:
    """The name that was probably meant, as the end of a sentence; nothing where no name is near.

    >>> did_you_mean("roc_auc", ["auc", "variance"])
    "; did you mean 'auc'?"
    """
    if not isinstance(value, str) or len(value) > 64:
        return ""
    small, known = value.lower(), {name.lower(): name for name in reversed(list(names))}
    near = [name for name in known if len(name) > 2 and (name in small or (len(small) > 2 and small in name))]
    near = difflib.get_close_matches(small, near or known, 1, 0.0 if near else 0.75)
    return f"; did you mean {known[near[0]]!r}?" if near else ""


def fields(what: str, given: Mapping[str, Any], allowed: Iterable[str]) -> None:
    """Refuse keys of ``given`` that ``what`` does not know."""
    known = sorted(allowed)
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise BadParameter(
            f"{what} has no option {', '.join(map(repr, unknown))}; "
            f"it takes {', '.join(known) if known else 'none'}{did_you_mean(unknown[0], known)}"
        )


def head(
    name: str,
    given: Mapping[str, Any],
    form: tuple[str, int],
    names: Iterable[str],
    study_id: str | None = None,
) -> None:
    """Refuse a file's object of another format, version or study, or without exactly these ``names``."""
    kind, version = form
    if given.get("format") != kind or given.get("version") != version:
        raise BadFile(
            f"this is not {'an' if name[0] in 'aeiou' else 'a'} {name} of version {version}: "
            f"its format is {given.get('format')!r:.80}, not {kind!r}"
        )
    required(f"the {name}", given, names)
    fields(f"the {name}", given, names)
    if study_id is not None and given["study"] != study_id:
        raise WrongStudy(
            f"this {name} belongs to study {str(given['study'])[:16]}..., not to {study_id[:16]}..."
        )


def unaltered(what: str, as_written: bool) -> None:
    """Refuse a file that we would have written otherwise."""
    if not as_written:
        raise BadFile(f"{what} is damaged: a field is missing, or is not what it should be")


def required(what: str, given: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse a file's object that lacks one of ``names``."""
    missing = [name for name in names if name not in given]
    if missing:
        raise BadFile(f"{what} lacks {', '.join(map(repr, missing))}")


def exact_size(wire: bytes, size: int, what: str) -> None:
    """Refuse what is not bytes, or not so many."""
    if not isinstance(wire, bytes):
        raise BadMessage(f"{what} must be bytes, not {type(wire).__name__}")
    if len(wire) > size:
        raise TrailingBytes(f"{what} has {size} bytes; {len(wire) - size} more follow")
    if len(wire) < size:
        raise BadMessage(f"{what} has {size} bytes, not {len(wire)}")
