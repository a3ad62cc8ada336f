"""The service: an organisation's studies, who takes part, their reports, and the mailbox of pairs.

Nothing here sees a value: reports are symbols, and messages of pairs are sealed for the partner.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .app import create_app
    from .service import Service
    from .settings import Settings

__all__ = ["Service", "Settings", "create_app"]


if not TYPE_CHECKING:  # else type checkers would take any name to be there
    HOMES = {"Service": ".service", "Settings": ".settings", "create_app": ".app"}

    def __getattr__(name: str) -> object:
        """The two servers use some modules of a collector, and need not load all of it."""
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(HOMES[name], __name__), name)
