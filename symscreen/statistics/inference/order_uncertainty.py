"""Bounds of T0 from rows whose order is uncertain because of numerical errors.

Rows sorted by value are divided into runs such that any two rows in different runs have a certain order.
Inside a run any order may be the true one. T0 is smallest if each run follows the order of the target, and
largest if it follows the reverse order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_t0

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Values
    from symscreen.statistics.ranks.sorted_values import SortedValues


@dataclass(frozen=True, eq=False)
class OrderUncertainty:
    """The rows whose order errors may have changed.

    Parameters
    ----------
    run : int64 array, shape (n,)
        The run of each row, numbered from 0 in the order of the values.
    is_uncertain : bool array, shape (n,)
        Whether errors decide the position of the row in its run.
    is_tied : bool array, shape (n,)
        Whether all rows of the run are known to have the same exact value.
    """

    run: Integers
    is_uncertain: Flags
    is_tied: Flags


def find_separated_runs(values: Values, error: Values) -> Integers:
    """Divide the rows of a feature into runs: the order of two rows in different runs is certain.

    Parameters
    ----------
    values, error : float64 arrays, shape (n,)
        Computed values and bounds of their absolute errors, which may be infinite.

    Returns
    -------
    int64 array, shape (n,)
        The run of each row, numbered from 0 in the order of the values.

    Examples
    --------
    >>> find_separated_runs(np.array([3.0, 1.0, 1.5, 7.0]), np.array([0.0, 0.3, 0.3, 0.1])).tolist()
    [1, 0, 0, 2]
    """
    return _assign_runs(values, error, np.argsort(values, kind="stable"))


def _assign_runs(values: Values, error: Values, order: Integers) -> Integers:
    """Assign runs; `order`, shape (n,), sorts the values."""
    ascending, sorted_error = values[order], error[order]
    with np.errstate(over="ignore"):  # an end may be beyond the largest number
        low = np.where(sorted_error > 0, np.nextafter(ascending - sorted_error, -np.inf), ascending)
        high = np.where(sorted_error > 0, np.nextafter(ascending + sorted_error, np.inf), ascending)
    # A wide interval may overlap many rows on either side.
    highest, lowest = np.maximum.accumulate(high), np.minimum.accumulate(low[::-1])[::-1]
    run = np.empty(len(values), dtype=np.int64)
    run[order] = np.concatenate(([0], np.cumsum(lowest[1:] > highest[:-1])))
    return run


def find_order_uncertainty(
    values: Values,
    error: Values,
    identity: Callable[[Integers], NDArray[np.uint64]],
    group: Integers | None,
    input_error: Values | None = None,
) -> OrderUncertainty:
    """Find the rows whose order errors decide.

    Parameters
    ----------
    values, error : float64 arrays, shape (n,)
        Computed values and bounds of their absolute errors, as in `find_separated_runs`.
    identity : callable
        Maps row indices to an identifier of each row's exact value: rows with equal identifiers tie and are
        in one run. It is called only for rows that share a run, or would share one with errors of
        `input_error`.
    group : int64 array, shape (n,), optional
        Rows of one group have the same target, so their order does not matter.
    input_error : float64 array, shape (n,), optional
        Bounds of the distance to the values computed from inputs as written in decimal; at least `error`.

    Returns
    -------
    OrderUncertainty
        A run is certain if its rows tie both exactly and as computed, or if they belong to one group.

    Examples
    --------
    >>> error = np.array([0.0, 0.1, 0.1, 0.1])
    >>> uncertainty = find_order_uncertainty(np.array([0.0, 2.0, 2.0, 9.0]), error,
    ...     lambda rows: rows.astype(np.uint64), None)
    >>> uncertainty.is_uncertain.tolist()
    [False, True, True, False]
    """
    order = np.argsort(values, kind="stable")
    run = _assign_runs(values, error, order)
    in_doubt = _find_rows_in_doubt(run, values, error, order)
    if input_error is not None:
        in_doubt |= _find_rows_in_doubt(_assign_runs(values, input_error, order), values, input_error, order)
    rows = np.flatnonzero(in_doubt)
    is_uncertain, is_tied = np.zeros(len(run), dtype=np.bool_), np.zeros(len(run), dtype=np.bool_)
    if not len(rows):
        return OrderUncertainty(run, is_uncertain, is_tied)
    identities, has_identity = np.zeros(len(run), dtype=np.uint64), np.zeros(len(run), dtype=np.bool_)
    identities[rows], has_identity[rows] = identity(rows), True
    run = _join_runs(run, rows, identities[rows])
    rows = np.flatnonzero(_find_rows_in_doubt(run, values, error, order))
    if not len(rows):
        return OrderUncertainty(run, is_uncertain, is_tied)
    if not has_identity[rows].all():  # rows between joined runs
        identities[rows] = identity(rows)
    rows = rows[np.argsort(run[rows], kind="stable")]
    first = np.flatnonzero(np.concatenate(([True], np.diff(run[rows]) > 0)))
    size = np.diff(np.append(first, len(rows)))

    def has_equal_values(row_values: NDArray[np.generic]) -> Flags:
        """Return for each run whether all of its rows have equal values."""
        return np.asarray(np.minimum.reduceat(row_values, first) == np.maximum.reduceat(row_values, first))

    is_same = has_equal_values(identities[rows])
    is_certain = is_same & has_equal_values(values[rows])
    if group is not None:
        is_certain |= has_equal_values(group[rows])
    is_uncertain[rows], is_tied[rows] = np.repeat(~is_certain, size), np.repeat(is_same, size)
    return OrderUncertainty(run, is_uncertain, is_tied)


def _find_rows_in_doubt(run: Integers, values: Values, error: Values, order: Integers) -> Flags:
    """Find the rows of runs with more than one row, unless their values are equal and free of errors."""
    n_runs = int(run[order[-1]]) + 1
    if n_runs == len(run):
        return np.zeros(len(run), dtype=np.bool_)
    has_error = np.zeros(n_runs, dtype=np.bool_)
    has_error[run[error > 0]] = True
    differing = np.flatnonzero((np.diff(values[order]) > 0) & (np.diff(run[order]) == 0))
    has_error[run[order[differing]]] = True
    return np.asarray((has_error & (np.bincount(run) > 1))[run])


def _join_runs(run: Integers, rows: Integers, identities: NDArray[np.uint64]) -> Integers:
    """Join runs that contain rows with equal identifiers, including all runs between them."""
    n_runs = int(run.max()) + 1
    _, identity_index = np.unique(identities, return_inverse=True)
    last_run = np.zeros(int(identity_index.max()) + 1, dtype=np.int64)
    np.maximum.at(last_run, identity_index, run[rows])
    joined_to = np.arange(n_runs)
    np.maximum.at(joined_to, run[rows], last_run[identity_index])
    is_last = np.maximum.accumulate(joined_to) == np.arange(n_runs)
    return np.asarray(np.concatenate(([0], np.cumsum(is_last[:-1])))[run])


def compute_t0_bounds(uncertainty: OrderUncertainty, target: SortedValues) -> tuple[float, float]:
    """Bound T0 of a feature over all possible orders of the uncertain rows.

    Parameters
    ----------
    uncertainty : OrderUncertainty
        The feature's uncertain rows, in the order of the target's rows.
    target : SortedValues
        The target.

    Returns
    -------
    lower, upper : float
        The exact T0 lies between them. The computed T0 may not, if it splits rows that tie exactly.

    Examples
    --------
    >>> from symscreen.statistics.ranks.sorted_values import SortedValues
    >>> untied = np.zeros(3, dtype=bool)
    >>> uncertain = OrderUncertainty(np.array([0, 1, 1]), np.array([False, True, True]), untied)
    >>> [round(bound, 12) for bound in compute_t0_bounds(uncertain, SortedValues(np.array([1.0, 2.0, 4.0])))]
    [0.0, 1.333333333333]
    """
    n = target.n
    # Rows are sorted by target. Ties keep one position.
    target_order = np.where(uncertainty.is_uncertain & ~uncertainty.is_tied, np.arange(n), 0)
    ends = np.stack([uncertainty.run * n + target_order, uncertainty.run * n - target_order]).astype(
        np.float64
    )
    lower, upper = compute_t0(sort_block(ends), target).tolist()
    return lower, upper
