"""What whoever starts a collector may set."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import BadParameter
from ..formats.checks import real

POSITIVE = ("body_limit", "batch_limit", "body_memory", "body_seconds", "answer_seconds", "burst")
POSITIVE += ("message_hours",)
SQLITE = "sqlite:///dpairs.sqlite"


@dataclass(frozen=True)
class Settings:
    """Where it stores, and what it refuses."""

    database: str = SQLITE
    """An address as SQLAlchemy takes it; `sqlite:///file` or `postgresql+psycopg://user@host/name`."""
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
    rate: float = 50.0
    """Requests a second from one address, over some seconds; 0 means any number."""
    burst: int = 500
    """Requests at once from one address."""
    message_hours: float = 14 * 24.0
    """How long the mailbox keeps a message that nobody fetches."""
    standby: bool = False
    """Whether to wait, as long as it takes, while another collector serves the same database."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name in POSITIVE:
            if real(name, getattr(self, name)) <= 0:
                raise BadParameter(f"{name} must be above 0, not {getattr(self, name)}")
        if real("rate", self.rate) < 0:
            raise BadParameter(f"rate must not be negative, as {self.rate} is")
