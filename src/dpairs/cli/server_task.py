"""`dpairs server task`, `keys` and `dpairs collect`: agreeing on a task, and opening its result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BadParameter
from ..study import Study
from .extras import need
from .show import output, print_estimate, print_json, print_table

if TYPE_CHECKING:
    from ..dap.task import Operator

Named = Annotated[str, typer.Option(help="Its operator and address: NAME=https://HOST.")]


def task(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file of two servers.")],
    leader: Named,
    helper: Named,
    key: Annotated[
        Path,
        typer.Option(help="The analyst's key, created if missing; with it, anybody can open the result."),
    ],
    out: Annotated[Path, typer.Option(help="Where to write the task, for both operators.")],
    title: Annotated[str, typer.Option(help="The study's title, as people see it.")] = "A study",
    min_batch_size: Annotated[int, typer.Option(help="Release nothing about fewer people.", min=2)] = 100,
    time_precision: Annotated[
        int, typer.Option(help="The precision of a report's time, in seconds.", min=1)
    ] = 3600,
) -> None:
    """Write the task file that both operators read and accept.

    It names the study, the servers, and the key that the result is sealed for.
    """
    need("this", "client,vdaf", "dpairs.client.two_servers")
    from ..client.two_servers import link_of
    from ..dap.task import Analyst, Task
    from ..servers.keys import read_key, write_key

    if not key.exists():
        write_key(key, "the analyst's key")
    made = Task(
        Study.load(study_file),
        title,
        _operator(leader),
        _operator(helper),
        Analyst.of(read_key(key, "the analyst's key")),
        min_batch_size,
        time_precision,
    )
    made.save(out)
    output.print(f"task {made.id.hex()[:16]}... written to {out}: give it to both operators", highlight=False)
    output.print(f"people take part at {link_of(made)}", highlight=False, soft_wrap=True)


def _operator(given: str) -> Operator:
    from ..dap.task import Operator

    name, equals, url = given.partition("=")
    if not equals:
        raise BadParameter(f"a server is given as NAME=https://HOST, not {given!r}")
    return Operator(name.strip(), url.strip().rstrip("/"))


def keys(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The server's keys.")],
    rotate: Annotated[
        bool, typer.Option(help="Add a new key, which is used from the next start on.")
    ] = False,
) -> None:
    """Make the keys that reports are sealed for, or add a new one.

    Old ones still open reports.
    """
    need("this", "client,service,servers", "dpairs.aggregator.keys")
    from ..aggregator.keys import ServerKeys, fresh_keys

    if file.exists() != rotate:
        raise BadParameter(
            f"{file} already exists: give --rotate" if file.exists() else f"{file} does not exist"
        )
    made = ServerKeys.load(file).rotated() if rotate else fresh_keys()
    made.save(file)
    output.print(
        f"{len(made.secrets)} key(s) in {file}; key {made.configs[0].id} is offered", highlight=False
    )


def page(
    task_file: Annotated[Path, typer.Argument(metavar="TASK", help="The task file.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Host its content at the root of an address.")],
) -> None:
    """Write a task's page as plain files, for a third party to host."""
    need("this", "client,service,servers", "dpairs.aggregator.routes.pages")
    from ..aggregator.routes.pages import export
    from ..dap.task import Task

    made = Task.load(task_file)
    export(made, out)
    output.print(f"written to {out}: people take part at /two-servers/{made.id.hex()}/", highlight=False)


def collect(
    task_file: Annotated[Path, typer.Argument(metavar="TASK", help="The task file.")],
    key: Annotated[Path, typer.Option(help="The analyst's key.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the release, for `dpairs estimate`.")
    ] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for the two servers.", min=0)] = 300.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the estimate as JSON.")] = False,
) -> None:
    """Get a task's result from the two servers, and open it.

    The servers release it once. From then on nobody else can take part. If you ask again, the servers return
    the same result.
    """
    need("this", "client,vdaf", "dpairs.client.two_servers")
    from ..client.two_servers import collect_result, server_states
    from ..dap.task import Task
    from ..servers.keys import read_key

    made = Task.load(task_file)
    release = collect_result(made, read_key(key, "the analyst's key"), wait)
    if out is not None:
        release.save(out)
    estimate = release.estimate()
    if as_json:
        print_json({"people": release.sizes, **estimate.to_json()})
        return
    print_estimate(estimate, 0.95)
    print_table(("server", "role", "state", "verified", "refused"), server_states(made), title=made.title)
