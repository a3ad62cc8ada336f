"""A private PostgreSQL for benchmarks, durable as it comes, in a folder that is deleted at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from load import other_core


def program(name: str) -> Path | None:
    """Where a program of PostgreSQL is: Debian keeps the server's out of the PATH."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    found = shutil.which(name)
    return places[0] if places else (Path(found) if found else None)


@contextmanager
def postgresql() -> Iterator[tuple[str, int] | None]:
    """The address of an empty database and its process, on the collector's core; None if not installed."""
    initdb, control = program("initdb"), program("pg_ctl")
    if initdb is None or control is None:
        yield None
        return
    # A short path: a socket's is at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="dpairs-pg-", dir="/tmp"))
    options: dict[str, Any] = {"cwd": folder, "check": True, "stdout": subprocess.DEVNULL}
    if os.geteuid() == 0:  # initdb refuses root
        shutil.chown(folder, "postgres", "postgres")
        options |= {"user": "postgres", "group": "postgres", "extra_groups": []}
    data, settings = folder / "data", f"-c listen_addresses='' -c unix_socket_directories='{folder}'"
    start = ["-w", "-l", str(folder / "log"), "-o", settings, "start"]
    try:
        subprocess.run(
            [initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"], **options
        )
        subprocess.run([control, "-D", data, *start], **options)
        try:
            process = int((data / "postmaster.pid").read_text().split()[0])
            other_core(process)
            yield f"postgresql+psycopg://postgres@/postgres?host={folder}", process
        finally:
            subprocess.run([control, "-D", data, "-m", "fast", "-w", "stop"], **options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
