"""Choose the rows that a fit keeps from its search: random rows, or stretches where rows have an order."""

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


def choose_band_rows(task: FitTask) -> tuple[Integers, Integers, Integers]:
    """Return the rows that choose the terms, those that estimate coefficients, and those that calibrate.

    The option `split` keeps the last two from the search; half of them, rounded up, calibrate a band.
    """
    n = task.dataset.target.n
    n_held_out = max(1, round(n * task.options.split))
    n_calibrating = -(-n_held_out // 2)
    drawn = _draw_row_order(task)
    return (
        np.sort(drawn[n_held_out:]),
        np.sort(drawn[n_calibrating:n_held_out]),
        np.sort(drawn[:n_calibrating]),
    )


def choose_band_folds(task: FitTask, n_folds: int) -> Integers:
    """Return the fold of each row, shape (n,), drawn at random; their sizes differ by at most one."""
    folds = np.empty(task.dataset.target.n, dtype=np.int64)
    folds[_draw_row_order(task)] = np.arange(len(folds)) % n_folds
    return folds


def _draw_row_order(task: FitTask) -> Integers:
    """Draw a permutation of the rows, shape (n,), which does not depend on the order of the source.

    The rows of a dataset are sorted by the target. With one seed for all tables, the same ranks of the target
    would be drawn from each, and calibrating rows would not be exchangeable with new ones. So the seed also
    depends on the values of the table.
    """
    seeds = [task.options.seed, int(task.dataset.digest, 16)]
    return np.random.default_rng(seeds).permutation(task.dataset.target.n)


def choose_folds(task: FitTask, n_folds: int) -> Integers:
    """Return the fold of each row, shape (n,): balanced over the target, or stretches of each run."""
    if task.runs is not None:
        return assign_time_folds(task.runs, n_folds)
    return assign_folds(task.dataset.target.n, n_folds, task.options.seed)
