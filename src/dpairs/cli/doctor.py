"""`dpairs doctor`: what is installed, which extras work, where data lies."""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__
from ..errors import BadFile, DpairsError
from ..privacy.ledger import Ledger
from .cache import remembered
from .show import output, print_json, print_table

INTERNAL = {"all", "test", "check", "docs", "bench", "experiments", "release"}
"""Extras for working on dpairs itself, and the one that has all others."""
MODULES = {
    "cli": "dpairs.cli.app",
    "client": "dpairs.client",
    "duckdb": "dpairs.engines.on_duckdb",
    "pairs": "dpairs.garbled.transfer",
    "plots": "dpairs.pictures",
    "servers": "dpairs.vdaf.batch",
    "service": "dpairs.collector",
    "spark": "dpairs.engines.on_spark",
    "vdaf": "dpairs.vdaf.hpke",
}
"""What of ours must be importable for an extra to work."""
PROGRAMS = {
    "java": "Spark",
    "node": "tests of JavaScript",
    "chromium": "tests of pages",
    "postgres": "PostgreSQL",
}


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False) -> None:
    """Say which parts of dpairs work here, and where data is kept."""
    examined = examine()
    if as_json:
        print_json(examined)
        return
    print_table(("dpairs", ""), list(examined["versions"].items()))
    rows = [(name, state["works"], state["says"]) for name, state in examined["extras"].items()]
    print_table(
        ("extra", "works", ""), [(name, "yes" if works else "no", says) for name, works, says in rows]
    )
    print_table(("what", "where"), list(examined["places"].items()))
    broken = [name for name, works, _ in rows if not works]
    if broken:
        output.print(
            f"To add what is missing: pip install 'dpairs[{','.join(broken)}]'", highlight=False, markup=False
        )


def examine() -> dict[str, Any]:
    """Versions, extras and places, as plain values."""
    return {
        "versions": {
            "dpairs": __version__,
            "python": platform.python_version(),
            "system": platform.platform(terse=True),
            **{name: _version(name) for name in ("numpy", "scipy", "narwhals")},
        },
        "extras": {name: _extra(name, needed) for name, needed in _extras().items()},
        "places": _places(),
    }


def _extras() -> dict[str, list[str]]:
    """The packages of each extra, from the metadata that dpairs was installed with."""
    extras: dict[str, list[str]] = {}
    for line in requires("dpairs") or []:
        named = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        package = re.match(r"[\w.-]+", line)
        if named and package and named[1] not in INTERNAL and package[0] != "dpairs":
            extras.setdefault(named[1], []).append(package[0])
    return extras


def _extra(name: str, needed: list[str]) -> dict[str, Any]:
    missing = [package for package in needed if _version(package) == "-"]
    if missing:
        return {"works": False, "says": f"not installed: {', '.join(missing)}"}
    try:
        importlib.import_module(MODULES.get(name, "dpairs"))
    except (ImportError, OSError, DpairsError) as error:
        return {"works": False, "says": str(error).splitlines()[0]}
    return {"works": True, "says": ", ".join(f"{package} {_version(package)}" for package in needed)}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "-"


def _places() -> dict[str, str]:
    places = {"searched mechanisms": _writable(remembered(None).folder)}
    try:
        from ..client.device import LEDGER, default_home

        ledger = default_home() / LEDGER
        places["this person's folder"] = _writable(ledger.parent)
        places["ledger"] = _ledger(ledger)
    except ImportError:
        pass
    places["a collector's data"] = f"{Path('dpairs.sqlite').resolve()}, or what --database names"
    return places | {
        f"{program}, for {use}": shutil.which(program) or "not found" for program, use in PROGRAMS.items()
    }


def _writable(folder: Path | None) -> str:
    """The folder, and whether it is one, or can become one, that this user may write to."""
    if folder is None:
        return "nowhere"
    there = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), folder)
    if not there.is_dir():
        return f"{folder}: cannot be written, since {there} is not a folder"
    return str(folder) if os.access(there, os.W_OK | os.X_OK) else f"{folder}: cannot be written"


def _ledger(path: Path) -> str:
    if not path.exists():
        return f"{path}: nothing answered yet"
    try:
        book = Ledger.load(path)
    except BadFile as error:
        return f"{path}: {error}"
    return f"{path}: epsilon {book.total:.4g} of {book.limit:.4g} spent in {len(book.spent)} answers"
