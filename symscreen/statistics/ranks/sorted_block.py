"""The order of the rows under each feature: one value sort that every rank statistic reads.

Each float64 is mapped to a 64-bit integer of the same order; the row number replaces its lowest ⌈log2 n⌉
bits; the integers are sorted by value, which is several times faster than sorting indices. Rows whose
truncated keys are equal are then put in full order by their values: ties are exactly the equal values.
Features whose values spread go another, faster way to the same order:
`symscreen.statistics.ranks.fast_sort`; those
that are functions of one whose order is known may follow it: `symscreen.statistics.ranks.monotone_order`.

A block whose rows are put in another order, with its sorting kept: one sort serves several responses.

Signatures by which features that a statistic cannot tell apart are recognised without keeping them.

Rank statistics see ranks only: features with the same ranks, or the mirrored ones where the sign is free,
form a rank class. Pearson's correlation sees a feature up to an affine map.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen._numba import compile_kernel
from symscreen.statistics.ranks.correlations import compute_correlations
from symscreen.statistics.ranks.fast_sort import (
    TIED,
    resolve_ties,
    sort_with_short_keys,
    unpack_rows,
    write_doubled_ranks,
)
from symscreen.statistics.ranks.monotone_order import derive_orders
from symscreen.statistics.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Numbers, Rows, Values
    from symscreen.statistics.ranks.monotone_order import MonotoneParents

    Keys = NDArray[np.uint64]
    Weights = NDArray[np.uint64]

__all__ = [
    "SortedBlock",
    "compute_affine_signatures",
    "compute_rank_signatures",
    "concatenate_blocks",
    "permute_block_rows",
    "sort_block",
]

_SIGN_BIT = np.uint64(1 << 63)


@dataclass(frozen=True, eq=False)
class SortedBlock:
    """A block of features with the order of their rows, which are sorted when the order is first asked for.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row, C-contiguous; finite.
    known : pair of arrays, optional
        `order` and `tied`, where they are known.
    room : Room, optional
        Where rows are sorted.
    following : Following, optional
        Whose orders the features may follow.
    """

    values: NDArray[np.float64]
    known_order: tuple[NDArray[np.int32], NDArray[np.bool_]] | None = None
    workspace: Workspace | None = None
    parents: MonotoneParents | None = None

    @lockfree_cached_property
    def order_and_tied(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """`order` and `tied`."""
        if self.known_order is not None:
            return self.known_order
        return _sort_or_derive(
            self.values, Workspace() if self.workspace is None else self.workspace, self.parents
        )

    @property
    def order(self) -> NDArray[np.int32]:
        """Row numbers by ascending value, tied rows by row number; shape (m, n)."""
        return self.order_and_tied[0]

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Whether a feature has tied rows; shape (m,)."""
        return self.order_and_tied[1]

    @lockfree_cached_property
    def doubled_ranks(self) -> NDArray[np.int32]:
        """Twice the mid-rank of each row, an integer between 2 and 2n; shape (m, n)."""
        doubled_ranks = np.empty_like(self.order)
        _fill_doubled_ranks(self.order, self.values, self.tied, doubled_ranks)
        return doubled_ranks

    def take(self, features: NDArray[np.int64]) -> SortedBlock:
        """Return the block of some of the features."""
        if "order_and_tied" not in self.__dict__:
            return SortedBlock(self.values[features])
        return SortedBlock(self.values[features], (self.order[features], self.tied[features]))


def concatenate_blocks(blocks: Sequence[SortedBlock]) -> SortedBlock:
    """Make one block of several, at least one; what some know of their order and others do not is forgotten.

    Parameters
    ----------
    parts : sequence of Ordered
        Features over the same rows.

    Returns
    -------
    Ordered
    """
    if len(blocks) == 1:
        return blocks[0]
    values = np.concatenate([part.values for part in blocks])
    if any(part.known_order is None for part in blocks):
        return SortedBlock(values)
    order, tied = (np.concatenate(own) for own in zip(*(part.order_and_tied for part in blocks), strict=True))
    return SortedBlock(values, (order, tied))


