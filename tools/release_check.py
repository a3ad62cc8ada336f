"""Whether what would be published is whole: the npm package, and README's images."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")


def named(exports: Any) -> Iterator[str]:
    """Every file that package.json points to."""
    if isinstance(exports, str):
        yield exports.removeprefix("./")
    else:
        for each in exports.values():
            yield from named(each)


def missing_from_npm(folder: Path) -> list[str]:
    """What package.json names and `npm pack` leaves out; with each module, its types."""
    said = subprocess.run(  # noqa: S603
        [shutil.which("npm") or "npm", "pack", "--dry-run", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    packed = {each["path"] for each in json.loads(said.stdout)[0]["files"]}
    package = json.loads((folder / "package.json").read_text())
    wanted = {*named(package["exports"]), package["types"].removeprefix("./"), "README.md", "LICENSE"}
    return sorted(wanted - packed)


def relative_images(readme: str) -> list[str]:
    """Images that a package index cannot show."""
    return [path for path in IMAGE.findall(readme) if not path.startswith("https://")]


def main() -> int:
    missing = missing_from_npm(ROOT / "js") if shutil.which("npm") else []
    if not shutil.which("npm"):
        print("not checked: npm pack (npm is not installed)")
    for path in missing:
        print(f"js/package.json names {path}, which npm pack leaves out")
    for path in relative_images((ROOT / "README.md").read_text()):
        print(f"note: README.md shows {path}, which the package index cannot show without an address")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
