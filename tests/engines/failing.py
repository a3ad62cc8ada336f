"""Tasks that fail. Executors import this file, so it needs no part of dpairs that they lack."""

import importlib.util
import os
import signal
from pathlib import Path


def fails_once(marker, batches):
    """Counts a half of partition 2, and dies, the first time."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for batch in batches:
        yield batch
        if context.partitionId() == 2 and context.attemptNumber() == 0:
            marker.touch()
            raise RuntimeError("this machine goes down")


def dies_once(marker, worker, batches):
    """Takes its worker down with it, in the middle of a partition, the first time; the other goes on."""
    executor = parent_of(os.getppid())  # the parent of the process that this one was forked from
    for batch in batches:
        yield batch
        if parent_of(executor) == worker and not marker.exists():
            marker.touch()
            os.kill(worker, signal.SIGKILL)
            os.kill(executor, signal.SIGKILL)


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def has_dpairs(_):
    """Whether the package is there: an editable install leaves a folder of that name without one."""
    spec = importlib.util.find_spec("dpairs")
    return int(spec is not None and spec.origin is not None)
