"""A person's report for two servers: shared, proven, and sealed for each of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..randomness import Randomness
from ..vdaf.hpke import KEY
from ..vdaf.prio3 import NONCE
from .reports import HpkeConfig, Report, ReportMetadata
from .sealing import seal_share
from .task import HELPER, LEADER, Task


def make_report(
    task: Task,
    configs: Sequence[HpkeConfig],
    stratum: str,
    measurement: int,
    time: int,
    bits: Randomness,
) -> Report:
    """What is sent to the leader. ``time``: seconds, told to the task's precision only."""
    sizes = (NONCE, task.vdaf.rand_size, KEY, KEY)
    drawn = bits.words(sum(sizes) // 8).astype("<u8").tobytes()
    report_id, rand = drawn[:NONCE], drawn[NONCE : NONCE + task.vdaf.rand_size]
    materials = drawn[-2 * KEY : -KEY], drawn[-KEY:]
    public, shares = task.vdaf.shard(task.context, measurement, report_id, rand)
    metadata = ReportMetadata(report_id, time // task.time_precision, task.extensions(stratum))
    leader, helper = (
        seal_share(task, server, configs[server], metadata, public, shares[server], materials[server])
        for server in (LEADER, HELPER)
    )
    return Report(metadata, public, leader, helper)


def sealed_size(task: Task, server: int) -> int:
    """Bytes of a sealed input share, which are the same for everybody."""
    return 2 + 4 + task.vdaf.input_size(server) + 16


def plausible(task: Task, report: Report) -> bool:
    """Whether a report has the sizes and the class that this task's have; nothing of it is opened."""
    sealed = (report.leader, report.helper)
    return (
        task.stratum(report.metadata) is not None
        and len(report.public_share) == task.vdaf.public_size
        and all(len(each.enc) == KEY for each in sealed)
        and all(len(each.payload) == sealed_size(task, server) for server, each in enumerate(sealed))
    )
