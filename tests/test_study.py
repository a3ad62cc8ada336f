"""A study: what is refused, what its id stands for, and its file."""

import json
import os
import re
import typing
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dpairs
from dpairs import BadFile, BadParameter, Categories, Integers, Interval, Kernel, Levels, Participant, Study
from dpairs.formats.canonical import canonical, digest
from dpairs.protocols import PROTOCOLS, options
from dpairs.statistics import STATISTICS
from tests.strategies import QUICK, categories, integer_ranges, intervals, levels

from .every import every

UNIT = Interval(0, 1)
PAIR = (Levels(range(3)), Levels(["low", "high"]))


def small(**options):
    return Study.create(
        "auc", **{"epsilon": 1.0, "domain": UNIT, "bins": 4, "mechanism": "krr", "seed": 1, **options}
    )


def distance(label="distance", domain=UNIT):
    return Kernel(lambda a, b: np.abs(a - b), range=(0, 1), lipschitz=1.0, domain=domain, label=label)


def signed(content):
    """A study's text whose id belongs to its contents."""
    content = {name: value for name, value in content.items() if name != "id"}
    return canonical({**content, "id": digest(content)})


def forged(study, *path, value):
    """The text of ``study`` with one field replaced and the id made to fit."""
    content = json.loads(study.to_json())
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return signed(content)


# ---------------------------------------------------------------- any study


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


# ---------------------------------------------------------------- what create refuses


@pytest.mark.parametrize(
    "epsilon", [0, 0.0, -1.0, float("nan"), float("inf"), -float("inf"), "1", b"1", True, None, [1.0], 1j]
)
def test_epsilon_must_be_a_finite_number_above_zero(epsilon):
    with pytest.raises(BadParameter, match="epsilon must be"):
        small(epsilon=epsilon)


@pytest.mark.parametrize("mechanism", ["krr", "projective"])
@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-20, 1e-17])
def test_epsilon_too_small_for_64_bits_is_said_to_be(epsilon, mechanism):
    with pytest.raises(BadParameter, match="too small"):
        small(epsilon=epsilon, bins=16, mechanism=mechanism)


@pytest.mark.parametrize("mechanism", ["krr", "projective"])
def test_a_huge_epsilon_is_allowed(mechanism):
    assert small(epsilon=1e300, mechanism=mechanism).privacy.epsilon < 64


@pytest.mark.parametrize("bins", [1, 0, -4, 4097, 4.0, "4", True, [4, 4], [], [None], {}, np.array([4])])
def test_bins_must_be_one_whole_number(bins):
    with pytest.raises(BadParameter, match="bins"):
        small(bins=bins)


def test_bins_must_fit_the_domain():
    with pytest.raises(BadParameter, match="bins must be at most 3"):
        small(domain=Levels(range(3)), bins=5)
    with pytest.raises(BadParameter, match="bins must be 3"):
        small(domain=Levels(range(3)), bins=2)
    with pytest.raises(BadParameter, match="bins must be at most 3"):
        small(domain=Integers(0, 2), bins=4)
    with pytest.raises(BadParameter, match="bins must be one number"):
        Study.create("kendall_tau", epsilon=1.0, domain=PAIR, bins=[3])
    with pytest.raises(BadParameter, match="cells"):
        Study.create("kendall_tau", epsilon=1.0, domain=(UNIT, UNIT), bins=65)


def test_bins_or_n_are_needed_on_an_interval():
    with pytest.raises(BadParameter, match=r"bins=\.\.\..*n=\.\.\."):
        Study.create("auc", protocol="histogram", epsilon=1.0, domain=UNIT)
    assert Study.create("auc", protocol="histogram", epsilon=1.0, domain=UNIT, n=10_000).protocol.to_json()[
        "bins"
    ] == [10]


@pytest.mark.parametrize("n", [0, -1, "many", 1.5, True])
def test_n_must_be_a_number_of_people(n):
    with pytest.raises(BadParameter, match="n must be"):
        Study.create("auc", epsilon=1.0, domain=UNIT, n=n)


