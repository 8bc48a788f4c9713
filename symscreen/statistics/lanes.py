"""Eight sums side by side, which a compiler that keeps to the order of a sum does not make of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LANES", "dot_in_lanes"]

LANES = 8
_stored: Callable[..., Any] = cgutils.alloca_once_value


def _dot_in_lanes(typingctx: Any, a: Any, b: Any, start: Any, stop: Any) -> Any:  # noqa: ARG001  # numba asks
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
    return types.float64(a, b, types.intp, types.intp), _generate


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pairs = zip(signature.args[:2], arguments[:2], strict=True)
    arrays = [context.make_array(kind)(context, builder, given).data for kind, given in pairs]
    start, stop = arguments[2:]
    whole = ir.Constant(start.type, LANES)
    eights = builder.sdiv(builder.sub(stop, start), whole)
    lanes = _stored(builder, ir.Constant(ir.VectorType(ir.DoubleType(), LANES), [0.0] * LANES))
    with cgutils.for_range(builder, eights) as loop:
        place = builder.add(start, builder.mul(loop.index, whole))
        product = builder.fmul(*(_loaded(builder, array, place, LANES) for array in arrays))
        builder.store(builder.fadd(builder.load(lanes), product), lanes)
    sums = [builder.extract_element(builder.load(lanes), ir.IntType(32)(j)) for j in range(LANES)]
    zeroth = _stored(builder, sums[0])
    rest = builder.add(start, builder.mul(eights, whole))
    with cgutils.for_range(builder, builder.sub(stop, rest)) as loop:
        place = builder.add(rest, loop.index)
        product = builder.fmul(*(_loaded(builder, array, place, 1) for array in arrays))
        builder.store(builder.fadd(builder.load(zeroth), product), zeroth)
    sums[0] = builder.load(zeroth)
    halves = [builder.fadd(sums[j], sums[j + 4]) for j in range(4)]
    return builder.fadd(builder.fadd(halves[0], halves[1]), builder.fadd(halves[2], halves[3]))


def _loaded(builder: Any, array: Any, place: Any, count: int) -> Any:
    """Load one number of an array, or a vector of them, as doubles."""
    pointer = builder.gep(array, [place])
    number, double = pointer.type.pointee, ir.DoubleType()
    bytes_each = 8 if number == double else int(number.width) // 8
    if count > 1:
        pointer = builder.bitcast(pointer, ir.VectorType(number, count).as_pointer())
        double = ir.VectorType(double, count)
    loaded = builder.load(pointer, align=bytes_each)  # a vector may start where a number may
    return loaded if bytes_each == 8 else builder.sitofp(loaded, double)


dot_in_lanes: Callable[..., Any] = intrinsic(_dot_in_lanes)
