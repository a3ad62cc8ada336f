"""Words that no command knows, help, and a reader who leaves."""

import re
import subprocess
import sys

import pytest
import typer

import dpairs
from dpairs.cli.app import app, run

from .typed import AUC, said


@pytest.mark.parametrize(
    "arguments", [["simulate"], ["study", "create"], ["nonsense"], [*AUC, "-e", "x", "-o", "s"]]
)
def test_wrong_usage_is_code_2(folder, capsys, arguments):
    assert run(arguments) == 2
    assert "Traceback" not in said(capsys)[1]


def test_help_and_version(capsys):
    assert run(["--version"]) == 0
    assert dpairs.__version__ in said(capsys)[0]


def verbs(command, path=()):
    yield list(path)
    for name, below in getattr(command, "commands", {}).items():
        yield from verbs(below, (*path, name))


def test_help_fits_a_terminal_and_names_no_type_of_python(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    everything = list(verbs(typer.main.get_command(app)))
    assert len(everything) > 30
    for verb in everything:
        assert run([*verb, "--help"]) == 0
        words = said(capsys)[0]
        assert words.startswith(f"Usage: dpairs {' '.join(verb)}".rstrip())
        assert max(map(len, words.splitlines())) <= 80, words
        assert not re.search(r"<\w+(\[\w+\])?>|[{}]|range", words), words
        assert not re.search(r"^  [a-z]+ .*\.\.\.$", words, re.MULTILINE), "a summary is cut off"


def test_a_closed_pipe_is_no_error(study):
    command = f"{sys.executable} -c 'from dpairs.cli import main; main()' study show {study} | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
