"""The rate of pure-ldp's Hadamard response client on 20-bit values: people per second of processor time."""

import sys
import time

import numpy as np
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer

SIZE = 2**20


def same(value):
    """Values begin at 0 here; the package's begin at 1 unless told otherwise."""
    return value


def main(epsilon: float, people: int) -> None:
    server = HadamardResponseServer(epsilon, SIZE, index_mapper=same)
    client = HadamardResponseClient(epsilon, SIZE, server.get_hash_funcs(), index_mapper=same)
    values = np.random.default_rng(0).integers(SIZE, size=people).tolist()
    for value in values[:100]:
        client.privatise(value)
    start = time.process_time()
    for value in values:
        client.privatise(value)
    print(people / (time.process_time() - start))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
