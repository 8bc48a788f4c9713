"""The order of rows by sorting short rows of 32-bit keys.

Sorting is fast if a row of keys fits the processor's registers: up to 512 32-bit integers are sorted by a
network without branches. The high bits of a key hold the position of a value in the range of its row of keys;
the low ⌈log2 n⌉ bits hold the row index. The keys only pre-sort: rows with equal positions are sorted by
their values.

The values of a longer column are partitioned into bins of equal width, and adjacent bins form rows of at most
`KEYS_PER_ROW` keys. The position is then relative to the range of the row of keys, which needs fewer bits
than the range of the feature.

Positions are too coarse if values are concentrated. Such a feature is tried again with signed logarithms of
its values (`write_signed_log_keys`). The features that remain are sorted by
`symscreen.statistics.ranks.sorted_block`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.column_arithmetic import compute_bounds
from symscreen.statistics.ranks._kernels import (
    KEYS_PER_ROW,
    pack_short_keys,
    partition_keys,
    unpack_short_keys,
    write_signed_log_keys,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.workspace import Workspace

    TruncatedKeys = NDArray[np.uint32] | NDArray[np.uint64]
    Keys = NDArray[np.uint32]


_MAX_SINGLE_ROW_LENGTH = KEYS_PER_ROW  # values; longer columns need several rows of keys
_MAX_ROW_BITS = 22  # bits of a row index; with more, positions are too coarse


def compute_max_key_rows(n: int) -> int:
    """Return the maximum number of rows of keys that a column of n values needs."""
    # Two adjacent rows hold more than KEYS_PER_ROW keys together, except after a bin that fills several rows.
    return -(-3 * n // KEYS_PER_ROW) + 1


def sort_with_short_keys(
    values: NDArray[np.float64], order: NDArray[np.int32], tied: NDArray[np.bool_], workspace: Workspace
) -> NDArray[np.int64]:
    """Sort the rows of features whose values, or their logarithms, are spread out.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature per row, C-contiguous, finite.
    order : int32 array, shape (m, n)
        Overwritten for the sorted features, as described in `sort_block`.
    tied : bool array, shape (m,)
        Overwritten likewise.
    workspace : Workspace
        Scratch arrays for the keys.

    Returns
    -------
    int64 array
        Indices of the features that are not sorted, because their values are concentrated.
    """
    m, n = values.shape
    features = np.arange(m)
    if (n - 1).bit_length() > _MAX_ROW_BITS:
        return features
    unsorted = features[_try_short_keys(values, features, values, order, tied, workspace)]
    if len(unsorted):
        stretched = workspace.get_array("stretched", (len(unsorted), n), np.float64)
        write_signed_log_keys(values.view(np.int64), unsorted, stretched)
        unsorted = unsorted[_try_short_keys(stretched, unsorted, values, order, tied, workspace)]
    return unsorted


def _try_short_keys(
    key_values: NDArray[np.float64],
    features: NDArray[np.int64],
    values: NDArray[np.float64],
    order: NDArray[np.int32],
    tied: NDArray[np.bool_],
    workspace: Workspace,
) -> NDArray[np.bool_]:
    """Sort features by keys from `key_values`, shape (m, n); return which remain unsorted, shape (m,)."""
    m, n = key_values.shape
    bits = (n - 1).bit_length()
    low, high = workspace.get_array("low", (m,), np.float64), workspace.get_array("high", (m,), np.float64)
    compute_bounds(key_values, low, high)
    first = workspace.get_array("first", (m + 1,), np.int64)
    if n <= _MAX_SINGLE_ROW_LENGTH:
        keys = workspace.get_array("keys", (m, n), np.uint32)
        counts = workspace.get_array("counts", (m,), np.int32)
        pack_short_keys(key_values, low, high, bits, keys, counts, first)
    else:
        rows = m * compute_max_key_rows(n)
        keys = workspace.get_array("keys", (rows, KEYS_PER_ROW), np.uint32)
        counts = workspace.get_array("counts", (rows,), np.int32)
        partition_keys(key_values, features, values, low, high, bits, keys, counts, first)
    keys[: first[m]].sort(axis=1)
    unsorted = workspace.get_array("left", (m,), np.bool_)
    unpack_short_keys(keys, counts, first, features, bits, values, order, tied, unsorted)
    return unsorted
