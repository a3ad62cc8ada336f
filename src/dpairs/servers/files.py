"""The files that two servers keep and exchange: everything in them is checked before it is used."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import BadFile, BadValue, DpairsError, WrongStudy
from ..formats import files
from ..formats.canonical import big_integer, canonical, parse, read_integer
from ..formats.checks import head, integer
from ..protocols.counts import MAX_COUNT
from ..protocols.sides import shared
from ..protocols.two_servers.goldilocks import MODULUS
from ..protocols.two_servers.released import read_shares
from ..randomness import SecretStream
from ..shares import SERVERS, Share
from ..study import Study
from .steps import Messages, Part

VERSION = 1
MESSAGES, PRODUCTS, PART = "dpairs-messages", "dpairs-products", "dpairs-part"


def once(secret: bytes, context: bytes, offer: bytes = b"") -> SecretStream:
    """The random bits of one multiplication: the same in every step of it, and in no other.

    Server 0's depend on the offer that it answers: the same bits in answers to two offers would give its
    vectors away, by one seed of every column from each.
    """
    named = b"".join(hashlib.sha256(part).digest() for part in (secret, context, offer))
    return SecretStream(hashlib.sha256(b"dpairs product/" + named).digest())


def read_share_lines(path: Path, study: Study, server: int) -> tuple[list[Share], str | None]:
    """The shares of a file, one JSON object in a line, and the first reason why some were left out.

    Anybody may have written a line, so a bad one stops nobody else's; a file without a good one is refused.
    """
    good: list[Share] = []
    refused: DpairsError | None = None
    for number, line in enumerate(files.read(path, "the share file").splitlines(), 1):
        try:
            share = Share.from_json(parse(line, f"line {number} of {path}"), study)
            if share.server != server:
                raise BadValue(f"this share is for server {share.server}, not for server {server}")
            good.append(share)
        except WrongStudy as error:
            refused = refused or error
        except (DpairsError, ValueError) as error:
            refused = refused or BadFile(f"line {number} of {path}: {error}")
    if not good:
        raise refused or BadFile(f"the share file {path} holds no share")
    return good, None if refused is None else str(refused)


def _read(path: Path, kind: str, study: Study, names: tuple[str, ...]) -> dict[str, Any]:
    what = f"the file {path}"
    spec = parse(files.read(path, what), what, files.MAX_BYTES)
    head(f"file {path}", spec, (kind, VERSION), ("format", "version", "study", "server", *names), study.id)
    integer("server", spec["server"], 0, SERVERS - 1)
    return spec


def _write(path: Path, kind: str, study: Study, server: int, content: Mapping[str, Any]) -> None:
    begin = {"format": kind, "version": VERSION, "study": study.id, "server": server}
    files.write(path, canonical({**begin, **content}).encode() + b"\n", f"the file {path}")


def write_messages(path: Path, study: Study, server: int, messages: Messages) -> None:
    named = {nonce.hex(): message.hex() for nonce, message in messages.items()}
    _write(path, MESSAGES, study, server, {"messages": named})


def read_messages(path: Path, study: Study, sender: int) -> Messages:
    """The other server's messages about reports, by nonce."""
    spec = _read(path, MESSAGES, study, ("messages",))
    if spec["server"] != sender or not isinstance(spec["messages"], Mapping):
        raise BadFile(f"{path} must hold messages of server {sender}")
    try:
        return {bytes.fromhex(nonce): bytes.fromhex(text) for nonce, text in spec["messages"].items()}
    except (TypeError, ValueError):
        raise BadFile(f"the messages of {path} must be in hexadecimal") from None


def write_products(path: Path, study: Study, server: int, batch: bytes, products: list[int]) -> None:
    content = {"batch": batch.hex(), "products": [big_integer(each) for each in products]}
    _write(path, PRODUCTS, study, server, content)


def read_products(path: Path, study: Study, server: int, batch: bytes, count: int) -> list[int]:
    """This server's own ``count`` shares of the products of these reports."""
    spec = _read(path, PRODUCTS, study, ("batch", "products"))
    if spec["batch"] != batch.hex():
        raise BadFile(f"{path} holds products of other reports than this tally")
    given = spec["products"]
    elements = list(map(read_integer, given)) if isinstance(given, list) else [-1]
    good = all(type(each) is int and 0 <= each < MODULUS for each in elements)
    if spec["server"] != server or not good or len(elements) != count:
        raise BadFile(f"{path} must hold server {server}'s shares of {count} product(s)")
    return elements


def write_part(path: Path, part: Part) -> None:
    content = {"batch": part.batch.hex(), "people": part.sizes, "numbers": part.numbers.to_json()}
    _write(path, PART, part.study, part.server, content)


def read_part(path: Path, study: Study) -> Part:
    """One server's part of a release."""
    spec = _read(path, PART, study, ("batch", "people", "numbers"))
    people = spec["people"]
    if not isinstance(people, Mapping) or set(people) != set(study.strata):
        raise BadFile(f"{path} must say how many people there are of {', '.join(study.strata)}")
    sizes = {name: integer("people", people[name], 0, MAX_COUNT) for name in study.strata}
    try:
        batch = bytes.fromhex(spec["batch"])
    except (TypeError, ValueError):
        raise BadFile(f"{path} must name its reports in hexadecimal") from None
    totals, cells = shared(study).shape(sizes)
    numbers = read_shares(spec["numbers"], totals, cells, MODULUS)
    return Part(study, spec["server"], batch, sizes, numbers)
