"""A collector's settings: from options, environment variables, or one file."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from ..errors import BadParameter
from ..formats import files
from ..formats.checks import choice, integer, real

SIZES = ("body_limit", "batch_limit", "body_memory", "burst")
SECONDS = ("body_seconds", "answer_seconds", "message_hours")
SQLITE = "sqlite:///dpairs.sqlite"
LEVELS = ("debug", "info", "warning", "error")
LABEL = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
HOST = re.compile(rf"https?://({LABEL}(\.{LABEL})*\.?|\[[0-9A-Fa-f:.]+\])(:[0-9]{{1,5}})?")
"""An address without user, password, path or query; names beyond ASCII are written as `xn--...`."""
MOST = 2**40
"""Of every size and every time."""
MOST_FILE = 2**20
"""Bytes of a file with settings."""
PREFIX = "DPAIRS_"
"""Of environment variables: DPAIRS_RATE sets ``rate``."""


@dataclass(frozen=True)
class Settings:
    """Where a collector listens and stores, and what it refuses."""

    database: str = SQLITE
    """An address as SQLAlchemy takes it; `sqlite:///file` or `postgresql+psycopg://user@host/name`."""
    host: str = "127.0.0.1"
    """The address to listen on."""
    port: int = 8000
    """The port to listen on; 0 takes a free one."""
    public_url: str = ""
    """Where people outside reach this collector, such as https://studies.example.org."""
    behind: str = "127.0.0.1"
    """Addresses of proxies whose X-Forwarded-For is trusted."""
    standby: bool = False
    """Whether to wait, as long as it takes, while another collector serves the same database."""
    rate: float = 50.0
    """Requests a second from one address, over some seconds; 0 means any number."""
    burst: int = 500
    """Requests in one burst from one address."""
    body_limit: int = 2**20
    """Bytes of an ordinary request."""
    batch_limit: int = 64 * 2**20
    """Bytes of a gateway's batch."""
    body_memory: int = 384 * 2**20
    """Bytes of memory that all large bodies take together; a body counts three times."""
    body_seconds: float = 20.0
    """How long a request may take to arrive."""
    answer_seconds: float = 60.0
    """How long an answer may take to begin, and to go on."""
    message_hours: float = 14 * 24.0
    """How long the mailbox keeps a message that nobody fetches."""
    log_level: str = "info"
    """debug, info, warning or error."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name in SIZES:
            integer(name, getattr(self, name), 1, MOST)
        for name in SECONDS:
            if not 0 < real(name, getattr(self, name)) <= MOST:
                raise BadParameter(f"{name} must be above 0 and at most {MOST}, not {getattr(self, name)}")
        if real("rate", self.rate) < 0:
            raise BadParameter(f"rate must be at least 0, not {self.rate}")
        if not self.host:
            raise BadParameter("host must be an address to listen on, such as 127.0.0.1, ::1 or 0.0.0.0")
        if not 0 <= self.port <= 65535:
            raise BadParameter(f"port must be from 0 to 65535, not {self.port}")
        for name in ("database", "host", "behind"):
            if "\0" in getattr(self, name):
                raise BadParameter(f"{name} must not hold a NUL")
        choice("log_level", self.log_level, LEVELS)
        if self.public_url:
            _check_url(self.public_url)


def configured(given: Mapping[str, Any], environment: Mapping[str, str], file: str | None = None) -> Settings:
    """Settings as they are given; else from the environment; else from a file in TOML; else the defaults."""
    known: dict[str, Any] = _file(file) if file else {}
    for setting in fields(Settings):
        text = environment.get(PREFIX + setting.name.upper())
        if text is not None:
            known[setting.name] = _parsed(setting.name, text)
    known |= {name: value for name, value in given.items() if value is not None}
    return Settings(**known)


def _file(path: str) -> dict[str, Any]:
    try:
        content = tomllib.loads(files.read(path, "the settings", MOST_FILE).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadParameter(f"the settings {path} are not TOML: {error}") from None
    kinds = {each.name: type(each.default) for each in fields(Settings)}
    for name, value in content.items():
        if name not in kinds:
            raise BadParameter(
                f"the settings {path} name {name!r}, which does not exist; there are {', '.join(kinds)}"
            )
        if kinds[name] is float and type(value) is int:
            content[name] = float(value)
        elif type(value) is not kinds[name]:
            raise BadParameter(f"{name} in the settings {path} must be of type {kinds[name].__name__}")
    return content


def _parsed(name: str, text: str) -> Any:
    kind = type(getattr(Settings, name))
    if kind is bool:
        if text.lower() not in ("0", "1", "no", "yes", "false", "true"):
            raise BadParameter(f"{PREFIX}{name.upper()} must be yes or no, not {text!r}")
        return text.lower() in ("1", "yes", "true")
    try:
        return kind(text)
    except ValueError:
        raise BadParameter(f"{PREFIX}{name.upper()} must be a number, not {text!r}") from None


def _check_url(address: str) -> None:
    """Refuse what is no plain address of a host: it is printed, and put on a QR code."""
    try:
        good = HOST.fullmatch(address.rstrip("/")) is not None
        good = good and urlsplit(address).port != 0  # which raises beyond 65535
    except ValueError:
        good = False
    if not good:
        raise BadParameter("public_url must be like https://studies.example.org, without a name or a path")


def is_local(address: str) -> bool:
    """Whether an address works on this machine only."""
    name = (urlsplit(address).hostname or "").rstrip(".")
    try:
        number = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    number = getattr(number, "ipv4_mapped", None) or number
    return number.is_loopback or number.is_unspecified
