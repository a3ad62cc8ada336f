"""A task: what an analyst and the operators of both servers agree on, in one file that is named by its hash.

The task's id is the SHA-256 of the file's content. It is part of all that is sealed, proven and asked for, so
a server that changes anything of the file speaks about another task, which the other one does not know.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..errors import BadFile, BadParameter, InvalidInput
from ..formats import files
from ..formats.canonical import canonical, digest, parse
from ..formats.checks import fields, integer, required, text
from ..protocols.sides import shared
from ..protocols.two_servers.shared import FEWEST, Shared
from ..study import Study
from ..vdaf.hpke import KEY, derive_key, public_key
from ..vdaf.measurements import Histogram, Sum
from ..vdaf.prio3 import Prio3
from .collection import LEADER_SELECTED
from .presentation import number, opaque
from .reports import Extension, ReportMetadata

FORMAT, VERSION = "dpairs-task", 1
DAP = b"dap-18"
CLASS = 0xFF01
"""Our own public extension of a report: the number of the person's public class, in one byte."""
LEADER, HELPER = 0, 1
ROLES = ("leader", "helper")
STATES = ("open", "closing", "closed", "released")
"""What becomes of a task at a server, in this order."""
MOST_PEOPLE = 2**32
LONGEST = 200
"""Characters of a name, a title or an address."""
_FIELDS = ("format", "version", "id", "title", "study", "leader", "helper", "analyst")
_NUMBERS = ("min_batch_size", "time_precision")
_ADDRESS = re.compile(r"(https?)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?")
_HERE = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Operator:
    """Who runs a server, and where it is reached."""

    name: str
    url: str

    def __post_init__(self) -> None:
        """Refuse an address that is no server's, or not protected on its way."""
        _line("the name of an operator", self.name)
        address = _ADDRESS.fullmatch(_line("the address of a server", self.url))
        if address is None or self.url.endswith("/"):
            raise BadParameter(
                f"a server's address looks like https://HOST or https://HOST/PATH, not {self.url!r}"
            )
        if address[1] == "http" and address[2] not in _HERE:
            raise BadParameter(f"a server on another machine is reached by https, not by {self.url!r}")

    def to_json(self) -> dict[str, str]:
        return {"name": self.name, "url": self.url}

    @classmethod
    def from_json(cls, what: str, spec: Any) -> Operator:
        if not isinstance(spec, dict) or set(spec) != {"name", "url"}:
            raise BadFile(f"the {what} of a task has a 'name' and a 'url'")
        return cls(spec["name"], spec["url"])


@dataclass(frozen=True)
class Analyst:
    """Whom the result is sealed for, and who may ask for it: nothing of this is secret."""

    key: bytes
    """The public key of HPKE."""
    token: bytes = field(repr=False)
    """SHA-256 of the token that the analyst shows to the leader."""

    @classmethod
    def of(cls, secret: bytes) -> Analyst:
        """From the analyst's 32 secret bytes."""
        return cls(public_key(analyst_key(secret)), hashlib.sha256(analyst_token(secret).encode()).digest())

    def may(self, token: str) -> bool:
        """Whether this is the analyst's token."""
        return hmac.compare_digest(hashlib.sha256(token.encode()).digest(), self.token)


def analyst_key(secret: bytes) -> bytes:
    return derive_key(hkdf(b"dpairs analyst", secret, b"hpke"))


def analyst_token(secret: bytes) -> str:
    return _letters(hkdf(b"dpairs analyst", secret, b"token"))


