"""The zoo from the command line; ``make zoo`` calls this.

python -m experiments.zoo                             the first half: measure, then write the table
python -m experiments.zoo --half second               the half that nobody developed on
python -m experiments.zoo --half third                populations that were written later
python -m experiments.zoo --protocol projection       only some cells; also --statistic and others
python -m experiments.zoo --renew --statistic gini_coefficient   measure again what the table has of these
python -m experiments.zoo --again                     the worst cells: 1,000 fresh runs if 91 of 100 or fewer
                                                      covered, and 400 of the others of the 30 worst
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..exhibits import RESULTS
from .cells import Cell, sample
from .journal import read, renew, run

CELLS, RUNS, QUICK = 500, 100, (24, 20)
FEW, AGAIN = 0.91, 1000
"""Cells whose intervals hold so seldom are run again, and so often."""
WORST, OFTEN = 30, 400
"""So many cells with the fewest intervals that hold are run again, at least so often."""


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser("python -m experiments.zoo", description="How often intervals hold.")
    words.add_argument("--half", choices=("first", "second", "third"), default="first")
    words.add_argument("--cells", type=int, default=CELLS, help="how many of the sample")
    words.add_argument("--runs", type=int, default=RUNS, help="of each cell")
    words.add_argument("--fresh", type=int, default=0, help="the number of the first run")
    words.add_argument("--quick", action="store_true", help="few cells, few runs")
    words.add_argument("--renew", action="store_true", help="measure lines of the table again")
    words.add_argument("--again", action="store_true", help="cells of the table that seldom cover")
    words.add_argument("--journal", type=Path, help="where lines are kept")
    for name in ("population", "statistic", "protocol"):
        words.add_argument(f"--{name}", help="only cells with this")
    words.add_argument("--epsilon", type=float, help="only cells with this")
    words.add_argument("--n", type=int, help="only cells with so many people")
    return words


def chosen(cell: Cell, given: argparse.Namespace) -> bool:
    names = ("population", "statistic", "protocol", "epsilon", "n")
    return all(getattr(given, name) in (None, getattr(cell, name)) for name in names)


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    if given.again:
        path = given.journal or RESULTS / "zoo-again.csv"
        rows = read(RESULTS / f"zoo-{given.half}.csv").items()
        least = {cell: min(row.covered, row.covered_sample) for cell, row in rows if row.refused < row.runs}
        for place, cell in enumerate(sorted(least, key=least.__getitem__)):
            if chosen(cell, given) and (least[cell] <= FEW or place < WORST):
                run(path, [cell], AGAIN if least[cell] <= FEW else OFTEN, AGAIN)
        return 0
    count, runs = QUICK if given.quick else (given.cells, given.runs)
    path = given.journal or RESULTS / f"zoo-{given.half}{'-quick' if given.quick else ''}.csv"
    wanted = [cell for cell in sample(given.half, count) if chosen(cell, given)]
    (renew if given.renew else run)(path, wanted, runs, given.fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
