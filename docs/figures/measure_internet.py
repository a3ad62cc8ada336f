"""Measure what the page on the internet's scale needs beside the benchmarks, into internet.json.

    python docs/figures/measure_internet.py     # about a minute on one core

Times are of one core that other programs may use as well; sizes and counts are exact.
"""

from __future__ import annotations

import datetime
import json
import os
import ssl
import tempfile
import time
import tracemalloc
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import chain
import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import dpairs
from dpairs.engines import ReportWriter, tally_with_duckdb

KEPT = Path(__file__).parent / "internet.json"
ROWS = 10**6


def main() -> None:
    found: dict[str, Any] = {"load": os.getloadavg()[0], "handshake": handshake(500)}
    with tempfile.TemporaryDirectory() as name:
        window(Path(name), 1)  # the first file costs what every program's first file costs
        found["windows"] = [window(Path(name), part) for part in (1, 24, 144)]
        found["chain"] = in_files(Path(name) / "chain", ROWS)
    found["matching"] = [matching(people) for people in (10**5, 10**6)]
    found["deep"] = [deep(leaves, ROWS) for leaves in (16, 24, 32)]
    KEPT.write_text(json.dumps(found, indent=1) + "\n")
    print(KEPT.read_text())


def handshake(times: int) -> float:
    """Seconds of processor time that a server needs to begin a TLS 1.3 connection, with a P-256 key."""
    key = generate_private_key(SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write(private + built.sign(key, SHA256()).public_bytes(Encoding.PEM))
        file.flush()
        server.load_cert_chain(file.name)
    return float(np.median([one_handshake(server, client) for _ in range(times)]))


def one_handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> float:
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    caller = client.wrap_bio(back, there)
    began = time.process_time()
    answerer = server.wrap_bio(there, back, server_side=True)
    spent = time.process_time() - began
    for _ in range(2):
        with suppress(ssl.SSLWantReadError):
            caller.do_handshake()
        began = time.process_time()
        with suppress(ssl.SSLWantReadError):
            answerer.do_handshake()
        spent += time.process_time() - began
    if answerer.version() != "TLSv1.3":
        raise RuntimeError("the handshake did not end")
    return spent


def window(folder: Path, part: int) -> dict[str, float]:
    """A file with every ``part``-th person, on average: sorting and writing it, and its bytes."""
    rng = np.random.default_rng(part)
    indices = rng.permutation(np.cumsum(rng.geometric(1 / part, ROWS)))
    symbols = rng.integers(0, 2, ROWS)
    began = time.process_time()
    order = np.argsort(indices)
    with ReportWriter(folder / "window.parquet", chain.STUDY) as writer:
        writer.write("positive", indices[order], symbols[order])
    took = time.process_time() - began
    return {"part": part, "bytes": (folder / "window.parquet").stat().st_size / ROWS, "rows/s": ROWS / took}


def in_files(folder: Path, people: int) -> dict[str, Any]:
    """The chain in files with so many people: what the real tally makes of it, and what others would."""
    went = chain.run(folder, people, seed=1)
    truth = chain.tally(went.people)
    found = tally_with_duckdb(chain.STUDY, [f"{folder}/windows/**/*.parquet"])
    added = dpairs.Tally(chain.STUDY)
    for place in went.windows:
        added = added + tally_with_duckdb(chain.STUDY, [f"{place}/*.parquet"]).tally
    return {
        "people": people,
        "rows": went.rows.shape[1],
        "reasons": dict(found.reasons),
        "equal": found.tally == truth,
        "rows counted": chain.tally(went.rows).n,
        "windows added up": added.n,
    }


def matching(people: int) -> dict[str, float]:
    """What a device needs to recompute who meets whom, with so many people in each of two classes."""
    study = dpairs.Study.create("auc", protocol="pairwise", epsilon=1.0, domain=dpairs.Interval(0, 1), seed=1)
    sizes = dict.fromkeys(study.strata, people)
    began = time.process_time()
    study.protocol.match(study.coins, sizes)  # type: ignore[attr-defined]
    took = time.process_time() - began
    tracemalloc.start()
    study.protocol.match(study.coins, sizes)  # type: ignore[attr-defined]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"people": people, "seconds": took, "bytes": peak}


def deep(levels: int, people: int) -> dict[str, float]:
    """What a tally of a tree with 2^levels leaves unpacks to."""
    study = dpairs.Study.create(
        "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=2**levels, seed=1
    )
    rng = np.random.default_rng(1)
    data = {"score": rng.random(people), "label": rng.integers(0, 2, people)}
    content = dpairs.simulate_tally(study, data, seed=1).to_bytes()
    head = len(content) - len(content.partition(bytes.fromhex(study.id))[2])
    return {
        "levels": levels,
        "people": people,
        "bytes": len(zlib.decompress(content[head:])),
        "file": len(content),
    }


if __name__ == "__main__":
    main()
