"""Pairs that compute together: garbled circuits

*Gates and bytes*: AND gates of the circuits, against the most they may have; bytes of all five messages of
one pair, those to the collector included.

*Two processes*: a fresh pair over TCP on one machine, processor time of garbler and evaluator together after
start-up (imports, the compiled circuit, one pair to warm up), median over many pairs; and the bytes that
travel between the two, length prefixes included.

*Many at once*: AND gates for each second of processor time in one process, against a target that is
proportional to the rate of AES-128-ECB through the same library in the same run (20 million garbled and 30
million evaluated at 11 GB/s). And 100,000 pairs garbled, evaluated and checked, without transfers.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import time
from typing import Any

import numpy as np
from environment import HERE
from measure import Row, seconds
from memory import own_peak

from dpairs.garbled import batch
from dpairs.garbled.arithmetic import Space
from dpairs.garbled.blocks import COLOUR, Buffer, expand, permutation
from dpairs.garbled.circuit import EVALUATOR, GARBLER
from dpairs.garbled.function import PairFunction
from dpairs.garbled.garbling import evaluate, garble
from dpairs.garbled.kernels import Concordance, Distance, Equal, LessThan, PairKernel
from dpairs.garbled.laplace import LaplaceNoise
from dpairs.garbled.noise import BitNoise, Noise
from dpairs.garbled.session import Evaluator, Garbler, PairDecoder
from dpairs.garbled.wire import Pair
from dpairs.randomness import SeededRandomness, SystemRandomness

LARGEST = 2**32 - 1
PAIR = Pair("11" * 32, garbler=1, evaluator=2)
FUNCTIONS = {
    "auc": PairFunction(LessThan(LARGEST), BitNoise.for_epsilon(1, 1.0, precision=16)),
    "gini": PairFunction(Distance(LARGEST), LaplaceNoise.for_epsilon(LARGEST, 1.0, precision=40)),
    "kendall": PairFunction(Concordance(255), BitNoise.for_epsilon(2, 1.0, precision=16)),
    "collision": PairFunction(Equal(LARGEST), BitNoise.for_epsilon(1, 1.0, precision=16)),
}
LIMITS = {"auc": (8e-3, 5000), "gini": (30e-3, 60_000)}
"""Seconds of both together, and bytes."""
AES = 11e9
TARGETS = {"garble": 20e6, "evaluate": 30e6}


def run(quick: bool) -> list[Row]:
    pairs, many, repeats = (20, 10**4, 3) if quick else (200, 10**5, 9)
    return [*gates(), *messages(), *two_processes(pairs), *rates(repeats), *population(many)]


# ---------------------------------------------------------------- gates and bytes


def kernel_ands(kernel: PairKernel) -> int:
    space = Space()
    x = [space.number(GARBLER, kernel.largest) for _ in range(kernel.columns)]
    y = [space.number(EVALUATOR, kernel.largest) for _ in range(kernel.columns)]
    return space.compile(kernel.build(x, y, [space.random_bit() for _ in range(kernel.random_bits)])).ands


def noise_ands(noise: Noise) -> int:
    space = Space()
    level = space.number(GARBLER, noise.top)
    return space.compile(noise.build(level, [space.random_bit() for _ in range(noise.random_bits)])).ands


def gates() -> list[Row]:
    counts = [
        ("x < y, 32 bits, ties tossed", kernel_ands(LessThan(LARGEST)), 32),
        ("abs(x - y), 32 bits", kernel_ands(Distance(LARGEST)), 63),
        ("Kendall, 8 bits, ties", kernel_ands(Concordance(255)), 32),
        ("randomized response, 16 bits", noise_ands(BitNoise.for_epsilon(1, 1.0)), 15),
    ]
    return [Row(name, "the limit", ours, most, "gates", 1.0) for name, ours, most in counts]


def messages() -> list[Row]:
    rows = []
    for name, function in FUNCTIONS.items():
        garbler = Garbler(function, PAIR, [1] * function.kernel.columns)
        evaluator = Evaluator(function, PAIR, [2] * function.kernel.columns)
        offer = garbler.offer()
        choice = evaluator.choose(offer)
        circuit = garbler.answer(choice)
        sizes = [len(wire) for wire in (offer, choice, circuit, evaluator.evaluate(circuit), garbler.table())]
        most, wanted = (LIMITS[name][1], 1.0) if name in LIMITS else (LIMITS["auc"][1], None)
        note = f"{function.circuit.ands} ANDs, {function.circuit.evaluator} bits transferred, {sizes}"
        rows.append(Row(f"{name}, all messages", "the limit", sum(sizes), most, "B", wanted, note=note))
    return rows


# ---------------------------------------------------------------- two processes


def two_processes(pairs: int) -> list[Row]:
    rows = []
    for name, (time_limit, most) in LIMITS.items():
        told = talk(name, pairs)
        for table, labels in zip(told[0]["collector"], told[1]["collector"], strict=True):
            PairDecoder(FUNCTIONS[name], PAIR).decode(bytes.fromhex(table), bytes.fromhex(labels))
        spent = np.sum([each["seconds"] for each in told], axis=0)
        garbler, slowest = 1e3 * np.median(told[0]["seconds"]), 1e3 * spent.max()
        first = 1e3 * sum(each["first"] for each in told)
        note = f"garbler {garbler:.2f} ms; slowest of {pairs} {slowest:.2f} ms; the cold first {first:.2f} ms"
        middle = float(np.median(spent))
        rows += [
            Row(f"{name}, two processes", "the limit", middle, time_limit, "s", 1.0, note=note),
            Row(f"{name}, between the two", "the limit", told[0]["bytes"], most, "B", 1.0),
        ]
    return rows


def talk(name: str, pairs: int) -> list[dict[str, Any]]:
    """What garbler and evaluator tell after so many pairs."""
    command = [sys.executable, __file__, name, str(pairs)]
    listener = subprocess.Popen([*command, "listen"], stdout=subprocess.PIPE, text=True, cwd=HERE)
    try:
        assert listener.stdout is not None
        port = listener.stdout.readline().strip()
        other = subprocess.run([*command, port], stdout=subprocess.PIPE, text=True, check=True, cwd=HERE)
        told = listener.communicate()[0]
    finally:
        listener.kill()
    return [json.loads(told), json.loads(other.stdout)]


def child(name: str, pairs: int, port: str) -> None:
    """One of the two: the garbler listens, the evaluator connects."""
    function = FUNCTIONS[name]
    assert function.digest  # compiles the circuit
    if port == "listen":
        with socket.create_server(("127.0.0.1", 0)) as server:
            print(server.getsockname()[1], flush=True)
            link = server.accept()[0]
    else:
        link = socket.create_connection(("127.0.0.1", int(port)))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    spent, finals, travelled = [], [], 0
    for _ in range(pairs + 1):
        start = time.process_time()
        if port == "listen":
            garbler = Garbler(function, PAIR, [123456789])
            travelled = send(link, garbler.offer())
            choice = receive(link)
            travelled += len(choice) + 4 + send(link, garbler.answer(choice))
            final = garbler.table()
        else:
            evaluator = Evaluator(function, PAIR, [987654321])
            send(link, evaluator.choose(receive(link)))
            final = evaluator.evaluate(receive(link))
        spent.append(time.process_time() - start)
        finals.append(final.hex())
    link.close()
    print(json.dumps({"seconds": spent[1:], "first": spent[0], "collector": finals, "bytes": travelled}))


def send(link: socket.socket, wire: bytes) -> int:
    framed = struct.pack(">I", len(wire)) + wire
    link.sendall(framed)
    return len(framed)


def receive(link: socket.socket) -> bytes:
    (size,) = struct.unpack(">I", exactly(link, 4))
    return exactly(link, size)


def exactly(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = link.recv(size - len(data))
        assert part, "the other side hung up"
        data += part
    return data


# ---------------------------------------------------------------- many at once


def rates(repeats: int) -> list[Row]:
    function = FUNCTIONS["auc"]
    circuit, count = function.circuit, batch.chunk_size(function.circuit)
    secret = expand(bytes(16), (circuit.inputs + 1) * count).reshape(circuit.inputs + 1, count, 2)
    zero, delta = secret[:-1], secret[-1] | np.array([0, COLOUR], dtype=np.uint64)
    tables, _ = garble(circuit, zero, delta, bytes(16))
    blocks = 2**16
    plain, cipher, encrypt = Buffer(blocks), Buffer(blocks), permutation(bytes(16))
    source, target = plain.room(16 * blocks)[: 16 * blocks], cipher.room(16 * blocks)
    rounds = 64
    times = seconds(
        repeats,
        aes=lambda: [encrypt(source, target) for _ in range(rounds)],
        garble=lambda: garble(circuit, zero, delta, bytes(16)),
        evaluate=lambda: evaluate(circuit, zero, tables, bytes(16)),
    )
    aes = 16 * blocks * rounds / times["aes"]
    rows = []
    for name, target_rate in TARGETS.items():
        rate = circuit.ands * count / times[name]
        share = rate * 16 / aes
        note = f"AES {aes / 1e9:.2f} GB/s; blocks of AES per gate's worth of time: {1 / share:.1f}"
        wanted = target_rate * aes / AES
        rows.append(
            Row(
                f"{name}, {count} instances",
                "the target at this AES rate",
                rate,
                wanted,
                "AND/s",
                1.0,
                note=note,
            )
        )
    return rows


def population(many: int) -> list[Row]:
    function = FUNCTIONS["auc"]
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, LARGEST, size=(2, many, 1), dtype=np.uint64)
    tapes = [function.tape(many, SeededRandomness(side)) for side in (1, 2)]
    before, start = own_peak(), time.process_time()
    symbols = batch.real(function, x, y, tapes[0], tapes[1], SystemRandomness())
    spent = time.process_time() - start
    assert np.array_equal(symbols, function.ideal(x, y, tapes[0] ^ tapes[1]))
    limit = 5.0 * many / 10**5
    note = f"equal to ideal; {own_peak() - before:.0f} MB more at the peak"
    return [Row(f"{many:,} pairs of AUC, real", "the limit", spent, limit, "s", 1.0, note=note)]


if __name__ == "__main__":
    if len(sys.argv) == 4:
        child(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:  # gates and bytes only
        for row in (*gates(), *messages()):
            print(f"{row.name}: {row.ours:g} {row.unit}", f"({row.note})" if row.note else "")
