from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from symscreen.linear_models.time_splits import assign_time_folds, find_run_ends


@st.composite
def draw_runs(draw):
    labels = np.array(draw(st.lists(st.integers(0, 2), min_size=1, max_size=30)))
    order = np.array(draw(st.permutations(range(len(labels)))))
    return [order[labels[order] == label] for label in np.unique(labels)]


@given(runs=draw_runs(), n_folds=st.integers(2, 6))
def test_a_fold_is_one_stretch_of_each_run(runs, n_folds):
    folds = assign_time_folds(runs, n_folds)
    for rows in runs:
        assert (np.diff(folds[rows]) >= 0).all()
        sizes = np.bincount(folds[rows], minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1


@given(runs=draw_runs(), share=st.floats(0.05, 0.9))
def test_held_out_rows_are_the_end_of_each_run(runs, share):
    is_end = find_run_ends(runs, share)
    assert is_end.any()
    for rows in runs:
        assert (np.diff(is_end[rows].astype(int)) >= 0).all()
        assert abs(is_end[rows].sum() - len(rows) * share) <= 1.0
