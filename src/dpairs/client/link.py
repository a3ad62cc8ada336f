"""The link that a person is given: which collector, which study, and a code if invited."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from ..errors import BadParameter

TASK = re.compile(r"(https?://[^/?#\s]+(?:/[^?#\s]*)?)/two-servers/([0-9a-f]{64})/?(?:#.*)?")
"""A link to a task of two servers: whose page it is, and the task's id."""
_STUDY = re.compile(r"/(?:take-part|studies|api/v1/studies)/([0-9a-f]{64})/?$")


@dataclass(frozen=True)
class Link:
    """A study of a collector. The code comes after a #, so that no server logs it."""

    base: str
    study: str
    code: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, address: str) -> Link:
        """Read a link like https://host/take-part/STUDY#code=CODE."""
        try:
            parts = urlsplit(address.strip())
            match = _STUDY.search(parts.path)
            if parts.scheme not in ("http", "https") or not parts.hostname or match is None:
                raise ValueError
        except ValueError:
            raise BadParameter(
                f"a link looks like https://HOST/take-part/STUDY, with 64 digits, not {address[:120]!r}"
            ) from None
        code = parse_qs(parts.fragment).get("code", [None])[0]
        return cls(f"{parts.scheme}://{parts.netloc}{parts.path[: match.start()]}", match[1], code)


def is_task_link(link: str) -> bool:
    """Whether a link is to a task of two servers."""
    return TASK.fullmatch(link.strip()) is not None
