"""The environment the benchmarks run in: one core, and a second Python environment for the peers."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers"
REQUIREMENTS = HERE / "peers-requirements.txt"
COMPARED = ("pure-ldp", "multi-freq-ldpy")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def one_core() -> None:
    """Keep this process and its children on one core. To be called before numpy is imported."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for name in THREADS:
        os.environ[name] = "1"


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "processor": _processor(),
        "core": "one, pinned" if hasattr(os, "sched_setaffinity") else "not pinned: this system cannot",
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
        "peers": ", ".join(line for line in requirements() if line.split("==")[0] in COMPARED),
    }


def requirements() -> list[str]:
    """The peers and what they need, at fixed versions."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def peers_python() -> Path | None:
    """The peers' interpreter, installed first if need be; None when that fails."""
    python = PEERS / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = PEERS / "installed.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"Installing the peers into {PEERS.name} (once; needs a network) ...", file=sys.stderr)
    quietly = ("--quiet", "--disable-pip-version-check")
    install = [str(python), "-m", "pip", "install", *quietly, "-r", str(REQUIREMENTS)]
    for command in ([sys.executable, "-m", "venv", "--clear", str(PEERS)], install):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            why = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no reason given"]
            print(f"The peers cannot be installed, so they are not measured: {why[0]}", file=sys.stderr)
            return None
    stamp.write_text(wanted, encoding="utf-8")
    return python
