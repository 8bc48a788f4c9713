"""Fast column operations: a SIMD dot product, minima and maxima, and arithmetic on pairs of columns.

The dot product uses eight accumulators in a fixed order. Without fastmath LLVM does not vectorise reductions,
because it must not change the order of a sum.
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


_TILE_FEATURES = 16  # features that are computed before their bounds are found
N_LANES = 8  # accumulators of `compute_simd_dot`
_MAX_INT64 = np.int64(0x7FFFFFFFFFFFFFFF)
ARITHMETIC_UFUNCS: tuple[np.ufunc, ...] = (np.add, np.subtract, np.multiply, np.divide)
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = range(4)  # positions in ARITHMETIC_UFUNCS
_allocate: Callable[..., Any] = cgutils.alloca_once_value


def _type_simd_dot(typingctx: Any, a: Any, b: Any, start: Any, stop: Any) -> Any:  # noqa: ARG001  # numba's API
    """Compute the dot product of two slices in eight lanes; for use inside kernels.

    Lane j sums the products start + j, start + j + 8, … from the left. The products of the last, incomplete
    group of eight are added to lane 0 one by one. The result is ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 +
    s7)) on every processor.

    Parameters
    ----------
    a : float64 array, C-contiguous
        The first factor.
    b : float64 or int32 array, C-contiguous
        The second factor.
    start, stop : int
        The slice. It must be within both arrays; this is not checked.

    Returns
    -------
    float64
    """
    return types.float64(a, b, types.intp, types.intp), _generate_simd_dot


def _generate_simd_dot(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Generate the LLVM code of the dot product."""
    pairs = zip(signature.args[:2], arguments[:2], strict=True)
    arrays = [context.make_array(kind)(context, builder, argument).data for kind, argument in pairs]
    start, stop = arguments[2:]
    n_lanes = ir.Constant(start.type, N_LANES)
    n_groups = builder.sdiv(builder.sub(stop, start), n_lanes)
    lanes = _allocate(builder, ir.Constant(ir.VectorType(ir.DoubleType(), N_LANES), [0.0] * N_LANES))
    with cgutils.for_range(builder, n_groups) as loop:
        index = builder.add(start, builder.mul(loop.index, n_lanes))
        product = builder.fmul(*(_load(builder, array, index, N_LANES) for array in arrays))
        builder.store(builder.fadd(builder.load(lanes), product), lanes)
    sums = [builder.extract_element(builder.load(lanes), ir.IntType(32)(j)) for j in range(N_LANES)]
    lane_0 = _allocate(builder, sums[0])
    remainder_start = builder.add(start, builder.mul(n_groups, n_lanes))
    with cgutils.for_range(builder, builder.sub(stop, remainder_start)) as loop:
        index = builder.add(remainder_start, loop.index)
        product = builder.fmul(*(_load(builder, array, index, 1) for array in arrays))
        builder.store(builder.fadd(builder.load(lane_0), product), lane_0)
    sums[0] = builder.load(lane_0)
    halves = [builder.fadd(sums[j], sums[j + 4]) for j in range(4)]
    return builder.fadd(builder.fadd(halves[0], halves[1]), builder.fadd(halves[2], halves[3]))


def _load(builder: Any, array: Any, index: Any, n_values: int) -> Any:
    """Load one element of an array, or a vector of them, as doubles."""
    pointer = builder.gep(array, [index])
    number, double = pointer.type.pointee, ir.DoubleType()
    bytes_each = 8 if number == double else int(number.width) // 8
    if n_values > 1:
        pointer = builder.bitcast(pointer, ir.VectorType(number, n_values).as_pointer())
        double = ir.VectorType(double, n_values)
    loaded = builder.load(pointer, align=bytes_each)  # a vector need not be aligned to its own size
    return loaded if bytes_each == 8 else builder.sitofp(loaded, double)


compute_simd_dot: Callable[..., Any] = intrinsic(_type_simd_dot)


def compute_bounds(values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """Write the smallest and the largest value of each feature; if a value is NaN, one of the two is NaN.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        C-contiguous; may contain NaN and infinity.
    low, high : float64 arrays, shape (m,)
        Overwritten with the results.
    """
    _compute_bounds(values.view(np.int64), low.view(np.int64), high.view(np.int64))


@compile_kernel
def _compute_bounds(bits: Integers, low: Integers, high: Integers) -> None:
    """Write the bits of the bounds of each feature, given the bits of the values, shape (m, n)."""
    for f in range(len(bits)):
        low[f], high[f] = find_min_max_bits(bits[f])


@compile_kernel
def find_min_max_bits(bits: Integers) -> tuple[np.int64, np.int64]:
    """Return the bits of the smallest and the largest float64, given the bits of all, shape (n,).

    The bits are mapped to integers of the same order, which a processor compares several at a time.
    """
    low, high = _MAX_INT64, ~_MAX_INT64
    for i in range(bits.size):
        key = bits[i] ^ ((bits[i] >> 63) & _MAX_INT64)
        low, high = min(low, key), max(high, key)
    return low ^ ((low >> 63) & _MAX_INT64), high ^ ((high >> 63) & _MAX_INT64)


def combine_columns(
    ufunc: np.ufunc,
    pool: NDArray[np.float64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    values: NDArray[np.float64],
    value_bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Combine pairs of columns by an arithmetic operation, bit for bit as numpy does.

    Parameters
    ----------
    ufunc : ufunc
        One of `ARITHMETIC_UFUNCS`.
    pool : float64 array, shape (q, n)
        The columns, one per row.
    pairs : pair of int64 arrays, shape (m,)
        Indices of the left and the right operands.
    values : float64 array, shape (m, n)
        Overwritten with the results.
    value_bounds : pair of float64 arrays, shape (m,)
        Overwritten with the smallest and the largest value of each result, as by `compute_bounds`.
    """
    low, high = (bound.view(np.int64) for bound in value_bounds)
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
    """Write the results, shape (m, n), and the bits of their bounds, shape (m,)."""
    m, n = values.shape
    for start in range(0, m, _TILE_FEATURES):
        stop = min(start + _TILE_FEATURES, m)
        for f in range(start, stop):
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
                    z[i] = np.divide(a[i], b[i])  # the operator / raises an error for a division by zero
        for f in range(start, stop):  # now, because the values are in the cache
            low[f], high[f] = find_min_max_bits(bits[f])
