"""`dpairs study`: make and read the public file that everybody agrees on."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from ..data.domains import MAX_LEVELS, Categories, Domain, Integers, Interval, Levels
from ..errors import BadParameter
from ..formats import files
from ..mechanisms import OPTIMIZED
from ..mechanisms.optimize import STEPS
from ..protocols import PROTOCOLS
from ..statistics import STATISTICS
from ..study import Study
from ..tally import counted_in
from .assignments import assignments
from .cache import remembered
from .estimate import analysis_beside
from .show import output, print_json, print_table, progress

app = typer.Typer(help="Make and read study files.", no_args_is_help=True)

DOMAIN_HELP = (
    "Where the values lie: interval:0,1 or integers:0,99 or levels:1-5 or categories:a,b,c; for "
    "skewed values interval:1,1e6,log or interval:-1e5,1e6,asinh. Twice for a pair of columns."
)


def parse_domain(text: str) -> Domain:
    """A domain from its short form.

    >>> parse_domain("interval:0,1"), parse_domain("levels:1-5")
    (Interval(low=0.0, high=1.0), Levels([1, 2, 3, 4, 5]))
    """
    if re.fullmatch(r"[^:,]+,[^:,]+", text) and None not in map(as_number, text.split(",")):
        text = f"interval:{text}"  # as domain=(0, 1) in Python
    kind, _, rest = text.partition(":")
    items = [item.strip() for item in rest.split(",")]
    if kind == "interval" and len(items) == 3:
        low, high = map(as_number, items[:2])
        if low is None or high is None:
            raise BadParameter(
                f"domain interval needs two numbers before its scale, as in interval:1,1e6,log, not {text!r}"
            )
        return Interval(low, high, scale=items[2])
    if kind in ("interval", "integers"):
        if len(items) != 2 or None in map(as_number, items):
            raise BadParameter(f"domain {kind} needs two numbers, as in {kind}:0,10, not {text!r}")
        low, high = map(as_number, items)
        return Interval(low, high) if kind == "interval" else Integers(low, high)  # type: ignore[arg-type]
    ends = re.fullmatch(r"(-?\d+)-(-?\d+)", rest.strip())
    if kind == "levels" and ends:
        low, high = map(int, ends.groups())
        return Levels(range(low, min(high, low + MAX_LEVELS) + 1))
    if kind in ("levels", "categories"):
        numbers = [as_number(item) for item in items]
        values: Any = items if None in numbers else numbers
        return Levels(values) if kind == "levels" else Categories(values)
    raise BadParameter(f"domain must begin with interval:, integers:, levels: or categories:, not {text!r}")


def as_number(text: str) -> int | float | None:
    """The number a text spells, an int where it is whole; None when it is no number."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


OPTION_HELP = "An option of a statistic or protocol of your own package; once for each."


def parse_options(texts: list[str] | None) -> dict[str, Any]:
    """Options that have no flag of their own: a number where the text is one.

    >>> parse_options(["closer=3", "side=left"])
    {'closer': 3, 'side': 'left'}
    """
    given = assignments("--option", "VALUE", texts)
    numbers = {name: as_number(value) for name, value in given.items()}
    return {name: given[name] if number is None else number for name, number in numbers.items()}