def test_one_number_of_bins_is_for_the_column_that_can_be_cut():
    study = Study.create("kendall_tau", epsilon=1.0, domain=(Levels(range(3)), UNIT), bins=5)
    assert study.protocol.to_json()["bins"] == [3, 5]


def test_an_unknown_keyword_lists_the_allowed_ones():
    with pytest.raises(BadParameter, match="no option 'bin'") as raised:
        small(bin=4)
    for name in ("bins", "kernel", "mechanism", "n", "rounding", "ties", "labels"):
        assert name in str(raised.value)


def test_another_statistics_keyword_is_unknown():
    with pytest.raises(BadParameter, match="no option 'variant'"):
        small(variant="b")


@every(
    ("name", "bad"),
    [
        ("protocol", "tree of life"),
        ("mechanism", "laplace"),
        ("kernel", "median"),
        ("rounding", "up"),
        ("ties", "both"),
        ("labels", "hidden"),
    ],
)
@every("wrap", [str, lambda name: [name], lambda _: None, lambda _: 3])
def test_unknown_choices_are_refused_by_name(name, bad, wrap):
    if name == "protocol" and wrap(bad) is None:
        assert small(protocol=None).protocol.name == "histogram"
        return
    with pytest.raises(BadParameter, match=f"{name} must be one of"):
        small(**{name: wrap(bad)})


def test_without_a_protocol_the_planner_chooses():
    for n, rounds in ((None, 1), (200_000, 2)):
        given: dict[str, Any] = {} if n is None else {"n": n}
        study = Study.create("auc", epsilon=1.0, domain=(0, 1), seed=1, **given)
        asked = dpairs.plan("auc", epsilon=1.0, domain=(0, 1), n=n or 100_000, rounds=rounds)
        assert study.protocol.to_json() == asked.best.protocol.to_json()
    assert study.protocol.name == "projection"


def test_every_keyword_of_every_protocol_is_typed():
    """An editor's completions are what the protocols take."""
    typed: dict[Any, set[str]] = {}
    for form in typing.get_overloads(Study.create):
        names = re.findall(r"Literal\['(\w+)'\]", str(form.__annotations__["protocol"]).replace('"', "'"))
        for name in names:
            kind = re.findall(r"Unpack\[(\w+)\]", form.__annotations__["more"])[0]
            typed[name] = set(getattr(options, kind).__annotations__)
    own = {"domain", "seed"} | {name for kind in STATISTICS.values() for name in kind.option_names()}
    assert {name: keys - own for name, keys in typed.items()} == {
        name: set(kind.options) for name, kind in PROTOCOLS.items() if name in typed
    }
    assert set(typed) == {"histogram", "tree", "projection", "pairwise", "two_servers", "sites"}


@pytest.mark.parametrize("statistic", ["median", "AUC", "", None, ["auc"], 3, float("nan")])
def test_an_unknown_statistic_is_refused(statistic):
    with pytest.raises(BadParameter, match="statistic must be one of 'auc'"):
        Study.create(statistic, epsilon=1.0, domain=UNIT, bins=4)


@pytest.mark.parametrize("seed", [-1, 2**128, 1.0, "1", True])
def test_a_seed_must_be_a_whole_number(seed):
    with pytest.raises(BadParameter, match="seed must be"):
        small(seed=seed)


@pytest.mark.parametrize(
    "domain", [None, "0 to 1", 3, (), [], (UNIT, UNIT), (0, 1, 2), [None], Interval, Levels, "study"]
)
def test_a_domain_must_be_one(domain):
    given = small() if domain == "study" else domain
    with pytest.raises(BadParameter, match="domain"):
        small(domain=given)


@pytest.mark.parametrize(
    ("statistic", "domain", "said"),
    [
        ("auc", Categories(["a", "b"]), "ordered"),
        ("kendall_tau", (Levels(["a", "b"]), Categories(["a", "b"])), "ordered"),
        ("kendall_tau", UNIT, "was given 1"),
        ("gini_mean_difference", Levels(["a", "b"]), "numbers"),
        ("variance", Categories(["a", "b"]), "numbers"),
        ("gini_coefficient", Interval(-1, 1), "at least 0"),
        ("gini_coefficient", Levels([-1, 1]), "at least 0"),
        ("collision_entropy", UNIT, "equal values"),
    ],
)
def test_a_domain_must_suit_the_statistic(statistic, domain, said):
    with pytest.raises(BadParameter, match=said):
        Study.create(statistic, epsilon=1.0, domain=domain, bins=2)


