"""How pairs of neighbouring bins go together is measured, kept private, and allowed for."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import BadFile, BadParameter, Interval, Levels, Study
from dpairs.protocols.two_servers.bins import ORDER, WITHIN
from dpairs.protocols.two_servers.forms import integer_forms, order_form
from dpairs.protocols.two_servers.order import order_of
from dpairs.protocols.two_servers.protocol import TwoServers
from dpairs.protocols.two_servers.within import Within
from dpairs.randomness import SeededRandomness
from dpairs.statistics.kendall import HIDDEN, NEAR
from dpairs.statistics.kendall import ORDER as EIGHTHS

UNIT = Interval(0, 1)
BESIDE_LEVELS: dict[str, Any] = {"domain": (UNIT, Levels([0, 1])), "bins": [32, 2]}


def study_of(epsilon=1.0, **options) -> Study:
    asked = {"domain": (UNIT, UNIT), **options}
    return Study.create("kendall_tau", protocol="two_servers", epsilon=epsilon, **asked)


def protocol_of(epsilon=1.0, **options) -> TwoServers:
    protocol = study_of(epsilon, **options).protocol
    assert isinstance(protocol, TwoServers)
    return protocol


def dense(form):
    cells = np.eye(form.kernel.diagonal.size, dtype=np.int64)
    return np.array([form.kernel.apply(column) for column in cells]).T


def test_a_pair_weighs_by_the_column_in_which_it_is_nearer():
    protocol = protocol_of(bins=32, n=10**6)
    form = protocol.forms[-1]
    assert form.unit == (1 - 2 * NEAR / HIDDEN) / 8
    # Exact for a line of any height and steepness: see `KendallTau.order`.
    assert sum(EIGHTHS) == 8 / 2
    assert sum(apart * weight for apart, weight in enumerate(EIGHTHS, start=1)) == 0
    weights = np.array([0, *EIGHTHS, *[0] * 32])
    x, y = np.divmod(np.arange(32 * 32), 32)
    for place in (0, 5, 37, 500, 777, 1023):
        one = np.zeros(32 * 32, dtype=np.int64)
        one[place] = 1
        across, up = x - x[place], y - y[place]
        nearer = np.minimum(np.abs(across), np.abs(up))
        assert (form.kernel.apply(one) == np.sign(across) * np.sign(up) * weights[nearer]).all()


def test_nobody_moves_it_further_than_claimed():
    """By enumeration: of three people in any cells, one goes to any other cell."""
    protocol = protocol_of(n=10**6, **BESIDE_LEVELS)
    form = protocol.forms[-1]
    table = dense(form)
    (most,) = {int(np.abs(table[:, None, :] - table[None, :, :]).max())}
    # Both others may be where that is most, and each pair counts in both orders.
    assert 2 * 2 * most == form.sensitivity([3])
    people = np.zeros((3, 64), dtype=np.int64)
    first, second, third = np.unravel_index(
        int(np.abs(table[:, None, :] - table[None, :, :]).argmax()), (64,) * 3
    )
    before, after = people.copy(), people.copy()
    before[[0, 1, 2], [first, third, third]] = 1
    after[[0, 1, 2], [second, third, third]] = 1
    moved = abs(form.total([before.sum(axis=0)]) - form.total([after.sum(axis=0)]))
    # The control: who forgot that a pair counts in both orders would claim half, and be wrong.
    assert form.sensitivity([3]) / 2 < moved == form.sensitivity([3])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("variant", ["a", "b"])
def test_one_servers_noise_alone_keeps_the_claim_for_all_neighbours(variant, epsilon):
    protocol = protocol_of(epsilon, n=10**7, variant=variant, **BESIDE_LEVELS)
    assert len(protocol.forms) == protocol.statistic.form_count + 1
    sizes = {"everybody": 2}
    queries, counts = protocol.queries(sizes)
    assert counts is not None
    lost = np.zeros((64, 64, 64))
    for form, query in zip(protocol.forms, queries, strict=True):
        table = dense(form)
        moved = 2 * np.abs(table[:, None, :] - table[None, :, :])
        lost += moved / float(protocol.budget.scale(query))
    place = protocol.coarse(sizes)[1]
    lost += 2 * (place[:, None] != place[None, :])[:, :, None] / float(protocol.budget.scale(counts))
    worst = float(lost.max())
    assert worst <= protocol.epsilon * (1 + 1e-12) <= epsilon * (1 + 1e-12)
    # Noise that is 30% smaller breaks the claim of tau-a, whose numbers can all change most at once.
    if variant == "a":
        assert worst / 0.7 > epsilon


def sawtooth(teeth, x):
    return teeth * x % 1


SHAPES = {
    "5 teeth": lambda x, rng: sawtooth(5, x),
    "12 teeth": lambda x, rng: sawtooth(12, x),
    "blurred teeth": lambda x, rng: (sawtooth(5, x) + rng.normal(0, 0.03, x.size)).clip(0, 1),
    "falling line": lambda x, rng: (1 - x + rng.normal(0, 0.01, x.size)).clip(0, 1),
    "steep cloud": lambda x, rng: (x + rng.normal(0, 0.1, x.size)).clip(0, 1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_tau_lies_between_both(name):
    """Without noise, the exact value is between T and T + H; at the end of it where a curve is sharp."""
    rng = np.random.default_rng(5)
    x = rng.random(20_000)
    y = SHAPES[name](x, rng)
    protocol = protocol_of(bins=64, n=10**6)
    cell = np.minimum(64 * x, 63).astype(int) * 64 + np.minimum(64 * y, 63).astype(int)
    totals = protocol.totals({"everybody": np.bincount(cell, minlength=4096)}).totals
    first, _, more = (
        form.unit * total / (x.size * (x.size - 1))
        for form, total in zip(protocol.forms, totals, strict=True)
    )
    off = dpairs.exact("kendall_tau", {"x": x, "y": y}) - first
    slack = 3e-4
    assert min(more, 0.0) - slack <= off <= max(more, 0.0) + slack
    if name.endswith("teeth") and "blurred" not in name:
        assert off == pytest.approx(more, abs=slack)
        assert off > 0.01


def test_what_is_made_of_it():
    assert order_of(None) == order_of(Within(0.0, 0.01, True))
    clear = order_of(Within(-0.5, 0.01, True))
    assert clear.middle == pytest.approx(-0.5 / 2 + 0.01 / 0.5)
    # Intervals reach from T to T + H for this sample, with all of its noise.
    assert clear.middle - clear.sample[0] == pytest.approx(-0.5)
    assert clear.sample[1] == 0.01
    # And from T on for the population.
    assert clear.middle + clear.population[0] == pytest.approx(0.0)
    faint = order_of(Within(0.12, 0.01, False))
    assert faint.middle == 0.0
    assert faint.sample == (0.12, 0.01)
    assert faint.population[0] == 0.0


def test_it_is_measured_where_noise_shows_it_and_else_signs_are_plain():
    for n, more in ((300, ()), (1000, ()), (4000, (WITHIN, ORDER)), (20_000, (WITHIN, 2 * ORDER))):
        protocol = protocol_of(n=n)
        assert protocol.weights == (1024 - sum(more), *more)
        assert protocol.near == (n > 300)
    assert protocol_of(n=300).forms[0].kernel.span == 2
    # Nobody knows how many: as studies were before.
    assert protocol_of().near
    assert protocol_of().weights == (1024,)
    # Few bins, and values that are counted one by one: nothing makes up for order, and nothing hides it.
    assert len(protocol_of(n=20_000, bins=8).weights) == 2
    levels = protocol_of(n=20_000, domain=(Levels(range(9)),) * 2)
    assert levels.weights == (1024,)
    assert levels.near
    assert order_form(levels.statistic, levels.grid) is None


def test_files_say_which_signs_were_added_up():
    for n in (300, 20_000, None):
        study = study_of(n=n)
        assert Study.from_json(study.to_json()) == study
    protocol = protocol_of(n=300)
    spec = protocol.to_json()
    assert spec["near"] is False

    def read(**more):
        return TwoServers.from_json(protocol.statistic, protocol.domains, {**spec, **more})

    assert not read().near
    for wrong in (True, 0, "no", None):
        with pytest.raises(BadFile, match="'near' of a two_servers study"):
            read(near=wrong)
    # A file from before has no such key, and its sums are those with near pairs.
    del spec["near"]
    before: Any = read()
    assert before.near
    assert before.forms[0].kernel.span == integer_forms(before.statistic, before.grid)[0].kernel.span > 2
    with pytest.raises(BadParameter, match="near pairs"):
        replace(protocol_of(n=20_000), near=False)
    with pytest.raises(BadParameter, match="near pairs"):
        replace(protocol_of(domain=(Levels(range(9)),) * 2), near=False)
    with pytest.raises(BadParameter, match="leave out the last weight"):
        replace(protocol_of(n=20_000), weights=(600, 100, 100, 100))


def test_an_estimate_says_what_nobody_measured():
    x = np.random.default_rng(3).random(1000)
    people = {"x": x, "y": 5 * x % 1}
    few, many = (dpairs.simulate(study_of(n=n), people, seed=1) for n in (1000, 4000))
    assert [("are in one order" in " ".join(each.caveats)) for each in (few, many)] == [True, False]


def test_noise_is_the_variance_that_is_stated():
    """Of the number itself, over releases: its mean and its variance."""
    protocol = protocol_of(bins=32, n=10**5)
    rng = np.random.default_rng(2)
    people = {"everybody": np.bincount(rng.integers(0, 1024, 500), minlength=1024)}
    queries, _ = protocol.queries({"everybody": 500})
    exact = protocol.totals(people).totals[-1]
    drawn = [
        exact
        + sum(protocol.noise({"everybody": 500}, SeededRandomness(2 * seed + at)).totals[-1] for at in (0, 1))
        for seed in range(400)
    ]
    variance = protocol.budget.variance(queries[-1])
    assert abs(np.mean(drawn) - exact) < 4 * math.sqrt(variance / 400)
    # A sum of two Laplace numbers has a kurtosis of 4.5: the variance of 400 of them is off by 9%.
    assert np.var(drawn) == pytest.approx(variance, rel=0.4)


def test_servers_compute_it_on_shares():
    """With all of the cryptography the same numbers are released, for the same seed."""
    study = study_of(bins=32, n=10_000)
    rng = np.random.default_rng(6)
    x = rng.random(6)
    people = {"x": x, "y": 5 * x % 1}
    ideal, real = (dpairs.simulate(study, people, seed=4, crypto=kind) for kind in ("ideal", "real"))
    assert len(protocol_of(bins=32, n=10_000).forms) == 3
    assert (ideal.value, ideal.confidence_interval()) == (real.value, real.confidence_interval())
    assert ideal.confidence_interval(target="sample") == real.confidence_interval(target="sample")