@app.command()
def create(
    statistic: Annotated[str, typer.Argument(help=f"One of {', '.join(STATISTICS)}.")],
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The largest privacy loss allowed.")],
    domain: Annotated[list[str], typer.Option("--domain", "-d", metavar="DOMAIN", help=DOMAIN_HELP)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The study file to write.")],
    bins: Annotated[
        list[int] | None, typer.Option(help="Bins of each column (once, or once for each).")
    ] = None,
    n: Annotated[
        int | None, typer.Option(help="Expected number of people; chooses the bins when none are given.")
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="projective (default), krr, the paper's, or optimized, searched for the statistic."
        ),
    ] = None,
    kernel: Annotated[str | None, typer.Option(help="average (default) or midpoint.")] = None,
    rounding: Annotated[str | None, typer.Option(help="simple (default) or random.")] = None,
    ties: Annotated[str | None, typer.Option(help="AUC, Mann-Whitney: half (default) or zero.")] = None,
    labels: Annotated[
        str | None, typer.Option(help="AUC, Mann-Whitney: public (default) or private.")
    ] = None,
    variant: Annotated[str | None, typer.Option(help="Kendall's tau: a (default) or b.")] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="How: histogram; tree for AUC; projection, in two rounds; pairwise, in pairs; two_servers; "
            "sites, which hold many records. Without one, the planner chooses."
        ),
    ] = None,
    pilot_fraction: Annotated[
        float | None, typer.Option(help="Projection: the share of people in the first round.")
    ] = None,
    pilot: Annotated[
        str | None, typer.Option(help="Projection: histogram or tree in the first round.")
    ] = None,
    splitting: Annotated[
        str | None,
        typer.Option(
            help="Tree: users (default), users-independent, budget, budget-advanced or budget-advanced-paper."
        ),
    ] = None,
    rows: Annotated[str | None, typer.Option(help="Tree: others (default) or all, as in the paper.")] = None,
    answer: Annotated[
        str | None, typer.Option(help="Tree: one-bit (default) or several-bits, better from epsilon 2 on.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Delta of the tree's advanced splittings, or of two servers' gaussian noise."),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(help="Pairwise: how many others each person meets (1).")
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="Pairwise: response, kary or laplace; the best one by default. Two servers: laplace "
            "(default) or gaussian."
        ),
    ] = None,
    release: Annotated[str | None, typer.Option(help="Two servers: value (default) or counts.")] = None,
    answered_by: Annotated[
        str | None, typer.Option(help="Two servers: people (default), or sites that hold many records.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Two servers: 1 (default) or 2 rounds; sites: 2 (default) or 1.")
    ] = None,
    split: Annotated[
        float | None,
        typer.Option(help="Two servers, sites: the share of epsilon for coarse counts or a pilot."),
    ] = None,
    sites: Annotated[int | None, typer.Option(help="Sites: about how many there will be (10).")] = None,
    unit: Annotated[
        str | None, typer.Option(help="Sites: whose privacy is promised, a record's (default) or a person's.")
    ] = None,
    max_records_per_person: Annotated[
        int | None,
        typer.Option(help="Sites, unit person: the most records of one person that a site uses."),
    ] = None,
    hide_sizes: Annotated[
        bool, typer.Option("--hide-sizes", help="Sites: nobody learns how many records a site has.")
    ] = False,
    bits: Annotated[int | None, typer.Option(help="Pairwise: most bits of a value (32).")] = None,
    matching: Annotated[
        str | None, typer.Option(help="Pairwise: permutations (default) or disjoint.")
    ] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help=OPTION_HELP)] = None,
    seed: Annotated[int | None, typer.Option(help="Public seed; a fresh one by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the study as JSON.")] = False,
) -> None:
    """Make a study and write its file."""
    given = {
        "bins": None if not bins else bins[0] if len(bins) == 1 else bins,
        "n": n,
        "mechanism": mechanism,
        "kernel": kernel,
        "rounding": rounding,
        "ties": ties,
        "labels": labels,
        "variant": variant,
        "splitting": splitting,
        "rows": rows,
        "answer": answer,
        "delta": delta,
        "pilot_fraction": pilot_fraction,
        "pilot": pilot,
        "pairs": pairs,
        "noise": noise,
        "bits": bits,
        "matching": matching,
        "release": release,
        "answered_by": answered_by,
        "rounds": rounds,
        "split": split,
        "sites": sites,
        "unit": unit,
        "max_records_per_person": max_records_per_person,
        "hide_sizes": hide_sizes or None,
        **parse_options(option),
    }
    searches = protocol is None or (protocol in PROTOCOLS and "search" in PROTOCOLS[protocol].options)
    searched = mechanism == OPTIMIZED and searches
    with progress("searching a mechanism", STEPS) if searched else nullcontext() as advance:
        study = Study.create(
            statistic,
            epsilon=epsilon,
            protocol=protocol,
            domain=tuple(map(parse_domain, domain)),
            seed=seed,
            options={
                **{name: value for name, value in given.items() if value is not None},
                **({"search": remembered(advance)} if searched else {}),
            },
        )
    study.save(out)
    if as_json:
        print_json(describe(study))
    else:
        _print(study)
        output.print(f"written to {out}", highlight=False)


@app.command("next")
def next_round(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="The study file of the first round.")],
    tally_file: Annotated[Path, typer.Argument(metavar="TALLY", help="The tally file of the first round.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The study file of the second round, to write.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the study as JSON.")] = False,
) -> None:
    """Make the second round's study from the first round's tally.

    What only the analyst needs is written next to it, to a file that ends in .analysis.json.
    """
    first = Study.load(file)
    study = first.next(counted_in(first).load(tally_file, first))
    study.save(out)
    beside, analysis = analysis_beside(out), study.analysis_to_json()
    if analysis is not None:
        files.write(beside, analysis.encode() + b"\n", "the analysis")
    if as_json:
        print_json(describe(study))
    else:
        _print(study)
        also = "" if analysis is None else f", and for the analyst alone to {beside}"
        output.print(f"written to {out}{also}", highlight=False)


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="A study file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Check a study file and show what it asks of people."""
    study = Study.load(file)
    if as_json:
        print_json(describe(study))
    else:
        _print(study)


def describe(study: Study) -> dict[str, Any]:
    """A study as plain values for scripts."""
    protocol = study.protocol
    return {
        "id": study.id,
        "statistic": study.statistic.name,
        "columns": list(study.statistic.columns),
        "strata": list(study.strata),
        "domain": [each.to_json() for each in study.domains],
        "protocol": protocol.name,
        "round": protocol.round,
        "rounds": protocol.rounds,
        "symbols": protocol.symbols,
        "bits": protocol.report_bits,
        "privacy": study.privacy.to_json(),
    }


def _print(study: Study) -> None:
    print_table(("study", ""), study.rows())
