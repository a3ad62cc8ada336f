"""The service: an organisation's studies, who takes part, their reports, and the mailbox of pairs.

Nothing here sees a value: reports are symbols, and messages of pairs are sealed for the partner.
"""

from .app import create_app
from .service import Service
from .settings import Settings

__all__ = ["Service", "Settings", "create_app"]