def sort_block(
    values: NDArray[np.float64], workspace: Workspace | None = None, parents: MonotoneParents | None = None
) -> SortedBlock:
    """Put the rows of each feature in order, once a statistic asks for it.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row, C-contiguous, finite; n < 2³⁰.
    room : Room, optional
        Where the result is put; it is overwritten by the next that is put there.
    following : Following, optional
        Features whose order is known, of which these are functions; the result is the same.

    Returns
    -------
    Ordered
        Pearson's correlation, which needs no order, is spared the sorting.

    Examples
    --------
    >>> ordered = sort_block(np.array([[0.5, -1.0, 0.5, 0.0]]))
    >>> ordered.order.tolist(), ordered.doubled_ranks.tolist()
    ([[1, 3, 0, 2]], [[7, 2, 7, 4]])
    """
    return SortedBlock(values, workspace=workspace, parents=parents)


def _sort_or_derive(
    values: Values, workspace: Workspace, parents: MonotoneParents | None
) -> tuple[Rows, Flags]:
    m, n = values.shape
    order = workspace.get_array("order", (m, n), np.int32)
    tied = workspace.get_array("tied", (m,), np.bool_)
    if parents is None:
        _sort_values(values, order, tied, workspace)
        return order, tied
    known = workspace.get_array("known", (m,), np.bool_)
    derive_orders(values, parents, order, tied, known)
    anew = np.flatnonzero(~known)
    if len(anew):
        order_anew = workspace.get_array("order anew", (len(anew), n), np.int32)
        tied_anew = workspace.get_array("tied anew", (len(anew),), np.bool_)
        _sort_values(values[anew], order_anew, tied_anew, workspace)
        order[anew], tied[anew] = order_anew, tied_anew
    return order, tied


def _sort_values(values: Values, order: Rows, tied: Flags, workspace: Workspace) -> None:
    n = values.shape[1]
    left = sort_with_short_keys(values, order, tied, workspace)
    if len(left):
        bits = (n - 1).bit_length()
        keys = workspace.get_array("long keys", (len(left), n), np.uint64)
        _pack_long_keys(values.view(np.uint64), left, bits, keys)
        keys.sort(axis=1)
        _unpack_long_keys(keys, values, left, bits, order, tied)


@compile_kernel
def _pack_long_keys(raw: Keys, features: Numbers, bits: int, keys: Keys) -> None:
    m, n = keys.shape
    mask = ~np.uint64((1 << bits) - 1)
    for f in range(m):
        z = raw[features[f]]
        for i in range(n):
            u = z[i] if z[i] != _SIGN_BIT else np.uint64(0)  # the bits of −0: the two zeros tie
            u = ~u if u & _SIGN_BIT else u | _SIGN_BIT
            keys[f, i] = (u & mask) | np.uint64(i)


@compile_kernel
def _unpack_long_keys(
    keys: Keys, values: Values, features: Numbers, bits: int, order: Rows, tied: Flags
) -> None:
    m, n = keys.shape
    low = (1 << bits) - 1
    spare = np.empty(n, dtype=np.int32)
    same = np.empty(n, dtype=np.bool_)
    for f in range(m):
        rows = order[features[f]]
        tied[features[f]] = False
        if unpack_rows(keys[f], low, rows, same):
            tied[features[f]] = resolve_ties(same, rows, values[features[f]], spare, n)[0] == TIED


@compile_kernel
def _fill_doubled_ranks(order: Rows, values: Values, tied: Flags, doubled_ranks: Rows) -> None:
    m, n = order.shape
    for f in range(m):
        rows, doubled = order[f], doubled_ranks[f]
        if tied[f]:
            write_doubled_ranks(rows, values[f], doubled)
        else:
            for k in range(n):
                doubled[np.uint32(rows[k])] = np.int32(2 * k + 2)


