"""Reports verified on all cores, by processes of their own: opening what is sealed holds Python's lock."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from ..client.transport import Transport
from ..dap.jobs import JobRequest, VerifyInit, read_answer
from ..dap.reports import read_report
from ..dap.task import Task
from ..dap.verification import Verified, Verifier
from ..errors import Unavailable

T = TypeVar("T")
JOBS = "aggregation_jobs"
KIND = "application/ppm-dap;message="
MAX_ANSWER = 2**24
"""Bytes of a helper's answer that are read."""


@dataclass(frozen=True)
class Recipe:
    """All that a worker needs to know of a task."""

    file: str = field(repr=False)
    server: int
    keys: tuple[tuple[int, bytes], ...] = field(repr=False)
    verify_key: bytes = field(repr=False)
    token: str = field(repr=False)


@lru_cache(maxsize=16)
def _verifier(recipe: Recipe) -> tuple[Task, Verifier]:
    task = Task.from_json(recipe.file)
    return task, Verifier(task, recipe.server, dict(recipe.keys), recipe.verify_key)


@lru_cache(maxsize=16)
def _helper(url: str, patience: float) -> Transport:
    return Transport(url, patience=patience, most=MAX_ANSWER)


def helper_job(recipe: Recipe, inits: Sequence[VerifyInit]) -> tuple[Verified, dict[bytes, bytes]]:
    """The helper's part of a job."""
    return _verifier(recipe)[1].answer(inits)


def leader_job(recipe: Recipe, contents: Sequence[bytes], patience: float) -> Verified:
    """The leader's part of a job, from its reports to the helper's answer."""
    task, verifier = _verifier(recipe)
    begun = verifier.begin([read_report(each) for each in contents])
    if not begun.inits:
        return verifier.finish(begun, [])
    request = bytes(JobRequest(task.batch_id, begun.inits))
    answer = _helper(task.helper.url, patience).bytes(
        "POST", f"/tasks/{task.name}/{JOBS}", request, recipe.token, f"{KIND}aggregation-job-init-req"
    )
    return verifier.finish(begun, read_answer(answer, [each.metadata.report_id for each in begun.inits]))


def _end_with_parent() -> None:
    """A worker whose server was killed ends too, instead of waiting for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


class Workers:
    """Processes that verify; one is a thread of this process."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._lock = threading.Lock()
        self._pool = self._fresh()

    def _fresh(self) -> Executor:
        if self.count == 1:
            return ThreadPoolExecutor(1, thread_name_prefix="verify")
        # A fresh interpreter for each: threads and open connections are not to be copied.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.count, context, initializer=_end_with_parent)

    def call(self, work: Callable[..., T], *arguments: object) -> T:
        """The result of some work, for a thread that waits for it."""
        pool = self._pool
        try:
            return pool.submit(work, *arguments).result()
        except BrokenProcessPool:
            with self._lock:
                if self._pool is pool:
                    self._pool = self._fresh()
            raise Unavailable("a process that verifies was ended from outside; try again") from None
        except (CancelledError, RuntimeError):
            raise Unavailable("the server is ending; try again") from None

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
