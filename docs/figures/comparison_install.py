"""Check which of the compared packages install today, each alone, into comparison_install.txt.

    python docs/figures/comparison_install.py   # a minute or two, and needs a network

For each package: an empty environment with this Python, ``pip install NAME`` (the newest version that pip
finds), and a program that randomizes one value. The table has the day of the check. The same by hand:

    python3.11 -m venv try && try/bin/pip install pure-ldp
    try/bin/python -c 'from pure_ldp.frequency_oracles import DEClient; print(DEClient(1.0, 8).privatise(3))'
"""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from make_figures import HERE, table

ROOT = HERE.parents[1]
PROGRAMS = {
    "pure-ldp": [
        "from pure_ldp.frequency_oracles import DEClient; DEClient(1.0, 8).privatise(3)",
        "from pure_ldp.frequency_oracles import LHClient; LHClient(1.0, 8, use_olh=True).privatise(3)",
    ],
    "multi-freq-ldpy": [
        "from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client; GRR_Client(3, 8, 1.0)",
        "from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client; LH_Client(3, 8, 1.0)",
    ],
    "opendp": [
        "import opendp.prelude as dp; dp.enable_features('contrib'); "
        "dp.m.make_randomized_response([1, 2, 3], 0.5)(1)",
    ],
    "dpairs": [
        "import dpairs; s = dpairs.Study.create('auc', epsilon=1.0, domain=dpairs.Interval(0, 1), bins=16); "
        "dpairs.Participant(s, index=1, stratum='positive').report(score=0.7)",
    ],
}
"""One value randomized; for two packages also by local hashing, which needs another dependency."""
ADDED = {"pure-ldp": ("scikit-learn", "statsmodels")}
"""What a package imports and does not ask for."""


def main() -> None:
    """Install each package alone into an empty environment and let it randomize one value."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    rows = []
    for name, programs in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            python = str(Path(folder) / "bin" / "python")
            install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            run([sys.executable, "-m", "venv", folder])
            installed = run([*install, str(ROOT) if name == "dpairs" else name])
            version = run([python, "-c", f"import importlib.metadata as m; print(m.version('{name}'))"])
            said = [outcome(run([python, "-W", "ignore", "-c", programs[0]]))]
            if name in ADDED:
                run([*install, *ADDED[name]])
                said[0] += f"; with {' and '.join(ADDED[name])} added: "
                said[0] += outcome(run([python, "-W", "ignore", "-c", programs[0]]))
            said += [outcome(run([python, "-W", "ignore", "-c", program])) for program in programs[1:]]
        verb = "works" if installed.returncode == 0 else outcome(installed)
        rows.append([name, version.stdout.strip() or "none", verb, said[0], *(said[1:] or ["has none"])])
        print(rows[-1], flush=True)
    head = [
        f"{day}, Python {platform.python_version()}",
        "version",
        "`pip install`",
        "one value",
        "local hashing",
    ]
    table("comparison_install", head, rows)


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run to the end, without this environment's packages."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(  # noqa: S603 - commands of this file
        command, capture_output=True, text=True, check=False, env=clean
    )


def outcome(done: subprocess.CompletedProcess[str]) -> str:
    """Whether a program ran, or its last line."""
    return "works" if done.returncode == 0 else f"`{done.stderr.strip().splitlines()[-1]}`"


if __name__ == "__main__":
    main()
