"""A private PostgreSQL cluster in a temporary folder, on a Unix socket, for one run of tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest

MISSING = "PostgreSQL is not installed: on Debian, `apt-get install postgresql`"
# A machine's crash is not tested, so it need not flush; a server's own crash loses nothing then.
SETTINGS = "-c listen_addresses='' -c fsync=off -c shared_buffers=32MB -c max_connections=60"


def program(name: str) -> Path | None:
    """Where a program of PostgreSQL is: Debian keeps the server's out of the PATH."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    found = shutil.which(name)
    return places[0] if places else (Path(found) if found else None)


class Cluster:
    """Started in a folder of its own, and stopped and deleted at the end."""

    def __init__(self) -> None:
        initdb, control = program("initdb"), program("pg_ctl")
        if initdb is None or control is None:
            pytest.skip(MISSING)
        self._control = control
        # A short path: a socket's is at most 107 bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="dpairs-pg-", dir="/tmp"))
        self._as: dict[str, Any] = {"cwd": self._folder}
        if os.geteuid() == 0:  # initdb refuses root
            shutil.chown(self._folder, "postgres", "postgres")
            self._as |= {"user": "postgres", "group": "postgres", "extra_groups": []}
        self._data, self._databases = self._folder / "data", {"postgres"}
        self._run(initdb, "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        self.start()

    def start(self) -> None:
        options = f"{SETTINGS} -c unix_socket_directories='{self._folder}'"
        log = self._folder / "log"
        self._run(self._control, "-D", self._data, "-w", "-l", log, "-o", options, "start")

    def halt(self, how: str = "fast") -> None:
        """Stop the server: `immediate` is what a crash is like."""
        self._run(self._control, "-D", self._data, "-m", how, "-w", "stop")

    @property
    def socket(self) -> Path:
        """Where the server listens."""
        return self._folder / ".s.PGSQL.5432"

    def signal(self, number: int) -> None:
        """Send a signal to the server and to all its processes, such as those that freeze and thaw them."""
        first = int((self._data / "postmaster.pid").read_text().split()[0])
        for process in [*psutil.Process(first).children(recursive=True), psutil.Process(first)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def _run(self, *command: Any) -> None:
        done = subprocess.run(
            [str(part) for part in command],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=120,
            **self._as,
        )
        assert done.returncode == 0, done.stderr.decode()

    def address(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@/{name}?host={self._folder}"

    def heal(self) -> None:
        """Let it run again, whatever was done to it."""
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            self.signal(signal.SIGCONT)
        if not (self._data / "postmaster.pid").exists():
            self.start()

    def new_database(self, name: str = "postgres") -> str:
        """The address of an empty database: the same one, emptied, which is cheaper than a new one."""
        import psycopg

        mine = f"host={self._folder} user=postgres"
        with psycopg.connect(mine, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where pid <> pg_backend_pid() and datname = %s and backend_type = 'client backend'",
                [name],
            )
            if name not in self._databases:
                connection.execute(f"create database {name}")
                self._databases.add(name)
        with psycopg.connect(
            f"host={self._folder} user=postgres dbname={name}", autocommit=True
        ) as connection:
            connection.execute("drop schema public cascade; create schema public")
        return self.address(name)

    def stop(self) -> None:
        with contextlib.suppress(AssertionError):  # a test may have stopped it
            self.halt("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)
