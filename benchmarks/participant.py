"""A participant's device

A fresh interpreter imports dpairs, reads a study's file, randomizes one value with the operating system's
bits and writes the report's bytes. Measured is the processor time of the whole process, interpreter
included, beside one that only imports numpy. Bytecode was compiled by a run before. 4,096 cells are the
most a study can have. The last row counts the packages that were loaded beside dpairs and the standard
library: it should be numpy alone.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Row

import dpairs

LIMIT = 0.3
REPORT = """
import sys
import dpairs
study = dpairs.Study.load(sys.argv[1])
report = dpairs.Participant(study, index=17, stratum="positive").report(score=0.73)
sys.stdout.buffer.write(bytes(report))
"""
LOADED = """
loaded = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
not_packages = {"dpairs", "sitecustomize", "usercustomize"}
print(*sorted(name for name in loaded - not_packages if name[0] != "_"), file=sys.stderr)
"""


def run(quick: bool) -> list[Row]:
    repeats = 5 if quick else 15
    with tempfile.TemporaryDirectory() as folder:
        small, large = study(folder, 16), study(folder, 4096)
        commands = {"numpy": ("import numpy",), "small": (REPORT, small), "large": (REPORT, large)}
        for command in commands.values():
            child(folder, *command)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(repeats):
            for name, command in commands.items():
                times[name].append(processor_time(folder, *command))
        packages = child(folder, REPORT + LOADED, small).stderr.decode().split()
    spent = {name: statistics.median(each) for name, each in times.items()}
    note = f"loaded: {', '.join(packages)}"
    return [
        Row("one report, 16 cells", "the limit", spent["small"], LIMIT, "s", 1.0),
        Row("one report, 16 cells", "only importing numpy", spent["small"], spent["numpy"], "s"),
        Row("one report, 4,096 cells", "the limit", spent["large"], LIMIT, "s", 1.0),
        Row("packages loaded", "numpy alone", len(packages), 1, "packages", 1.0, note=note),
    ]


def study(folder: str, bins: int) -> str:
    """The path of a saved study."""
    path = Path(folder) / f"{bins}.json"
    dpairs.Study.create("auc", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=bins).save(path)
    return str(path)


def processor_time(folder: str, *command: str) -> float:
    """Seconds of processor time, of the user and of the system, that a fresh interpreter takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child(folder, *command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def child(folder: str, *command: str) -> subprocess.CompletedProcess[bytes]:
    """A fresh interpreter that keeps its bytecode in ``folder``, whatever the settings here."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
    return subprocess.run([sys.executable, "-c", *command], capture_output=True, check=True, env=environment)
