"""Taking part in a collector's studies from Python: one person, a pair's partner, a gateway, an analyst.

>>> Link.parse("https://studies.example.org/take-part/" + "0" * 64 + "#code=abcd").code
'abcd'
"""

from typing import TYPE_CHECKING

from .analyst import Analyst
from .device import Device
from .link import Link
from .offer import Offer, get_offer
from .reporter import Joined, join
from .site import AnswerReceipt, Leaving, Site
from .transport import Transport

if TYPE_CHECKING:
    from .gateway import Gateway

__all__ = [
    "Analyst",
    "AnswerReceipt",
    "Device",
    "Gateway",
    "Joined",
    "Leaving",
    "Link",
    "Offer",
    "Site",
    "Transport",
    "get_offer",
    "join",
]


if not TYPE_CHECKING:  # else type checkers would take any name to be there

    def __getattr__(name: str) -> object:
        """A gateway reads and writes Arrow; nobody else's device has to load that, or to have it."""
        if name == "Gateway":
            from .. import engines  # noqa: F401 - says which extra has pyarrow
            from .gateway import Gateway

            return Gateway
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
