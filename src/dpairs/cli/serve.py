"""`dpairs serve`: start a collector."""

from __future__ import annotations

import importlib
import json
import socket
from typing import Annotated

import typer

from ..errors import BadParameter
from ..formats.checks import choice
from .show import output

LEVELS = ("debug", "info", "warning", "error")
HELP = "Where to store: sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME."


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65535)] = 8000,
    database: Annotated[str, typer.Option(help=HELP, envvar="DPAIRS_DATABASE")] = "sqlite:///dpairs.sqlite",
    new_token: Annotated[bool, typer.Option(help="Make a new analyst's token; the old one ends.")] = False,
    rate: Annotated[
        float, typer.Option(help="Requests a second from one address; 0 means any number.", min=0)
    ] = 50.0,
    burst: Annotated[int, typer.Option(help="Requests at once from one address.", min=1)] = 500,
    message_hours: Annotated[float, typer.Option(help="How long a pair's unread message is kept.")] = 14
    * 24.0,
    behind: Annotated[
        str, typer.Option(help="Addresses of proxies whose X-Forwarded-For is believed.")
    ] = "127.0.0.1",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    as_json: Annotated[bool, typer.Option("--json", help="Print address and token as JSON.")] = False,
) -> None:
    """Run a collector in this folder: studies, participants, pairs, and pages for all of them.

    The analyst's token is printed once, at the first start.
    """
    try:
        importlib.import_module("dpairs.collector")
        import uvicorn
    except ImportError as error:
        raise BadParameter(
            f"a collector needs {error.name}, which is not here: install the extra 'service' of dpairs"
        ) from None
    from ..collector import Service, Settings, create_app
    from ..collector.logs import configure

    configure(choice("--log-level", log_level, LEVELS))
    settings = Settings(database=database, rate=rate, burst=burst, message_hours=message_hours)
    try:
        line = socket.create_server((host, port), backlog=2048)
    except OSError as error:
        raise BadParameter(f"{host}:{port} cannot be listened on: {error.strerror or error}") from None
    service = Service(settings, new_analyst=new_token)
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(service),
            access_log=False,  # it would name addresses
            log_config=None,
            server_header=False,
            forwarded_allow_ips=behind,
            timeout_graceful_shutdown=10,
            timeout_keep_alive=30,
            h11_max_incomplete_event_size=65536,
        )
    )
    address = f"http://{host}:{line.getsockname()[1]}"
    if as_json:
        print(json.dumps({"address": address, "token": service.token, "database": database}), flush=True)
    else:
        output.print(f"collector: {address}", highlight=False)
        if service.token is not None:
            output.print(
                f"analyst's token, shown this once: {service.token}", highlight=False, soft_wrap=True
            )
        output.print("stop with Ctrl-C", style="dim")
    server.run(sockets=[line])
