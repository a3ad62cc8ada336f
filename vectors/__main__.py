"""Write the test vectors: `python -m vectors [folder]`. Their layout is in vectors/README.md.

Everything is derived from the names of the files, so that a second run writes the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .makers import (
    histogram,
    histogram_bad,
    pairwise,
    pairwise_bad,
    projection,
    projection_bad,
    tree,
    tree_bad,
)
from .makers.vector import FILES

MAKERS = (histogram, histogram_bad, pairwise, pairwise_bad, projection, projection_bad, tree, tree_bad)


def main(folder: Path = Path(__file__).parent) -> None:
    folder.mkdir(exist_ok=True)
    for name, make in FILES.items():
        (folder / f"{name}.json").write_text(make().text(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
