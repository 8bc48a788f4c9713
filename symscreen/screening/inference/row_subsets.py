"""Screens of some of the rows: their task, and the features of the whole table that they show."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.data import take_rows
from symscreen.errors import FormulaError
from symscreen.expansion import evaluate_user_formulas
from symscreen.expressions.traversal import evaluate_expression
from symscreen.screening.run_control import DEFAULT_RUN_CONTROL
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Integers
    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.screening.scoring.score_space import ScoringResult
    from symscreen.screening.task import ScreeningTask


def take_task_rows(task: ScreeningTask, rows: Integers) -> ScreeningTask:
    """Return the task for some rows: without progress output and user formulas that are constant there."""
    dataset = take_rows(task.dataset, rows)
    no_fingerprints = np.zeros((0, 2), dtype=np.uint64)

    def is_varying(expression: Expression) -> bool:
        try:
            evaluate_user_formulas([expression], dataset.columns_by_name, no_fingerprints)
        except FormulaError:
            return False
        return True

    return replace(
        task,
        dataset=dataset,
        formulas=list(filter(is_varying, task.formulas)),
        run_control=DEFAULT_RUN_CONTROL,
        error_control=None,
    )


def find_shown_classes(found: ScoringResult, expressions: Sequence[Expression], dataset: Dataset) -> Integers:
    """Find formulas in the ranking of a screen of the rows of a dataset.

    Returns
    -------
    int64 array, shape (k,)
        The place of each formula, or of one that cannot be distinguished from it, in the ranking; −1 if
        there is none.
    """
    positions = np.full(len(expressions), -1, dtype=np.int64)
    values = np.array(
        [evaluate_expression(expression, dataset.columns_by_name) for expression in expressions]
    )
    values = values.reshape(len(expressions), -1)
    varying = np.flatnonzero(values.min(axis=1) < values.max(axis=1)) if len(values) else np.arange(0)
    positions[varying] = found.classes.find_positions(sort_block(np.ascontiguousarray(values[varying])))
    return positions
