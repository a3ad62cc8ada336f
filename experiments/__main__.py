"""The experiments from the command line; ``make reproduce`` and ``make figures`` call this.

python -m experiments                    the paper's figures: rows, pictures and a report in reproduced/
python -m experiments splitting tree     only the named ones, of the paper or of a page
python -m experiments --keep tree        the same, into the project: experiments/results
python -m experiments --figures          every picture of the documentation, from the results
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dpairs.cli.show import progress
from dpairs.errors import BadParameter, DpairsError
from dpairs.formats.checks import integer

from . import exhibits, sources
from .catalogue import EXPERIMENTS, FIGURES, named
from .report import verdict
from .reproduce import reproduce
from .runner import Scale


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(
        "python -m experiments", description="Run the paper's experiments, and those of the documentation."
    )
    words.add_argument("names", nargs="*", help="experiments; without a name, those of the paper")
    words.add_argument("--quick", action="store_true", help="a small form of everything")
    words.add_argument("--runs", type=int, help="runs of each setting")
    words.add_argument("--seed", type=int, default=0, help="run r uses seed + r")
    words.add_argument("--data", type=Path, help=f"the folder of the real data, or {sources.VARIABLE}")
    words.add_argument("--fetch", action="store_true", help="first get the hospital data from OpenML")
    words.add_argument("--out", type=Path, default=Path("reproduced"), help="the folder to write to")
    words.add_argument("--processes", type=int, help="how many at once; all cores without it")
    words.add_argument("--list", action="store_true", help="say which experiments there are, and end")
    words.add_argument("--keep", action="store_true", help="renew the results that the documentation shows")
    words.add_argument("--figures", action="store_true", help="draw the documentation's pictures, and end")
    return words


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    try:
        return _run(given)
    except DpairsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; what ended is kept, and the same command goes on", file=sys.stderr)
        return 130


def _run(given: argparse.Namespace) -> int:
    if given.list:
        print("\n".join(f"{each.name:<24} {each.title}" for each in EXPERIMENTS))
        return 0
    if given.figures:
        for path in exhibits.draw(given.names):
            print(f"wrote {path}")
        return 0
    chosen = [named(name) for name in dict.fromkeys(given.names)] if given.names else list(FIGURES)
    runs = None if given.runs is None else integer("runs", given.runs, 2, 100_000)
    scale = Scale(given.quick, runs, integer("seed", given.seed, 0, 2**53 - 1))
    if given.processes is None:
        from dpairs.engines.cpu import cores  # with pyarrow

        at_once = cores()
    else:
        at_once = integer("processes", given.processes, 1, 1024)
    if given.keep and scale != Scale():
        raise BadParameter("--keep renews results as they are: it goes with no --quick, --runs or --seed")
    if given.fetch:
        place = sources.folder(given.data)
        if place is None:
            raise BadParameter("--fetch needs a folder to put the data in: name it with --data")
        sources.fetch_hospital(place)
    folder = exhibits.RESULTS if given.keep else given.out
    sections = reproduce(chosen, folder, scale, given.data, at_once, progress, report=not given.keep)
    for section in sections:
        for check in section.findings.checks:
            print(f"{section.experiment.name}: {verdict(check, section.judged)}: {check.statement}")
        if section.skipped:
            print(f"{section.experiment.name} was left out. {section.skipped}")
    print(f"results written to {folder}" + ("" if given.keep else f", and {folder / 'report.md'}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