def permute_block_rows(
    ordered: SortedBlock, rows: NDArray[np.int32], inverse_rows: NDArray[np.int32]
) -> SortedBlock:
    """Put the rows of a block in another order.

    Parameters
    ----------
    ordered : Ordered
        m features over n rows.
    rows : int32 array, shape (n,)
        Which row stands at each place of the new order.
    places : int32 array, shape (n,)
        Where each row stands there: the inverse.

    Returns
    -------
    Ordered
        What `sort_block` would give for the values in that order, without sorting all of them again:
        only tied rows are put in order.

    Examples
    --------
    >>> from symscreen.statistics.ranks.sorted_block import sort_block
    >>> block = sort_block(np.array([[0.5, -1.0, 0.5, 0.0]]))
    >>> new = permute_block_rows(block, np.array([2, 3, 0, 1], np.int32), np.array([2, 3, 0, 1], np.int32))
    >>> new.values.tolist(), new.order.tolist()
    ([[0.5, 0.0, 0.5, -1.0]], [[3, 1, 0, 2]])
    """
    values = np.ascontiguousarray(ordered.values[:, rows])
    order = np.empty_like(ordered.order)
    _relabel_order(ordered.order, ordered.values, ordered.tied, inverse_rows, order)
    return SortedBlock(values, (order, ordered.tied))


@compile_kernel
def _relabel_order(order: Rows, values: Values, tied: Flags, inverse_rows: Rows, out: Rows) -> None:
    m, n = order.shape
    for f in range(m):
        rows, own = order[f], out[f]
        for k in range(n):
            own[k] = inverse_rows[np.uint32(rows[k])]
        if not tied[f]:
            continue
        start = 0
        for k in range(1, n + 1):
            if k == n or values[f, rows[k]] != values[f, rows[start]]:
                if k - start > 1:
                    own[start:k] = np.sort(own[start:k])
                start = k


_AFFINE_STEP = 1e-9  # two affine copies agree to about 1e-15, so a step is straddled once in a million


@lru_cache(maxsize=8)  # the same for every block of features
def _make_hash_weights(n: int, stream: int) -> NDArray[np.uint64]:
    # the sequence of splitmix64: fixed, of good quality, and the same on every platform
    state = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(stream)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def compute_rank_signatures(ordered: SortedBlock, *, mirrored: bool) -> NDArray[np.uint64]:
    """Sign each feature by its ranks.

    Parameters
    ----------
    ordered : Ordered
        m features over n rows.
    mirrored : bool
        Whether a feature and one with the mirrored order shall have one signature.

    Returns
    -------
    uint64 array, shape (m,)
        Equal for equal ranks; for others equal with probability near 2⁻⁶⁰, for it is a random linear form
        of the ranks modulo 2⁶⁴.
    """
    weights = _make_hash_weights(ordered.values.shape[1], 0)
    signatures = np.empty(len(ordered.values), dtype=np.uint64)
    _fill_rank_signatures(ordered.order, ordered.values, ordered.tied, weights, signatures)
    return np.minimum(signatures, ~signatures + np.uint64(1)) if mirrored else signatures


@compile_kernel
def _fill_rank_signatures(
    order: Rows, values: Values, tied: Flags, weights: Weights, signatures: Weights
) -> None:
    """Add up, modulo 2⁶⁴, the weights of the rows times twice their ranks less n + 1."""
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)
    for f in range(m):
        rows = order[f]
        total = np.uint64(0)
        if tied[f]:
            write_doubled_ranks(rows, values[f], doubled)
            for i in range(n):
                total += weights[i] * np.uint64(np.int64(doubled[i]) - (n + 1))
        else:
            for k in range(n):
                total += weights[np.uint32(rows[k])] * np.uint64(np.int64(2 * k + 1 - n))
        signatures[f] = total


def compute_affine_signatures(values: NDArray[np.float64], *, mirrored: bool) -> NDArray[np.uint64]:
    """Sign each feature up to an affine map z ↦ a·z + b: a > 0, or a ≠ 0 where mirrored.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        Features.
    mirrored : bool
        Whether a may be negative.

    Returns
    -------
    uint64 array, shape (m,)
        From the correlations with two fixed random columns, to nine digits.
    """
    n = values.shape[1]
    probes = [_make_hash_weights(n, purpose).astype(np.float64) / 2.0**64 for purpose in (1, 2)]
    first, second = (
        np.rint(compute_correlations(values, probe) / _AFFINE_STEP).astype(np.int64) for probe in probes
    )
    if mirrored:
        turn = np.where(first < 0, -1, 1)
        first, second = first * turn, second * turn
    return (first.astype(np.uint64) << np.uint64(32)) ^ (second.astype(np.uint64) & np.uint64(0xFFFFFFFF))
