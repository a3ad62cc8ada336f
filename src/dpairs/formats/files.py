"""Reading and writing small files whole: bounded before reading, replaced at once when written."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from uuid import uuid4

from ..errors import BadFile, BadParameter, Conflict

MAX_BYTES = 512 * 2**20
PART = ".part"
"""Ends the name of a file that is being written."""


def read(path: str | os.PathLike[str], what: str, most: int = MAX_BYTES) -> bytes:
    """The bytes of a file, or one sentence about why it cannot be read.

    A pipe may never answer and a device may never end, so neither is read.
    """
    place = Path(path)
    try:
        # Opening a pipe that nobody writes to would wait for somebody.
        with open(place, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BadFile(f"{what} {place} cannot be read: it is not a regular file")
            if status.st_size > most:
                raise BadFile(f"{what} {place} is {status.st_size} bytes long; at most {most} are read")
            content = file.read(most + 1)
    except BadFile:
        raise
    except OSError as error:
        raise BadFile(f"{what} {place} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise BadFile(f"{what} {str(place)!r} cannot be read: {error}") from None
    if len(content) > most:
        raise BadFile(f"{what} {place} is more than {most} bytes long; at most so many are read")
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write(path: str | os.PathLike[str], content: bytes, what: str, *, private: bool = False) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    The folder is flushed too: without that, a power cut may undo the rename, and whoever reads the file then
    believes that nothing was written. A ``private`` file is its owner's only, from its first byte.
    """
    place = Path(path)
    if len(content) > MAX_BYTES:
        raise BadFile(f"{what} {place} would be {len(content)} bytes long; at most {MAX_BYTES} are read back")
    if _is_special(place):
        # A rename would put a file in the place of a device, for every program on the machine.
        raise BadFile(f"{what} {place} cannot be written: it is not a regular file")
    # Named after the file, so that whoever owns it finds what a killed process left.
    temporary = place.parent / f"{place.name[:80]}.{uuid4().hex[:16]}{PART}"
    try:
        # A new file: what somebody else put there is neither followed nor filled.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, 0o600 if private else 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(place)
        flush_folder(place.parent)
    except OSError as error:
        raise BadFile(f"{what} {place} cannot be written: {error.strerror or error}") from None
    except ValueError as error:
        raise BadFile(f"{what} {str(place)!r} cannot be written: {error}") from None
    finally:
        with suppress(OSError, ValueError):
            temporary.unlink()


def _is_special(place: Path) -> bool:
    """Whether something else than a file is there: a device, a pipe, a folder."""
    try:
        return not stat.S_ISREG(place.stat().st_mode)
    except (OSError, ValueError):
        return False


def sweep(path: str | os.PathLike[str]) -> None:
    """Delete what killed processes left of writing a file; only whoever has locked it may do so."""
    place = Path(path)
    with suppress(OSError):
        for left in place.parent.glob(f"{escape(place.name[:80])}.*{PART}"):
            left.unlink(missing_ok=True)


def flush_folder(folder: Path) -> None:
    """Make renames and deletions in a folder survive a power cut."""
    if sys.platform == "win32":  # a folder cannot be opened there; NTFS keeps a journal of names
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(path: str | os.PathLike[str], what: str, *, busy: str | None = None) -> Iterator[None]:
    """Alone with a file, among processes and threads that lock it too; a process that ends lets go.

    Waits for its turn; with ``busy``, that sentence is raised as a `Conflict` instead. The lock is on a file
    beside it, because the file itself is replaced when it is written.
    """
    try:
        from filelock import FileLock, Timeout
    except ModuleNotFoundError:
        raise BadParameter(f"{what} is locked with filelock: pip install 'dpairs[client]'") from None

    lock = FileLock(f"{os.fspath(path)}.lock", timeout=-1 if busy is None else 0, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        raise Conflict(f"{busy}; wait until it is done") from None
    except (OSError, ValueError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadFile(f"{what} {path} cannot be locked: {reason}") from None
    try:
        yield
    finally:
        lock.release()
