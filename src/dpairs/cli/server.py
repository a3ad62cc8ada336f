"""`dpairs server`: the steps of two servers on files, so that all they do can be looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import BadParameter
from ..formats import files
from ..formats.display import printable
from ..protocols.sides import shared
from ..randomness import SystemRandomness
from ..study import Study
from ..tally import Tally
from .show import errors, output

app = typer.Typer(help="The steps of two servers, with files.", no_args_is_help=True)
StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study file.")]
TallyFile = Annotated[Path, typer.Option(help="This server's tally.")]
Number = Annotated[int, typer.Option("--server", min=0, max=1, help="Which server this is: 0 or 1.")]
Inbound = Annotated[Path | None, typer.Option(help="What the other server sent.")]
Out = Annotated[Path | None, typer.Option(help="Where to write what is sent to the other server.")]


@app.command()
def key(file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")]) -> None:
    """Make the key that both servers share and nobody else knows."""
    from ..servers.keys import write_key

    write_key(file)
    output.print(f"key written to {file}: give it to the other server, and to nobody else", highlight=False)


@app.command()
def verify(
    study_file: StudyFile,
    server: Number,
    key: Annotated[Path, typer.Option(help="The key that both servers share.")],
    shares: Annotated[
        list[Path], typer.Option(help="The shares that reached this server, one in a line; several files.")
    ],
    tally: Annotated[Path | None, typer.Option(help="Where to write the tally of valid reports.")] = None,
    inbound: Inbound = None,
    out: Out = None,
) -> None:
    """Verify reports with the other server, and add up valid shares.

    Server 0 begins (--out), server 1 answers (--inbound, --out, --tally), server 0 ends (--inbound, --tally).
    """
    from ..servers.files import read_messages, read_share_lines, write_messages
    from ..servers.keys import read_key
    from ..servers.steps import Server

    study = Study.load(study_file)
    me = Server(study, server, read_key(key))
    mine = []
    for path in shares:
        good, left_out = read_share_lines(path, study, server)
        mine += good
        if left_out is not None:
            errors.print(f"left out: {printable(left_out)}", highlight=False, markup=False)
    if server == 0 and inbound is None:
        messages = me.begin(mine)
        write_messages(_given(out, "--out"), study, server, messages)
        output.print(f"{len(messages)} reports sent for verification", highlight=False)
        return
    received = read_messages(_given(inbound, "--inbound"), study, 1 - server)
    if server == 1:
        counted, answers = me.answer(mine, received)
        write_messages(_given(out, "--out"), study, server, answers)
    else:
        counted = me.finish(mine, received)
    counted.save(_given(tally, "--tally"))
    if shared(study).of_sites:
        output.print(f"{counted.n} records of sites are valid and added up", highlight=False)
        return
    output.print(f"{counted.n} of {len(mine)} reports are valid and added up", highlight=False)


@app.command()
def multiply(
    study_file: StudyFile,
    tally: TallyFile,
    secret: Annotated[
        Path, typer.Option(help="A file of this server's own random bits, created if missing.")
    ],
    offer: Annotated[Path | None, typer.Option(help="Server 0's last step: server 1's offer again.")] = None,
    inbound: Inbound = None,
    out: Out = None,
    products: Annotated[Path | None, typer.Option(help="Where to write shares of the products.")] = None,
) -> None:
    """Multiply the two servers' tallies, by oblivious transfer.

    Server 1 offers (--out); server 0 replies (--inbound offer, --out); server 1 corrects (--inbound reply,
    --out, --products); server 0 ends (--offer offer, --inbound corrections, --products).
    """
    from ..servers.files import once, write_products
    from ..servers.keys import read_key, write_key
    from ..servers.steps import Multiplication, batch_of, shares_of

    study = Study.load(study_file)
    mine = Tally.load(tally, study)
    number, _ = shares_of(mine)
    batch, what = batch_of(mine), "the message"
    if not Multiplication(mine, SystemRandomness()).needed:
        raise BadParameter("this study releases sums only: there is nothing to multiply, go on with release")
    if number == 1 and inbound is None:
        if not secret.exists():
            write_key(secret, "the secret")
        own = read_key(secret, "the secret")
        files.write(_given(out, "--out"), Multiplication(mine, once(own, batch)).offer(), what)
        return
    received = files.read(_given(inbound, "--inbound"), what)
    given = b"" if number == 1 else received if offer is None else files.read(offer, what)
    if number == 0 and offer is None and not secret.exists():
        write_key(secret, "the secret")
    task = Multiplication(mine, once(read_key(secret, "the secret"), batch, given))
    if number == 0 and offer is None:
        files.write(_given(out, "--out"), task.reply(received), what)
        return
    places = [_given(products, "--products"), *([_given(out, "--out")] if number == 1 else [])]
    # Before the other server's message is read: a second one to the same bits could be used to learn them.
    secret.unlink()
    if number == 1:
        task.offer()
        shares, corrections = task.correct(received)
        files.write(places[1], corrections, what)
    else:
        task.reply(given)
        shares = task.finish(received)
    write_products(places[0], study, number, batch, shares)


@app.command()
def release(
    study_file: StudyFile,
    tally: TallyFile,
    out: Annotated[Path, typer.Option(help="Where to write this server's part, for the analyst.")],
    book: Annotated[
        Path, typer.Option(help="This server's book of releases, one for all studies, created if missing.")
    ],
    products: Annotated[
        Path | None, typer.Option(help="This server's shares of products, if there are any.")
    ] = None,
) -> None:
    """Add this server's noise and write its part of the release.

    Only once per study. Each server keeps its own book, which refuses a second release of a study, whatever
    the reports.
    """
    from ..servers import book as releases
    from ..servers.files import read_products, write_part
    from ..servers.steps import Multiplication, batch_of, part, shares_of

    study = Study.load(study_file)
    mine = Tally.load(tally, study)
    number, _ = shares_of(mine)
    batch, count = batch_of(mine), Multiplication(mine, SystemRandomness()).count
    if products is None and count:
        raise BadParameter("this study releases a value: give this server's shares of products by --products")
    product_shares = [] if products is None else read_products(products, study, number, batch, count)
    made = part(mine, product_shares, shared(study).noise(mine.sizes, SystemRandomness()))
    # Before anything leaves: noise that is drawn twice is half gone.
    releases.record(book, study, number, batch)
    write_part(out, made)
    output.print(f"part of server {number} written to {out}", highlight=False)


@app.command("open")
def open_release(
    study_file: StudyFile,
    parts: Annotated[list[Path], typer.Argument(metavar="PART PART", help="The parts of both servers.")],
    out: Annotated[Path, typer.Option(help="Where to write the release.")],
) -> None:
    """Add up both servers' parts, for `dpairs estimate`."""
    from ..servers.files import read_part
    from ..servers.steps import open_parts

    study = Study.load(study_file)
    opened = open_parts([read_part(each, study) for each in parts])
    opened.save(out)
    output.print(f"release of {opened.n} people written to {out}", highlight=False)


def _given(path: Path | None, option: str) -> Path:
    if path is None:
        raise BadParameter(f"this step needs {option}")
    return path
