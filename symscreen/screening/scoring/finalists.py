"""Finalists: the best features of a sample of rows, scored on all rows of a table larger than memory.

The sample decides which features are finalists. It has groups of near-duplicates, three times as many of
them as features are wanted, and the best few classes of each group are chosen. Each finalist is computed
from the columns on disk, block by block. The same code scores it as in memory, in the same order of rows,
so that its score has the same bits. A finalist that is undefined in some row is left out. Each thread has
one feature in memory; the number of threads does not change the result.

Which finalists are near-duplicates is decided on the sample, except for pairs whose rank correlation is so
close to the limit that it may be on the other side of it on all rows.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._limits import read_resident_bytes
from symscreen.backends import make_backend
from symscreen.config.parsing import parse_memory_limit
from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.logs import log_event
from symscreen.screening.scoring.distinct_features import CorrelationCheck, select_distinct_features
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values
    from symscreen.data.large_tables.large_table import LargeTable
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.screening.scoring.top_features import EquivalenceClasses, FeatureTable
    from symscreen.screening.task import ScreeningTask


GROUPS_PER_FEATURE = 3  # groups of near-duplicates with finalists, for each feature wanted
CLASSES_PER_GROUP = 3  # finalists of a group
THREAD_ROW_BYTES = 24  # memory of a thread per row: values, keys, order and ranks of a feature
TARGET_ROW_BYTES = 12  # memory per row of the centred target and of the ranks of one other feature
RANK_ROW_BYTES = 4  # memory per row of the ranks of a feature that others are compared with
_TOLERANCE_ERRORS = 5.0  # standard errors within which the sample does not decide about near-duplicates


@dataclass(frozen=True, eq=False)
class Finalists:
    """Features scored on all rows, best first.

    Parameters
    ----------
    features : FeatureTable, length k
        The features, with losses, scores and directions on all rows.
    classes : EquivalenceClasses
        Their classes.
    sample_losses : dict of int to float
        The loss on the sample, by number of the feature.
    n_undefined : int
        Number of finalists that were left out because they are undefined in some row.
    """

    features: FeatureTable
    classes: EquivalenceClasses
    sample_losses: dict[int, float]
    n_undefined: int

    def find_sample_losses(self, numbers: Integers) -> Values:
        """Return the losses on the sample of some features, shape (m,)."""
        return np.array([self.sample_losses[number] for number in numbers.tolist()])

    @property
    def record(self) -> dict[str, Any]:
        """The record: numbers of finalists, and of those that were left out."""
        return {"finalists": len(self.sample_losses), "undefined": self.n_undefined}


def score_finalists(
    features: FeatureTable, classes: EquivalenceClasses, space: Space, task: ScreeningTask
) -> Finalists:
    """Choose finalists from the ranking of a sample, and score them on all rows.

    Parameters
    ----------
    features : FeatureTable
        The ranking of the sample, best first.
    classes : EquivalenceClasses
        Its classes.
    space : Space
        The space, with the values of the sample.
    task : ScreeningTask
        The task, with a large table and one column screener.

    Returns
    -------
    Finalists
    """
    assert task.large_table is not None  # noqa: S101  # the caller checks it
    table, (screener,) = task.large_table, task.column_screeners
    target = table.target
    chosen = choose_finalists(features, space, task)
    finalists = features.take(chosen)
    expressions = [space.build_expression(number) for number in finalists.number.tolist()]
    _ = target.gini_mean_difference  # computed once, before threads need it

    def compute_statistic(expression: Expression) -> float:
        values = compute_on_all_rows(expression, table)
        return float("nan") if values is None else float(screener.statistic(sort_block(values), target)[0])

    backend = make_backend("threads", count_threads(table, task))
    statistics = np.array(list(backend.map(compute_statistic, expressions)))
    is_defined = ~np.isnan(statistics)
    statistics = statistics[is_defined]
    scored = replace(
        finalists.take(np.flatnonzero(is_defined)),
        loss=screener.loss(statistics, target, task.options.sign),
        direction=screener.direction(statistics),
        scores=screener.score(statistics, target)[:, None],
    )
    order = scored.compute_member_order()
    log_event("finalists scored", rows=target.n, features=len(chosen), undefined=int((~is_defined).sum()))
    return Finalists(
        scored.take(order),
        classes.reorder(chosen[is_defined][order]),
        dict(zip(finalists.number.tolist(), finalists.loss.tolist(), strict=True)),
        int((~is_defined).sum()),
    )


def choose_finalists(features: FeatureTable, space: Space, task: ScreeningTask) -> NDArray[np.int64]:
    """Return the indices, ascending, of the best classes of the best groups of a ranking of a sample."""
    if not len(features):
        return np.zeros(0, dtype=np.int64)
    n_wanted = GROUPS_PER_FEATURE * (task.limit or len(features))
    # a feature whose correlation with a better one may be below the limit on all rows has a group of its own
    limit = min(1.0, task.max_correlation + _compute_tolerance(task))
    distinct = select_distinct_features(space, features, n_wanted, limit, has_losses=True)
    best = [
        np.flatnonzero(distinct.group == group)[:CLASSES_PER_GROUP]
        for group in range(len(distinct.representatives))
    ]
    return np.unique(np.concatenate((distinct.representatives, *best)))


def compute_on_all_rows(expression: Expression, table: LargeTable) -> Values | None:
    """Compute a formula on all rows of a large table, shape (1, n); None if it is undefined in a row."""
    values = np.empty((1, table.target.n))
    names = collect_columns(expression)
    for rows, columns in table.iterate_blocks(names):
        values[0, rows] = evaluate_expression(expression, columns)
        if not np.isfinite(values[0, rows]).all():
            return None
    return values


def make_correlation_check(space: Space, task: ScreeningTask) -> CorrelationCheck:
    """Make the check of near-duplicates among finalists on all rows of a large table."""
    assert task.large_table is not None  # noqa: S101  # the caller checks it
    n_stored = 1 + (count_threads(task.large_table, task) - 1) * (THREAD_ROW_BYTES // RANK_ROW_BYTES)
    correlations = _TableCorrelations(space, task.large_table, n_stored)
    return CorrelationCheck(_compute_tolerance(task), correlations.compute)


def _compute_tolerance(task: ScreeningTask) -> float:
    """Compute the distance from the limit of correlations within which the sample does not decide."""
    # the standard error of Pearson's correlation; that of ranks is about as large
    standard_error = (1.0 - task.max_correlation**2) / math.sqrt(max(task.target.n - 1, 1))
    return _TOLERANCE_ERRORS * standard_error


@dataclass(frozen=True, eq=False)
class _TableCorrelations:
    """Rank correlations on all rows; the ranks of a few features stay in memory."""

    space: Space
    table: LargeTable
    n_stored: int
    stored: OrderedDict[int, NDArray[np.int32]] = field(default_factory=OrderedDict)

    def compute(self, first: int, second: int) -> float:
        """Return |Spearman's rank correlation| of two features, given their numbers."""
        left, right = self._get_ranks(first), self._get_ranks(second)
        product, *squares = (
            math.fsum(
                float((one[rows].astype(np.float64) * other[rows]).sum())
                for rows, _ in self.table.iterate_blocks(())
            )
            for one, other in ((left, right), (left, left), (right, right))
        )
        return round(abs(product) / math.sqrt(squares[0] * squares[1]), 12)

    def _get_ranks(self, number: int) -> NDArray[np.int32]:
        """Return the centred doubled ranks of a feature, shape (n,)."""
        if number not in self.stored:
            values = compute_on_all_rows(self.space.build_expression(number), self.table)
            assert values is not None  # noqa: S101  # finalists are defined in all rows
            if len(self.stored) == self.n_stored:
                self.stored.popitem(last=False)
            self.stored[number] = sort_block(values).doubled_ranks[0] - (self.table.target.n + 1)
        self.stored.move_to_end(number)
        return self.stored[number]


def estimate_finalist_bytes(table: LargeTable, n_threads: int) -> int:
    """Estimate the memory of the process while finalists are scored in some threads."""
    return read_resident_bytes() + (TARGET_ROW_BYTES + n_threads * THREAD_ROW_BYTES) * table.target.n


def count_threads(table: LargeTable, task: ScreeningTask) -> int:
    """Return the number of threads that have the memory for a feature each; at least 1."""
    max_bytes, n = parse_memory_limit(task.options.max_ram), table.target.n
    if max_bytes is None:
        return task.backend.jobs
    left = max_bytes - read_resident_bytes() - TARGET_ROW_BYTES * n
    return max(1, min(task.backend.jobs, left // (THREAD_ROW_BYTES * n)))
