"""Write vectors/vdaf/cases_*.json: ``python -m tests.vdaf.make_cases``. 200 reports for each scheme.

A case gives parameters and a measurement; nonce, randomness and key follow from its label. What must come out
is given as hashes, so that the files stay small; a program that disagrees prints the bytes of both.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from pathlib import Path
from typing import Any

from dpairs.vdaf import instances
from dpairs.vdaf.prio3 import KEY, NONCE, Prio3

FOLDER = Path(__file__).parent.parent.parent / "vectors" / "vdaf"
SETS, REPORTS = 20, 10
SEED = 20


def tape(label: str, size: int) -> bytes:
    """SHA-256 of "label/0", "label/1", ..., cut to size."""
    blocks = [hashlib.sha256(f"{label}/{i}".encode()).digest() for i in range(-(-size // 32))]
    return b"".join(blocks)[:size]


def scheme(name: str, parameters: dict[str, int]) -> Prio3:
    return getattr(instances, name)(**parameters)


def draw(name: str, rng: random.Random) -> tuple[dict[str, int], Any]:
    """Parameters of a scheme, and how to draw measurements for them."""
    shares = rng.choice([2, 2, 2, 3, 5])
    chunk, proofs = rng.randint(1, 9), rng.choice([3, 3, 4])
    largest = rng.choice([1, 2, 3, 7, 255, 1000, 2**32, 2**53 - 1])
    match name:
        case "count":
            return {"shares": shares}, lambda: rng.randint(0, 1)
        case "sum_up":
            return {"largest": largest, "shares": shares}, lambda: rng.randint(0, largest)
        case "sum_vec" | "sum_vec_with_multiproof":
            entries, largest = rng.randint(1, 6), rng.choice([1, 2, 6, 255, 2**32])
            given = {"entries": entries, "largest": largest, "chunk": chunk, "shares": shares}
            if name != "sum_vec":
                given["proofs"] = proofs
            return given, lambda: [rng.randint(0, largest) for _ in range(entries)]
        case "histogram" | "one_hot":
            cells = rng.randint(1, 60)
            given = {"cells": cells, "chunk": chunk, "shares": shares}
            if name == "one_hot":
                given["proofs"] = proofs
            return given, lambda: rng.randrange(cells)
        case "multihot_count_vec":
            cells = rng.randint(1, 30)
            most = rng.randint(1, cells)

            def chosen() -> list[bool]:
                ones = set(rng.sample(range(cells), rng.randint(0, most)))
                return [cell in ones for cell in range(cells)]

            return {"cells": cells, "most": most, "chunk": chunk, "shares": shares}, chosen
    raise ValueError(name)


NAMES = (
    "count",
    "sum_up",
    "sum_vec",
    "sum_vec_with_multiproof",
    "histogram",
    "multihot_count_vec",
    "one_hot",
)


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def inputs(vdaf: Prio3, label: str) -> tuple[bytes, bytes]:
    """Nonce and randomness of a report."""
    drawn = tape(label, NONCE + vdaf.rand_size)
    return drawn[:NONCE], drawn[NONCE:]


def group(name: str, number: int, rng: random.Random) -> dict[str, Any]:
    """Reports of one set of parameters, and their sum."""
    parameters, measure = draw(name, rng)
    vdaf, label = scheme(name, parameters), f"dpairs/vdaf/{name}/{number}"
    key, context = tape(f"{label}/key", KEY), f"{label}/context".encode()
    reports: list[dict[str, Any]] = []
    outs: list[list[bytes]] = [[] for _ in range(vdaf.shares)]
    for i in range(REPORTS):
        measurement = measure()
        nonce, rand = inputs(vdaf, f"{label}/{i}")
        public, shares = vdaf.shard(context, measurement, nonce, rand)
        begun = [
            vdaf.verify_init(key, context, server, nonce, public, share)
            for server, share in enumerate(shares)
        ]
        verifiers = [verifier for _, verifier in begun]
        message = vdaf.verifier_shares_to_message(context, verifiers)
        for server, (state, _) in enumerate(begun):
            outs[server].append(vdaf.verify_next(state, message))
        reports.append(
            {
                "measurement": measurement,
                "shares": digest(public, *shares),
                "verification": digest(*verifiers, message),
            }
        )
    sums = [vdaf.aggregate(each) for each in outs]
    return {
        "label": label,
        "parameters": parameters,
        "reports": reports,
        "sums": [digest(each) for each in sums],
        "result": vdaf.unshard(sums),
    }


def text(name: str) -> str:
    rng = random.Random(f"{SEED}/{name}")
    groups = [group(name, number, rng) for number in range(SETS)]
    return json.dumps({"scheme": name, "groups": groups}, indent=1) + "\n"


if __name__ == "__main__":
    for name in NAMES:
        (FOLDER / f"cases_{name}.json").write_text(text(name), encoding="utf-8")
        print(name, file=sys.stderr)
