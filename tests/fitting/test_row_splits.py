from __future__ import annotations

import numpy as np
import pytest

from symscreen.fitting.fit import prepare_fit
from symscreen.fitting.row_splits import choose_folds, choose_held_out_rows

RNG = np.random.default_rng(0)
TABLE = {
    "t": np.concatenate((np.arange(20.0), np.arange(10.0)))[::-1],
    "run": [1] * 10 + [0] * 20,
    "x": RNG.normal(size=30),
    "y": RNG.normal(size=30),
}


@pytest.mark.parametrize("trajectory", [None, "run"])
def test_a_split_holds_out_the_end_of_each_run(trajectory):
    table = TABLE if trajectory else {**TABLE, "t": np.arange(30.0)[::-1]}
    options = {"time": "t", "trajectory": trajectory, "split": 0.3, "with_operators": "lag1", "jobs": 1}
    task = prepare_fit(table, None, {"target": "y", **options})
    rows = task.dataset.source_rows[choose_held_out_rows(task)]
    held_out = {(run, t) for run, t in zip(np.array(table["run"])[rows], table["t"][rows], strict=True)}
    if trajectory is None:
        assert sorted(t for _, t in held_out) == [*np.arange(21.0, 30.0)]
    else:
        assert held_out == {(0, t) for t in np.arange(14.0, 20.0)} | {(1, t) for t in np.arange(7.0, 10.0)}


def test_folds_are_stretches_of_time_where_rows_have_an_order():
    task = prepare_fit(TABLE, None, {"target": "y", "time": "t", "trajectory": "run", "jobs": 1})
    folds = choose_folds(task, 5)
    order = np.lexsort(
        (TABLE["t"][task.dataset.source_rows], np.array(TABLE["run"])[task.dataset.source_rows])
    )
    assert folds[order].tolist() == [*np.repeat(np.arange(5), 4), *np.repeat(np.arange(5), 2)]
    unordered = prepare_fit({name: TABLE[name] for name in "xy"}, None, {"target": "y", "jobs": 1})
    assert sorted(choose_folds(unordered, 5)[:5]) == [0, 1, 2, 3, 4]