@dataclass(frozen=True)
class Task:
    """A study, who runs the two servers, and who gets the result.

    >>> from dpairs import Interval
    >>> study = Study.create(
    ...     "auc", protocol="two_servers", epsilon=1.0, domain=Interval(0, 1), bins=8, seed=1
    ... )
    >>> one, two = Operator("A", "https://a.example"), Operator("B", "https://b.example")
    >>> task = Task(study, "Risk score", one, two, Analyst.of(bytes(32)), min_batch_size=100)
    >>> Task.from_json(task.to_json()) == task
    True
    """

    study: Study
    title: str
    leader: Operator
    helper: Operator
    analyst: Analyst
    min_batch_size: int
    time_precision: int = 3600

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        _line("the title of a task", self.title)
        if self.study.protocol.rounds != 1:
            raise BadParameter(
                "the two servers run studies of one round; a study of two rounds is run on files"
            )
        if self.protocol.of_sites:
            raise BadParameter("a task is for people; a study that sites answer is run on files")
        kinds = {repr(each) for each in self.protocol.vdaf.values()}
        if len(kinds) != 1:
            raise BadParameter("all classes of a task are shared in the same way")
        if self.leader.url == self.helper.url or self.leader.name == self.helper.name:
            raise BadParameter("leader and helper are two servers, with a name and an address each")
        least = FEWEST * len(self.study.strata)
        integer("min_batch_size", self.min_batch_size, least, MOST_PEOPLE)
        integer("time_precision", self.time_precision, 1, 2**31)
        if len(self.analyst.key) != KEY or len(self.analyst.token) != 32:
            raise BadParameter("an analyst has a public key and the hash of a token, 32 bytes each")

    @property
    def protocol(self) -> Shared:
        return shared(self.study)

    @cached_property
    def vdaf(self) -> Prio3:
        """How every answer is shared and verified."""
        return next(iter(self.protocol.vdaf.values()))

    @property
    def operators(self) -> tuple[Operator, Operator]:
        return self.leader, self.helper

    @cached_property
    def id(self) -> bytes:
        return bytes.fromhex(digest(self._content()))

    @property
    def name(self) -> str:
        """The id as it stands in a path of DAP: URL-safe Base 64 without padding."""
        return _letters(self.id)

    @property
    def context(self) -> bytes:
        """What binds shares and proofs to this task."""
        return DAP + self.id

    @property
    def batch_id(self) -> bytes:
        """The name of the task's one batch: it is released once, and there is no other."""
        return hashlib.sha256(b"dpairs batch" + self.id).digest()

    @cached_property
    def configuration(self) -> bytes:
        """The TaskConfiguration of the draft: part of all that is sealed."""
        urls = b"".join(opaque(each.url.encode("ascii"), 2) for each in self.operators)
        numbers = number(self.time_precision, 8) + number(self.min_batch_size, 8) + number(LEADER_SELECTED, 1)
        vdaf = number(self.vdaf.algorithm, 4) + opaque(_configured(self.vdaf), 2)
        return (
            opaque(bytes.fromhex(self.study.id), 1) + urls + numbers + opaque(b"", 2) + vdaf + opaque(b"", 2)
        )

    def extensions(self, stratum: str) -> tuple[Extension, ...]:
        """What a report of that class carries."""
        strata = self.study.strata
        return () if len(strata) == 1 else (Extension(CLASS, bytes([strata.index(stratum)])),)

    def stratum(self, metadata: ReportMetadata) -> str | None:
        """The class of a report, if its extensions are what this task knows."""
        return next(
            (name for name in self.study.strata if self.extensions(name) == metadata.extensions), None
        )

    def verify_key(self, secret: bytes) -> bytes:
        """The proofs' key, from what operators agreed on before ("VDAF Verification Key Requirements")."""
        return hkdf(b"verify_key", secret, self.id)

    def leader_token(self, secret: bytes) -> str:
        """What the leader shows to the helper."""
        return _letters(hkdf(b"dpairs leader", secret, self.id))

    def _content(self) -> dict[str, Any]:
        analyst = {"key": self.analyst.key.hex(), "token": self.analyst.token.hex()}
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "study": parse(self.study.to_json(), "the study"),
            "leader": self.leader.to_json(),
            "helper": self.helper.to_json(),
            "analyst": analyst,
            "min_batch_size": self.min_batch_size,
            "time_precision": self.time_precision,
        }

    def to_json(self) -> str:
        return canonical({**self._content(), "id": self.id.hex()})

    @classmethod
    def from_json(cls, given: str | bytes) -> Task:
        """Read a task; refuse one that was changed, cut short or is of another version."""
        spec = parse(given, "the task")
        if spec.get("format") != FORMAT or spec.get("version") != VERSION:
            raise BadFile(f"this is not a task of version {VERSION}: its format is {spec.get('format')!r}")
        required("the task", spec, (*_FIELDS, *_NUMBERS))
        try:
            fields("a task", spec, (*_FIELDS, *_NUMBERS))
            task = cls(
                Study.from_json(canonical(spec["study"])),
                spec["title"],
                Operator.from_json("leader", spec["leader"]),
                Operator.from_json("helper", spec["helper"]),
                _analyst(spec["analyst"]),
                *(integer(name, spec[name], 1, MOST_PEOPLE) for name in _NUMBERS),
            )
        except BadFile:
            raise
        except InvalidInput as error:
            raise BadFile(f"the task cannot be used: {error}") from None
        if spec["id"] != task.id.hex():
            raise BadFile("the task was changed: its id does not belong to its contents")
        return task

    def save(self, path: str | os.PathLike[str]) -> None:
        files.write(path, self.to_json().encode() + b"\n", "the task")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Task:
        return cls.from_json(files.read(path, "the task"))


def _configured(vdaf: Prio3) -> bytes:
    """The VDAF's parameters (appendix B); `one_hot` is ours, and says how many proofs it has."""
    encode = _CONFIGURED.get(type(vdaf.circuit))
    if encode is None:
        raise BadParameter(f"there is no encoding of {vdaf.circuit!r} for a task")
    return encode(vdaf.circuit, vdaf.proofs)


_CONFIGURED: dict[type, Callable[[Any, int], bytes]] = {
    Histogram: lambda circuit, proofs: (
        number(circuit.cells, 4) + number(circuit.chunk, 4) + number(proofs, 1)
    ),
    Sum: lambda circuit, proofs: number(circuit.largest, 8),
}


def hkdf(salt: bytes, secret: bytes, info: bytes) -> bytes:
    """32 bytes of HKDF-SHA256 (RFC 5869)."""
    return hmac.digest(hmac.digest(salt, secret, "sha256"), info + b"\x01", "sha256")


def _letters(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _line(what: str, given: Any) -> str:
    words = text(what, given)
    if not 0 < len(words) <= LONGEST or not words.isprintable():
        raise BadParameter(f"{what} has 1 to {LONGEST} characters in one line")
    return words


def _analyst(spec: Any) -> Analyst:
    if not isinstance(spec, dict) or set(spec) != {"key", "token"}:
        raise BadFile("the analyst of a task has a 'key' and a 'token'")
    try:
        return Analyst(bytes.fromhex(spec["key"]), bytes.fromhex(spec["token"]))
    except (TypeError, ValueError):
        raise BadFile("the analyst's key and token are written in hexadecimal") from None
