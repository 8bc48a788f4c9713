from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen.screeners.registry import SCREENERS
from symscreen.screening.inference.permuted_rows import permute_rows
from symscreen.statistics.inference.max_t import compute_max_t_p_values
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.workspace import Workspace
from symscreen.targets.registry import TARGET_TYPES

T0 = SCREENERS["t0"]
TYPES = [name for name, target in TARGET_TYPES.items() if not target.combines_outputs]


def make_features(m, n, rng):
    """Draw features, every third one with ties."""
    values = rng.normal(size=(m, n))
    values[::3] = np.round(values[::3])
    return values


@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize("target_type", TYPES)
def test_maxima_are_those_of_features_whose_rows_are_permuted_and_sorted_anew(target_type, sign, rng):
    target = TARGET_TYPES[target_type].build_example(np.sort(rng.normal(size=40)))
    values = make_features(12, target.n, rng)
    permuted = permute_rows(T0, target, 7, seed=3, sign=sign)
    expected = []
    for rows in permuted.rows:
        block = sort_block(np.ascontiguousarray(values[:, rows]))
        expected.append(-T0.loss(T0.statistic(block, target), target, sign).min())
    found = permuted.initial_max
    for start in (0, 5):  # in two blocks
        permuted.update_max(sort_block(values[start : 5 + 7 * (start > 0)]), found, Workspace())
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert permuted.are_possible(found, has_features=True)
    assert not permuted.are_possible(found[1:], has_features=True)
    assert not permuted.are_possible(permuted.initial_max, has_features=True)


def test_groups_keep_together_and_the_first_permutations_do_not_depend_on_their_number(rng):
    target = TARGET_TYPES["classes"].build_example(np.sort(rng.normal(size=24)))
    groups = np.repeat(np.arange(6), 4)
    few, more = (permute_rows(T0, target, b, seed=1, sign="free", groups=groups) for b in (3, 9))
    assert few.rows.tolist() == more.rows[:3].tolist()
    for rows in more.rows:
        assert all(len(set(groups[rows[groups == group]].tolist())) == 1 for group in range(6))


@pytest.mark.slow
@pytest.mark.parametrize("target_type", TYPES)
def test_noise_is_called_better_than_noise_in_five_percent_of_tables(target_type, rng):
    n_tables, n_found = 500, 0
    for table in range(n_tables):
        target = TARGET_TYPES[target_type].build_example(np.sort(rng.normal(size=30)))
        block = sort_block(make_features(15, target.n, rng))
        permuted = permute_rows(T0, target, 19, seed=table, sign="free")
        maxima = permuted.initial_max
        permuted.update_max(block, maxima, Workspace())
        n_found += compute_max_t_p_values(permuted.compute_statistics(block), maxima).min() <= 0.05
    assert abs(n_found / n_tables - 0.05) < 4.0 * np.sqrt(0.05 * 0.95 / n_tables)


TABLE = 60
SMALL = {"layers": "ub", "top": 4, "permutations": 39, "operators": "ablation"}


@pytest.fixture
def inputs(rng):
    return {name: rng.normal(size=TABLE) for name in "abc"}


def list_screens(inputs, rng):
    """List what is screened: a strong signal in the first input, as each type of target."""
    y = inputs["a"] + 0.3 * rng.normal(size=TABLE)
    times = {"time": np.exp(-y), "died": rng.integers(0, 2, TABLE)}
    return {
        "classes": (inputs, np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])], {}),
        "weights": (inputs | {"w": rng.random(TABLE) + 0.1}, y, {"weights": "w"}),
        "survival": (inputs | times, None, {"target": "time", "event": "died"}),
        "xi": (inputs, y, {"screener": "xi"}),
        "pearson": (inputs, y, {"screener": "pearson"}),
    }


@pytest.mark.parametrize("kind", ["classes", "weights", "survival", "xi", "pearson"])
def test_screens_have_p_values_among_all_formulas_whatever_the_jobs(kind, inputs, rng):
    columns, target, options = list_screens(inputs, rng)[kind]
    one, two = (symscreen.screen(columns, target, jobs=jobs, **SMALL, **options) for jobs in (1, 2))
    assert one.table.equals(two.table)
    assert one.table["p_family"].iloc[0] == 1 / 40
    noise = {name: rng.permutation(values) for name, values in columns.items() if name in "abc"}
    assert symscreen.screen(columns | noise, target, **SMALL, **options).table["p_family"].min() > 0.05
