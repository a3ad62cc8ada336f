"""What a server seals for the analyst: its share of the released numbers, with its own noise in them.

DAP would seal the aggregate share itself here, which opens to everybody's histogram. This is where it is left
for a step of our own: the numbers of the study's release, each server's noise added to its own share. The
sealed text is, for both servers alike,

    uint64 people[classes]; opaque checksum[32]; Field64 numbers[...]

with the totals first and then the counts of each class, elements as the VDAF draft encodes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import BadMessage
from ..protocols.two_servers.goldilocks import MODULUS
from ..protocols.two_servers.released import Numbers, SharedNumbers
from ..protocols.two_servers.shared import FEWEST
from ..release import Release
from .buckets import Bucket, sizes, total_checksum
from .collection import CHECKSUM, CollectionJobReq, CollectionJobResp
from .presentation import Reader, number
from .sealing import open_result
from .task import HELPER, LEADER, Task, analyst_key


def enough(task: Task, people: Mapping[str, int]) -> bool:
    """Whether a batch of so many people may be released."""
    return sum(people.values()) >= task.min_batch_size and min(people.values()) >= FEWEST


def result_share(task: Task, buckets: Mapping[str, Bucket], products: Sequence[int], noise: Numbers) -> bytes:
    """One server's share of the release of its sums."""
    people, shares = sizes(buckets), {name: bucket.vector for name, bucket in buckets.items()}
    noisy = task.protocol.share_totals(shares, products, people).with_noise(noise, MODULUS)
    elements = [*noisy.totals, *(each for name in noisy.counts for each in noisy.counts[name])]
    head = b"".join(number(each, 8) for each in people.values()) + total_checksum(buckets)
    return head + np.array(elements, dtype="<u8").tobytes()


def _read(task: Task, wire: bytes) -> tuple[dict[str, int], bytes, SharedNumbers]:
    reader = Reader(wire, "a server's share of the result")
    people = {name: reader.number(8) for name in task.study.strata}
    if sum(people.values()) > 2**48 or not enough(task, people):
        raise BadMessage(f"a result is of at least {task.min_batch_size} people")
    checksum = reader.take(CHECKSUM)
    totals, cells = task.protocol.shape(people)
    elements = np.frombuffer(reader.take(8 * (totals + sum(cells.values()))), dtype="<u8")
    reader.end()
    if (elements >= np.uint64(MODULUS)).any():
        raise BadMessage("a server's share of the result is made of elements of Field64")
    counts, start = dict[str, list[int]](), totals
    for name, size in cells.items():
        counts[name] = elements[start : start + size].tolist()
        start += size
    return people, checksum, SharedNumbers(elements[:totals].tolist(), counts)


def open_release(task: Task, secret: bytes, request: CollectionJobReq, answer: CollectionJobResp) -> Release:
    """The released numbers, with the analyst's secret."""
    key = analyst_key(secret)
    opened = [
        _read(task, open_result(task, server, key, request, sealed))
        for server, sealed in ((LEADER, answer.leader), (HELPER, answer.helper))
    ]
    (people, checksum, first), (others, other_checksum, second) = opened
    if people != others or checksum != other_checksum or sum(people.values()) != answer.report_count:
        raise BadMessage("the two servers' shares of the result are not of the same reports")
    return Release(task.study, people, first.open(second, MODULUS))
