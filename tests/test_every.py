"""`every` runs all cases of a test, and the first that fails fails it."""

import inspect

import pytest

from .every import every


def test_every_case_is_run_and_one_that_fails_is_named():
    seen = []

    @every("left, right", [(1, 2), (3, 4)])
    @every("wrong", [False, True])
    def small(left, right, wrong, fixture):
        seen.append((left, right, fixture))
        assert not wrong or left == 1

    assert list(inspect.signature(small).parameters) == ["fixture"]
    with pytest.raises(AssertionError) as failed:
        small(fixture="f")
    assert seen == [(1, 2, "f"), (1, 2, "f"), (3, 4, "f"), (3, 4, "f")]
    assert failed.value.__notes__ == ["with {'wrong': True}", "with {'left': 3, 'right': 4}"]


def test_no_cases_and_unknown_names_are_refused():
    with pytest.raises(AssertionError, match="no case"):
        every("left", [])
    with pytest.raises(AssertionError, match="has no other"):
        every("other", [1])(lambda left: None)
