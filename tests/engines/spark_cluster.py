"""A Spark standalone cluster on this machine: a master and workers, each a process of its own."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Self

THERE = re.compile(rb"(?:Starting Spark master at|Successfully registered with master) (\S+)")
QUICK = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Java compiles for seconds of work, not for hours, and believes the classes of Spark's jars."""
ARRIVAL = 120.0
"""Seconds that a process may take to say that it is there; on an idle machine it takes three."""


class Cluster:
    """Processes that are ended with the context."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self._home = Path(pyspark.__file__).parent
        self.folder = folder
        self.workers: dict[str, int] = {}
        """The process of each worker."""
        self._processes: list[subprocess.Popen[bytes]] = []
        self._readers: list[Thread] = []
        self._environment = dict(os.environ) | {
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": QUICK,
        }

    def __enter__(self) -> Self:
        where = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        _, said = self._start("master", (), "org.apache.spark.deploy.master.Master", *where)
        self.address = said
        return self

    def worker(self, name: str, before: Sequence[str] = ()) -> None:
        """Start a worker with one core, after the words of another command."""
        here = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g")
        place = ("--work-dir", str(self.folder / f"work-{name}"), self.address)
        process, _ = self._start(name, before, "org.apache.spark.deploy.worker.Worker", *here, *place)
        self.workers[name] = process

    def _start(self, name: str, before: Sequence[str], kind: str, *words: str) -> tuple[int, str]:
        """Start a process and read what it says until it is there."""
        command = [*before, str(self._home / "bin" / "spark-class"), kind, *words]
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=self._environment,
            start_new_session=True,
        )
        self._processes.append(process)
        arrived: Queue[str | None] = Queue()
        reader = Thread(target=self._read, args=(process, self.folder / f"{name}.log", arrived))
        reader.start()
        self._readers.append(reader)
        said = arrived.get(timeout=ARRIVAL)
        assert said is not None, f"{name} did not start: see {self.folder / name}.log"
        return process.pid, said

    @staticmethod
    def _read(process: subprocess.Popen[bytes], log: Path, arrived: "Queue[str | None]") -> None:
        """Keep what a process says, and tell when it says that it is there."""
        assert process.stderr is not None
        with log.open("wb") as file, process.stderr:
            for line in process.stderr:
                file.write(line)
                if there := THERE.search(line):
                    arrived.put(there[1].decode())
        arrived.put(None)

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            if process.poll() is None:
                os.killpg(process.pid, 9)
            process.wait()
        for reader in self._readers:
            reader.join()


def python_without_dpairs(folder: Path) -> Path:
    """A Python with all packages that executors need, and these tests, in which dpairs cannot be imported."""
    import numpy
    import pandas
    import pyarrow
    import pyspark
    import scipy

    places: dict[str, None] = dict.fromkeys(
        str(Path(each.__file__ or "").parents[1]) for each in (numpy, pandas, pyarrow, pyspark, scipy)
    )
    places[str(Path(__file__).parents[2])] = None
    script = folder / "python-without-dpairs"
    # Without `site` the files that make an editable install are not read. The archive of pyspark that Spark
    # names comes last: every process compiles its modules again.
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="{":".join(places)}:$PYTHONPATH" exec {sys.executable} -S "$@"\n'
    )
    script.chmod(0o755)
    return script


def hiding(folder: Path) -> list[str] | None:
    """What to put before a command so that it finds a folder empty; None where that is not allowed."""
    if shutil.which("unshare") is None:
        return None
    command = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        return None
    return [*command, "sh", "-c", f'mount -t tmpfs none "{folder}" && exec "$@"', "sh"]
