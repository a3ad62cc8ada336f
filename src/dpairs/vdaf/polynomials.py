"""Polynomials as values at roots of unity, and the number theoretic transform to coefficients and back.

A polynomial of degree below n, n a power of two, is the vector of its values at 1, w, w², ..., w being the
principal n-th root of unity. Functions work along the last axis, on any number of polynomials at once.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .fields import Field, Vector


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least n.

    >>> [next_power_of_2(n) for n in (1, 2, 3, 5)]
    [1, 2, 4, 8]
    """
    return 1 << (n - 1).bit_length()


def values(field: Field, coefficients: Vector, n: int) -> Vector:
    """The values at the n-th roots of unity: the transform of the coefficients, padded with zeros."""
    given = coefficients.shape[-1]
    if given < n:
        padding = field.zeros(*coefficients.shape[:-1], n - given)
        coefficients = np.concatenate([coefficients, padding], axis=-1)
    return _transform(field, coefficients)


def coefficients(field: Field, values: Vector) -> Vector:
    """The coefficients, from all values: the transform of the values backwards, divided by n."""
    n = values.shape[-1]
    transformed = _transform(field, values)
    turned = np.concatenate([transformed[..., :1], transformed[..., :0:-1]], axis=-1)
    return turned * field.inverse(n) % field.modulus


def _transform(field: Field, vector: Vector) -> Vector:
    n = vector.shape[-1]
    if n == 1:
        return vector
    even = _transform(field, vector[..., ::2])
    odd = _transform(field, vector[..., 1::2]) * field.roots(n)[: n // 2]
    return np.concatenate([even + odd, even - odd], axis=-1) % field.modulus


def lagrange(field: Field, n: int, t: int) -> Vector:
    """The weights l with p(t) = sum of l[i] p(w^i) for every polynomial p of degree below n.

    l[i] = w^i / n times the product of (t - w^j) over j other than i, since the product of w^i - w^j is
    n / w^i. Nothing is divided by t, so t may be a root of unity itself.
    """
    p, roots = field.modulus, field.roots(n)
    differences = [(t - int(root)) % p for root in roots]
    before, after = [1], [1]
    for i in range(n - 1):
        before.append(before[-1] * differences[i] % p)
        after.append(after[-1] * differences[n - 1 - i] % p)
    products = field.vector(before) * field.vector(after[::-1]) % p
    return np.asarray(products * roots % p * field.inverse(n) % p, dtype=object)


def evaluate(field: Field, polynomials: Vector, t: int) -> Vector:
    """The value of each polynomial at t."""
    weights = lagrange(field, polynomials.shape[-1], t)
    return np.asarray((polynomials * weights % field.modulus).sum(axis=-1) % field.modulus, dtype=object)


@lru_cache(maxsize=64)
def extension(field: Field, given: int, n: int) -> Vector:
    """The matrix E that completes the first values of a polynomial of degree below ``given`` to all n.

    ``values[given:] = E @ values[:given]``, by interpolation through the first ``given`` roots. The product
    of w^i - w^j over all j other than i is n / w^i, so products over the other missing places j are left,

        E[k, i] = -w^(i - k) times the product of (w^i - w^j) / (w^k - w^j),

    of which there are none with gadgets of degree 2, where one value is missing.
    """
    p, roots = field.modulus, [int(root) for root in field.roots(n)]
    matrix = field.zeros(n - given, given)
    for row, k in enumerate(range(given, n)):
        others = [roots[j] for j in range(given, n) if j != k]
        scale = -field.inverse(roots[k] * math.prod(roots[k] - other for other in others))
        for i in range(given):
            value = roots[i] * scale
            for other in others:
                value = value * (roots[i] - other) % p
            matrix[row, i] = value % p
    matrix.flags.writeable = False
    return matrix


def complete(field: Field, first: Vector, n: int) -> Vector:
    """All n values of a polynomial of degree below ``len(first)``, from its first values."""
    given = len(first)
    if given == n:
        return first
    rest = (extension(field, given, n) * first % field.modulus).sum(axis=-1) % field.modulus
    return np.concatenate([first, rest])