def test_random_rounding_needs_an_interval():
    with pytest.raises(BadParameter, match="Interval"):
        small(domain=Levels(range(4)), rounding="random")


def test_a_value_with_half_a_character_has_no_json():
    with pytest.raises(BadParameter):
        Study.create("collision_entropy", epsilon=1.0, domain=Categories(["\ud800", "a"])).to_json()


def test_a_kernel_brings_its_domain():
    study = Study.create(distance(), epsilon=1.0, bins=3, seed=1)
    assert study.domains == (UNIT,)
    assert study.statistic.to_json()["label"] == "distance"


def test_a_kernel_that_is_not_symmetric_or_leaves_its_range_is_refused():
    for f, said in ((lambda a, b: a - b, "range"), (lambda a, b: a + 0 * b, "symmetric")):
        with pytest.raises(BadParameter, match=said):
            Study.create(Kernel(f, range=(0, 1), domain=UNIT), epsilon=1.0, bins=3)


# ---------------------------------------------------------------- what reading refuses

KERNEL_STUDY = Study.create(distance(), epsilon=1.0, bins=3, seed=1)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("statistic",), "auc"),
        (("statistic", "name"), ["auc"]),
        (("statistic", "which"), "auc"),
        (("statistic", "ties"), None),
        (("domain",), {}),
        (("domain",), []),
        (("domain", 0), None),
        (("domain", 0, "kind"), "circle"),
        (("domain", 0, "low"), "0"),
        (("domain", 0, "high"), 0),
        (("domain", 0, "high"), 10**400),
        (("domain", 0, "step"), 1),
        (("protocol",), []),
        (("protocol", "bins"), 4),
        (("protocol", "bins"), [4, 4]),
        (("protocol", "bins"), ["4"]),
        (("protocol", "bins"), [5]),
        (("protocol", "rounding"), None),
        (("protocol", "kernel"), "mean"),
        (("protocol", "mechanism"), None),
        (("protocol", "mechanism", "name"), "bit"),
        (("protocol", "mechanism", "floor"), "0"),
        (("protocol", "mechanism", "floor"), "-1"),
        (("protocol", "mechanism", "floor"), str(2**64)),
        (("protocol", "mechanism", "floor"), "１"),
        (("protocol", "mechanism", "inputs"), "4"),
        (("protocol", "mechanism", "boost"), "4"),
        (("epsilon",), 0),
        (("epsilon",), "1"),
        (("epsilon",), 0.5),
        (("delta",), 1e-9),
        (("delta",), None),
        (("seed",), 1),
        (("seed",), "1"),
        (("seed",), "g" * 32),
        (("seed",), "0x" + "0" * 30),
        (("version",), 2),
        (("version",), True),
        (("format",), "dpairs"),
        (("more",), 1),
    ],
    ids=lambda item: str(item)[:40],
)
def test_contents_that_cannot_be_are_refused_though_the_id_fits(path, value):
    with pytest.raises(BadFile):
        Study.from_json(forged(small(), *path, value=value))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("columns", 1),
        ("columns", "value"),
        ("columns", [["value"]]),
        ("columns", ["x", "y"]),
        ("columns", None),
        ("range", [1, 0]),
        ("range", "01"),
        ("range", None),
        ("kernel", "mean"),
        ("lipschitz", "1"),
        ("matrix", None),
        ("matrix", [0.0, "a", 0, 0, 0, 0]),
        ("matrix", [0.0] * 5),
        ("matrix", [10**400] * 6),
        ("matrix", []),
        ("matrix", [[0.0] * 6]),
        ("spread", [0.0]),
        ("label", 3),
    ],
    ids=lambda item: str(item)[:40],
)
def test_a_kernels_table_that_cannot_be_is_refused(field, value):
    with pytest.raises(BadFile):
        Study.from_json(forged(KERNEL_STUDY, "statistic", field, value=value))


