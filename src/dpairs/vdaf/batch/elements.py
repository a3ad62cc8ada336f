"""Elements of Field64 and Field128 in compiled code.

One set of names for both. An element of Field64 is a uint64 and a vector has one axis; an element of
Field128 is a pair (low, high) and a vector has a second axis of length two. numba picks the code by the type.

Field64, p = 2^64 - 2^32 + 1: reduced with 2^64 = 2^32 - 1 and 2^96 = -1 (mod p).
Field128, p = 2^128 - 28 2^64 + 1: Montgomery's product x y / 2^128. A *lifted* element is x 2^128, so a plain
one times a lifted one is plain, and two lifted ones give a lifted one. In Field64 both are the same.

No branch depends on an element's value where the compiler keeps a selection as one, as it does here.
"""

# These functions exist twice: here for the reader and the type checker, below for the compiler.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

P64 = np.uint64(2**64 - 2**32 + 1)
EPSILON = np.uint64(2**32 - 1)
HALF = np.uint64(32)
HIGH128 = np.uint64(2**64 - 28)
SQUARE_LOW, SQUARE_HIGH = (
    np.uint64(word) for word in divmod(pow(2, 256, 2**128 - 28 * 2**64 + 1), 2**64)[::-1]
)
ZERO, ONE = np.uint64(0), np.uint64(1)


def _multiply_add(typing: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Of 64-bit words: a b + c + d, as (low, high)."""
    signature = types.UniTuple(types.uint64, 2)(types.uint64, types.uint64, types.uint64, types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        x, y, z, w = (builder.zext(argument, wide) for argument in arguments)
        total = builder.add(builder.add(builder.mul(x, y), z), w)
        high = builder.trunc(builder.lshr(total, ir.Constant(wide, 64)), word)
        return context.make_tuple(builder, signature.return_type, [builder.trunc(total, word), high])

    return signature, generate


multiply_add: Callable[..., Any] = intrinsic(_multiply_add)


def add(a: Any, b: Any) -> Any:
    raise NotImplementedError("compiled code only")


def subtract(a: Any, b: Any) -> Any:
    raise NotImplementedError("compiled code only")


def multiply(a: Any, b: Any) -> Any:
    """The product; one factor at least is lifted."""
    raise NotImplementedError("compiled code only")


def lift(a: Any) -> Any:
    raise NotImplementedError("compiled code only")


def is_zero(a: Any) -> Any:
    raise NotImplementedError("compiled code only")


def zero(vector: Any) -> Any:
    """The zero of that vector's field."""
    raise NotImplementedError("compiled code only")


def load(vector: Any, i: Any) -> Any:
    raise NotImplementedError("compiled code only")


def store(vector: Any, i: Any, element: Any) -> Any:
    raise NotImplementedError("compiled code only")


def _by_element(function: Callable[..., Any], short: Callable[..., Any], long: Callable[..., Any]) -> None:
    def choose_one(a: Any) -> Any:
        return long if isinstance(a, types.BaseTuple) else short

    def choose_two(a: Any, b: Any) -> Any:
        return long if isinstance(a, types.BaseTuple) else short

    two = function.__code__.co_argcount == 2
    overload(function)(choose_two if two else choose_one)


def _add64(a: Any, b: Any) -> Any:
    total = a + b
    total += EPSILON if total < a else ZERO
    return total - (P64 if total >= P64 else ZERO)


def _subtract64(a: Any, b: Any) -> Any:
    return a - b + (P64 if a < b else ZERO)


def _multiply64(a: Any, b: Any) -> Any:
    low, high = multiply_add(a, b, ZERO, ZERO)
    top, middle = high >> HALF, high & EPSILON
    less = low - top - (EPSILON if low < top else ZERO)
    shifted = (middle << HALF) - middle
    total = less + shifted
    total += EPSILON if total < less else ZERO
    return total - (P64 if total >= P64 else ZERO)


def _reduce128(low: Any, high: Any, carry: Any) -> Any:
    """One subtraction of p, where there is something to subtract."""
    over = (carry != ZERO) | (high > HIGH128) | ((high == HIGH128) & (low != ZERO))
    borrow = ONE if over & (low == ZERO) else ZERO
    return low - (ONE if over else ZERO), high - (HIGH128 if over else ZERO) - borrow


@overload(_reduce128)
def _reduce128_compiled(low: Any, high: Any, carry: Any) -> Any:
    return _reduce128


def _add128(a: Any, b: Any) -> Any:
    low = a[0] + b[0]
    high, carry = multiply_add(a[1], ONE, b[1], ONE if low < a[0] else ZERO)
    return _reduce128(low, high, carry)


def _subtract128(a: Any, b: Any) -> Any:
    below = (a[1] < b[1]) | ((a[1] == b[1]) & (a[0] < b[0]))
    low, high = a[0] - b[0], a[1] - b[1] - (ONE if a[0] < b[0] else ZERO)
    add_low = ONE if below else ZERO
    back = low + add_low
    return back, high + (HIGH128 if below else ZERO) + (ONE if back < add_low else ZERO)


def _multiply128(a: Any, b: Any) -> Any:
    low, carry = multiply_add(a[0], b[0], ZERO, ZERO)
    middle, high = multiply_add(a[1], b[0], carry, ZERO)
    # p = 1 (mod 2^64), so adding (-low) p clears the lowest word.
    first, carry = multiply_add(ZERO - low, HIGH128, middle, ONE if low != ZERO else ZERO)
    second = high + carry
    third = ONE if second < carry else ZERO
    low, carry = multiply_add(a[0], b[1], first, ZERO)
    middle, carry = multiply_add(a[1], b[1], second, carry)
    high = third + carry
    first, carry = multiply_add(ZERO - low, HIGH128, middle, ONE if low != ZERO else ZERO)
    second = high + carry
    return _reduce128(first, second, ONE if second < carry else ZERO)


def _same(a: Any) -> Any:
    return a


def _lift128(a: Any) -> Any:
    return multiply(a, (SQUARE_LOW, SQUARE_HIGH))


def _is_zero64(a: Any) -> Any:
    return a == ZERO


def _is_zero128(a: Any) -> Any:
    return (a[0] | a[1]) == ZERO


_by_element(add, _add64, _add128)
_by_element(subtract, _subtract64, _subtract128)
_by_element(multiply, _multiply64, _multiply128)
_by_element(lift, _same, _lift128)
_by_element(is_zero, _is_zero64, _is_zero128)


def _zero64(vector: Any) -> Any:
    return ZERO


def _zero128(vector: Any) -> Any:
    return (ZERO, ZERO)


def _load64(vector: Any, i: Any) -> Any:
    return vector[i]


def _load128(vector: Any, i: Any) -> Any:
    return (vector[i, 0], vector[i, 1])


def _store64(vector: Any, i: Any, element: Any) -> Any:
    vector[i] = element


def _store128(vector: Any, i: Any, element: Any) -> Any:
    vector[i, 0], vector[i, 1] = element


@overload(zero)
def _zero(vector: Any) -> Any:
    return _zero64 if vector.ndim == 1 else _zero128


@overload(load)
def _load(vector: Any, i: Any) -> Any:
    return _load64 if vector.ndim == 1 else _load128


@overload(store)
def _store(vector: Any, i: Any, element: Any) -> Any:
    return _store64 if vector.ndim == 1 else _store128
