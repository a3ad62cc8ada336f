"""Where files are: a folder of this machine, or an object store or HDFS that Arrow can read and write.

A name is a path, or an address like ``s3://bucket/folder/file.parquet``. Who may read there, and at which
server, is what the store's own variables say (``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL``, ...) or options
at the end of the address, as Arrow has them: ``s3://bucket/folder?region=eu-west-1``.
"""

from __future__ import annotations

import glob
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from ..errors import BadFile, BadParameter

SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfss", "hdfs": "hdfs"}
"""Addresses that are understood, and how Arrow calls them."""
DEFAULTS = {"gs": "retry_limit_seconds=30", "s3": "allow_delayed_open=true"}
"""Arrow would try a quarter of an hour to reach Google's store, and write a small file in three steps."""
ENDINGS = (".parquet", ".pq")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")
_OPTIONS = re.compile(r"\?([a-z_]+=[^/]*)$")
_SECRET = re.compile(r"(?:^|[&_])(?:key|secret|password|token|sig)[a-z_]*=|_(?:key|secret|password|token)=")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class Place(NamedTuple):
    """A file or folder: its file system, its name there, and what makes an address of such a name."""

    filesystem: Any
    path: str
    root: str = ""
    """What the file system puts before names: a bucket."""
    base: str = ""
    """The address of the root; nothing on this machine."""
    options: str = ""

    def address(self, path: str) -> str:
        """The address of a file in the same file system."""
        if not self.base:
            return path
        return f"{self.base}/{path.removeprefix(self.root).lstrip('/')}{self.options}"


def remote(name: str) -> bool:
    """Whether it is an address, not a path of this machine."""
    return _ADDRESS.match(name) is not None


def literal(path: str) -> bool:
    """Whether an engine that knows patterns takes this name for one file of this machine, and no other."""
    return not remote(path) and re.search(r"[*?\[\\]", path) is None


def place(name: str | os.PathLike[str]) -> Place:
    text = os.fspath(name)
    address = _ADDRESS.match(text)
    if address is None:
        return Place(fs.LocalFileSystem(), os.path.abspath(text))
    scheme, rest = address[1].lower(), text[address.end() :]
    if scheme == "file":
        return Place(fs.LocalFileSystem(), os.path.abspath("/" + unquote(rest)))
    if scheme not in SCHEMES:
        known = ", ".join(f"{each}:" for each in ("file", *SCHEMES))
        raise BadParameter(f"reports are in folders, or at addresses with {known}, not with {scheme}:")
    options = _OPTIONS.search(rest)
    path = rest[: options.start()] if options else rest
    # HDFS is one file system, whose server may be left to its settings: hdfs:///folder.
    server, _, path = (
        ("", "", path) if text[address.end() - 3 : address.end()] == "///" else path.partition("/")
    )
    if ":" in server.rpartition("@")[0] or (options and _SECRET.search(options[1])):
        # Addresses are in messages, logs and lists of processes.
        raise BadParameter(
            f"an address with {scheme}: may hold no key and no password: the store's own variables do"
        )
    base = f"{scheme}://{server}"
    filesystem, root = _filesystem(SCHEMES[scheme], server, options[1] if options else "")
    whole = f"{root.rstrip('/')}/{path.strip('/')}".rstrip("/") or "/"
    return Place(filesystem, whole, root, base, f"?{options[1]}" if options else "")


@lru_cache(maxsize=64)
def _filesystem(scheme: str, server: str, options: str) -> tuple[Any, str]:
    given = "&".join(each for each in (options, DEFAULTS.get(scheme, "")) if each)
    address = f"{scheme}://{server}/" if scheme == "hdfs" else f"{scheme}://{server}"
    try:
        filesystem, root = fs.FileSystem.from_uri(address + (f"?{given}" if given else ""))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadFile(f"{address} cannot be reached: {first_sentence(error)}") from None
    return filesystem, root


def find(pattern: str) -> list[str]:
    """The files that match, in order: one, those below a folder, or else those of a pattern with ``**``.

    Of a folder these are Parquet files, without names of files or folders that begin with ``_`` or ``.``
    """
    here = place(pattern)
    try:
        matches = _matches(here)
    except (pa.ArrowException, OSError) as error:
        raise BadFile(f"reports {pattern} cannot be listed: {first_sentence(error)}") from None
    if not matches:
        raise BadFile(f"no file matches {pattern}")
    for path in matches:
        if _UNPRINTABLE.search(path):
            raise BadFile(f"the name {path!r} has characters that cannot be printed: rename the file")
    return [here.address(path) for path in sorted(matches)]


def beside(pattern: str) -> list[str]:
    """All files, also hidden ones, below the folder that is named, or in which the pattern begins."""
    here = place(pattern)
    (info,) = here.filesystem.get_file_info([here.path])
    if info.type == fs.FileType.Directory:
        folder = here.path
    elif glob.has_magic(here.path) and info.type == fs.FileType.NotFound:
        folder = _known(here.path)
    else:
        return []
    return [here.address(path) for path in _below(here, folder)]


