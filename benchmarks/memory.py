"""Memory for a population that is never held at once

People come as an iterator of chunks of 10^6, each made when it is asked for, with a score and a label; the
study is an AUC on 64 bins. The peak is the largest resident size of a fresh process. It must stay below
1 GB (10^9 bytes) and must not grow with the number of people. The measure for that is two chunks: 10^6
people are a single one, and from the second on a chunk is made while the one before is still there. The
bare loop makes the same chunks and only adds the scores up, so it shows how much the interpreter, numpy and
the chunks need by themselves.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measure import Row

CHUNK = 10**6
LIMIT_MB = 1000.0
FLAT = 0.9


def run(quick: bool) -> list[Row]:
    two, most = 2 * CHUNK, 10**7 if quick else 10**8
    peaks = {n: peak("ours", n) for n in (CHUNK, two, 10**7, most)}

    def row(n: int, against: str, theirs: float, wanted: float | None = None) -> Row:
        return Row(f"{n:,} people", against, peaks[n], theirs, "MB", wanted)

    return [
        row(most, "the limit", LIMIT_MB, 1.0),
        row(CHUNK, "two chunks", peaks[two]),
        *(row(n, "two chunks", peaks[two], FLAT) for n in sorted({10**7, most})),
        row(most, "bare loop over the chunks", peak("bare", most)),
    ]


def peak(side: str, people: int) -> float:
    """The peak of a child process, in MB."""
    command = [sys.executable, __file__, side, str(people)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def chunks(people: int):
    import numpy as np

    rng = np.random.default_rng(1)
    for start in range(0, people, CHUNK):
        size = min(CHUNK, people - start)
        yield {"score": rng.random(size), "label": rng.integers(0, 2, size)}


def ours(people: int) -> None:
    import dpairs

    study = dpairs.Study.create("auc", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=64)
    estimate = dpairs.simulate(study, chunks(people), seed=1)
    assert estimate.n == people


def bare(people: int) -> None:
    assert sum(chunk["score"].sum() for chunk in chunks(people)) > 0


def own_peak() -> float:
    """The largest resident size of this process so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not ru_maxrss: on Linux a child's starts at its parent's peak.
        lines = status.read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (size if sys.platform == "darwin" else size * 1024) / 1e6


if __name__ == "__main__":
    {"ours": ours, "bare": bare}[sys.argv[1]](int(sys.argv[2]))
    print(own_peak())
