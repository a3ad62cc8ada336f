"""Messages of the collection (section 4.6), in the batch mode in which the leader selects."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import BadMessage
from .jobs import BATCH_ID
from .presentation import Reader, number, opaque, whole
from .reports import Extension, HpkeCiphertext, read_extensions, write_extensions

LEADER_SELECTED = 2
CHECKSUM = 32


@dataclass(frozen=True)
class CollectionJobReq:
    """The analyst asks for the result."""

    mode: int = LEADER_SELECTED
    config: bytes = b""
    agg_param: bytes = b""
    extensions: tuple[Extension, ...] = ()

    def __bytes__(self) -> bytes:
        query = number(self.mode, 1) + opaque(self.config, 2)
        return query + opaque(self.agg_param, 4) + write_extensions(self.extensions)

    @classmethod
    def read(cls, reader: Reader) -> CollectionJobReq:
        mode, config, param = reader.number(1), reader.opaque(2), reader.opaque(4)
        return cls(mode, config, param, read_extensions(reader, "a collection"))


def read_collection(wire: bytes) -> CollectionJobReq:
    return whole(wire, "a collection", CollectionJobReq.read)


@dataclass(frozen=True)
class AggregateShareReq:
    """The leader asks the helper for its share of the result of a batch."""

    collection: CollectionJobReq
    batch_id: bytes
    report_count: int
    checksum: bytes
    mode: int = LEADER_SELECTED

    def __bytes__(self) -> bytes:
        selector = number(self.mode, 1) + opaque(self.batch_id, 2)
        return bytes(self.collection) + selector + number(self.report_count, 8) + self.checksum


def read_aggregate_share_req(wire: bytes) -> AggregateShareReq:
    reader = Reader(wire, "a request for an aggregate share")
    collection, mode, config = CollectionJobReq.read(reader), reader.number(1), reader.opaque(2)
    if mode == LEADER_SELECTED and len(config) != BATCH_ID:
        raise BadMessage(f"a batch is named by {BATCH_ID} bytes")
    request = AggregateShareReq(collection, config, reader.number(8), reader.take(CHECKSUM), mode)
    reader.end()
    return request


def read_aggregate_share(wire: bytes) -> HpkeCiphertext:
    return whole(wire, "an aggregate share", HpkeCiphertext.read)


@dataclass(frozen=True)
class CollectionJobResp:
    """Both servers' shares of the result, sealed for the analyst."""

    report_count: int
    start: int
    duration: int
    leader: HpkeCiphertext = field(repr=False)
    helper: HpkeCiphertext = field(repr=False)

    def __bytes__(self) -> bytes:
        numbers = b"".join(number(each, 8) for each in (self.report_count, self.start, self.duration))
        return numbers + bytes(self.leader) + bytes(self.helper)


def read_collection_resp(wire: bytes) -> CollectionJobResp:
    reader = Reader(wire, "a collection's result")
    count, start, duration = (reader.number(8) for _ in range(3))
    sealed = HpkeCiphertext.read(reader), HpkeCiphertext.read(reader)
    answer = CollectionJobResp(count, start, duration, *sealed)
    reader.end()
    return answer