def _known(pattern: str) -> str:
    """The folder in which a pattern begins."""
    return pattern[: re.search(r"[*?\[]", pattern).start()].rpartition("/")[0] or "/"  # type: ignore[union-attr]


def _matches(here: Place) -> list[str]:
    (info,) = here.filesystem.get_file_info([here.path])
    if glob.has_magic(here.path) and info.type == fs.FileType.NotFound:
        wanted = re.compile(_translated(here.path), re.DOTALL)
        return [path for path in _below(here, _known(here.path)) if wanted.fullmatch(path)]
    if info.type != fs.FileType.Directory:
        # A file that is absent is told from one that may not be read when it is opened.
        return [here.path] if info.type != fs.FileType.NotFound or not here.base else []
    inside = _below(here, here.path)
    return [path for path in inside if _meant(path.removeprefix(here.path).strip("/"))]


def _meant(name: str) -> bool:
    return name.lower().endswith(ENDINGS) and not any(part[0] in "._" for part in name.split("/"))


def _below(here: Place, folder: str) -> list[str]:
    """All files below a folder. Links to folders are not followed: they may lead in circles, or to copies."""
    if not here.base:
        paths = (os.path.join(above, name) for above, _, names in os.walk(folder) for name in names)
        return [path for path in paths if os.path.isfile(path)]
    infos = here.filesystem.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
    return [info.path for info in infos if info.type == fs.FileType.File]


def _translated(pattern: str) -> str:
    """A pattern as a regular expression; ``**/`` stands for folders of any depth.

    What begins with a dot is matched by no star and no question mark, as in a shell.
    """
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\])", pattern)
    shown = r"(?!(?<=/)\.)"
    known = {
        "**/": rf"(?:{shown}[^/]+/)*",
        "**": rf"(?:{shown}[^/]+/)*{shown}[^/]*",
        "*": f"{shown}[^/]*",
        "?": f"{shown}[^/]",
    }
    made = []
    for piece in pieces:
        if piece.startswith("[") and piece.endswith("]"):
            inner = piece[1:-1].replace("\\", "\\\\")
            made.append("[" + (f"^{inner[1:]}" if inner.startswith("!") else inner) + "]")
        else:
            made.append(known.get(piece, re.escape(piece)))
    return "".join(made)


def join(folder: str | os.PathLike[str], name: str) -> str:
    """The address of a file in a folder."""
    here = place(folder)
    return here.address(f"{here.path}/{name}")


@contextmanager
def opened(name: str) -> Iterator[Any]:
    """A file to be read, at random access."""
    here = place(name)
    with here.filesystem.open_input_file(here.path) as file:
        yield file


@contextmanager
def parquet(name: str, spelt: Sequence[str] = ()) -> Iterator[Any]:
    """A Parquet file to be read, whose pages' checksums are checked.

    The texts of the columns ``spelt`` are held once, however often the file repeats a long one.
    """
    here = place(name)
    # Over a network few large requests are better than many small ones.
    with pq.ParquetFile(
        here.path,
        filesystem=here.filesystem,
        page_checksum_verification=True,
        pre_buffer=bool(here.base),
        read_dictionary=list(spelt),
    ) as file:
        yield file


def exists(name: str) -> bool:
    here = place(name)
    (info,) = here.filesystem.get_file_info([here.path])
    return bool(info.type != fs.FileType.NotFound)


def occupied(folder: str | os.PathLike[str]) -> bool:
    """Whether a file stands there, or a folder with anything in it."""
    here = place(folder)
    (info,) = here.filesystem.get_file_info([here.path])
    if info.type == fs.FileType.Directory:
        inside = fs.FileSelector(here.path, allow_not_found=True)
        return bool(here.filesystem.get_file_info(inside))
    return bool(info.type != fs.FileType.NotFound)


def read(name: str) -> bytes:
    with opened(name) as file:
        return bytes(file.read())


def write(name: str, content: bytes) -> None:
    """Write a file whole: whoever looks finds all of it, or none."""
    with staged(name) as path:
        path.write_bytes(content)


@contextmanager
def staged(name: str | os.PathLike[str]) -> Iterator[Path]:
    """A path of this machine to write to; the file is there under its name when all went well."""
    here = place(name)
    if not here.base:
        path = Path(here.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        try:
            yield part
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return
    with tempfile.TemporaryDirectory(prefix="dpairs-") as folder:
        part = Path(folder) / "part"
        yield part
        if isinstance(here.filesystem, fs.HadoopFileSystem):
            here.filesystem.create_dir(here.path.rpartition("/")[0])  # pragma: no cover - no HDFS in tests
        with part.open("rb") as source, here.filesystem.open_output_stream(here.path) as target:
            while content := source.read(2**24):
                target.write(content)


def first_sentence(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    lines = str(error).strip().splitlines()
    return lines[0][:300].rstrip(".") if lines else type(error).__name__
