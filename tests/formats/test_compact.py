"""The compact form of a tally: exact, small, and refused when anything about it is off."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpairs
from dpairs.errors import BadFile, InvalidInput, WrongStudy
from dpairs.formats import compact, files

UNIT = dpairs.Interval(0, 1)
HEAD = 14 + 32


def study(**options) -> dpairs.Study:
    return dpairs.Study.create("auc", domain=UNIT, epsilon=1.0, seed=1, **options)


STUDIES = {
    "histogram": study(bins=11),
    "tree": study(protocol="tree", bins=2**12),
    "deep tree": study(protocol="tree", bins=2**50),
    "all levels": study(protocol="tree", bins=2**9, splitting="budget"),
}


def tally(of: dpairs.Study, n: int = 4000) -> dpairs.Tally:
    rng = np.random.default_rng(1)
    return dpairs.simulate_tally(of, {"score": rng.random(n), "label": rng.integers(0, 2, n)}, seed=1)


SMALL = [name for name in STUDIES if "deep" not in name]
WHOLE = {name: tally(STUDIES[name], 200) for name in SMALL}


@pytest.mark.parametrize("name", STUDIES)
def test_what_was_written_is_read(tmp_path, name):
    of = STUDIES[name]
    for each in (dpairs.Tally(of), tally(of)):
        assert dpairs.Tally.from_bytes(each.to_bytes(), of) == each
        each.save(tmp_path / "a.tally")
        assert (tmp_path / "a.tally").read_bytes() == each.to_bytes()
        assert dpairs.Tally.load(tmp_path / "a.tally", of) == each


def test_a_deep_tree_costs_its_reports_and_not_its_domain():
    size = len(tally(STUDIES["deep tree"], 1000).to_bytes())
    assert size < 12_000
    assert size < len(tally(STUDIES["deep tree"], 1000).to_json())


def test_a_tally_of_another_study_is_refused():
    with pytest.raises(WrongStudy):
        dpairs.Tally.from_bytes(tally(STUDIES["tree"]).to_bytes(), STUDIES["deep tree"])


@pytest.mark.parametrize("name", STUDIES)
def test_cut_and_longer_ones_are_refused(name):
    raw = tally(STUDIES[name], 100).to_bytes()
    for cut in range(0, len(raw), 1 + len(raw) // 50):
        with pytest.raises(BadFile):
            dpairs.Tally.from_bytes(raw[:cut], STUDIES[name])
    with pytest.raises(BadFile, match="continues after its end"):
        dpairs.Tally.from_bytes(raw + b"\0", STUDIES[name])


def test_what_unpacks_to_too_much_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(compact, "MAX_BYTES", 10**6)
    raw = tally(STUDIES["tree"]).to_bytes()[:HEAD] + zlib.compress(bytes(2 * 10**6))
    with pytest.raises(BadFile, match="more than"):
        dpairs.Tally.from_bytes(raw, STUDIES["tree"])


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from(SMALL))
def test_any_content_is_read_or_refused(body, name):
    of = STUDIES[name]
    try:
        read = dpairs.Tally.from_bytes(dpairs.Tally(of).to_bytes()[:HEAD] + zlib.compress(body), of)
    except InvalidInput:
        return
    assert dpairs.Tally.from_bytes(read.to_bytes(), of) == read


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 255), st.sampled_from(SMALL))
def test_a_changed_byte_gives_another_tally_or_none(place, change, name):
    of, whole = STUDIES[name], WHOLE[name]
    body = bytearray(zlib.decompress(whole.to_bytes()[HEAD:]))
    body[place % len(body)] ^= change
    try:
        read = dpairs.Tally.from_bytes(whole.to_bytes()[:HEAD] + zlib.compress(bytes(body)), of)
    except InvalidInput:
        return
    assert read != whole


def test_nothing_is_written_that_could_not_be_read_back(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    files.write(tmp_path / "small", b"0123456789", "the file")
    with pytest.raises(BadFile, match="would be 11 bytes long; at most 10 are read back"):
        files.write(tmp_path / "large", b"0123456789x", "the file")
    assert [path.name for path in tmp_path.iterdir()] == ["small"]
