"""Reading and writing small files whole: bounded before reading, replaced at once when written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import BadFile

MAX_BYTES = 512 * 2**20


def read(path: str | os.PathLike[str], what: str) -> bytes:
    """The bytes of a file, or one sentence about why it cannot be read."""
    place = Path(path)
    try:
        size = place.stat().st_size
        if size > MAX_BYTES:
            raise BadFile(f"{what} {place} is {size} bytes long; at most {MAX_BYTES} are read")
        return place.read_bytes()
    except OSError as error:
        raise BadFile(f"{what} {place} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise BadFile(f"{what} {str(place)!r} cannot be read: {error}") from None


def write(path: str | os.PathLike[str], content: bytes, what: str) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part."""
    place = Path(path)
    if len(content) > MAX_BYTES:
        raise BadFile(f"{what} {place} would be {len(content)} bytes long; at most {MAX_BYTES} are read back")
    temporary = place.parent / f".dpairs-{os.getpid()}-{id(content):x}.part"
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(place)
    except OSError as error:
        raise BadFile(f"{what} {place} cannot be written: {error.strerror or error}") from None
    except ValueError as error:
        raise BadFile(f"{what} {str(place)!r} cannot be written: {error}") from None
    finally:
        with suppress(OSError, ValueError):
            temporary.unlink()


@contextmanager
def locked(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Alone with a file, among processes that lock it too; a process that ends, however, lets go.

    The lock is on a file beside it, because the file itself is replaced when it is written.
    """
    place = Path(f"{os.fspath(path)}.lock")
    try:
        handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
    except (OSError, ValueError) as error:
        raise BadFile(f"{what} {path} cannot be locked: {getattr(error, 'strerror', error)}") from None
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
