"""`dpairs join`: take part in a collector's study."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from ..errors import BadParameter
from ..formats.display import printable
from ..study import Study
from .extras import need
from .report import private_values
from .show import errors, output, print_json, print_table

if TYPE_CHECKING:
    from ..client import Joined, Offer


def join(
    link: Annotated[
        str,
        typer.Argument(help="The link to the study: https://HOST/take-part/STUDY or .../two-servers/TASK."),
    ],
    stratum: Annotated[
        str | None,
        typer.Option(
            "--stratum",
            "--group",
            help="This participant's public class, by its name or by its number, counted from 1.",
        ),
    ] = None,
    code: Annotated[str | None, typer.Option(help="Your invitation code.")] = None,
    score: Annotated[str | None, typer.Option(help="The private score.")] = None,
    label: Annotated[str | None, typer.Option(help="The private label (0 or 1).")] = None,
    x: Annotated[str | None, typer.Option("--x", help="The private x.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="The private y.")] = None,
    value: Annotated[str | None, typer.Option(help="The private value.")] = None,
    max_epsilon: Annotated[float | None, typer.Option(help="Refuse a study with a larger epsilon.")] = None,
    max_delta: Annotated[float, typer.Option(help="Refuse a study with a larger delta.")] = 0.0,
    limit: Annotated[
        float | None,
        typer.Option(
            help="This person's limit on epsilon over all studies, from now on; 5 until you set it."
        ),
    ] = None,
    limit_delta: Annotated[
        float | None,
        typer.Option(help="This person's limit on delta over all studies, from now on; 0 until you set it."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Agree without a question, for scripts.")] = False,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Ask before each pair whether the partner's fingerprint is right."),
    ] = False,
    fingerprint: Annotated[
        list[str] | None,
        typer.Option(help="Begin only with a partner whose key has this fingerprint; repeat for several."),
    ] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for a partner.", min=0)] = 0.0,
    patience: Annotated[
        float, typer.Option(help="Seconds to try while the collector cannot be reached.", min=0)
    ] = 60.0,
    home: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="This person's folder; by default where the system keeps data.",
            envvar="DPAIRS_HOME",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what happened as JSON.")] = False,
) -> None:
    """Take part in a study, from its link.

    Enrol, randomize on this device and send one report, or compute with a partner.

    This command derives the privacy loss from the study that the link names, and shows it before anything is
    answered. Run it again with the same folder to continue: after a crash, in the next round, or for a pair.
    If you leave a value out, the command asks for it without showing it.
    """
    need("taking part", "client", "dpairs.client")
    from ..client import Device, Link, Transport, get_offer
    from ..client import join as take_part
    from ..client.link import is_task_link

    given = {"score": score, "label": label, "x": x, "y": y, "value": value}
    if is_task_link(link):
        from .join_servers import join_servers

        limits = {"limit": limit, "limit_delta": limit_delta, "max_epsilon": max_epsilon}
        join_servers(link, given, stratum, home, yes, patience, as_json, {**limits, "max_delta": max_delta})
        return
    where = Link.parse(link)
    offered = get_offer(where, Transport(where.base, patience=patience))
    if not yes:
        agree(offered)
    wanted = None if fingerprint is None else [_digits(each) for each in fingerprint]
    joined = take_part(
        offered,
        private_values(offered.study, given),
        stratum=named_stratum(stratum, offered.study),
        code=code,
        device=Device(home),
        limit=limit,
        limit_delta=limit_delta,
        max_epsilon=max_epsilon,
        max_delta=max_delta,
        wait=wait,
        confirm=_confirmation(confirm, wanted),
    )
    if as_json:
        print_json(_described(joined, offered.study))
    else:
        _print(joined, offered)


def named_stratum(given: str | None, study: Study) -> str | None:
    """A class by its name; or by its place in the list, which is what the participant's page tells."""
    strata = study.statistic.strata
    numbered = {str(place): name for place, name in enumerate(strata, 1)}
    return given if given is None or given in strata else numbered.get(given, given)


def agree(offered: Offer) -> None:
    """Show what this device found out about the study, and go on only if the person says so."""
    study, ask = offered.study, errors.print
    ask(f"The collector calls this study: {shown(offered.title)}", highlight=False)
    for name, words in claim_rows(study):
        ask(f"  {name}: {words}", highlight=False, soft_wrap=True)
    ask_person()


def ask_person() -> None:
    """Go on only if somebody is here who says so."""
    if not sys.stdin.isatty():
        raise BadParameter("there is no terminal in which to ask for your agreement: in a script, give --yes")
    if not typer.confirm("Take part?", err=True):
        raise BadParameter("nothing was sent, because you did not agree")


def claim_rows(study: Study) -> list[tuple[str, str]]:
    """The promise as this program derives it from the study: nothing here is the collector's word."""
    claim = study.privacy
    rows = [
        ("asks for", " and ".join(study.statistic.private_columns)),
        ("loses at most", f"epsilon {claim.epsilon:.6g}, delta {claim.delta:.3g}"),
        ("protects", claim.neighbours),
        ("rests on", f"{claim.trust}; {claim.theorem}"),
    ]
    return rows + [("does not promise", words) for words in claim.not_promised]


def _confirmation(confirm: bool, wanted: list[str] | None) -> Callable[[int, str, str], bool | None]:
    """What is asked before a pair begins: both fingerprints are shown in any case."""

    def ask(number: int, mine: str, partner: str) -> bool | None:
        for whose, words in (("your fingerprint is", mine), ("your partner's must be", partner)):
            errors.print(f"pair {number}: {whose} {words}", highlight=False, soft_wrap=True)
        if wanted is not None:
            return _digits(partner) in wanted
        if not confirm:
            return None
        if not sys.stdin.isatty():
            return False
        return typer.confirm("Does your partner's device show this fingerprint as its own?", err=True)

    return ask


def _digits(words: str) -> str:
    return "".join(words.split())


def _described(joined: Joined, study: Study) -> dict[str, object]:
    return {
        "state": joined.state,
        "message": joined.message,
        "index": joined.index,
        "stratum": joined.stratum,
        "privacy": study.privacy.to_json(),
        "report": None if joined.report is None else joined.report.to_json(),
        "pairs": joined.pairs,
        "fingerprints": None
        if joined.fingerprints is None
        else {
            number: {"mine": mine, "partner": partner}
            for number, (mine, partner) in joined.fingerprints.items()
        },
    }


def _print(joined: Joined, offered: Offer) -> None:
    rows = [("called", offered.title[:300]), ("participant", f"{joined.index} of {joined.stratum}")]
    rows += claim_rows(offered.study)[:2]
    if joined.report is not None:
        rows.append(("what left this device", f"symbol {joined.report.symbol}"))
    for number, state in (joined.pairs or {}).items():
        rows.append((f"pair {number}", state[:300]))
        mine, partner = (joined.fingerprints or {}).get(number, ("", ""))
        rows += [("your fingerprint", mine), ("your partner's", partner)]
    rows.append(("state", f"{joined.state}: {joined.message}"[:300]))
    print_table(("your part", "in this study"), rows)
    if joined.pairs:
        output.print(
            "Your partner's device shows the same two the other way round, unless somebody is between you.",
            style="dim",
        )


def shown(words: str) -> str:
    """A collector's words as they are: neither rich's markup nor a terminal's commands."""
    return escape(printable(words[:300]))
