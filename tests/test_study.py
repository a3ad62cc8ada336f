"""A study: what its id stands for, and its text."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpairs import BadFile, Categories, Integers, Interval, Kernel, Levels, Study
from dpairs.formats.canonical import canonical
from tests.strategies import QUICK, categories, integer_ranges, intervals, levels

from .studies import UNIT, distance, small


@st.composite
def studies(draw):
    common = {
        "epsilon": draw(st.floats(0.01, 20)),
        "seed": draw(st.integers(0, 2**128 - 1)),
        "mechanism": draw(st.sampled_from(["krr", "projective"])),
        "kernel": draw(st.sampled_from(["average", "midpoint"])),
    }
    name = draw(
        st.sampled_from(["auc", "mann_whitney", "kendall_tau", "variance", "collision_entropy", "kernel"])
    )
    if name == "kernel":
        return Study.create(distance(draw(st.text(max_size=5))), bins=draw(st.integers(2, 5)), **common)
    if name in ("auc", "mann_whitney"):
        common["ties"] = draw(st.sampled_from(["half", "zero"] if name == "auc" else ["half"]))
        common["labels"] = draw(st.sampled_from(["public", "private"]))
    kinds = {
        "variance": [intervals(), integer_ranges()],
        "collision_entropy": [integer_ranges(), levels(), categories()],
    }.get(name, [intervals(), integer_ranges(), levels()])
    if name == "kendall_tau":
        common["variant"] = draw(st.sampled_from(["a", "b"]))
    domain = tuple(draw(st.one_of(kinds)) for _ in range(2 if name == "kendall_tau" else 1))
    bins = [
        each.size
        if isinstance(each, (Levels, Categories))
        else draw(st.integers(2, 6 if isinstance(each, Interval) else min(6, each.size)))
        for each in domain
    ]
    if any(isinstance(each, Interval) for each in domain):
        common["rounding"] = draw(st.sampled_from(["simple", "random"]))
    return Study.create(name, domain=domain, bins=bins, **common)


@QUICK
@given(studies())
def test_any_study_comes_back_from_its_json(study):
    again = Study.from_json(study.to_json())
    assert again == study
    assert hash(again) == hash(study)
    assert again.to_json() == study.to_json()
    assert again.id == study.id
    assert (again.epsilon, again.seed, again.domains) == (study.epsilon, study.seed, study.domains)
    assert again.protocol.epsilon == study.protocol.epsilon <= study.epsilon


@QUICK
@given(studies())
def test_the_text_is_ordinary_json_and_may_be_written_otherwise(study):
    content = json.loads(study.to_json())
    assert Study.from_json(json.dumps(content, indent=2)) == study
    assert Study.from_json(study.to_json().encode()) == study


@QUICK
@given(studies(), st.data())
def test_a_changed_field_is_refused(study, data):
    """Replace one leaf of the JSON, keep the id: never the same study, never accepted."""
    content = json.loads(study.to_json())
    place, key = data.draw(st.sampled_from(list(leaves(content))))
    old = place[key]
    new = data.draw(st.sampled_from([0, 1, 2, 0.5, -1, "", "1", "half", "b", None, True, [], {}]))
    assume(canonical(new) != canonical(old))
    place[key] = new
    with pytest.raises(BadFile):
        Study.from_json(canonical(content))


def leaves(tree):
    """Every (container, key) whose value is neither a dict nor a list with something in it."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(value, (dict, list)) and value:
            yield from leaves(value)
        else:
            yield tree, key


CHANGES: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": 1.25},
    "bins": {"bins": 5},
    "seed": {"seed": 2},
    "low": {"domain": Interval(-1, 1)},
    "high": {"domain": Interval(0, 2)},
    "kind": {"domain": Integers(0, 9)},
    "mechanism": {"mechanism": "projective"},
    "kernel": {"kernel": "midpoint"},
    "rounding": {"rounding": "random"},
    "ties": {"ties": "zero"},
    "labels": {"labels": "private"},
}


def test_the_id_changes_with_every_field():
    ids = {small().id, *(small(**change).id for change in CHANGES.values())}
    ids.add(Study.create("mann_whitney", epsilon=1.0, domain=UNIT, bins=4, mechanism="krr", seed=1).id)
    assert len(ids) == len(CHANGES) + 2


def test_the_id_does_not_change_between_versions_by_accident():
    assert small().id == "f14410089d5a9234" + small().id[16:]
    assert small() == small()
    assert small(epsilon=1) == small(epsilon=np.float32(1.0))


def test_a_kernels_table_and_label_are_part_of_the_id():
    def study(kernel):
        return Study.create(kernel, epsilon=1.0, bins=3, seed=1)

    steeper = Kernel(
        lambda a, b: np.abs(a - b) * 0.5, range=(0, 1), lipschitz=1.0, domain=UNIT, label="distance"
    )
    assert len({study(distance()).id, study(distance("other")).id, study(steeper).id}) == 3


def test_studies_without_a_seed_differ():
    assert Study.create("auc", epsilon=1.0, domain=UNIT, bins=4) != Study.create(
        "auc", epsilon=1.0, domain=UNIT, bins=4
    )


def test_a_study_is_frozen():
    with pytest.raises(AttributeError):
        small().epsilon = 9.0


def test_a_study_is_no_other_thing():
    assert small() != small().id
