"""Eight sums side by side, which a compiler that keeps to the order of a sum does not make of a loop.

The least and the largest value of each feature of a block.

Sums, differences, products and quotients of pairs of columns, straight from where the columns stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values


__all__ = [
    "ARITHMETIC_UFUNCS",
    "N_LANES",
    "combine_columns",
    "compute_bounds",
    "compute_simd_dot",
    "find_min_max_bits",
]

N_LANES = 8
_allocate: Callable[..., Any] = cgutils.alloca_once_value


def _type_simd_dot(typingctx: Any, a: Any, b: Any, start: Any, stop: Any) -> Any:  # noqa: ARG001  # numba asks
    """Sum products of two arrays in eight lanes, then the lanes; for use inside kernels.

    Lane j sums the products start + j, start + j + 8, … from the left; those of the last, incomplete eight
    are added to lane 0 one by one. The result is ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7)), on every
    processor.

    Parameters
    ----------
    a : float64 array, C-contiguous
        The one factor.
    b : float64 or int32 array, C-contiguous
        The other.
    start, stop : int
        What is summed; within both arrays, for nothing checks that.

    Returns
    -------
    float64
    """
    return types.float64(a, b, types.intp, types.intp), _generate_simd_dot


def _generate_simd_dot(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pairs = zip(signature.args[:2], arguments[:2], strict=True)
    arrays = [context.make_array(kind)(context, builder, given).data for kind, given in pairs]
    start, stop = arguments[2:]
    whole = ir.Constant(start.type, N_LANES)
    eights = builder.sdiv(builder.sub(stop, start), whole)
    lanes = _allocate(builder, ir.Constant(ir.VectorType(ir.DoubleType(), N_LANES), [0.0] * N_LANES))
    with cgutils.for_range(builder, eights) as loop:
        place = builder.add(start, builder.mul(loop.index, whole))
        product = builder.fmul(*(_load(builder, array, place, N_LANES) for array in arrays))
        builder.store(builder.fadd(builder.load(lanes), product), lanes)
    sums = [builder.extract_element(builder.load(lanes), ir.IntType(32)(j)) for j in range(N_LANES)]
    zeroth = _allocate(builder, sums[0])
    rest = builder.add(start, builder.mul(eights, whole))
    with cgutils.for_range(builder, builder.sub(stop, rest)) as loop:
        place = builder.add(rest, loop.index)
        product = builder.fmul(*(_load(builder, array, place, 1) for array in arrays))
        builder.store(builder.fadd(builder.load(zeroth), product), zeroth)
    sums[0] = builder.load(zeroth)
    halves = [builder.fadd(sums[j], sums[j + 4]) for j in range(4)]
    return builder.fadd(builder.fadd(halves[0], halves[1]), builder.fadd(halves[2], halves[3]))


def _load(builder: Any, array: Any, index: Any, n_values: int) -> Any:
    """Load one number of an array, or a vector of them, as doubles."""
    pointer = builder.gep(array, [index])
    number, double = pointer.type.pointee, ir.DoubleType()
    bytes_each = 8 if number == double else int(number.width) // 8
    if n_values > 1:
        pointer = builder.bitcast(pointer, ir.VectorType(number, n_values).as_pointer())
        double = ir.VectorType(double, n_values)
    loaded = builder.load(pointer, align=bytes_each)  # a vector may start where a number may
    return loaded if bytes_each == 8 else builder.sitofp(loaded, double)


compute_simd_dot: Callable[..., Any] = intrinsic(_type_simd_dot)


_MAX_INT64 = np.int64(0x7FFFFFFFFFFFFFFF)


def compute_bounds(values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """Write the least and the largest value of each feature; where one is NaN, one of the two is NaN.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        Any, C-contiguous.
    low, high : float64 arrays, shape (m,)
        Filled.
    """
    _compute_bounds(values.view(np.int64), low.view(np.int64), high.view(np.int64))


@compile_kernel
def _compute_bounds(bits: Integers, low: Integers, high: Integers) -> None:
    for f in range(len(bits)):
        low[f], high[f] = find_min_max_bits(bits[f])


@compile_kernel
def find_min_max_bits(bits: Integers) -> tuple[np.int64, np.int64]:
    """Return the least and the largest of numbers, all given by their bits.

    Whole numbers of the same order are compared, which a processor does several at a time.
    """
    least, largest = _MAX_INT64, ~_MAX_INT64
    for i in range(bits.size):
        place = bits[i] ^ ((bits[i] >> 63) & _MAX_INT64)
        least, largest = min(least, place), max(largest, place)
    return least ^ ((least >> 63) & _MAX_INT64), largest ^ ((largest >> 63) & _MAX_INT64)


ARITHMETIC_UFUNCS: tuple[np.ufunc, ...] = (np.add, np.subtract, np.multiply, np.divide)
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = range(4)


def combine_columns(
    ufunc: np.ufunc,
    pool: NDArray[np.float64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    values: NDArray[np.float64],
    value_bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Combine columns by one of the four operations; bit for bit as numpy does.

    Parameters
    ----------
    ufunc : ufunc
        One of `FOUR`.
    pool : float64 array, shape (q, n)
        Columns, one a row.
    pairs : pair of int64 arrays, shape (m,)
        Which are combined, the left and the right of each.
    values : float64 array, shape (m, n)
        Filled.
    ends_of : pair of float64 arrays, shape (m,)
        Filled with the least and the largest value of each, as by
        `symscreen.statistics.column_arithmetic.compute_bounds`.
    """
    low, high = (some.view(np.int64) for some in value_bounds)
    _combine_columns(ARITHMETIC_UFUNCS.index(ufunc), pool, *pairs, values, values.view(np.int64), low, high)


@compile_kernel
def _combine_columns(
    code: int,
    pool: Values,
    left: Integers,
    right: Integers,
    values: Values,
    bits: Integers,
    low: Integers,
    high: Integers,
) -> None:
    m, n = values.shape
    for f in range(m):
        a, b, z = pool[left[f]], pool[right[f]], values[f]
        if code == _ADD:
            for i in range(n):
                z[i] = a[i] + b[i]
        elif code == _SUBTRACT:
            for i in range(n):
                z[i] = a[i] - b[i]
        elif code == _MULTIPLY:
            for i in range(n):
                z[i] = a[i] * b[i]
        elif code == _DIVIDE:
            for i in range(n):
                z[i] = np.divide(a[i], b[i])  # the sign raises an error for a division by zero
        low[f], high[f] = find_min_max_bits(bits[f])  # while the values are at hand
