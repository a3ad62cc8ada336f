"""Key files: of the two servers together, and of an analyst, who needs none of the servers' packages."""

from __future__ import annotations

from pathlib import Path

from ..errors import BadFile
from ..formats import files
from ..randomness import KEY, secret_bytes


def read_key(path: Path, what: str = "the key") -> bytes:
    """A file's 32 bytes in hexadecimal, or one sentence that says what it should hold."""
    content = files.read(path, what)
    try:
        key = bytes.fromhex(content.decode().strip())
    except ValueError:
        key = b""
    if len(key) != KEY:
        raise BadFile(f"{what} {path} must hold {KEY} bytes in hexadecimal")
    return key


def write_key(path: Path, what: str = "the key") -> None:
    """A fresh key that only its owner may read; a file that is there already is left alone."""
    try:
        path.touch(mode=0o600, exist_ok=False)
    except OSError as error:
        raise BadFile(f"{what} {path} cannot be made: {error.strerror or error}") from None
    path.write_text(secret_bytes().hex() + "\n", encoding="ascii")
