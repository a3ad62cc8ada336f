"""What is sealed: a person's input shares for the servers, and the servers' shares of the result."""

from __future__ import annotations

from ..errors import BadMessage
from ..vdaf.hpke import KEY, open_sealed, seal
from .collection import CollectionJobReq
from .presentation import Reader, opaque
from .reports import HpkeCiphertext, HpkeConfig, ReportMetadata, read_extensions, write_extensions
from .task import DAP, Task

_CLIENT, _COLLECTOR = b"\x01", b"\x00"
_SERVERS = (b"\x02", b"\x03")
ANALYST_CONFIG = 0
"""The analyst has one key for each task."""


def _input_aad(task: Task, metadata: ReportMetadata, public: bytes) -> bytes:
    return task.id + task.configuration + bytes(metadata) + opaque(public, 4)


def _input_info(server: int) -> bytes:
    return DAP + b" input share" + _CLIENT + _SERVERS[server]


def seal_share(
    task: Task,
    server: int,
    config: HpkeConfig,
    metadata: ReportMetadata,
    public: bytes,
    share: bytes,
    material: bytes,
) -> HpkeCiphertext:
    """A PlaintextInputShare for one server; ``material``: 32 fresh random bytes."""
    plain = write_extensions(()) + opaque(share, 4)
    aad = _input_aad(task, metadata, public)
    sealed = seal(config.public_key, _input_info(server), aad, plain, material)
    return HpkeCiphertext(config.id, sealed[:KEY], sealed[KEY:])


def open_share(
    task: Task, server: int, secret: bytes, metadata: ReportMetadata, public: bytes, sealed: HpkeCiphertext
) -> bytes:
    """The input share; `BadMessage` if it cannot be opened."""
    aad = _input_aad(task, metadata, public)
    return open_sealed(secret, _input_info(server), aad, sealed.enc + sealed.payload)


def read_plain(plain: bytes, size: int) -> bytes:
    """The payload of a PlaintextInputShare without extensions."""
    reader = Reader(plain, "an input share")
    if read_extensions(reader, "an input share"):
        raise BadMessage("an input share has no extensions here")
    share = reader.opaque(4, 1)
    reader.end()
    if len(share) != size:
        raise BadMessage(f"an input share of this task has {size} bytes")
    return share


def _result_aad(task: Task, request: CollectionJobReq) -> bytes:
    return task.id + task.configuration + bytes(request)


def _result_info(server: int) -> bytes:
    return DAP + b" aggregate share" + _SERVERS[server] + _COLLECTOR


def seal_result(
    task: Task, server: int, request: CollectionJobReq, share: bytes, material: bytes
) -> HpkeCiphertext:
    """A server's share of the result, for the analyst alone."""
    sealed = seal(task.analyst.key, _result_info(server), _result_aad(task, request), share, material)
    return HpkeCiphertext(ANALYST_CONFIG, sealed[:KEY], sealed[KEY:])


def open_result(
    task: Task, server: int, secret: bytes, request: CollectionJobReq, sealed: HpkeCiphertext
) -> bytes:
    aad = _result_aad(task, request)
    return open_sealed(secret, _result_info(server), aad, sealed.enc + sealed.payload)
