"""Which rows a fit keeps from its search: rows at random, or stretches of time where rows have an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.linear_models.model_criteria import assign_folds
from symscreen.linear_models.time_splits import assign_time_folds, find_run_ends

if TYPE_CHECKING:
    from symscreen._typing import Flags, Integers
    from symscreen.fitting.search_stages import FitTask


def choose_held_out_rows(task: FitTask) -> Flags:
    """Return a mask of the rows that the option `split` keeps from the search, shape (n,)."""
    n, split = task.dataset.target.n, task.options.split
    if task.runs is not None:
        return find_run_ends(task.runs, split)
    is_held_out = np.zeros(n, dtype=np.bool_)
    is_held_out[np.random.default_rng(task.options.seed).permutation(n)[: max(1, round(n * split))]] = True
    return is_held_out


def choose_folds(task: FitTask, n_folds: int) -> Integers:
    """Return the fold of each row, shape (n,): balanced over the target, or stretches of each run."""
    if task.runs is not None:
        return assign_time_folds(task.runs, n_folds)
    return assign_folds(task.dataset.target.n, n_folds, task.options.seed)
