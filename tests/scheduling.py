"""Which worker runs which file of tests, so that no processor idles and all workers end together.

Tests of servers, browsers and clusters wait most of their time. Two workers begin with them, a queue each, so
that what a queue shares (a browser, a database server, a process to fork) is started once; the third worker
computes meanwhile. A worker whose queue is empty takes from the end of the other, then computes. Tests that
only compute come last, because three of them keep two processors busy to the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    import pytest
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

QUEUES = (
    (
        *("engines/test_postgresql.py", "engines/test_spark.py"),  # one cluster of Spark
        *("collector/pages/", "aggregator/"),  # one browser
        *("cli/", "test_typing.py", "test_notebooks.py", "javascript/", "dap/", "federated/"),
    ),
    ("collector/", "client/"),  # one PostgreSQL
)
"""Files and folders that wait, in the order in which they are begun."""
LONG_FIRST = ("experiments/", "test_docs.py", "vdaf/", "protocols/", "planning/", "engines/", "garbled/")
"""Those that compute and take longest; all others follow."""


def place(path: str) -> tuple[int, int]:
    """A file's queue, by the longest name that fits, and its turn in it; the last queue computes."""
    name = path.removeprefix("tests/")
    fits = (
        (len(start), number, turn)
        for number, queue in enumerate((*QUEUES, LONG_FIRST))
        for turn, start in enumerate(queue)
        if name.startswith(start)
    )
    return max(fits, default=(0, len(QUEUES), len(LONG_FIRST)))[1:]


def choice(files: Iterable[str], worker: int) -> str:
    """What a worker takes: the first of its queue, else the last of the longest other, else what computes."""
    queues: list[list[str]] = [[] for _ in range(len(QUEUES) + 1)]
    for path in sorted(files, key=place):
        queues[place(path)[0]].append(path)
    *waiting, computing = queues
    own = queues[min(worker, len(QUEUES))]
    if own:
        return own[0]
    other = max(waiting, key=len)
    return other[-1] if other else computing[0]


class Queues(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """Whole files, each to the worker whose turn it is."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(choice(self.workqueue, self.nodes.index(node)), last=False)
        super()._assign_work_unit(node)
