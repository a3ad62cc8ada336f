"""The command line: one file for each verb. Everything that touches files or terminals is here."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; a user's mistake ends in one sentence and exit code 2."""
    try:
        from .app import run
    except ModuleNotFoundError as error:
        sys.exit(f"the command line needs {error.name}: pip install 'dpairs[cli]'")
    sys.exit(run(sys.argv[1:]))
