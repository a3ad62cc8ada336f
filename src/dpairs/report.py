"""A report: one person's symbol, and its bytes on the wire."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import BadParameter, BadValue, NotAsked, WrongStudy
from .formats.checks import choice, fields, integer, required
from .protocols.sides import of_symbols
from .study import Study

WIRE_VERSION = 1
MAX_INDEX = 2**53 - 1
"""The largest index: a whole number that every language holds exactly."""
_HEAD = struct.Struct(">B8sBQ")
"""Wire version, first 8 bytes of the study's id, number of the stratum, index."""


@dataclass(frozen=True)
class Report:
    """What leaves a person's device: which study and stratum, which participant, which symbol."""

    study: Study = field(repr=False)
    stratum: str
    index: int
    symbol: int

    def __post_init__(self) -> None:
        """Refuse what the study cannot have produced."""
        choice("stratum", self.stratum, self.study.strata)
        object.__setattr__(self, "index", integer("index", self.index, 0, MAX_INDEX))
        symbol = integer("symbol", self.symbol, 0, of_symbols(self.study).symbols - 1)
        object.__setattr__(self, "symbol", symbol)
        check_asked(self.study, self.stratum, self.index)

    def __bytes__(self) -> bytes:
        """The wire form: 18 bytes of head and as few bytes as the study's symbols need."""
        head = _HEAD.pack(
            WIRE_VERSION,
            bytes.fromhex(self.study.id)[:8],
            self.study.strata.index(self.stratum),
            self.index,
        )
        return head + self.symbol.to_bytes(_symbol_size(self.study), "big")

    @classmethod
    def from_bytes(cls, wire: bytes, study: Study) -> Report:
        """Read a report of ``study``; refuse another study's, a truncated one, and trailing bytes."""
        size = _HEAD.size + _symbol_size(study)
        if len(wire) != size:
            raise BadValue(f"a report of this study has {size} bytes, not {len(wire)}")
        version, name, stratum, index = _HEAD.unpack_from(wire)
        if version != WIRE_VERSION:
            raise BadValue(f"this report has version {version}; this program knows version {WIRE_VERSION}")
        if name != bytes.fromhex(study.id)[:8]:
            raise WrongStudy(f"this report belongs to study {name.hex()}..., not to {study.id[:16]}...")
        if stratum >= len(study.strata):
            raise BadValue(f"this report names stratum {stratum}; the study has {len(study.strata)}")
        return cls(study, study.strata[stratum], index, int.from_bytes(wire[_HEAD.size :], "big"))

    @property
    def messages(self) -> tuple[Any, ...]:
        """What is sent, to the collector or to each server: each has bytes and `to_json`."""
        return (self,)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values, one line of a report file."""
        return {"study": self.study.id, "stratum": self.stratum, "index": self.index, "symbol": self.symbol}

    @classmethod
    def from_json(cls, spec: Mapping[str, Any], study: Study) -> Report:
        """Read a report of ``study`` from plain values."""
        names = ("study", "stratum", "index", "symbol")
        fields("a report", spec, names)
        required("the report", spec, names)
        if spec["study"] != study.id:
            raise WrongStudy(
                f"this report belongs to study {str(spec['study'])[:16]}..., not to {study.id[:16]}..."
            )
        return cls(study, spec["stratum"], spec["index"], spec["symbol"])


def check_study(given: object) -> None:
    """Refuse a name, a path or a plan where a study is meant."""
    if not isinstance(given, Study):
        kind = repr(given) if isinstance(given, str) and len(given) < 60 else f"a {type(given).__name__}"
        raise BadParameter(f"a study is made by Study.create(...) or plan(...).begin(); this is {kind}")


def check_first(study: Study) -> None:
    """Refuse a second round that nobody could hold against its first."""
    if study.protocol.round > 1 and study.first is None:
        raise BadParameter(
            "this is a second round, and its first round is missing: read it with its first, "
            "Study.from_json(text, first=study)"
        )


def check_asked(study: Study, stratum: str, index: int) -> None:
    """Refuse a participant who acts in another round, or whom both rounds ask."""
    if not study.asks(stratum, index):
        raise NotAsked(
            f"participant {index} of {stratum!r} is not asked in this round of study {study.id[:16]}...: "
            "in a study of two rounds, each person answers in one"
        )
    if study.first is not None and not study.protocol.asks_again and study.first.asks(stratum, index):
        raise WrongStudy(
            f"participant {index} of {stratum!r} is asked in the first round, too: study {study.id[:16]}... "
            "may ask only those whom its first does not"
        )


def _symbol_size(study: Study) -> int:
    return max(1, ((of_symbols(study).symbols - 1).bit_length() + 7) // 8)
