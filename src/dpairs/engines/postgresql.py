"""The reports of a collector, read where they lie: PostgreSQL's rows through ADBC, or through Spark's JDBC.

Only committed reports are read, in one query, so the tally is of one moment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ..errors import BadFile, BadParameter, InvalidInput
from ..study import Study
from .places import first_sentence

JAR = "/usr/share/java/postgresql.jar"
"""Where Debian's libpostgresql-jdbc-java puts the driver."""
SPOKEN = ("host", "hostaddr", "port", "dbname", "user", "sslmode", "connect_timeout", "application_name")
"""Options of an address whose values may be in a message; all others may be secrets."""
SECURED = ("sslmode", "sslrootcert", "sslcert", "sslkey")
"""Options that JDBC understands as PostgreSQL's own library does, also from PGSSLMODE and so on."""
HARMLESS = ("application_name", "connect_timeout")
"""Options that change nothing about who reads what from whom: JDBC can do without."""
FETCH = 100_000
"""Rows that JDBC fetches at once; it would hold all of them otherwise."""


@contextmanager
def collected(url: str, study: Study) -> Iterator[Any]:
    """An Arrow reader of the study's reports in a collector's database."""
    with _cursor(url) as cursor:
        text = _rows(study, _serial(cursor, study))
        try:
            cursor.execute(text)
            reader = cursor.fetch_record_batch()
        except Exception as error:  # the driver's errors are those of any module of Python's DB-API
            raise _unreadable(url, error) from None
        yield reader


def jdbc(url: str, study: Study, partitions: int = 8) -> dict[str, str]:
    """Spark's options for reading the same rows, in parts by index."""
    with _cursor(url) as cursor:
        serial = _serial(cursor, study)
        last = f"SELECT coalesce(max(index), 0) FROM reports WHERE round = {serial}"  # noqa: S608 - a number
        (upper,) = cursor.execute(last).fetchone()
    parts = urlsplit(_plain(url))
    secured = _secured(parts.query)
    if parts.hostname is None:
        raise BadParameter("Spark reaches PostgreSQL by a host's name: postgresql://user@host/database")
    port = f":{parts.port}" if parts.port else ""
    options = {
        "url": f"jdbc:postgresql://{parts.hostname}{port}{parts.path}",
        "driver": "org.postgresql.Driver",
        "dbtable": f"({_rows(study, serial)}) AS collected",
        "fetchsize": str(FETCH),
        "partitionColumn": "index",
        "lowerBound": "0",
        "upperBound": str(upper + 1),
        "numPartitions": str(partitions),
    } | secured
    if parts.username:
        options["user"] = unquote(parts.username)
    password = unquote(parts.password or "") or os.environ.get("PGPASSWORD")
    if password:
        options["password"] = password
    return options


def _secured(query: str) -> dict[str, str]:
    """How the connection is secured: as for ADBC, which reads the same options and variables."""
    given = dict(parse_qsl(query, keep_blank_values=True))
    for name in given:
        if name not in SECURED + HARMLESS:
            raise BadParameter(
                f"Spark's JDBC has no option {name!r} of PostgreSQL: leave it out of the address"
            )
    told = {name: given.get(name) or os.environ.get(f"PG{name.upper()}") for name in SECURED}
    return {name: value for name, value in told.items() if value}


def settings_of_jdbc() -> dict[str, str]:
    """Spark's settings that give it PostgreSQL's driver, where Debian's package put it."""
    return {"spark.jars": JAR} if os.path.exists(JAR) else {}


@contextmanager
def _cursor(url: str) -> Iterator[Any]:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise BadParameter("a collector's database is read with ADBC: pip install 'dpairs[adbc]'") from None
    try:
        connection = dbapi.connect(_plain(url))
    except dbapi.Error as error:
        raise _unreadable(url, error) from None
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()


def _serial(cursor: Any, study: Study) -> int:
    """The number of the round that asks this study."""
    try:
        rounds = cursor.execute("SELECT serial, body FROM rounds ORDER BY serial DESC").fetchall()
    except Exception as error:  # as above
        raise BadFile(f"the database is no collector's: {first_sentence(error)}") from None
    for serial, body in rounds:
        try:
            if Study.from_json(body) == study:
                return int(serial)
        except InvalidInput:
            continue
    raise BadFile(f"the collector's database has no study {study.id[:16]}...")


def _rows(study: Study, serial: int) -> str:
    for name in study.strata:
        if not re.fullmatch(r"[\w .:+-]+", name):
            raise BadParameter(f"stratum {name!r} has a character that tables cannot have")
    named = " ".join(f"WHEN {place} THEN '{name}'" for place, name in enumerate(study.strata))
    return (
        f'SELECT CASE stratum {named} END AS stratum, "index", symbol '  # noqa: S608 - checked names, a number
        f"FROM reports WHERE round = {serial}"
    )


def _plain(url: str) -> str:
    """An address without the name of Python's driver, which a collector's settings have."""
    return re.sub(r"^postgres(?:ql)?(?:\+\w+)?://", "postgresql://", url)


def _unreadable(url: str, error: Exception) -> BadFile:
    """A sentence with neither names nor passwords, also where an address is not well formed."""
    plain = _plain(url)
    where = re.sub(r"//.*@", "//", plain).partition("?")[0]
    hidden = re.split(r"[:@/?#&=]", plain.removeprefix("postgresql://").rpartition("@")[0])[1:]
    pairs = [pair.partition("=") for pair in plain.rpartition("@")[2].partition("?")[2].split("&")]
    hidden += [value or name for name, _, value in pairs if name not in SPOKEN]
    said = first_sentence(error)
    if any(word and (word in said or unquote(word) in said) for word in hidden):
        said = "its address is not well formed; special characters of a password are written like %40"
    return BadFile(f"{where} cannot be read: {said}")
