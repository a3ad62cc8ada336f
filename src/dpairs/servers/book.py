"""What a server has released, in a file of its own: once for each study, whoever asks.

A second release about the same people draws noise again, and the two together say more than the claim; with
one person more or less they say what that person answered. The other server cannot be relied on to refuse, so
each does by itself. All studies of a server share one book, which is written before anything leaves.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from ..errors import BadFile, Conflict
from ..formats import files
from ..formats.canonical import canonical, parse
from ..formats.checks import fields, required
from ..study import Study

FORMAT, VERSION = "dpairs-releases", 1
_FIELDS = ("format", "version", "server", "releases")
_HEX = 64


def record(path: str | os.PathLike[str], study: Study, server: int, batch: bytes) -> None:
    """Write a release down, or refuse it: alone with the book, and before the release leaves."""
    with files.locked(path, "the book of releases"):
        releases = _read(path, server) if Path(path).exists() else {}
        if study.id in releases:
            raise Conflict(
                f"this server has released study {study.id[:16]}... already: "
                "a second release would reveal more about the same people than was promised"
            )
        releases[study.id] = hashlib.sha256(batch).hexdigest()
        content = {"format": FORMAT, "version": VERSION, "server": server, "releases": releases}
        files.write(path, canonical(content).encode() + b"\n", "the book of releases", private=True)


def _read(path: str | os.PathLike[str], server: int) -> dict[str, str]:
    what = f"the book of releases {os.fspath(path)}"
    spec = parse(files.read(path, what), what, files.MAX_BYTES)
    if spec.get("format") != FORMAT or spec.get("version") != VERSION:
        raise BadFile(f"{what} is not of the format {FORMAT!r}, version {VERSION}")
    required(what, spec, _FIELDS)
    fields(what, spec, _FIELDS)
    releases = spec["releases"]
    if not isinstance(releases, Mapping) or not all(map(_hash, (*releases, *releases.values()))):
        raise BadFile(f"{what} must name studies and their reports in hexadecimal")
    if spec["server"] != server:
        raise BadFile(f"{what} is server {spec['server']}'s, not server {server}'s: each keeps its own")
    return dict(releases)


def _hash(text: object) -> bool:
    return isinstance(text, str) and len(text) == _HEX and set(text) <= set("0123456789abcdef")
