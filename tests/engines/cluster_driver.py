"""What a user's program does on a cluster; run by `test_cluster` as a process of its own, with two arguments.

The first is the cluster's address. The second is JSON: folders of files that all workers see and that one
does not, and the process of a worker to be killed in the middle.
"""

import importlib.util
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

import dpairs
from dpairs.engines.cluster import session
from dpairs.engines.on_spark import tally_with_spark
from dpairs.errors import DpairsError


def dies_once(marker, worker, batches):
    """Takes a worker down with it, in the middle of a partition, the first time."""
    from pyspark import TaskContext

    for batch in batches:
        yield batch
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0 and not os.path.exists(marker):
            Path(marker).touch()
            os.kill(worker, signal.SIGKILL)
            # The executor is the parent of the process that this one was forked from.
            grandparent = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
            os.kill(int(grandparent), signal.SIGKILL)


def has_dpairs(_):
    """Whether the package is there: an editable install leaves a folder of that name without one."""
    spec = importlib.util.find_spec("dpairs")
    return int(spec is not None and spec.origin is not None)


def found(tally):
    return {"reasons": dict(tally.reasons), "tally": tally.tally.to_json()}


def main() -> None:
    address, asked = sys.argv[1], json.loads(sys.argv[2])
    study = dpairs.Study.load(asked["study"])
    spark = session(address, {"spark.executor.memory": "512m", "spark.executor.cores": "1"})
    spark.conf.set("spark.sql.shuffle.partitions", "6")
    tasks = spark.sparkContext.parallelize(range(4), 4)
    said: dict[str, object] = {"with dpairs": sum(tasks.map(has_dpairs).collect())}
    said["files"] = found(tally_with_spark(study, asked["seen"], spark))
    if asked["unseen"]:
        for name, keep_going in (("unseen", False), ("unseen, going on", True)):
            try:
                said[name] = found(tally_with_spark(study, asked["unseen"], spark, keep_going=keep_going))
            except DpairsError as error:
                said[name] = str(error)
    failure = partial(dies_once, asked["marker"], asked["worker"])
    said["killed"] = found(tally_with_spark(study, asked["seen"], spark, before=failure))
    print(json.dumps(said))
    spark.stop()


if __name__ == "__main__":
    main()
