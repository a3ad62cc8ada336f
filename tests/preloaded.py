"""What processes of tests/processes.py have before they are forked: imports of servers, and the commands."""

import importlib

from dpairs.cli.app import command

command()
for name in (
    *("dpairs.client", "dpairs.collector.connections", "dpairs.collector.logs", "dpairs.aggregator.app"),
    *("uvicorn.main", "uvicorn.lifespan.on", "uvicorn.loops.uvloop", "uvicorn.protocols.http.httptools_impl"),
    *("psycopg", "logging.config", "tests.hasty"),
):
    try:
        importlib.import_module(name)
    except ImportError:  # an extra that is not installed
        continue
