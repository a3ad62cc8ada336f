"""Messages of the upload (section 4.4): keys of servers, reports, and why a report was not taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from ..errors import BadMessage
from .presentation import Reader, number, opaque, whole

REPORT_ID = 16


class ReportError(IntEnum):
    """Why one report was refused."""

    RESERVED = 0
    BATCH_COLLECTED = 1
    REPORT_REPLAYED = 2
    REPORT_DROPPED = 3
    HPKE_UNKNOWN_CONFIG_ID = 4
    HPKE_DECRYPT_ERROR = 5
    VDAF_VERIFY_ERROR = 6
    TASK_EXPIRED = 7
    INVALID_MESSAGE = 8
    REPORT_TOO_EARLY = 9
    TASK_NOT_STARTED = 10
    OUTDATED_CONFIG = 11


def report_error(reader: Reader) -> ReportError:
    try:
        return ReportError(reader.number(1))
    except ValueError:
        raise BadMessage("a report is refused for a reason that the draft does not know") from None


@dataclass(frozen=True)
class Extension:
    """Something beside a report, a job or a task."""

    kind: int
    data: bytes

    def __bytes__(self) -> bytes:
        return number(self.kind, 2) + opaque(self.data, 2)


def write_extensions(extensions: Iterable[Extension]) -> bytes:
    return opaque(b"".join(map(bytes, extensions)), 2)


def read_extensions(reader: Reader, what: str) -> tuple[Extension, ...]:
    """Extensions in strictly increasing order."""
    inner, extensions = Reader(reader.opaque(2), what), list[Extension]()
    while inner.left:
        extension = Extension(inner.number(2), inner.opaque(2))
        if extensions and extension.kind <= extensions[-1].kind:
            raise BadMessage(f"the extensions of {what} are not in strictly increasing order")
        extensions.append(extension)
    return tuple(extensions)


@dataclass(frozen=True)
class ReportMetadata:
    """What everybody sees of a report."""

    report_id: bytes
    time: int
    """In the task's time precision."""
    extensions: tuple[Extension, ...] = ()

    def __bytes__(self) -> bytes:
        return self.report_id + number(self.time, 8) + write_extensions(self.extensions)

    @classmethod
    def read(cls, reader: Reader) -> ReportMetadata:
        return cls(reader.take(REPORT_ID), reader.number(8), read_extensions(reader, "a report"))


@dataclass(frozen=True)
class HpkeCiphertext:
    """Something sealed, and which key opens it."""

    config_id: int
    enc: bytes = field(repr=False)
    payload: bytes = field(repr=False)

    def __bytes__(self) -> bytes:
        return number(self.config_id, 1) + opaque(self.enc, 2) + opaque(self.payload, 4)

    @classmethod
    def read(cls, reader: Reader) -> HpkeCiphertext:
        return cls(reader.number(1), reader.opaque(2, 1), reader.opaque(4, 1))


@dataclass(frozen=True)
class Report:
    """What a person sends to the leader: a sealed share for each server."""

    metadata: ReportMetadata
    public_share: bytes = field(repr=False)
    leader: HpkeCiphertext = field(repr=False)
    helper: HpkeCiphertext = field(repr=False)

    def __bytes__(self) -> bytes:
        return bytes(self.metadata) + opaque(self.public_share, 4) + bytes(self.leader) + bytes(self.helper)

    @classmethod
    def read(cls, reader: Reader) -> Report:
        metadata, public = ReportMetadata.read(reader), reader.opaque(4)
        return cls(metadata, public, HpkeCiphertext.read(reader), HpkeCiphertext.read(reader))


def read_report(wire: bytes) -> Report:
    """One report; bytes after it are refused."""
    return whole(wire, "a report", Report.read)


def read_upload(wire: bytes, most: int) -> list[Report]:
    """An UploadRequest: one report after the other, to the end."""
    reader, reports = Reader(wire, "an upload"), list[Report]()
    while reader.left:
        if len(reports) == most:
            raise BadMessage(f"an upload has at most {most} reports here")
        reports.append(Report.read(reader))
    if not reports:
        raise BadMessage("an upload has at least one report")
    return reports


def write_upload_errors(refused: Iterable[tuple[bytes, ReportError]]) -> bytes:
    """An UploadErrors: the reports that were not taken, and why."""
    return b"".join(report_id + number(error, 1) for report_id, error in refused)


def read_upload_errors(wire: bytes) -> list[tuple[bytes, ReportError]]:
    reader, refused = Reader(wire, "an answer to an upload"), []
    while reader.left:
        refused.append((reader.take(REPORT_ID), report_error(reader)))
    return refused


@dataclass(frozen=True)
class HpkeConfig:
    """A public key, and for which algorithms."""

    id: int
    public_key: bytes
    kem: int = 0x0020
    kdf: int = 0x0001
    aead: int = 0x0001

    @property
    def supported(self) -> bool:
        """DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM: the suite that every DAP program has."""
        return (self.kem, self.kdf, self.aead) == (0x0020, 0x0001, 0x0001) and len(self.public_key) == 32

    def __bytes__(self) -> bytes:
        numbers = b"".join(number(each, 2) for each in (self.kem, self.kdf, self.aead))
        return number(self.id, 1) + numbers + opaque(self.public_key, 2)


def write_configs(configs: Iterable[HpkeConfig]) -> bytes:
    """An HpkeConfigList, the preferred one first."""
    return opaque(b"".join(map(bytes, configs)), 2)


def read_configs(wire: bytes) -> list[HpkeConfig]:
    """The configurations of a list, each with an id of its own; at least one."""
    outer = Reader(wire, "a list of keys")
    reader, configs = Reader(outer.opaque(2), "a list of keys"), list[HpkeConfig]()
    outer.end()
    while reader.left:
        name, kem, kdf, aead = reader.number(1), *(reader.number(2) for _ in range(3))
        configs.append(HpkeConfig(name, reader.opaque(2, 1), kem, kdf, aead))
    if not configs or len({each.id for each in configs}) != len(configs):
        raise BadMessage("a list of keys has at least one, and no id twice")
    return configs


def usable(configs: Iterable[HpkeConfig]) -> HpkeConfig:
    """The first configuration of the suite that is known here."""
    for config in configs:
        if config.supported:
            return config
    raise BadMessage("a server offers no key of X25519, HKDF-SHA256 and AES-128-GCM")
