"""A report for two servers: a share for each, with a proof that both belong to a valid answer."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import BadParameter, BadValue, WrongStudy
from .formats.checks import choice, fields, integer, required
from .randomness import Randomness
from .release import shared
from .report import MAX_INDEX, Report
from .study import Study

WIRE_VERSION = 1
SERVERS = 2
NONCE = 16
_HEAD = struct.Struct(">B8sBQB")
"""Wire version, first 8 bytes of the study's id, number of the stratum, index, number of the server."""
_NAMES = ("study", "stratum", "index", "server", "nonce", "public", "share")


def context_of(study: Study, stratum: str) -> bytes:
    """What binds shares and proofs to one study and one class."""
    return b"dpairs two_servers/" + bytes.fromhex(study.id) + bytes([study.strata.index(stratum)])


@dataclass(frozen=True)
class Share:
    """What one server gets of one report."""

    study: Study = field(repr=False)
    stratum: str
    index: int
    server: int
    nonce: bytes
    """The report's name, the same in both shares."""
    public: bytes = field(repr=False)
    """The same in both shares."""
    payload: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse what the study cannot have produced."""
        choice("stratum", self.stratum, self.study.strata)
        integer("index", self.index, 0, MAX_INDEX)
        integer("server", self.server, 0, SERVERS - 1)
        vdaf = shared(self.study).vdaf[self.stratum]
        sizes = (
            (self.nonce, NONCE),
            (self.public, vdaf.public_size),
            (self.payload, vdaf.input_size(self.server)),
        )
        if any(len(part) != size for part, size in sizes):
            size = self.size(self.study, self.stratum, self.server)
            raise BadValue(f"a share for server {self.server} of this study has {size} bytes")

    @staticmethod
    def size(study: Study, stratum: str, server: int) -> int:
        """Bytes of the wire form."""
        vdaf = shared(study).vdaf[stratum]
        return _HEAD.size + NONCE + vdaf.public_size + vdaf.input_size(server)

    def __bytes__(self) -> bytes:
        """The wire form."""
        place = self.study.strata.index(self.stratum)
        head = _HEAD.pack(WIRE_VERSION, bytes.fromhex(self.study.id)[:8], place, self.index, self.server)
        return head + self.nonce + self.public + self.payload

    @classmethod
    def from_bytes(cls, wire: bytes, study: Study) -> Share:
        """Read a share of ``study``; refuse another study's, a truncated one, and trailing bytes."""
        if len(wire) < _HEAD.size:
            raise BadValue(f"a share has at least {_HEAD.size} bytes, not {len(wire)}")
        version, name, place, index, server = _HEAD.unpack_from(wire)
        if version != WIRE_VERSION:
            raise BadValue(f"this share has version {version}; this program knows version {WIRE_VERSION}")
        if name != bytes.fromhex(study.id)[:8]:
            raise WrongStudy(f"this share belongs to study {name.hex()}..., not to {study.id[:16]}...")
        if place >= len(study.strata) or server >= SERVERS:
            raise BadValue(f"this share names stratum {place} for server {server}, which does not exist")
        size = cls.size(study, study.strata[place], server)
        if len(wire) != size:
            raise BadValue(f"a share for server {server} of this study has {size} bytes, not {len(wire)}")
        rest = wire[_HEAD.size :]
        end = NONCE + shared(study).vdaf[study.strata[place]].public_size
        return cls(study, study.strata[place], index, server, rest[:NONCE], rest[NONCE:end], rest[end:])

    def to_json(self) -> dict[str, Any]:
        """The share as plain values, one line of a share file."""
        return {
            "study": self.study.id,
            "stratum": self.stratum,
            "index": self.index,
            "server": self.server,
            "nonce": self.nonce.hex(),
            "public": self.public.hex(),
            "share": self.payload.hex(),
        }

    @classmethod
    def from_json(cls, spec: Mapping[str, Any], study: Study) -> Share:
        """Read a share of ``study`` from plain values."""
        fields("a share", spec, _NAMES)
        required("the share", spec, _NAMES)
        if spec["study"] != study.id:
            raise WrongStudy(
                f"this share belongs to study {str(spec['study'])[:16]}..., not to {study.id[:16]}..."
            )
        try:
            nonce, public, payload = (bytes.fromhex(spec[name]) for name in ("nonce", "public", "share"))
        except (TypeError, ValueError):
            raise BadValue("a share's nonce, public part and share are written in hexadecimal") from None
        return cls(study, spec["stratum"], spec["index"], spec["server"], nonce, public, payload)

    @property
    def checksum(self) -> bytes:
        """SHA-256 of the report's name."""
        return hashlib.sha256(self.nonce).digest()


class SharedReport(Report):
    """What leaves a person's device: one share for each server, and nothing for anybody else."""

    shares: tuple[Share, Share]

    def __init__(self, shares: tuple[Share, Share]) -> None:
        first = shares[0]
        named = {"study": first.study, "stratum": first.stratum, "index": first.index, "shares": shares}
        for name, value in named.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"SharedReport(stratum={self.stratum!r}, index={self.index})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedReport) and other.shares == self.shares

    def __hash__(self) -> int:
        return hash(self.shares)

    @property
    def symbol(self) -> int:
        """There is none: a server adds its share up once both servers have verified it."""
        raise BadParameter(
            "a report in shares has no symbol: each server adds up its own share, see dpairs server"
        )

    def __bytes__(self) -> bytes:
        """Both shares, one after the other: a form that nobody but the person may hold."""
        return b"".join(bytes(share) for share in self.shares)

    def to_json(self) -> dict[str, Any]:
        return {"shares": [share.to_json() for share in self.shares]}


def share_report(study: Study, stratum: str, index: int, measurement: int, bits: Randomness) -> SharedReport:
    """Split one measurement, with a proof that it is valid."""
    vdaf = shared(study).vdaf[stratum]
    drawn = bits.words((NONCE + vdaf.rand_size) // 8).astype("<u8").tobytes()
    nonce, rand = drawn[:NONCE], drawn[NONCE:]
    public, parts = vdaf.shard(context_of(study, stratum), measurement, nonce, rand)
    first, second = (
        Share(study, stratum, index, server, nonce, public, part) for server, part in enumerate(parts)
    )
    return SharedReport((first, second))
