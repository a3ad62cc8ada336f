"""The collectors that devices of this folder's tests talk to."""

from ..collector.conftest import database, here, running, sqlite

__all__ = ["database", "here", "running", "sqlite"]
