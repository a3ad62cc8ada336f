"""Hadamard rows: the fast transform against the dense product, and parity against whole numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard

import dpairs.protocols.tree.hadamard
from dpairs.protocols.tree.hadamard import parity, transform

from ...strategies import QUICK

SIZES = [2**power for power in range(12)]


@pytest.mark.parametrize("size", SIZES)
def test_transform_is_the_dense_product(size):
    """Whole numbers up to 2^20, whose sums a double holds exactly: no tolerance."""
    values = np.random.default_rng(size).integers(-(2**20), 2**20, size)
    np.testing.assert_array_equal(transform(values), hadamard(size) @ values)


@pytest.mark.parametrize("size", SIZES)
def test_transform_of_reals(size):
    values = np.random.default_rng(size).normal(size=size)
    np.testing.assert_allclose(transform(values), hadamard(size) @ values, atol=1e-10 * np.sqrt(size))


@pytest.mark.parametrize("size", [*SIZES, 2**17, 2**20])
def test_transform_twice_is_the_size_times(size):
    values = np.random.default_rng(size).integers(-1000, 1000, size)
    kept = values.copy()
    np.testing.assert_array_equal(transform(transform(values)), size * values)
    np.testing.assert_array_equal(values, kept)


@pytest.mark.parametrize("size", [2, 64, 128, 4096])
def test_entries_are_the_signs_of_the_definition(size):
    """Row j has (-1)^<j, q> at place q: the natural (Sylvester) order, no other."""
    for j in {0, 1, size // 2, size - 1}:
        unit = np.zeros(size)
        unit[j] = 1
        signs = [(-1) ** (j & q).bit_count() for q in range(size)]
        assert transform(unit).tolist() == signs


def test_another_order_of_rows_is_noticed():
    """Negative control: sequency order is a Hadamard matrix as well, and is not this one."""
    matrix = hadamard(8)
    by_changes = matrix[np.argsort([(np.diff(each) != 0).sum() for each in matrix])]
    values = np.arange(8)
    assert not np.array_equal(transform(values), by_changes @ values)


WORDS = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30)


@QUICK
@given(WORDS)
def test_parity_is_pythons(words):
    assert parity(np.array(words, dtype=np.uint64)).tolist() == [word.bit_count() % 2 for word in words]


@QUICK
@given(WORDS)
def test_parity_without_numpys_bit_count(words):
    """numpy before 2.0 folds instead; the given words stay as they are."""
    old = getattr(np, "bitwise_count", None)
    given_words = np.array(words, dtype=np.uint64)
    kept = given_words.copy()
    try:
        if old is not None:
            del np.bitwise_count
        found = dpairs.protocols.tree.hadamard.parity(given_words)
    finally:
        if old is not None:
            np.bitwise_count = old
    assert found.tolist() == [word.bit_count() % 2 for word in words]
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(given_words, kept)


@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 1, 2**64 - 2, 0x5555555555555555])
def test_parity_at_the_ends(word):
    assert parity(np.array([word], dtype=np.uint64)).tolist() == [word.bit_count() % 2]


def test_parity_keeps_the_shape():
    places = np.arange(16, dtype=np.uint64)
    table = parity(places[:, None] & places[None, :])
    assert table.shape == (16, 16)
    np.testing.assert_array_equal(1 - 2 * table.astype(int), hadamard(16))
