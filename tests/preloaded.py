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
try:
    from dpairs.vdaf.batch.server import Server
except ImportError:
    pass
else:  # A report verified, so that each server need not read the compiled code from the disk.
    from dpairs.vdaf.instances import one_hot
    from dpairs.vdaf.prio3 import KEY, NONCE

    vdaf, nonce = one_hot(2), bytes(NONCE)
    public, shares = vdaf.shard(b"", 0, nonce, bytes(vdaf.rand_size))
    servers = [Server(vdaf, bytes(KEY), b"", number) for number in (0, 1)]
    begun = [
        server.verify_init([nonce], [public], [share]) for server, share in zip(servers, shares, strict=True)
    ]
    messages, _ = servers[0].combine([each.verifier_shares for each in begun])
    servers[0].aggregate(begun[0], servers[0].verify_next(begun[0], messages))
