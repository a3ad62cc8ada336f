"""Our commands in processes of their own, forked from one that has imported everything before.

Imports take a collector a second and a half of a processor, and the tests start many. Where coverage is
measured each is a fresh interpreter, because a fork ends without the end of an interpreter.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

from dpairs import __file__ as dpairs_package
from dpairs.cli import show

MAIN = "from dpairs.cli import main; main()"
# The very code that is tested, from whatever folder a process is started in.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(dpairs_package).parents[1])}
_BEGINNING = Lock()
FRESH = any(name.startswith("COVERAGE_") for name in os.environ)


@cache
def forks(_: str = "forkserver") -> ForkServerContext:
    """In the place of `multiprocessing.get_context`, for processes that have imported everything.

    Begun in a test's own folder it could not import the tests, and every fork would import all by itself.
    """
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["tests.preloaded"])
    with _BEGINNING, chdir(Path(__file__).parents[1]):  # a folder is that of all threads
        ensure_running()
    return made


def _command(
    before: str, arguments: list[str], folder: Path, files: tuple[Path, Path], environ: dict[str, str]
) -> None:
    for number, path in enumerate(files, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    if "COLUMNS" in environ:  # which consoles read when they are made
        for console in (show.output, show.errors):
            console.width = int(environ["COLUMNS"])
    sys.argv = ["dpairs", *arguments]
    exec(before + MAIN, {"__name__": "__main__"})


class Child:
    """`dpairs` with these arguments; what it prints goes to two files.

    ``before`` are statements that it runs first, for what no option sets.
    """

    def __init__(
        self,
        arguments: list[str],
        folder: Path,
        out: Path,
        err: Path,
        environ: Mapping[str, str] = ENVIRONMENT,
        before: str = "",
    ) -> None:
        if FRESH:
            with out.open("ab") as said, err.open("ab") as complained:
                self._fresh = subprocess.Popen(
                    [sys.executable, "-c", before + MAIN, *arguments],
                    stdout=said,
                    stderr=complained,
                    cwd=folder,
                    env=environ,
                )
            self.pid = self._fresh.pid
            return
        files = (out.absolute(), err.absolute())
        self._fork = forks().Process(
            target=_command, args=(before, arguments, folder.absolute(), files, dict(environ))
        )
        self._fork.start()
        self.pid = self._fork.pid or 0

    def send_signal(self, how: signal.Signals) -> None:
        if self.alive:
            os.kill(self.pid, how)

    @property
    def alive(self) -> bool:
        return self._fresh.poll() is None if FRESH else self._fork.is_alive()

    def wait(self, seconds: float) -> int:
        """The exit code; a negative one is the signal that ended it."""
        if FRESH:
            return self._fresh.wait(seconds)
        self._fork.join(seconds)
        if self._fork.exitcode is None:
            raise subprocess.TimeoutExpired("dpairs", seconds)
        return self._fork.exitcode


def dpairs(
    *arguments: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    before: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        child = Child(
            list(arguments), cwd or Path(), out, err, {**ENVIRONMENT, **(environment or {})}, before
        )
        code = child.wait(120)
        said, complained = (path.read_text(encoding="utf-8") for path in (out, err))
        return subprocess.CompletedProcess(arguments, code, said, complained)


@contextmanager
def popen(command: Sequence[str], cwd: Path = Path(), **_: Any) -> Iterator[SimpleNamespace]:
    """In the place of `subprocess.Popen` where the library starts a `dpairs` and reads its output."""
    assert command[:3] == [sys.executable, "-m", "dpairs"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        os.mkfifo(out)
        child = Child([*command[3:]], cwd, out, Path(folder, "err"))
        with out.open(encoding="utf-8") as said:
            yield SimpleNamespace(stdout=said, terminate=lambda: child.send_signal(signal.SIGTERM))
            child.wait(60)


def program(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run statements of a test's own to their end, with ``arguments`` after the first word of `sys.argv`."""
    return dpairs(*arguments, before=f"{text}\nraise SystemExit\n")
