"""`dpairs serve`: start a collector."""

from __future__ import annotations

import gc
import ipaddress
import json
import os
import socket
import sys
from typing import Annotated, Any

import typer

from ..errors import BadParameter
from .extras import need
from .server_options import Accept, KeyFile, Role, SecretFile, WorkerCount
from .show import errors, output

HELP = "Where to store: sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME."
YOUNG = 50_000
"""New objects after which they are searched for garbage: fewer than one request in a hundred meets it."""
TURN = 0.0005
"""Seconds after which a busy thread lets another one go on: a request waits no longer for an estimate."""
OUTSIDE = (
    "warning: {address} works on this machine only; give --public-url to make links and "
    "QR codes work elsewhere"
)


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on: 127.0.0.1, ::1, ...")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on; by default 8000.", min=0)] = None,
    database: Annotated[str | None, typer.Option(help=HELP)] = None,
    public_url: Annotated[
        str | None, typer.Option(help="The address at which people reach this collector.")
    ] = None,
    standby: Annotated[
        bool, typer.Option(help="Wait while another collector serves this database; take over when it ends.")
    ] = False,
    new_token: Annotated[
        bool, typer.Option(help="Make a new analyst's token; the old one becomes invalid.")
    ] = False,
    rate: Annotated[
        float | None, typer.Option(help="Requests per second from one address; 0 means no limit.", min=0)
    ] = None,
    burst: Annotated[int | None, typer.Option(help="Requests in one burst from one address.", min=1)] = None,
    message_hours: Annotated[
        float | None, typer.Option(help="How long a pair's unread message is kept.")
    ] = None,
    behind: Annotated[
        str | None, typer.Option(help="Addresses of proxies whose X-Forwarded-For is trusted.")
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    config: Annotated[
        str | None, typer.Option(help="A TOML file with any of the settings.", envvar="DPAIRS_CONFIG")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print address and token as JSON.")] = False,
    role: Role = None,
    accept: Accept = None,
    keys: KeyFile = None,
    secret: SecretFile = None,
    workers: WorkerCount = 0,
) -> None:
    """Run a collector in this folder, or one of two servers.

    A collector has studies, participants and pairs, and web pages for all of them.

    With --role, run one of the two servers of tasks instead: leader or helper, see `dpairs server task`.

    The first start prints the analyst's token, only once. Every setting can also be an environment variable
    (DPAIRS_RATE, DPAIRS_BODY_LIMIT, ...), or be in the file that --config names; options take precedence.
    """
    need("a collector", "service", "dpairs.collector", "uvicorn")
    from dataclasses import replace

    from sqlalchemy import make_url

    from ..collector import Service, create_app
    from ..collector.logs import configure
    from ..collector.settings import configured, is_local

    given: dict[str, Any] = {"host": host, "port": port, "database": database, "public_url": public_url}
    given |= {"rate": rate, "burst": burst, "message_hours": message_hours, "behind": behind}
    given |= {"log_level": log_level, "standby": standby or None}
    settings = configured(given, os.environ, config)
    configure(settings.log_level)
    if role is not None:
        from .serve_role import serve_role

        serve_role(role, settings, database, accept or [], keys, secret, workers, as_json)
        return
    line = listen(settings.host, settings.port)
    address = f"http://{bracketed(settings.host)}:{line.getsockname()[1]}"
    settings = replace(settings, public_url=(settings.public_url or address).rstrip("/"))
    service = Service(settings, new_analyst=new_token)
    if as_json:
        stored = make_url(settings.database).set(query={}).render_as_string(hide_password=True)
        print(json.dumps({"address": address, "token": service.token, "database": stored}), flush=True)
    else:
        output.print(f"collector: {address}", highlight=False)
        if service.token is not None:
            output.print(
                f"analyst's token, shown only once: {service.token}", highlight=False, soft_wrap=True
            )
        if is_local(settings.public_url):
            errors.print(OUTSIDE.format(address=settings.public_url), highlight=False, soft_wrap=True)
        output.print("stop with Ctrl-C", style="dim")
    run(create_app(service), settings.behind, line)


def run(app: Any, behind: str, line: socket.socket) -> None:
    """Serve. A search of all that a server holds for garbage would stop it for 80 ms, again and again."""
    import uvicorn

    from ..collector.connections import options

    config = uvicorn.Config(app, forwarded_allow_ips=behind, timeout_graceful_shutdown=10, **options())
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)
    sys.setswitchinterval(TURN)
    uvicorn.Server(config).run(sockets=[line])


def listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadParameter(f"cannot listen on {bracketed(host)}:{port}: {reason}") from None


def bracketed(host: str) -> str:
    """A host as it stands in an address."""
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host
