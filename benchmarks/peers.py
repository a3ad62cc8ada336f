"""Rates of k-ary randomized response in two other packages, as one line of JSON for each.

Runs in the peers' own environment (see environment.py). Both packages document one client call for each
person, so both are driven by a list comprehension, over Python integers, which both handle faster than
numpy's; making those is not timed. A further line drives multi-freq-ldpy the way a caller who knows numba
would: the client in a compiled loop, the counting by numpy.
"""

import argparse
import json
from functools import partial

import numba
import numpy as np
from measure import seconds
from multi_freq_ldpy.estimators.Histogram_estimator import MI
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer


def pure_ldp(k, epsilon):
    client = DEClient(epsilon, k, index_mapper=zero_based)
    server = DEServer(epsilon, k, index_mapper=zero_based)

    def aggregate(reports):
        server.reset()
        server.aggregate_all(reports)
        return server.estimate_all(range(k), suppress_warnings=True)

    return list, lambda people: [client.privatise(value) for value in people], aggregate


def zero_based(value):
    """For pure-ldp, whose values begin at 1 unless told otherwise."""
    return value


def multi_freq_ldpy(k, epsilon):
    return (
        list,
        lambda people: [GRR_Client(value, k, epsilon) for value in people],
        lambda reports: GRR_Aggregator_MI(reports, k, epsilon),
    )


def multi_freq_ldpy_compiled(k, epsilon):
    @numba.njit
    def randomize(people):
        reports = np.empty_like(people)
        for index in range(people.size):
            reports[index] = GRR_Client(people[index], k, epsilon)
        return reports

    def aggregate(reports):
        p = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
        return MI(np.bincount(reports, minlength=k), len(reports), p, (1 - p) / (k - 1))

    return np.array, randomize, aggregate


PEERS = [
    ("pure-ldp", pure_ldp),
    ("multi-freq-ldpy", multi_freq_ldpy),
    ("multi-freq-ldpy, compiled by the caller", multi_freq_ldpy_compiled),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--people", type=int, required=True)
    parser.add_argument("--repeats", type=int, required=True)
    asked = parser.parse_args()
    values = np.random.default_rng(0).integers(asked.cells, size=asked.people).tolist()
    for name, make in PEERS:
        prepare, client, aggregate = make(asked.cells, asked.epsilon)
        people = prepare(values)
        reports = client(people)
        if len(aggregate(reports)) != asked.cells:
            raise RuntimeError(f"{name} does not estimate {asked.cells} frequencies")
        times = seconds(
            asked.repeats,
            client=partial(client, people),
            aggregate=partial(aggregate, reports),
        )
        line = {
            "name": name,
            "client": asked.people / times["client"],
            "aggregate": asked.people / times["aggregate"],
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
