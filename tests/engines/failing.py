"""A task that fails. Executors import this file, so it needs no part of dpairs that they lack."""


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
