"""Rows sorted by group, with sums and projections within each group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.data import read_frame_with_column, read_levels
from symscreen.errors import DataError
from symscreen.expressions.traversal import evaluate_expression
from symscreen.linear_models.row_weights import build_row_weights, center_rows, scale_rows
from symscreen.messages import name_option_column
from symscreen.statistics.spread_places import select_spread_places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.data import Dataset, SourceFrame
    from symscreen.expressions.tree import Expression
    from symscreen.linear_models.row_weights import RowWeights


# Smallest norm of what the earlier columns leave of a column in a group, relative to the norm of the column;
# less is rounding.
_MIN_NORM = 1e-9


@dataclass(frozen=True, eq=False)
class FitGroups:
    """The groups of the rows of a source.

    Parameters
    ----------
    column : str
        The column that names them.
    names : tuple of str, length G
        The groups that have rows in the dataset, sorted.
    codes : int64 array, shape (m,)
        The group of each row of the source; −1 in rows that the dataset does not have.
    """

    column: str
    names: tuple[str, ...]
    codes: NDArray[np.int64]


def read_fit_groups(frame: SourceFrame, column: str, dataset: Dataset) -> FitGroups:
    """Read the groups of the rows that a dataset has.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    column : str
        A column of numbers or text.
    dataset : Dataset
        The rows that are used.

    Returns
    -------
    FitGroups

    Raises
    ------
    DataError
        If the column does not exist or holds something else, or a used row has no group.
    """
    levels, level_codes = read_levels(read_frame_with_column(frame, column, "per"), column)
    used = level_codes[dataset.source_rows]
    subject = name_option_column("per", column)
    if n_missing := int(np.isnan(used).sum()):
        raise DataError(
            f"{subject} names no group in {n_missing} of {len(used)} rows: fill them, or leave these rows out"
        )
    present = np.unique(used).astype(np.int64)
    codes = np.full(frame.n, -1)
    codes[dataset.source_rows] = np.searchsorted(present, used.astype(np.int64))
    return FitGroups(column, tuple(levels[code] for code in present.tolist()), codes)


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows of a table, sorted by group.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.
    target : float64 array, shape (n,)
        The target.
    starts : int64 array, shape (G,)
        The first row of each of G groups; each group has at least one row.
    source_rows : int64 array, shape (n,), or None
        The rows of the source, if there is one.
    row_weights : RowWeights, optional
        Weights of the rows in least squares.
    """

    columns: Mapping[str, Values]
    target: Values
    starts: NDArray[np.int64]
    source_rows: NDArray[np.int64] | None = None
    row_weights: RowWeights | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.target)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.starts)

    @lockfree_cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows of each group, shape (G,)."""
        return np.diff(np.append(self.starts, self.n))

    @lockfree_cached_property
    def total_square(self) -> float:
        """Weighted sum of squares of the target around its weighted mean."""
        centered = center_rows(self.target, self.row_weights)
        return float((centered * centered).sum())

    @lockfree_cached_property
    def scaled_target(self) -> Values:
        """The target times the roots of the weights, shape (n,)."""
        return self.scale(self.target)

    def scale(self, values: Values) -> Values:
        """Multiply values of rows, shape (…, n), by the roots of the weights, if there are any."""
        return scale_rows(values, self.row_weights)

    def sum_by_group(self, values: Values) -> Values:
        """Sum values of rows, shape (…, n), within each group, shape (…, G)."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))

    def spread(self, values: Values) -> Values:
        """Give each row the value of its group: shape (…, G) becomes (…, n)."""
        return np.repeat(values, self.counts, axis=-1)

    def evaluate(self, expression: Expression) -> Values:
        """Evaluate an expression, shape (n,); NaN where it is undefined."""
        return evaluate_expression(expression, self.columns)

    def merge(self) -> GroupedRows:
        """Return the same rows as one group."""
        return replace(self, starts=self.starts[:1])

    def take_groups(self, groups: NDArray[np.int64]) -> GroupedRows:
        """Return the rows of some groups, whose numbers are ascending."""
        return self._take([np.arange(self.counts[group]) + self.starts[group] for group in groups.tolist()])

    def select(self, limit: int, least: int) -> GroupedRows:
        """Return about `limit` rows, at least `least` of each group, spread evenly over each group."""
        share = max(least, limit // self.n_groups)
        kept = [
            start + select_spread_places(count, share)
            for start, count in zip(self.starts.tolist(), self.counts.tolist(), strict=True)
        ]
        return self._take(kept)

    def _take(self, kept: list[NDArray[np.int64]]) -> GroupedRows:
        """Return rows, given by their numbers in each group."""
        rows = np.concatenate(kept)
        starts = np.concatenate(([0], np.cumsum([len(each) for each in kept])[:-1]))
        columns = {name: values[rows] for name, values in self.columns.items()}
        source_rows = None if self.source_rows is None else self.source_rows[rows]
        weights = None if self.row_weights is None else build_row_weights(self.row_weights.weights[rows])
        return GroupedRows(columns, self.target[rows], starts.astype(np.int64), source_rows, weights)


def group_rows(dataset: Dataset, codes: NDArray[np.int64]) -> GroupedRows:
    """Sort the rows of a dataset by group and, within a group, in their canonical order.

    Parameters
    ----------
    dataset : Dataset
        The rows, with one numeric target.
    codes : int64 array, shape (n,)
        The group of each row of the dataset, from 0 to G − 1; each occurs.

    Returns
    -------
    GroupedRows
        Equal rows of two groups may stand in any order in the dataset, but not here.
    """
    order = np.argsort(codes, kind="stable")
    columns = {name: values[order] for name, values in zip(dataset.names, dataset.columns, strict=True)}
    starts = np.searchsorted(codes[order], np.arange(codes.max() + 1))
    target = dataset.regression_target.values[order]
    return GroupedRows(columns, target, starts.astype(np.int64), dataset.source_rows[order])


def orthonormalize(rows: GroupedRows, columns: Values) -> tuple[Values, Values]:
    """Decompose columns by the modified Gram-Schmidt process within each group.

    Parameters
    ----------
    rows : GroupedRows
        The rows.
    columns : float64 array, shape (k, n)
        The columns.

    Returns
    -------
    q : float64 array, shape (k, n)
        Orthonormal within each group. A column that depends on earlier ones in a group is 0 there.
    r : float64 array, shape (G, k, k)
        Upper triangular; within group g, column j is Σ_i q_i·r[g, i, j]. The element (j, j) is NaN if the
        sum of squares of column j is beyond double precision.

    Examples
    --------
    >>> rows = GroupedRows({}, np.zeros(3), np.array([0, 1]))
    >>> q, r = orthonormalize(rows, np.array([[2.0, 3.0, 4.0], [1.0, 3.0, 4.0]]))
    >>> (q.round(1) + 0.0).tolist(), r[:, 0, 1].tolist()
    ([[1.0, 0.6, 0.8], [0.0, 0.0, 0.0]], [1.0, 5.0])
    """
    k = len(columns)
    q, r = np.zeros_like(columns), np.zeros((rows.n_groups, k, k))
    for j in range(k):
        rest = columns[j]
        norms = np.sqrt(rows.sum_by_group(rest * rest))
        for _ in range(2):  # once more, because the first pass leaves rounding errors
            for i in range(j):
                shares = rows.sum_by_group(q[i] * rest)
                r[:, i, j] += shares
                rest = rest - q[i] * rows.spread(shares)
        lengths = np.sqrt(rows.sum_by_group(rest * rest))
        is_new = lengths > _MIN_NORM * norms
        r[:, j, j] = np.where(np.isfinite(norms), np.where(is_new, lengths, 0.0), np.nan)
        q[j] = rest * rows.spread(np.divide(1.0, lengths, out=np.zeros_like(lengths), where=is_new))
    return q, r


def remove_projection(rows: GroupedRows, q: Values, values: Values) -> Values:
    """Subtract from values, shape (n,) or (m, n), their projection on orthonormal columns, shape (k, n)."""
    for _ in range(2):  # the second pass removes the rounding errors of the first
        for column in q:
            values = values - column * rows.spread(rows.sum_by_group(column * values))
    return values
