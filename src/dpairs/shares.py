"""A report for two servers: a share for each, with a proof that both belong to a valid answer."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import BadFile, BadParameter, BadValue, WrongStudy
from .formats.canonical import canonical, parse
from .formats.checks import choice, fields, integer, required
from .protocols.sides import asks_sites, shared
from .protocols.sites.by_sites import MOST_RECORDS
from .protocols.sites.numbers import site_name
from .randomness import Randomness, SystemRandomness
from .report import MAX_INDEX, Report, check_first
from .sites import by_class
from .study import Study

if TYPE_CHECKING:
    from .vdaf.prio3 import Prio3

WIRE_VERSION = 1
SITE_SHARES = "dpairs-site-shares"
SERVERS = 2
NONCE = 16
_HEAD = struct.Struct(">B8sBQB")
"""Wire version, first 8 bytes of the study's id, number of the stratum, index, number of the server."""
_NAMES = ("study", "stratum", "index", "server", "nonce", "public", "share")


def context_of(study: Study, stratum: str, records: int = 1) -> bytes:
    """What binds shares and proofs to one study, one class and, of a site, the records that it declares.

    A site that declares another number to each server so fails by itself, and spoils nobody else's.
    """
    place = bytes([study.strata.index(stratum)])
    declared = records.to_bytes(8, "big") if shared(study).of_sites else b""
    return b"dpairs two_servers/" + bytes.fromhex(study.id) + place + declared


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
    records: int = 1
    """How many records it is of: what a site declares, which is what it weighs."""

    def __post_init__(self) -> None:
        """Refuse what the study cannot have produced."""
        choice("stratum", self.stratum, self.study.strata)
        integer("index", self.index, 0, MAX_INDEX)
        integer("server", self.server, 0, SERVERS - 1)
        vdaf = _vdaf(self.study, self.stratum, self.records)
        sizes = (
            (self.nonce, NONCE),
            (self.public, vdaf.public_size),
            (self.payload, vdaf.input_size(self.server)),
        )
        if any(len(part) != size for part, size in sizes):
            size = self.size(self.study, self.stratum, self.server, self.records)
            raise BadValue(f"a share for server {self.server} of this study has {size} bytes")

    @staticmethod
    def size(study: Study, stratum: str, server: int, records: int = 1) -> int:
        """Bytes of the wire form."""
        vdaf = _vdaf(study, stratum, records)
        return _HEAD.size + NONCE + vdaf.public_size + vdaf.input_size(server)

    def __bytes__(self) -> bytes:
        """The wire form; sites exchange files."""
        if shared(self.study).of_sites:
            raise BadParameter("a site's shares are files: see dpairs.shares.SiteShares")
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
        end = NONCE + _vdaf(study, study.strata[place], 1).public_size
        return cls(study, study.strata[place], index, server, rest[:NONCE], rest[NONCE:end], rest[end:])

    def to_json(self) -> dict[str, Any]:
        """The share as plain values, one line of a share file."""
        declared = {"records": self.records} if shared(self.study).of_sites else {}
        return {
            **declared,
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
        names = (*_NAMES, "records") if shared(study).of_sites else _NAMES
        fields("a share", spec, names)
        required("the share", spec, names)
        if spec["study"] != study.id:
            raise WrongStudy(
                f"this share belongs to study {str(spec['study'])[:16]}..., not to {study.id[:16]}..."
            )
        try:
            nonce, public, payload = (bytes.fromhex(spec[name]) for name in ("nonce", "public", "share"))
        except (TypeError, ValueError):
            raise BadValue("a share's nonce, public part and share are written in hexadecimal") from None
        who = (study, spec["stratum"], spec["index"], spec["server"])
        return cls(*who, nonce, public, payload, spec.get("records", 1))

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

    def __bytes__(self) -> bytes:
        """Both shares, one after the other: a form that nobody but the person may hold."""
        return b"".join(bytes(share) for share in self.shares)

    @property
    def messages(self) -> tuple[Share, Share]:
        return self.shares

    def to_json(self) -> dict[str, Any]:
        return {"shares": [share.to_json() for share in self.shares]}


def _vdaf(study: Study, stratum: str, records: Any) -> Prio3:
    """How an answer of so many records is shared: of one, unless sites answer."""
    protocol = shared(study)
    choice("stratum", stratum, study.strata)
    most = MOST_RECORDS if protocol.of_sites else 1
    return protocol.vdaf_of(stratum, integer("records", records, 1, most))


def share_report(
    study: Study, stratum: str, index: int, measurement: Any, bits: Randomness, records: int = 1
) -> SharedReport:
    """Split one measurement, with a proof that it is valid."""
    vdaf = _vdaf(study, stratum, records)
    drawn = bits.words((NONCE + vdaf.rand_size) // 8).astype("<u8").tobytes()
    nonce, rand = drawn[:NONCE], drawn[NONCE:]
    public, parts = vdaf.shard(context_of(study, stratum, records), measurement, nonce, rand)
    first, second = (
        Share(study, stratum, index, server, nonce, public, part, records)
        for server, part in enumerate(parts)
    )
    return SharedReport((first, second))


def share_site(study: Study, site: str, data: Any, bits: Randomness) -> list[SharedReport]:
    """A site's reports, one for each class of which it has records."""
    protocol, index = shared(study), site_index(site)
    reports = []
    for stratum, columns in by_class(study, data).items():
        if size := len(columns[0]):
            numbers = protocol.of_site(stratum, columns)
            reports.append(share_report(study, stratum, index, numbers, bits, size))
    return reports


def site_index(site: str) -> int:
    """A site's index follows from its name: of two that have the same, the servers take one."""
    return int.from_bytes(hashlib.sha256(b"dpairs site/" + site_name(site).encode()).digest()[:6], "big")


@dataclass(frozen=True, eq=False)
class SiteShares:
    """What leaves a site for two servers: shares of its numbers, and how many records of each class it has.

    >>> from dpairs import Interval
    >>> study = Study.create(
    ...     "auc", protocol="two_servers", answered_by="sites", epsilon=1.0, domain=Interval(0, 1), bins=4
    ... )
    >>> SiteShares.of(study, "north", {"score": [0.2, 0.9, 0.4], "label": [0, 1, 0]}).sizes
    {'positive': 1, 'negative': 2}
    """

    study: Study
    site: str
    shares: tuple[tuple[Share, ...], tuple[Share, ...]] = field(repr=False)
    """By server."""

    @classmethod
    def of(cls, study: Study, site: str, data: Any, *, bits: Randomness | None = None) -> SiteShares:
        """Fresh shares for all records of ``data``."""
        asks_sites(study)
        check_first(study)
        source = SystemRandomness() if bits is None else bits
        reports = share_site(study, site, data, source)
        first, second = (tuple(each.shares[server] for each in reports) for server in range(SERVERS))
        return cls(study, site_name(site), (first, second))

    @property
    def sizes(self) -> dict[str, int]:
        """The records of each class, which both servers learn."""
        known = {each.stratum: each.records for each in self.shares[0]}
        return {name: known.get(name, 0) for name in self.study.strata}

    def lines(self, server: int) -> bytes:
        """The share file for one server, and for nobody else."""
        return b"".join(canonical(each.to_json()).encode() + b"\n" for each in self.shares[server])

    def __bytes__(self) -> bytes:
        """Both files' shares, for the site's own folder."""
        head = {"format": SITE_SHARES, "version": WIRE_VERSION, "study": self.study.id, "site": self.site}
        return canonical(
            {**head, "shares": [[one.to_json() for one in each] for each in self.shares]}
        ).encode()

    @classmethod
    def from_bytes(cls, wire: bytes | str, study: Study) -> SiteShares:
        """Read what a site's folder keeps."""
        spec = parse(wire, "the site's shares")
        if spec.get("format") != SITE_SHARES or spec.get("version") != WIRE_VERSION:
            raise BadFile(f"these are not a site's shares of version {WIRE_VERSION}")
        given = spec.get("shares")
        if not isinstance(given, list) or not all(isinstance(each, list) for each in given):
            raise BadFile("a site's shares are two lists, one for each server")
        read = [tuple(Share.from_json(one, study) for one in each) for each in given]
        if [{one.server for one in each} - {place} for place, each in enumerate(read)] != [set(), set()]:
            raise BadFile("a site's shares are two lists, one for each server")
        shares = cls(study, site_name(spec.get("site")), (read[0], read[1]))
        if canonical(spec) != bytes(shares).decode():
            raise BadFile("the site's shares do not have the form of shares")
        return shares
