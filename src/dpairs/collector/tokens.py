"""Tokens: the analyst's, of which only a hash is kept; participants' and gateways', which are recomputed.

A participant's secret is a message authentication code of who it is for, so nothing has to be looked up, and
nothing that the database holds for a person lets a reader of a single table act for that person.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, delete, insert

from ..errors import NotAllowed, NotYours
from ..randomness import secret_bytes
from . import schema

TOKEN = 24
"""Bytes of a token."""
CODE = 10
"""Bytes of an invitation's code: 16 letters and digits."""


@dataclass(frozen=True)
class Holder:
    """Whom a token belongs to: one participant, or a gateway with the indices from ``index`` on."""

    kind: str
    stratum: int
    index: int
    count: int = 1


class Keyed(Protocol):
    """A study, as far as its secrets go."""

    id: str
    epoch: str


def new_token() -> str:
    """A token for an analyst."""
    return base64.urlsafe_b64encode(secret_bytes(TOKEN)).decode()


def new_code() -> str:
    """A code that a person can type."""
    text = base64.b32encode(secret_bytes(CODE)).decode().lower()
    return "-".join(text[place : place + 4] for place in range(0, len(text), 4))


def hashed(token: str) -> bytes:
    """What is kept of a token or a code."""
    return hashlib.sha256(b"dpairs token/" + token.encode()).digest()


class Secrets:
    """The secrets of all participants, from one key and from the epochs of the database and of the study.

    A study that is begun anew, and a database that was restored, give the same indices again. Their epochs
    are new then, so that no index has two people with a secret that is taken.
    """

    def __init__(self, key: bytes, epoch: str) -> None:
        self._key, self._epoch = key, epoch

    def __repr__(self) -> str:
        return "Secrets()"

    def make(self, study: Keyed, holder: Holder) -> str:
        """The secret of a participant or gateway: whom it is for, and a code that only the key gives."""
        name = f"{holder.kind}.{holder.stratum}.{holder.index}.{holder.count}"
        return f"{name}.{self._mac(study, name)}"

    def read(self, study: Keyed, token: str | None) -> Holder:
        """Whom a token of this study belongs to."""
        if token is None:
            raise NotAllowed("this needs the secret that was given at enrolment, as a bearer token")
        name, _, mac = token.rpartition(".")
        # A comparison of bytes: a forged token may hold any letters.
        if not hmac.compare_digest(self._mac(study, name).encode(), mac.encode()):
            raise NotAllowed("this secret was not given for this study")
        kind, stratum, index, count = name.split(".")
        return Holder(kind, int(stratum), int(index), int(count))

    def participant(self, study: Keyed, token: str | None) -> Holder:
        """The same, of one person."""
        holder = self.read(study, token)
        if holder.kind != "person":
            raise NotYours(f"a {holder.kind} sends no single reports or messages")
        return holder

    def gateway(self, study: Keyed, token: str | None) -> Holder:
        """The same, of a gateway."""
        holder = self.read(study, token)
        if holder.kind != "gateway":
            raise NotYours("only a gateway sends batches: a participant sends single reports")
        return holder

    def site(self, study: Keyed, token: str | None) -> Holder:
        """The same, of a site."""
        holder = self.read(study, token)
        if holder.kind != "site":
            raise NotYours("only a site answers for many records: a participant sends single reports")
        return holder

    def _mac(self, study: Keyed, name: str) -> str:
        text = f"{self._epoch}{study.epoch}{study.id}/{name}".encode(errors="replace")
        return hmac.digest(self._key, text, hashlib.sha256).hex()[:40]


def renew_epoch(connection: Connection) -> bytes:
    """A new epoch of the database: every secret that was given before is void."""
    epoch, table = secret_bytes(16), schema.meta
    connection.execute(delete(table).where(table.c.name == "epoch"))
    connection.execute(insert(table), {"name": "epoch", "value": epoch})
    return epoch
