"""What other packages estimate from given people, for make_comparison.py; runs in the peers' environment.

    python program.py histograms people.npz pure-ldp:OUE 16 1.0
    python program.py central people.npz auc 1.0

``people.npz`` has one array of cells, from 0 on, for each run and class; one line of JSON comes back for each
estimator, with one list of estimated shares for each array. Clients and servers are the packages' own code,
called as they document it, one call for each person. OpenDP takes its noise from the operating system, so
its lines differ from run to run; the others are seeded.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from scipy.stats import rankdata

Shares = dict[str, list[float]]
Oracle = Callable[[list[int]], Shares]
"""From everybody's cell to the estimated shares, by the name of the estimator."""


# ---------------------------------------------------------------- pure-LDP


def pure_ldp(name: str, cells: int, epsilon: float) -> Oracle:
    """One of pure-LDP's oracles, without its normalization and with its projection onto the simplex."""
    from pure_ldp import frequency_oracles as oracles

    common: dict[str, Any] = {"epsilon": epsilon, "d": cells, "index_mapper": same}
    if name == "DE":
        client, server = oracles.DEClient(**common), oracles.DEServer(**common)
    elif name == "OUE":
        client, server = (make(**common, use_oue=True) for make in (oracles.UEClient, oracles.UEServer))
    elif name == "HR":
        server = oracles.HadamardResponseServer(**common)
        client = oracles.HadamardResponseClient(**common, hash_funcs=server.get_hash_funcs())
    else:
        raise ValueError(f"pure-ldp has no oracle {name!r} here")

    def estimate(values: list[int]) -> Shares:
        server.reset()
        server.aggregate_all([client.privatise(value) for value in values])
        found = {}
        for label, normalization in (("as it is", 0), ("onto the simplex", 2)):
            counts = server.estimate_all(range(cells), suppress_warnings=True, normalization=normalization)
            found[label] = (np.asarray(counts, dtype=float) / len(values)).tolist()
        return found

    return estimate


def same(value: int) -> int:
    """For pure-ldp, whose values begin at 1 unless told otherwise."""
    return value


# ---------------------------------------------------------------- multi-freq-ldpy


def multi_freq_ldpy(name: str, cells: int, epsilon: float) -> Oracle:
    """One of multi-freq-ldpy's protocols, with both of its estimators."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, SS, UE

    if name in ("OUE", "SUE"):
        optimal = name == "OUE"

        def client(value: int) -> Any:
            return UE.UE_Client(value, cells, epsilon, optimal)

        def inverted(reports: list[Any]) -> Any:
            return UE.UE_Aggregator_MI(reports, epsilon, optimal)

        def bayesian(reports: list[Any]) -> Any:
            return UE.UE_Aggregator_IBU(reports, cells, epsilon, optimal)

    else:
        module = {"GRR": GRR, "SS": SS}[name]
        one, matrix, update = (
            getattr(module, f"{name}_{part}") for part in ("Client", "Aggregator_MI", "Aggregator_IBU")
        )

        def client(value: int) -> Any:
            return one(value, cells, epsilon)

        def inverted(reports: list[Any]) -> Any:
            return matrix(reports, cells, epsilon)

        def bayesian(reports: list[Any]) -> Any:
            return update(reports, cells, epsilon)

    def estimate(values: list[int]) -> Shares:
        reports = [client(value) for value in values]
        return {"MI": inverted(reports).tolist(), "IBU": bayesian(reports).tolist()}

    return estimate


# ---------------------------------------------------------------- OpenDP


def opendp(name: str, cells: int, epsilon: float) -> Oracle:
    """OpenDP's randomized response, of one category or of a vector of bits; debiased as its documents say."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    if name == "RR":
        chance = math.exp(epsilon) / (math.exp(epsilon) + cells - 1) * (1 - 1e-12)
        respond = dp.m.make_randomized_response(list(range(cells)), chance)
        within(respond.map(1), epsilon)
        other = (1 - chance) / (cells - 1)

        def estimate(values: list[int]) -> Shares:
            counts = np.bincount([respond(value) for value in values], minlength=cells)
            return {"debiased": ((counts / len(values) - other) / (chance - other)).tolist()}

        return estimate

    # Each bit is redrawn with chance f; two one-hot vectors differ in two bits.
    redrawn = 2 / (1 + math.exp(epsilon / 2)) * (1 + 1e-12)
    flip = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=1), dp.discrete_distance(), redrawn, constant_time=False
    )
    within(flip.map(1), epsilon)
    encoded = [np.packbits(np.arange(cells) == cell).tobytes() for cell in range(cells)]

    def estimate_bits(values: list[int]) -> Shares:
        answers = b"".join(flip(encoded[value]) for value in values)
        bits = np.unpackbits(np.frombuffer(answers, dtype=np.uint8).reshape(len(values), -1), axis=1)
        shares = bits[:, :cells].mean(axis=0)
        return {"debiased": ((shares - redrawn / 2) / (1 - redrawn)).tolist()}

    return estimate_bits


