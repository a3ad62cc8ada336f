"""Scales: edges stored in the study, positions among them, and which statistics may use them."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

import dpairs
from dpairs import Interval, Study
from dpairs.data.domains import MAX_EDGES, domain_from_json
from dpairs.data.grids import Axis, Grid
from dpairs.data.positions import Positions, placed
from dpairs.data.scales import PIECES
from dpairs.errors import BadFile, BadParameter, BadValue
from dpairs.formats.canonical import canonical
from dpairs.planning.shapes import draw
from dpairs.protocols import Histogram
from dpairs.protocols.sides import alone
from dpairs.randomness import SeededRandomness, TapeRandomness
from tests.strategies import QUICK
from tests.studies import signed

LOG, MONEY = Interval(1, 1e6, scale="log"), Interval(-2e5, 1e6, scale="asinh")


def grid_of(study: Study) -> Grid:
    assert isinstance(study.protocol, Histogram)
    return study.protocol.grid


def positions(domain: Interval) -> Positions:
    (found,) = placed((domain,))
    assert isinstance(found, Positions)
    return found


@pytest.mark.parametrize(
    "domain", [LOG, MONEY, Interval(1e-300, 1e300, scale="log"), Interval(0, 5e-300, scale="asinh")]
)
def test_a_scale_is_a_list_of_edges_and_nothing_else(domain):
    assert len(domain.edges) == PIECES - 1
    assert all(low < high for low, high in pairwise((domain.low, *domain.edges, domain.high)))
    again = domain_from_json(json.loads(canonical(domain.to_json())))
    assert again == domain == Interval(domain.low, domain.high, edges=domain.edges)
    assert hash(again) == hash(domain)
    assert domain != Interval(domain.low, domain.high)


def test_pieces_are_equal_by_the_scale():
    logs = np.diff(np.log([LOG.low, *LOG.edges, LOG.high]))
    np.testing.assert_allclose(logs, math.log(1e6) / PIECES, rtol=1e-6)
    bent = np.diff(np.arcsinh(np.array([MONEY.low, *MONEY.edges, MONEY.high]) / (1e6 * 2.0**-16)))
    np.testing.assert_allclose(bent, bent[0], rtol=1e-5)


def test_an_interval_without_a_scale_is_what_it_was():
    assert canonical(Interval(0, 1).to_json()) == '{"high":1,"kind":"interval","low":0}'
    assert repr(Interval(0, 1)) == "Interval(low=0.0, high=1.0)"
    assert placed((Interval(0, 1),)) == (Interval(0, 1),)


@given(st.lists(st.floats(-2e5, 1e6), min_size=2, max_size=40))
@QUICK
def test_positions_keep_the_order_and_lead_back(values):
    here = positions(MONEY)
    numbers = np.sort(np.array([*values, *MONEY.edges, -2e5, 1e6]))
    found = here.check(numbers, "x")
    assert (np.diff(found) >= 0).all()
    assert found[0] == 0
    assert found[-1] == here.high == PIECES
    np.testing.assert_allclose(here.values_at(found), numbers, rtol=1e-9, atol=1e-9 * 15)


def test_an_edge_belongs_to_the_piece_above():
    here = positions(Interval(0, 10, edges=(1, 9)))
    assert here.check([0, 0.5, 1, 5, 9, 10], "x").tolist() == [0, 0.5, 1, 1.5, 2, 3]
    with pytest.raises(BadValue, match=r"x must be a number in \[0, 10\], not 10.5"):
        here.check([10.5], "x")


def test_an_answer_is_that_of_the_position():
    """The same bits give the same symbol for a value as for its position on an interval of positions."""
    values = np.clip(np.random.default_rng(1).lognormal(8, 1.5, 400), 1, 1e6)
    places = positions(LOG).check(values, "score")
    for protocol, options in (
        ("tree", {"bins": 1024}),
        ("histogram", {"bins": 16}),
        ("projection", {"n": 400}),
    ):
        common: dict[str, Any] = {"protocol": protocol, "epsilon": 2.0, "seed": 1, "options": options}
        scaled = Study.create("auc", domain=LOG, **common)
        plain = Study.create("auc", domain=Interval(0, PIECES), **common)
        one, two = (
            alone(study).randomize(plain.coins, 0, 0, [given_values], SeededRandomness(3)).tolist()
            for study, given_values in ((scaled, values), (plain, places))
        )
        assert one == two


def test_ranks_are_those_of_the_values():
    """Of money to the cent, no two different amounts share a position."""
    values = np.round(np.random.default_rng(2).lognormal(8, 1.5, 20_000).clip(-2e5, 1e6), 2)
    found = positions(MONEY).check(values, "x")
    np.testing.assert_array_equal(rankdata(found), rankdata(values))


BAD: tuple[Any, ...] = (
    [], None, "log", [1.0], [1e6], [0.5], [2e6], [3.0, 2.0], [2.0, 2.0], [math.nan], [math.inf], ["2"],
    [True], [[2.0]], [None], {}, list(np.linspace(2, 9, MAX_EDGES + 1)),
)  # fmt: skip


@pytest.mark.parametrize("edges", BAD)
def test_hostile_edges_are_refused_whole(edges):
    with pytest.raises(BadParameter):
        domain_from_json({"kind": "interval", "low": 1.0, "high": 1e6, "edges": edges})
    spec = json.loads(Study.create("auc", epsilon=1.0, domain=LOG, bins=16, seed=1).to_json())
    spec["domain"][0]["edges"] = edges
    try:
        text = signed(spec)
    except (BadFile, ValueError):
        # NaN and infinity are no JSON at all.
        return
    with pytest.raises(BadFile):
        Study.from_json(text)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Interval(0, 1, scale="log"), "above 0.*asinh"),
        (lambda: Interval(1, 2, scale="ln"), "scale"),
        (lambda: Interval(1, 1 + 1e-8, scale="log"), "too narrow"),
        (lambda: Interval(1, 9, scale="log", edges=(2.0,)), "not both"),
        (lambda: Interval(1, 9, edges=5), "tuple"),  # type: ignore[arg-type]
        (lambda: domain_from_json({"kind": "integers", "low": 1, "high": 9, "edges": [2]}), "edges"),
    ],
)
def test_scales_that_make_no_sense(make, words):
    with pytest.raises(BadParameter, match=words):
        make()


@pytest.mark.parametrize(
    "name", ["gini_mean_difference", "gini_coefficient", "variance", "collision_entropy"]
)
def test_only_ranks_may_be_scaled_where_nothing_is_rounded_to_points(name):
    for protocol, options in (
        ("histogram", {"bins": 16, "rounding": "simple"}),
        ("projection", {"bins": 16}),
        ("pairwise", {}),
        ("two_servers", {}),
        ("sites", {}),
    ):
        with pytest.raises(BadParameter, match="keep only the order"):
            Study.create(name, protocol=protocol, epsilon=1.0, domain=LOG, options=options)


def test_agreement_has_no_scale():
    with pytest.raises(BadParameter, match="keep only the order"):
        dpairs.plan("collision_entropy", epsilon=1.0, n=1000, domain=LOG)


@pytest.mark.parametrize("bins", [2, 3, 16, 17, 64, 65])
def test_points_of_distances_are_edges_from_end_to_end(bins):
    study = Study.create("variance", epsilon=1.0, domain=LOG, bins=bins, seed=1)
    (axis,) = grid_of(study).axes
    every = np.array([LOG.low, *LOG.edges, LOG.high])
    assert axis.rounding == "random"
    assert axis.points[0] == LOG.low
    assert axis.points[-1] == LOG.high
    steps = np.diff(np.searchsorted(every, axis.points))
    assert np.isin(axis.points, every).all()
    assert steps.min() >= steps.max() - 1 >= 0, "as evenly among the edges as may be"
    again = Study.from_json(study.to_json())
    assert again.id == study.id
    assert np.array_equal(grid_of(again).axes[0].points, axis.points)


def test_more_points_than_edges_are_refused():
    with pytest.raises(BadParameter, match="63 edges has at most 65 bins, the edges and both ends, not 66"):
        Study.create("variance", epsilon=1.0, domain=LOG, bins=66)
    wide = Study.create("gini_coefficient", epsilon=1.0, domain=Interval(0, 9, edges=(1.0, 3.0)), n=10**6)
    assert grid_of(wide).cells == 4


def test_rounding_to_edges_keeps_the_mean_exactly_over_all_words():
    words = np.arange(256, dtype="<u8") << np.uint64(56)  # evenly spread over all 64-bit words
    axis = Axis(Interval(0, 8, edges=(1.0, 2.0, 4.0)), 5, "random")
    for numerator in range(8 * 64 + 1):
        value = numerator / 64
        places = axis.place(np.full(256, value), "value", TapeRandomness(words.tobytes()))
        assert axis.points[places].mean() == value
        assert (axis.points[np.maximum(places - 1, 0)] <= value).all()
        assert (axis.points[np.minimum(places + 1, 4)] >= value).all()


def test_a_device_is_told_of_its_points_in_a_file_that_is_checked():
    study = Study.create(
        "gini_coefficient", epsilon=1.0, domain=Interval(0, 9, edges=(1.0, 3.0)), bins=4, seed=1
    )
    spec = json.loads(study.to_json())
    for change in ({"rounding": "simple"}, {"bins": [5]}, {"bins": [3]}):
        with pytest.raises(BadFile):
            Study.from_json(signed({**spec, "protocol": {**spec["protocol"], **change}}))


@pytest.mark.usefixtures("few_runs")
def test_a_plan_of_distances_on_a_scale_takes_a_histogram_of_points():
    value = np.clip(np.random.default_rng(3).lognormal(3.4, 0.8, 5000), 0, 2000)
    money = Interval(0, 2000, scale="asinh")
    for like in (None, {"value": value}):
        made = dpairs.plan("gini_coefficient", epsilon=4.0, n=5000, domain=money, like=like)
        assert made.best.protocol.name == "histogram"
        assert grid_of(made.best).axes[0].rounding == "random"


def test_a_kernel_of_values_is_not_scaled():
    far = dpairs.Kernel(lambda a, b: np.abs(a - b), range=(0, 1e6), domain=LOG)
    with pytest.raises(BadParameter, match="keep only the order"):
        Study.create(far, epsilon=1.0, bins=16)


@pytest.mark.usefixtures("few_runs")
def test_plans_and_front_door_take_scales():
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 2000)
    data = {"score": np.clip(rng.lognormal(7 + label, 1.5), 1, 1e6), "label": label}
    made = dpairs.plan("auc", epsilon=2.0, n=2000, domain=LOG, like=data, protocol="tree")
    assert made.best.domains == (LOG,)
    people = draw(made.shapes[0], {"positive": 50, "negative": 50}, 1)["score"]
    assert 1 <= people.min() <= people.max() <= 1e6
    assert dpairs.exact("auc", data, domain=LOG) == dpairs.exact("auc", data)
    found = dpairs.auc(label, data["score"], epsilon=8.0, domain=LOG, protocol="tree", seed=1)
    assert found.value == pytest.approx(dpairs.exact("auc", data), abs=6 * found.standard_error)


def test_a_tree_explains_itself_in_values():
    study = Study.create("auc", protocol="tree", epsilon=8.0, domain=LOG, bins=64, seed=1)
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 2000)
    shown = dpairs.simulate(study, {"score": rng.uniform(1, 1e6, 2000), "label": label}, seed=1).explain()
    assert shown.low[0] == 1
    assert shown.high[-1] == 1e6
