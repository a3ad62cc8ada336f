"""The collectors that devices of this folder's tests talk to."""

from ..collector.conftest import cluster, database, here, running, sqlite

__all__ = ["cluster", "database", "here", "running", "sqlite"]
