"""A gateway's roster of one study: which index is whose, and the answer that was made of each person's input.

A person is known by an id that stays: an index is bound to it once. Noise belongs to the person and to the
input: it follows from a key of the study, the index and the input, and from nothing about other people, their
number or their order. Beside each answer is a keyed digest of the input that it was made from, so that a
changed input is noticed and not answered a second time. Inputs have little entropy, so whoever had the
digests without the key could not guess, and with the key could: it goes when the study goes.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadFile, BadParameter, Conflict
from ..protocols.sides import alone
from ..randomness import SecretStream
from ..study import Study

SHOWN = 5
"""Names in one error."""
SCHEMA = """
create table if not exists made_with (key_mark blob not null);
create table if not exists people (person blob primary key, stratum text not null, number integer not null,
                                   unique (stratum, number)) without rowid;
create table if not exists answers (person blob primary key references people, study text not null,
                                    input blob not null, symbol text not null) without rowid;
"""


class Roster:
    """The people of one gateway in one study; every change is on the disk before it is used."""

    def __init__(self, connection: sqlite3.Connection, key: bytes) -> None:
        self._database, self._key = connection, key

    @classmethod
    @contextmanager
    def open(cls, path: Path, key: bytes) -> Iterator[Roster]:
        """The roster in that file, which is its owner's only."""
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = sqlite3.connect(path, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise BadFile(f"the gateway's roster {path} cannot be used: {error}") from None
        try:
            connection.execute("pragma synchronous = full")
            connection.executescript(SCHEMA)
            roster = cls(connection, key)
            roster._check_key(path)
            yield roster
        except sqlite3.DatabaseError as error:
            raise BadFile(f"the gateway's roster {path} cannot be used: {error}") from None
        finally:
            connection.close()

    def _check_key(self, path: Path) -> None:
        """With another key nobody would be known, and everybody would be answered a second time."""
        mark = self._mac("key")
        with self._writing() as database:
            known = database.execute("select key_mark from made_with").fetchone()
            if known is None:
                database.execute("insert into made_with values (?)", (mark,))
            elif not hmac.compare_digest(known[0], mark):
                raise BadFile(
                    f"the gateway's roster {path} was made with another key, and would answer for everybody "
                    "a second time: restore the key that belongs to it"
                )

    def _mac(self, purpose: str, *parts: bytes) -> bytes:
        message = b"".join(len(each).to_bytes(8, "big") + each for each in (purpose.encode(), *parts))
        return hmac.new(self._key, message, hashlib.sha256).digest()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("begin immediate")
        try:
            yield self._database
        except BaseException:
            self._database.execute("rollback")
            raise
        self._database.execute("commit")

    def bind(
        self, names: Sequence[str], strata: Sequence[str], room: Mapping[str, tuple[int, int]]
    ) -> list[int]:
        """Everybody's index: the one that was given before, or the next free one of the person's stratum.

        ``room`` is the first index and the number of indices that each stratum has here.
        """
        moved, indices = [], []
        with self._writing() as database:
            known = {
                person: (stratum, number)
                for person, stratum, number in database.execute("select person, stratum, number from people")
            }
            used = {
                stratum: last + 1
                for stratum, last in database.execute(
                    "select stratum, max(number) from people group by stratum"
                )
            }
            fresh: list[tuple[bytes, str, int]] = []
            for name, stratum in zip(names, strata, strict=True):
                person = self._mac("person", name.encode())
                if person not in known:
                    first, count = room.get(stratum, (0, 0))
                    number = max(used.get(stratum, first), first)
                    if number >= first + count:
                        raise BadParameter(
                            f"this gateway has {count} indices of {stratum!r}, and there is none for {name!r}"
                        )
                    used[stratum], known[person] = number + 1, (stratum, number)
                    fresh.append((person, stratum, number))
                before, number = known[person]
                if before != stratum:
                    moved.append(name)
                indices.append(number)
            if moved:
                raise _changed(moved)
            database.executemany("insert into people values (?, ?, ?)", fresh)
        return indices

    def answers(
        self,
        study: Study,
        stratum: str,
        names: Sequence[str],
        indices: Sequence[int],
        columns: Sequence[Sequence[Any]],
    ) -> dict[int, int]:
        """The symbol of everybody who answers this round, by index: a stored one, or one that is stored now.

        Whoever answered an earlier round answers no more. Somebody whose input is another one than the answer
        was made from is refused by name, and then nobody is answered.
        """
        stored = {
            person: (of, made_from, symbol)
            for person, of, made_from, symbol in self._database.execute("select * from answers")
        }
        order = np.sort(np.array(indices, dtype=np.int64))
        asked = set(order[study.asks_all(stratum, order)].tolist())
        symbols: dict[int, int] = {}
        changed: list[str] = []
        fresh: list[tuple[bytes, str, bytes, str]] = []
        number = study.strata.index(stratum)
        for place, (name, index) in enumerate(zip(names, indices, strict=True)):
            values = [column[place] for column in columns]
            person = self._mac("person", name.encode())
            made_from = self._mac("input", stratum.encode(), *map(_written, values))
            before = stored.get(person)
            if before is not None:
                if not hmac.compare_digest(before[1], made_from):
                    changed.append(name)
                elif before[0] == study.id:
                    symbols[index] = int(before[2])
            elif index in asked:
                noise = SecretStream(self._mac("noise", bytes.fromhex(study.id), person, made_from))
                one = [_column(value) for value in values]
                symbol = int(alone(study).randomize(study.coins, number, index, one, noise)[0])
                symbols[index] = symbol
                fresh.append((person, study.id, made_from, str(symbol)))
        if changed:
            raise _changed(changed)
        with self._writing() as database:
            database.executemany("insert into answers values (?, ?, ?, ?)", fresh)
        return symbols


def _changed(names: Sequence[str]) -> Conflict:
    listed = ", ".join(map(repr, names[:SHOWN])) + (
        f" and {len(names) - SHOWN} more" if names[SHOWN:] else ""
    )
    return Conflict(
        f"what this gateway says of {listed} is not what their answers were made from; a second answer would "
        "reveal more, so give the former values or leave them out"
    )


def _column(value: Any) -> np.ndarray[Any, Any]:
    column = np.empty(1, dtype=object)
    column[0] = value
    return column


def _written(value: Any) -> bytes:
    """One text for one value, however the table holds it: 1, 1.0 and numpy's 1 are the same."""
    if isinstance(value, str):
        return b"s" + value.encode()
    number = float(value)
    return b"i%d" % int(value) if number.is_integer() else b"f" + number.hex().encode()
