"""`dpairs site`: one site's answer for all its records."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..data.tables import whole
from ..errors import BadFile, BadParameter
from ..formats import files
from ..protocols.sides import asks_sites, by_sites, shared
from ..shares import SERVERS
from ..sites import SiteAnswer, SiteTally
from ..study import Study
from .columns import batches, column_names
from .estimate import analysis_beside
from .extras import need
from .show import errors, output, print_json, print_table


def site(
    given: Annotated[
        str, typer.Argument(metavar="STUDY", help="A study file, or the link of a collector's study.")
    ],
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file with this site's records.")],
    name: Annotated[str, typer.Option(help="This site's name in the study.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write the answer; without it, only show.")
    ] = None,
    shares: Annotated[
        Path | None,
        typer.Option(help="Two servers: a folder for NAME-0.jsonl and NAME-1.jsonl, one for each."),
    ] = None,
    send: Annotated[
        bool, typer.Option("--send", help="Send the answer to the collector of the link; else, only show.")
    ] = False,
    code: Annotated[str | None, typer.Option(help="The code of an invitation, for a link.")] = None,
    first: Annotated[
        Path | None,
        typer.Option(help="For a second round: the study file of the first, as agreed to."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="NAME=COLUMN: if a column has another name in the file."),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Use the first records of a person with too many, instead of refusing."),
    ] = False,
    max_epsilon: Annotated[float | None, typer.Option(help="Refuse a study with a larger epsilon.")] = None,
    max_delta: Annotated[float, typer.Option(help="Refuse a study with a larger delta.")] = 0.0,
    limit: Annotated[
        float | None,
        typer.Option(help="The limit on the records' epsilon over all studies, from now on; at first 5."),
    ] = None,
    limit_delta: Annotated[
        float | None, typer.Option(help="Their limit on delta over all studies, from now on; at first 0.")
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="This site's folder; by default where the system keeps data.",
            envvar="DPAIRS_HOME",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Agree without a question, for scripts.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what happened as JSON.")] = False,
) -> None:
    """Answer a study for all records of a site.

    Noise is added here, and only the answer leaves.

    The command first shows what would leave. It keeps the answer in this site's folder before it writes it to
    --out or sends it: run it again, after a crash or to send the answer once more, and you get the same
    bytes. With a link, run it again for the second round.
    """
    need("a site's folder", "client", "dpairs.client")
    from ..client import Device, Site, get_offer

    offer = get_offer(given) if given.startswith(("https://", "http://")) else None
    if offer is None:
        if send:
            raise BadParameter("--send needs the link of a collector's study, not a file")
        study = Study.load(given, first=None if first is None else Study.load(first))
    else:
        study = offer.study
    if study.protocol.round > 1 and study.first is None:
        raise BadParameter("this is a second round: give the first, as agreed to, with --first FILE")
    names = column_names(study, column, asks_sites(study).record_columns[1:])
    table = whole(batches(study, data, names), tuple(names))
    me = Site(
        name,
        device=Device(home),
        limit=limit,
        limit_delta=limit_delta,
        max_epsilon=max_epsilon,
        max_delta=max_delta,
    )
    leaving = me.preview(study, table, keep=keep)
    if not as_json:
        _show(study, leaving)
    if out is not None or send:
        by_sites(study)
    if shares is not None:
        shared(study)
        if Path(name).name != name:
            raise BadParameter(f"files are named after the site, so its name is no path, unlike {name!r}")
    if out is None and shares is None and not send:
        if as_json:
            print_json({"site": name, "study": study.id, "written": None, "sent": False, **vars(leaving)})
        return
    if not yes:
        if not sys.stdin.isatty():
            raise BadParameter(
                "there is no terminal in which to ask for agreement: check what would leave, then give --yes"
            )
        typer.confirm("Let this leave?", abort=True, err=True)
    said = []
    if send and offer is not None:
        sent = me.send(offer, table, code=code, keep=keep)
        said.append(f"answer of {name} {'was counted before' if sent.again else 'is counted'}")
        said += ["run the same command again when the next round has begun"] if sent.more else []
    if shares is not None:
        made = me.shares(study, table)
        try:
            shares.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadFile(f"the folder {shares} cannot be made: {error.strerror or error}") from None
        for server in range(SERVERS):
            path = shares / f"{name}-{server}.jsonl"
            files.write(path, made.lines(server), "the site's shares", private=True)
            said.append(f"shares for server {server} written to {path}")
    if out is not None:
        answer = me.answer(study, table, keep=keep)
        files.write(out, bytes(answer) + b"\n", "the site's answer", private=True)
        said.append(f"answer of {name} written to {out}")
    if as_json:
        written = str(out or shares) if out or shares else None
        print_json({"site": name, "study": study.id, "written": written, "sent": send, **vars(leaving)})
    else:
        output.print("\n".join(said), highlight=False, markup=False)


def _show(study: Study, leaving: Any) -> None:
    sizes = (
        "nothing: sizes are hidden"
        if leaving.sizes is None
        else ", ".join(f"{count:,} {stratum}" for stratum, count in leaving.sizes.items())
    )
    rows = [
        ("everybody learns how many records", sizes),
        _numbers(leaving),
        ("privacy", str(study.privacy)),
        *(("not promised", each) for each in study.privacy.not_promised),
    ]
    if leaving.made:
        rows.append(("made already", "the same answer is written again"))
    print_table(("what leaves", ""), rows)


def _numbers(leaving: Any) -> tuple[str, str]:
    if leaving.deviation:
        return "numbers with noise", f"{leaving.numbers}, each of standard deviation {leaving.deviation:.4g}"
    return "numbers in shares", f"{leaving.numbers}; neither server can read them, and both add noise"


def collect(study_file: Path, study: Study, paths: Sequence[Path], out: Path, as_json: bool) -> None:
    """Put sites' answers together, each site's once; a second one that is not the same is refused."""
    beside = analysis_beside(study_file)
    if study.protocol.round > 1 and beside.exists():
        study = study.with_analysis(files.read(beside, "the analysis"))
    tally = SiteTally(study)
    for path in paths:
        if not tally.add(SiteAnswer.load(path, study)):
            errors.print(f"again: {path}", highlight=False, markup=False, soft_wrap=True)
    tally.save(out)
    expected = by_sites(study).planned_sites
    if as_json:
        print_json({"tally": str(out), "study": study.id, "sites": list(tally.sites), "expected": expected})
        return
    rows = [
        (site, "hidden" if each.sizes is None else sum(each.sizes.values()))
        for site, each in tally.answers.items()
    ]
    print_table(("site", "records"), rows)
    output.print(f"written to {out}", highlight=False)
