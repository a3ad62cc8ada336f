"""The code on the pages runs, and prints what the page says: pages cannot rot."""

import contextlib
import io
import re
import shlex
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from .ports import free_port
from .processes import ENVIRONMENT, Child

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted(set(DOCS.rglob("*.md")) - set(TUTORIALS))]
BLOCK = re.compile(
    r"^```(python|console)(?: title=\"([^\"]+)\")?\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
"""Language, title, code, and the output shown below it."""
COMMAND = re.compile(r"\$ ((?:[^\n]*\\\n)*[^\n]*)\n((?:(?!\$ )[^\n]*\n)*)")
"""A command, which goes on after a backslash, and the output shown below it."""
PORT = ":9137"
"""The port that pages use. Each run takes a free one instead, so that two runs do not meet."""
WIDTH = "100"
"""Columns of the terminal that the pages show."""
PATIENCE = 120.0
"""Seconds after which a command is taken to hang."""


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prints(code: str, names: dict[str, object]) -> str:
    """What a block of Python prints; blocks of one page share their names."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "page", "exec"), names)
    return printed.getvalue()


def lines(text: str) -> list[str]:
    """Without the blanks at the ends of lines, which editors remove."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def commands(block: str) -> list[tuple[list[str], str]]:
    """The commands that a block of the console shows, each with its output."""
    found = COMMAND.findall(block)
    assert found, f"no command: {block}"
    assert sum(len(command) + len(shown) + 3 for command, shown in found) == len(block), (
        "output without a command"
    )
    return [(shlex.split(command.replace("\\\n", " ")), shown) for command, shown in found]


def terminal(block: str, folder: Path, port: int) -> None:
    """Type one block into one terminal; each command must print what the page shows, if it shows anything."""
    for (program, *arguments), shown in commands(block.replace(PORT, f":{port}")):
        assert program == "dpairs", f"the page runs {program}"
        with tempfile.TemporaryDirectory() as own:
            out = Path(own, "out")
            child = Child(arguments, folder, out, out, ENVIRONMENT | {"COLUMNS": WIDTH, "TERM": "dumb"})
            code = child.wait(PATIENCE)
            said = out.read_text(encoding="utf-8")
        refused = shown.startswith("error:")
        assert code == (2 if refused else 0), said
        if shown:
            assert lines(said) == lines(shown)


def read_along(text: str, folder: Path) -> None:
    """Do all that a tutorial does, in its order: Python here, commands as processes, files in one folder.

    Blocks of the console that have a title are terminals of their own. Those that follow each other run at
    the same time.
    """
    names: dict[str, object] = {"__name__": "__page__"}
    port = free_port()
    open_terminals: list[Future[None]] = []
    with ThreadPoolExecutor() as pool:
        for language, title, code, output in BLOCK.findall(text):
            if title:
                open_terminals.append(pool.submit(terminal, code, folder, port))
                continue
            while open_terminals:
                open_terminals.pop(0).result()
            if language == "console":
                terminal(code, folder, port)
            else:
                assert prints(code, names) == output
        while open_terminals:
            open_terminals.pop(0).result()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_on_the_page_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__page__"}
    for language, _, code, output in BLOCK.findall(page.read_text()):
        if language == "python":
            assert prints(code, names) == output


@pytest.mark.parametrize("page", TUTORIALS, ids=name)
def test_a_tutorial_works_from_its_first_line_to_its_last(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    read_along(page.read_text(), tmp_path)


def test_there_are_blocks_to_run():
    assert sum(len(BLOCK.findall(page.read_text())) for page in PAGES) > 20
    for page in TUTORIALS:
        text = page.read_text()
        assert len(BLOCK.findall(text)) == len(re.findall(r"^ *```(?:python|console)", text, re.MULTILINE)), (
            page
        )
        assert page.name == "index.md" or BLOCK.search(text), page


def test_times_to_read_are_about_right():
    """150 words a minute, code included."""
    index = (DOCS / "tutorials" / "index.md").read_text()
    said = {
        DOCS / "tutorials" / link: int(time)
        for link, time in re.findall(r"\((\S+)\) .* (\d+) \|$", index, re.M)
    }
    assert set(said) == {page for page in TUTORIALS if page.name != "index.md"}
    for page, minutes in said.items():
        assert abs(len(page.read_text().split()) / 150 - minutes) < 1.5, page


LEDGER = "```console\n$ dpairs ledger create me.json --limit 3\nledger with a limit of 3 written to me.json\n"
LIES = {
    "another output of Python": ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "assert"),
    "no output of Python": ("```python\nprint(1)\n```\n", "assert"),
    "another output of a command": (LEDGER.replace("of 3", "of 4") + "```\n", "assert"),
    "a command that is refused": ("```console\n$ dpairs ledger show me.json\n```\n", "cannot be read"),
    "a refusal that does not come": (
        LEDGER.replace("ledger with", "error: a") + "```\n",
        "written to me.json",
    ),
    "a refusal in another terminal": (
        '```console title="First"\n$ dpairs ledger show me.json\n```\n',
        "cannot be read",
    ),
    "another program": ("```console\n$ rm me.json\n```\n", "the page runs rm"),
    "output without a command": (f"```console\nDone.\n{LEDGER[11:]}```\n", "output without a command"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_page_that_does_not_tell_the_truth_is_noticed(lie, tmp_path):
    """Negative controls of the test above."""
    text, words = LIES[lie]
    with pytest.raises(AssertionError, match=words):
        read_along(text, tmp_path)


def test_a_page_that_tells_the_truth_is_not(tmp_path):
    read_along(LEDGER + "$ dpairs ledger show \\\n    me.json\n```\n", tmp_path)
