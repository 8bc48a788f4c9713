"""Candidates proved to be of use from a few rows and from what is known of their arguments.

A candidate that stands for others must be defined in every row, and vary. Where its size is bounded by the
sizes of its arguments it cannot overflow, and values that differ in a few rows by more than rounding of that
bound differ. Most are proved so, without their values in the other rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.expansion.prune import CONSTANT_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.pool import Pool

    Flags = NDArray[np.bool_]
    Values = NDArray[np.float64]

__all__ = ["surely_of_use"]

_ROWS = 64
_FEWEST_ROWS = 8
_SAMPLE_VALUES = 1 << 20
_AT_A_TIME = 1 << 11
_ROUNDED_UP = 1 + 1e-12

# of the arguments' largest magnitudes, and of the right one's smallest, the largest magnitude of the value
_LARGEST: dict[Callable[..., Values], Callable[[Values, Values, Values], Values]] = {
    np.add: lambda a, b, _: a + b,
    np.subtract: lambda a, b, _: a + b,
    np.multiply: lambda a, b, _: a * b,
    np.divide: lambda a, _, least: a / least,
    np.minimum: lambda a, b, _: np.maximum(a, b),
    np.maximum: lambda a, b, _: np.maximum(a, b),
}


def surely_of_use(pool: Pool, candidates: Candidates, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which candidates are proved to be finite in every row and not constant.

    Parameters
    ----------
    pool : Pool
        What the layer is applied to; not one that only counts.
    candidates : Candidates
        The layer.
    numbers : int64 array, shape (m,), ascending
        The candidates asked for.

    Returns
    -------
    bool array, shape (m,)
        Of the others nothing is said.
    """
    proved = np.zeros(len(numbers), dtype=np.bool_)
    sample: Values | None = None
    for segment in candidates.segments:
        operator = pool.structure.operators[segment.code]
        largest = _LARGEST.get(operator.numeric)
        start, stop = np.searchsorted(numbers, (segment.start, segment.start + segment.count))
        if largest is None or start == stop:
            continue
        if sample is None:
            sample = pool.at(_rows(len(pool), pool.rows))
        for first in range(start, stop, _AT_A_TIME):
            part = slice(first, min(first + _AT_A_TIME, stop))
            left, right = segment.decode(numbers[part])
            with np.errstate(all="ignore"):
                values = operator.numeric(sample[left], sample[right])
                proved[part] = _proved(pool, largest, left, right, values)
    return proved


def _rows(q: int, n: int) -> NDArray[np.int64]:
    most = min(_ROWS, max(_FEWEST_ROWS, _SAMPLE_VALUES // q), n)
    return np.linspace(0, n - 1, most).astype(np.int64)


def _proved(
    pool: Pool,
    largest: Callable[[Values, Values, Values], Values],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    values: Values,
) -> NDArray[np.bool_]:
    assert pool.learnt is not None  # noqa: S101  # the caller asks about values
    bound = largest(pool.scale[left], pool.scale[right], pool.learnt.least[right]) * _ROUNDED_UP
    # an infinite bound proves nothing; that of a sum or difference is no smaller than its arguments, against
    # which what cancels is held
    proved = np.empty(len(values), dtype=np.bool_)
    _spread_beyond(values, CONSTANT_TOLERANCE * bound, proved)
    return proved


@kernel
def _spread_beyond(values: Values, tolerance: Values, beyond: Flags) -> None:
    """Say which rows spread by more than a tolerance; two values are mostly enough to tell.

    Where a value is not finite the tolerance is not either, and no row spreads by more.
    """
    for f in range(values.shape[0]):
        low = high = values[f, 0]
        beyond[f] = False
        for i in range(1, values.shape[1]):
            low, high = min(low, values[f, i]), max(high, values[f, i])
            if high - low > tolerance[f]:
                beyond[f] = True
                break