def within(loss: float, epsilon: float) -> None:
    """Refuse a measurement whose own privacy map says more than epsilon."""
    if loss > epsilon:
        raise RuntimeError(f"OpenDP says that this costs {loss}, more than {epsilon}")


def central(source: str, statistic: str, epsilon: float) -> Iterator[dict[str, Any]]:
    """A curator's release of each array with OpenDP: the exact statistic with Laplace noise.

    Neither statistic is in the library, so the transformation is the caller's, and so is the proof of its
    stability: OpenDP takes both on trust ("honest-but-curious"). An array has the positives' scores and then
    as many of negatives, or everybody's cell of 6 x 6.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    function, changes = {"auc": (auc, 2.0), "tau": (tau, 4.0)}[statistic]
    with np.load(source) as arrays:
        for key in arrays.files:
            people = arrays[key].tolist()
            stability = changes / len(people)  # the most that one person's other value can change
            exact = dp.t.make_user_transformation(
                input_domain=dp.vector_domain(dp.atom_domain(T=float), size=len(people)),
                input_metric=dp.change_one_distance(),
                output_domain=dp.atom_domain(T=float, nan=False),
                output_metric=dp.absolute_distance(T=float),
                function=function,
                stability_map=lambda changed, each=stability: changed * each,
            )
            release = exact >> dp.m.then_laplace(stability / epsilon * (1 + 1e-9))
            within(release.map(1), epsilon)
            yield {"exact": exact(people), "released": release(people)}


def auc(people: list[float]) -> float:
    """How often a positive is above a negative; positives come first, as many as negatives."""
    positives = len(people) // 2
    ranks = rankdata(people)[:positives].sum()
    return float((ranks - positives * (positives + 1) / 2) / positives**2)


def tau(people: list[float]) -> float:
    """Tau-a of cells 6 x + y."""
    shares = np.bincount(np.asarray(people, dtype=int), minlength=36).reshape(6, 6) / len(people)
    sign = np.sign(np.subtract.outer(np.arange(6), np.arange(6)))
    return float((shares * (sign @ shares @ sign.T)).sum() * len(people) / (len(people) - 1))


# ---------------------------------------------------------------- lines


PACKAGES = {"pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq_ldpy, "opendp": opendp}


def _seed(seed: int) -> None:
    np.random.seed(seed)  # noqa: NPY002


SEED_COMPILED: Any = numba.njit(_seed)
"""Compiled code has a generator of its own."""


def seed_all(seed: int) -> None:
    """Make whatever generator a package uses repeatable."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the packages use this one
    SEED_COMPILED(seed)


def histograms(source: str, which: str, cells: int, epsilon: float) -> Iterator[dict[str, Any]]:
    """The estimated shares of every array in the file."""
    package, name = which.split(":")
    oracle = PACKAGES[package](name, cells, epsilon)
    by_estimator: dict[str, list[list[float]]] = {}
    with np.load(source) as arrays:
        for place, key in enumerate(arrays.files):
            seed_all(place)
            for label, shares in oracle(arrays[key].tolist()).items():
                by_estimator.setdefault(label, []).append(shares)
    for label, lists in by_estimator.items():
        yield {"estimator": label, "shares": lists}


def main() -> None:
    """One line of JSON for each estimator, or for each central release."""
    if sys.argv[1] == "histograms":
        source, which, cells, epsilon = sys.argv[2:6]
        for line in histograms(source, which, int(cells), float(epsilon)):
            print(json.dumps(line), flush=True)
    else:
        source, statistic, epsilon = sys.argv[2:5]
        for line in central(source, statistic, float(epsilon)):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