def test_a_kernels_table_must_have_the_studys_cells():
    content = json.loads(KERNEL_STUDY.to_json())
    content["statistic"] |= {"matrix": [1.0], "spread": [0.0]}
    with pytest.raises(BadFile):
        Study.from_json(signed(content))


def test_the_study_promises_at_least_what_its_mechanism_loses():
    study = small()
    least = study.privacy.epsilon
    assert Study.from_json(forged(study, "epsilon", value=least)).epsilon == least
    with pytest.raises(BadFile, match="loses"):
        Study.from_json(forged(study, "epsilon", value=np.nextafter(least, 0).item()))


@pytest.mark.parametrize(
    "text", ["", " ", "null", "3", '"x"', "[]", "{}", "{", "NaN", b"\xff\xfe", b"\0", "\ufeff{}"]
)
def test_what_is_no_study_is_refused(text):
    with pytest.raises(BadFile):
        Study.from_json(text)


def test_half_a_character_in_a_file_is_refused():
    study = Study.create("collision_entropy", epsilon=1.0, domain=Categories(["a", "b"]), seed=1)
    with pytest.raises(BadFile):
        Study.from_json(study.to_json().replace('"a"', '"\\ud800"'))


def test_deep_nesting_is_refused():
    with pytest.raises(BadFile):
        Study.from_json("[" * 100_000)
    nested = "[" * 700 + "]" * 700
    content = json.loads(KERNEL_STUDY.to_json())
    content["statistic"]["label"] = nested
    text = signed(content).replace(f'"{nested}"', nested)
    with pytest.raises(BadFile):
        Study.from_json(text)


def test_a_text_too_long_is_not_parsed():
    with pytest.raises(BadFile, match="bytes long"):
        Study.from_json(" " * (16 * 2**20 + 1))


# ---------------------------------------------------------------- files


def test_save_and_load(tmp_path):
    path = tmp_path / "study.json"
    small().save(path)
    assert Study.load(path) == small()
    assert Study.load(str(path)) == small()
    assert path.read_text().endswith("}\n")
    assert os.listdir(tmp_path) == ["study.json"]


def test_saving_replaces_the_old_file(tmp_path):
    path = tmp_path / "study.json"
    path.write_text("something old and longer than any study" * 100)
    small().save(path)
    assert Study.load(path) == small()


@pytest.mark.parametrize("broken", ["os.fsync", "Path.replace"])
def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, broken):
    path = tmp_path / "study.json"
    small().save(path)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"dpairs.formats.files.{broken}", fail)
    with pytest.raises(BadFile, match="No space left"):
        small(seed=2).save(path)
    assert Study.load(path) == small()
    assert os.listdir(tmp_path) == ["study.json"]


@pytest.mark.parametrize("place", ["missing/study.json", "file/study.json", "folder", "a" * 300, "nul\0"])
def test_a_place_that_cannot_be_written_is_one_error(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadFile, match="cannot be written"):
        small().save(tmp_path / place)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_a_name_as_long_as_the_file_system_takes_can_be_written(tmp_path):
    path = tmp_path / ("a" * 250)
    small().save(path)
    assert Study.load(path) == small()


@pytest.mark.parametrize("place", ["", ".", "/"])
def test_a_place_without_a_name_cannot_be_written(place):
    with pytest.raises(BadFile, match="cannot be written"):
        small().save(place)


@pytest.mark.parametrize("place", ["missing", "folder", "file/x", "nul\0"])
def test_a_place_that_cannot_be_read_is_one_error(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadFile, match="cannot be read"):
        Study.load(tmp_path / place)


def test_a_file_too_long_is_not_read(tmp_path):
    path = tmp_path / "study.json"
    with path.open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    with pytest.raises(BadFile, match="at most"):
        Study.load(path)


def test_a_study_from_a_file_can_be_answered(tmp_path):
    KERNEL_STUDY.save(tmp_path / "study.json")
    study = Study.load(tmp_path / "study.json")
    assert Participant(study, 0).report(value=0.5).study == KERNEL_STUDY
