"""Find the order of rows by sorting short rows of 32-bit keys.

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

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.statistics.column_arithmetic import compute_bounds
from symscreen.statistics.ranks._kernels import (
    KEYS_PER_ROW,
    mark_equal_keys,
    pack_short_keys,
    partition_keys,
    unpack_short_keys,
    write_signed_log_keys,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Values
    from symscreen.statistics.workspace import Workspace

    TruncatedKeys = NDArray[np.uint32] | NDArray[np.uint64]
    Keys = NDArray[np.uint32]
    Bounds = tuple[Values, Values]


_MAX_SINGLE_ROW_LENGTH = KEYS_PER_ROW  # values; longer columns need several rows of keys
_MAX_ROW_BITS = 22  # bits of a row index; with more, positions are too coarse


def compute_max_key_rows(n: int) -> int:
    """Return the maximum number of rows of keys that a column of n values needs."""
    # Two adjacent rows hold more than KEYS_PER_ROW keys together, except after a bin that fills several rows.
    return -(-3 * n // KEYS_PER_ROW) + 1


class ShortKeys(NamedTuple):
    """Sorted keys of m features of at most `KEYS_PER_ROW` values.

    Parameters
    ----------
    keys : uint32 array, shape (q, n)
        One row of keys per feature, ascending. The low bits of a key are a row index.
    first_key_rows : int64 array, shape (m + 1,)
        The row of keys of each feature. It is that of the next feature if a feature has no keys.
    row_bits : int
        Number of the low bits.
    is_open : bool array, shape (m,)
        Whether a feature has no keys, or keys with equal positions. The keys of the others are their order.
    """

    keys: Keys
    first_key_rows: Integers
    row_bits: int
    is_open: Flags


def sort_keys(
    values: Values, bounds: Bounds | None, workspace: Workspace, name: str = "keys"
) -> ShortKeys | None:
    """Pack and sort the keys of features; one row of keys per feature.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature per row, C-contiguous, finite.
    bounds : pair of float64 arrays, shape (m,), or None
        The smallest and the largest value of each feature, if they are known.
    workspace : Workspace
        Scratch arrays, which hold the keys.
    name : str, optional
        Their name.

    Returns
    -------
    ShortKeys or None
        None for long columns, whose features need several rows of keys.
    """
    m, n = values.shape
    if n > _MAX_SINGLE_ROW_LENGTH or (n - 1).bit_length() > _MAX_ROW_BITS:
        return None
    low, high = _find_bounds(values, workspace) if bounds is None else bounds
    keys = workspace.get_array(name, (m, n), np.uint32)
    first = workspace.get_array(f"{name}: first", (m + 1,), np.int64)
    is_open = workspace.get_array(f"{name}: open", (m,), np.bool_)
    bits = (n - 1).bit_length()
    pack_short_keys(values, low, high, bits, keys, first)
    keys[: first[m]].sort(axis=1)
    mark_equal_keys(keys, first, bits, is_open)
    return ShortKeys(keys, first, bits, is_open)


def _find_bounds(values: Values, workspace: Workspace) -> Bounds:
    """Return the smallest and the largest value of each feature, shape (m,)."""
    low, high = (workspace.get_array(name, (len(values),), np.float64) for name in ("low", "high"))
    compute_bounds(values, low, high)
    return low, high


def sort_with_short_keys(
    values: NDArray[np.float64],
    features: NDArray[np.int64],
    order: NDArray[np.int32],
    tied: NDArray[np.bool_],
    workspace: Workspace,
    short_keys: ShortKeys | None = None,
) -> NDArray[np.int64]:
    """Sort the rows of features whose values, or their logarithms, are spread out.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature per row, C-contiguous, finite.
    features : int64 array, shape (k,)
        Indices of the features to sort; all of them without `short_keys`.
    order : int32 array, shape (m, n)
        Overwritten for the sorted features, as described in `sort_block`.
    tied : bool array, shape (m,)
        Overwritten likewise.
    workspace : Workspace
        Scratch arrays for the keys.
    short_keys : ShortKeys, optional
        Result of `sort_keys`, if it is known.

    Returns
    -------
    int64 array
        The features that are not sorted, because their values are concentrated.
    """
    n = values.shape[1]
    if (n - 1).bit_length() > _MAX_ROW_BITS:
        return features
    key_order = _KeyOrder(values, order, tied, workspace)
    short_keys = short_keys or sort_keys(values, None, workspace)
    unsorted = features[key_order.write(values, features, features, short_keys)]
    if len(unsorted):
        stretched = workspace.get_array("stretched", (len(unsorted), n), np.float64)
        write_signed_log_keys(values.view(np.int64), unsorted, stretched)
        short_keys = sort_keys(stretched, None, workspace, "stretched keys")
        entries = np.arange(len(unsorted))
        unsorted = unsorted[key_order.write(stretched, entries, unsorted, short_keys)]
    return unsorted


class _KeyOrder(NamedTuple):
    """Writes the order and the ties of features, shapes (m, n) and (m,), given their sorted keys."""

    values: Values
    order: NDArray[np.int32]
    tied: Flags
    workspace: Workspace

    def write(
        self, key_values: Values, entries: Integers, features: Integers, short_keys: ShortKeys | None
    ) -> Flags:
        """Order features whose keys are from the rows `entries` of `key_values`; return which remain."""
        m, n = key_values.shape
        workspace = self.workspace
        if short_keys is not None:
            keys, first, bits, _ = short_keys
            counts = workspace.get_array("counts", (m,), np.int32)
            counts[:] = n
        else:
            low, high = _find_bounds(key_values, workspace)
            bits = (n - 1).bit_length()
            rows = m * compute_max_key_rows(n)
            first = workspace.get_array("first", (m + 1,), np.int64)
            keys = workspace.get_array("keys", (rows, KEYS_PER_ROW), np.uint32)
            counts = workspace.get_array("counts", (rows,), np.int32)
            partition_keys(key_values, features, self.values, low, high, bits, keys, counts, first)
            keys[: first[m]].sort(axis=1)
        unsorted = workspace.get_array("left", features.shape, np.bool_)
        unpack_short_keys(
            keys, counts, first, entries, features, bits, self.values, self.order, self.tied, unsorted
        )
        return unsorted
