"""`dpairs join` for a task of two servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from .extras import need
from .join import ask_person, claim_rows, named_stratum, shown
from .report import private_values
from .show import errors, print_json, print_table

if TYPE_CHECKING:
    from ..dap.task import Task


def join_servers(
    link: str,
    given: dict[str, str | None],
    stratum: str | None,
    home: Path | None,
    yes: bool,
    patience: float,
    as_json: bool,
    limits: dict[str, Any],
) -> None:
    """Show who runs the servers and what each can see; then send the one sealed report."""
    need("a study of two servers", "vdaf", "dpairs.client.two_servers")
    from ..client import Device
    from ..client.two_servers import get_task, join_task

    offered = get_task(link, patience)
    rows = task_rows(offered.task)
    if not yes:
        errors.print(f"This study is called: {shown(offered.task.title)}", highlight=False)
        for name, words in rows:
            errors.print(f"  {name}: {escape(words)}", highlight=False, soft_wrap=True)
        ask_person()
    joined = join_task(
        offered,
        private_values(offered.study, given),
        stratum=named_stratum(stratum, offered.study),
        device=Device(home),
        **limits,
    )
    if as_json:
        task = offered.task
        servers = [each.to_json() for each in task.operators]
        said = {"state": joined.state, "message": joined.message, "stratum": joined.stratum}
        print_json({**said, "servers": servers, "privacy": task.study.privacy.to_json()})
        return
    print_table(("your part", "in this study"), [*rows[:4], ("state", f"{joined.state}: {joined.message}")])


def task_rows(task: Task) -> list[tuple[str, str]]:
    """Both servers, what each can see, and the promise as this program derives it from the study."""
    from ..client.two_servers import PAGE, SEES

    rows = [
        (f"server {number} is run by", f"{each.name} ({each.url}), which {sees}")
        for number, (each, sees) in enumerate(zip(task.operators, SEES, strict=True), 1)
    ]
    claim = claim_rows(task.study)
    least = ("is released", f"once, of at least {task.min_batch_size} people")
    return [*rows, *claim[:2], least, *claim[2:], ("about pages", PAGE)]
