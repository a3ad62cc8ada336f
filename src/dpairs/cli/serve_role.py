"""`dpairs serve --role leader|helper`: one of the two servers of tasks."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadParameter
from ..formats.checks import choice
from .extras import need
from .show import errors, output

if TYPE_CHECKING:
    from ..collector.settings import Settings

REVIEW = "accepted: {title} ({who}), epsilon {epsilon:g}, at least {least} people, released once"


def serve_role(
    role: str,
    settings: Settings,
    database: str | None,
    accept: list[Path],
    keys: Path | None,
    secret: Path | None,
    workers: int,
    as_json: bool,
) -> None:
    """Run a leader or a helper until it is told to end."""
    need("a server of tasks", "client,service,servers", "dpairs.aggregator.app")
    from ..aggregator.app import create_app
    from ..aggregator.keys import ServerKeys, fresh_keys
    from ..aggregator.releases import Releases
    from ..aggregator.service import Aggregator
    from ..collector.settings import SQLITE
    from ..dap.task import ROLES, Task
    from ..servers.keys import read_key
    from .serve import bracketed, listen, run

    number = ROLES.index(choice("role", role, ROLES))
    if secret is None:
        raise BadParameter("a server of tasks needs --secret, the key that both operators have")
    shared, tasks = read_key(secret), [Task.load(each) for each in accept]
    if database is None and settings.database == SQLITE:
        settings = replace(settings, database=f"sqlite:///{role}.sqlite")
    place = keys or Path(f"{role}.keys")
    if not place.exists():
        fresh_keys().save(place)
    line = listen(settings.host, settings.port)
    address = f"http://{bracketed(settings.host)}:{line.getsockname()[1]}"
    service = Aggregator(
        settings,
        number,
        shared,
        ServerKeys.load(place),
        tasks,
        workers=workers or os.cpu_count() or 1,
        releases=Releases(place.with_name(f"{place.name}.released")),
    )
    if as_json:
        print(json.dumps({"address": address, "role": role, "tasks": sorted(service.recipes)}), flush=True)
    else:
        output.print(f"{role}: {address}", highlight=False)
        for store in service.stores.values():
            task, who = store.task, f"{store.task.leader.name} and {store.task.helper.name}"
            line_of = REVIEW.format(
                title=task.title, who=who, epsilon=task.study.privacy.epsilon, least=task.min_batch_size
            )
            output.print(line_of, highlight=False, soft_wrap=True, markup=False)
        if not service.recipes:
            errors.print("no task was accepted yet: give --accept FILE", highlight=False)
        output.print("stop with Ctrl-C", style="dim")
    run(create_app(service), settings.behind, line)
