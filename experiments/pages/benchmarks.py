"""The page of benchmarks, from what `make bench` measured."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ..exhibits import TEXTS

KEPT = Path(__file__).parents[2] / "benchmarks" / "results.json"
COLUMNS = ("What", "Against", "Ours", "Theirs", "Ratio", "Wanted", "Reached", "Note")


@cache
def benchmark() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def page() -> str:
    """A table for each benchmark, and where it was measured."""
    parts = []
    for part in benchmark().values():
        machine = ", ".join(f"{name} {value}" for name, value in part["machine"].items())
        parts += [f"## {part['title']}", part["about"], f"Measured with: {machine}."]
        lines = [list(COLUMNS), ["---"] * len(COLUMNS), *(row["cells"] for row in part["rows"])]
        parts.append("\n".join("| " + " | ".join(line) + " |" for line in lines))
    return "\n\n".join(parts)


TEXTS["benchmarks"] = page
