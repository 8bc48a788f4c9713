from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.screening.residual_rounds import compute_residual


def _left(columns, y):
    design = np.column_stack([np.ones(len(y)), *columns])
    return y - design @ np.linalg.lstsq(design, y)[0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4))
def test_it_is_what_the_best_of_all_models_leaves(seed, q, size):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(q, 15))
    y = rng.normal(size=15)
    residual, members = compute_residual(x, y, size)
    size = min(size, q)
    assert len(members) == len(set(members.tolist())) == size
    best = min(float(np.sum(_left(x[list(some)], y) ** 2)) for some in combinations(range(q), size))
    assert residual @ residual == pytest.approx(best, rel=1e-9)
    assert residual == pytest.approx(_left(x[members], y), abs=1e-10)


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1.0, 1e6, 1e150])
def test_it_is_orthogonal_to_the_model_and_has_no_mean(rng, scale):
    x = rng.normal(size=(8, 60)) * 10.0 ** rng.integers(-3, 4, (8, 1)) + 100.0
    x[5] = x[2] + 1e-7 * x[4]  # a near copy
    y = (3 * x[2] / x[2].std() + x[4] / x[4].std() + rng.normal(size=60)) * scale
    for size in (1, 2, 3, 4):
        residual, members = compute_residual(x, y, size)
        length = np.sqrt(np.sum((residual / scale) ** 2))
        assert abs(residual.sum() / scale) <= 1e-11 * length * np.sqrt(60)
        for column in x[members]:
            centered = column - column.mean()
            assert abs(centered @ (residual / scale)) <= 1e-9 * length * np.sqrt(centered @ centered)


def test_a_larger_model_leaves_less_and_a_smaller_space_gives_a_smaller_model(rng):
    x, y = rng.normal(size=(5, 40)), rng.normal(size=40)
    lengths = [float(np.sum(compute_residual(x, y, size)[0] ** 2)) for size in (1, 2, 3, 4)]
    assert lengths == sorted(lengths, reverse=True)
    assert compute_residual(x[:2], y, 4)[1].tolist() == [0, 1]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_where_a_model_explains_all_nothing_is_left(rng, size):
    x = rng.uniform(1, 2, (6, 50))
    y = 3.0 + x[:size].sum(axis=0)
    assert compute_residual(x, y, size) is None
    assert compute_residual(x, y, size + 1) is None
    assert size == 1 or compute_residual(x, y, size - 1) is not None
    assert compute_residual(x, y + 1e-9 * rng.normal(size=50), size) is not None


def test_threads_do_not_change_it(rng):
    x, y = rng.normal(size=(30, 40)), rng.normal(size=40)
    for size in (1, 2, 3):
        one, two = (compute_residual(x, y, size, jobs) for jobs in (1, 2))
        assert one[0].tobytes() == two[0].tobytes()
        assert one[1].tolist() == two[1].tolist()


def test_copies_do_not_make_a_model_of_two(rng):
    x = rng.normal(size=(1, 30))
    y = x[0] + rng.normal(size=30)
    residual, members = compute_residual(np.concatenate((x, 2 * x, -x)), y, 2)
    assert len(members) == 1
    assert residual == pytest.approx(_left(x, y), abs=1e-12)
