"""Which rows' order is certain where values are known up to an error, and how far T0 depends on the others.

Rows sorted by value fall into runs: whatever the exact values are, those of a later run are larger. Inside a
run any order may be the true one. T0 is least where each run stands in the order of the response, and largest
where it stands in the reverse.
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
    from symscreen.targets import NumericTarget


__all__ = ["OrderUncertainty", "compute_t0_bounds", "find_order_uncertainty", "find_separated_runs"]


@dataclass(frozen=True, eq=False)
class OrderUncertainty:
    """Which rows stand in an order that errors may have made.

    Parameters
    ----------
    run : int64 array, shape (n,)
        The run of each row, from 0 up in the order of the values.
    unsafe : bool array, shape (n,)
        Whether errors decide where the row stands in its run.
    tie : bool array, shape (n,)
        Whether all rows of the run are known to have one exact value.
    """

    run: Integers
    is_uncertain: Flags
    is_tied: Flags


def find_separated_runs(values: Values, error: Values) -> Integers:
    """Put the rows of a feature into runs: of two rows in different runs the order is certain.

    Parameters
    ----------
    values, error : float64 arrays, shape (n,)
        Values, and how far the exact ones may be from them; errors may be infinite.

    Returns
    -------
    int64 array, shape (n,)
        The run of each row, from 0 up in the order of the values.

    Examples
    --------
    >>> find_separated_runs(np.array([3.0, 1.0, 1.5, 7.0]), np.array([0.0, 0.3, 0.3, 0.1])).tolist()
    [1, 0, 0, 2]
    """
    return _assign_runs(values, error, np.argsort(values, kind="stable"))


def _assign_runs(values: Values, error: Values, order: Integers) -> Integers:
    own, lost = values[order], error[order]
    low = np.where(lost > 0, np.nextafter(own - lost, -np.inf), own)
    high = np.where(lost > 0, np.nextafter(own + lost, np.inf), own)
    # wide intervals may reach over many rows to either side
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
        As of `find_separated_runs`.
    identity : callable
        Row numbers to a name for each row's exact value: rows of one name tie, and are in one run. Asked only
        of rows that share a run, or would with errors of `reach`.
    group : int64 array, shape (n,), optional
        Rows of one group have the same response, so that their order does not matter.
    reach : float64 array, shape (n,), optional
        How far values may be from those that inputs as they are written would give; at least `error`.

    Returns
    -------
    Doubt
        A run is safe where its rows tie, in fact and as computed, or belong to one group.

    Examples
    --------
    >>> error = np.array([0.0, 0.1, 0.1, 0.1])
    >>> doubt = find_order_uncertainty(np.array([0.0, 2.0, 2.0, 9.0]), error,
    ...     lambda rows: rows.astype(np.uint64), None)
    >>> doubt.is_uncertain.tolist()
    [False, True, True, False]
    """
    order = np.argsort(values, kind="stable")
    run = _assign_runs(values, error, order)
    asked_of = _find_rows_in_doubt(run, values, error, order)
    if input_error is not None:
        asked_of |= _find_rows_in_doubt(_assign_runs(values, input_error, order), values, input_error, order)
    rows = np.flatnonzero(asked_of)
    unsafe, tie = np.zeros(len(run), dtype=np.bool_), np.zeros(len(run), dtype=np.bool_)
    if not len(rows):
        return OrderUncertainty(run, unsafe, tie)
    names, asked = np.zeros(len(run), dtype=np.uint64), np.zeros(len(run), dtype=np.bool_)
    names[rows], asked[rows] = identity(rows), True
    run = _join_runs(run, rows, names[rows])
    rows = np.flatnonzero(_find_rows_in_doubt(run, values, error, order))
    if not len(rows):
        return OrderUncertainty(run, unsafe, tie)
    if not asked[rows].all():  # what lies between joined runs
        names[rows] = identity(rows)
    rows = rows[np.argsort(run[rows], kind="stable")]
    first = np.flatnonzero(np.concatenate(([True], np.diff(run[rows]) > 0)))
    size = np.diff(np.append(first, len(rows)))

    def has_equal_values(row_values: NDArray[np.generic]) -> Flags:
        return np.asarray(np.minimum.reduceat(row_values, first) == np.maximum.reduceat(row_values, first))

    same = has_equal_values(names[rows])
    safe = same & has_equal_values(values[rows])
    if group is not None:
        safe |= has_equal_values(group[rows])
    unsafe[rows], tie[rows] = np.repeat(~safe, size), np.repeat(same, size)
    return OrderUncertainty(run, unsafe, tie)


def _find_rows_in_doubt(run: Integers, values: Values, error: Values, order: Integers) -> Flags:
    """Find the rows of runs of several that are not equal numbers of which nothing was lost."""
    runs = int(run[order[-1]]) + 1
    if runs == len(run):
        return np.zeros(len(run), dtype=np.bool_)
    lost = np.zeros(runs, dtype=np.bool_)
    lost[run[error > 0]] = True
    apart = np.flatnonzero((np.diff(values[order]) > 0) & (np.diff(run[order]) == 0))
    lost[run[order[apart]]] = True
    return np.asarray((lost & (np.bincount(run) > 1))[run])


def _join_runs(run: Integers, rows: Integers, identities: NDArray[np.uint64]) -> Integers:
    """Join runs that hold rows of one name, with all that lie between them."""
    runs = int(run.max()) + 1
    _, which = np.unique(identities, return_inverse=True)
    last = np.zeros(int(which.max()) + 1, dtype=np.int64)
    np.maximum.at(last, which, run[rows])
    reach = np.arange(runs)
    np.maximum.at(reach, run[rows], last[which])
    ends = np.maximum.accumulate(reach) == np.arange(runs)
    return np.asarray(np.concatenate(([0], np.cumsum(ends[:-1])))[run])


def compute_t0_bounds(uncertainty: OrderUncertainty, target: NumericTarget) -> tuple[float, float]:
    """Bound T0 of a feature, whatever the order of the rows in doubt is.

    Parameters
    ----------
    doubt : Doubt
        Of the feature, over the response's rows.
    response : Response
        The response.

    Returns
    -------
    least, largest : float
        The exact T0 lies between them; the computed one may not, where it splits what ties in fact.

    Examples
    --------
    >>> from symscreen.targets import NumericTarget
    >>> doubt = OrderUncertainty(np.array([0, 1, 1]), np.array([False, True, True]), np.zeros(3, dtype=bool))
    >>> [round(end, 12) for end in compute_t0_bounds(doubt, NumericTarget(np.array([1.0, 2.0, 4.0])))]
    [0.0, 1.333333333333]
    """
    n = target.n
    place = np.where(
        uncertainty.is_uncertain & ~uncertainty.is_tied, np.arange(n), 0
    )  # rows ascend in the response
    ends = np.stack([uncertainty.run * n + place, uncertainty.run * n - place]).astype(np.float64)
    least, largest = compute_t0(sort_block(ends), target).tolist()
    return least, largest
