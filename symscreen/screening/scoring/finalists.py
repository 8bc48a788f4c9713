"""Finalists: the best features of a sample of rows, scored on all rows of a table that is larger than memory.

The sample decides which features are finalists. It has groups of near-duplicates, three times as many of
them as features are wanted, and the best few classes of each group are chosen. Each finalist is computed
from the columns on disk, block by block. The same code scores it as in memory, in the same order of rows,
so that its score has the same bits. A finalist that is undefined in some row is left out. Each thread has
one feature in memory; the number of threads does not change the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._limits import read_resident_bytes
from symscreen.backends import make_backend
from symscreen.config.parsing import parse_memory_limit
from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.logs import log_event
from symscreen.screening.scoring.distinct_features import select_distinct_features
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
TARGET_ROW_BYTES = 8  # memory per row of the centred target, which all threads share


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
    distinct = select_distinct_features(space, features, n_wanted, task.max_correlation, has_losses=True)
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
