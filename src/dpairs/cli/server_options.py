"""Options of `dpairs serve` for one of the two servers of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Role = Annotated[str | None, typer.Option(help="leader or helper: run one of the two servers of tasks.")]
Accept = Annotated[
    list[Path] | None,
    typer.Option(help="With --role: a task file that you have read and agree to; repeat for several."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(help="With --role: this server's keys; by default ROLE.keys, created if missing."),
]
SecretFile = Annotated[
    Path | None, typer.Option(help="With --role: the key that both operators have, of `dpairs server key`.")
]
WorkerCount = Annotated[
    int, typer.Option(help="With --role: processes that verify reports; 0 takes one for each core.", min=0)
]
