from __future__ import annotations

import numpy as np
import pytest

from symscreen.linear_models.stepwise_selection import (
    compute_span_tolerance,
    eliminate_backward,
    find_spanned_features,
    fit_nested_models,
    select_forward_by_projection,
    select_independent,
)

TINY = 1e-24


def _standard(values):
    centered = values - values.mean(axis=-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True))


def _exact(q):
    return np.full(q, 1e-7)


def _rss(x, y, model):
    model = list(model)
    if not model:
        return float(y @ y) / y.size
    rest = y - x[model].T @ np.linalg.lstsq(x[model].T, y, rcond=None)[0]
    return float(rest @ rest) / y.size


def _forward(x, y, most):
    order = []
    while len(order) < most:
        others = [j for j in range(len(x)) if j not in order]
        order.append(min(others, key=lambda j: _rss(x, y, [*order, j])))
    return order


def _backward(x, y):
    model, removed = list(range(len(x))), []
    while model:
        worst = min(model, key=lambda j: _rss(x, y, [i for i in model if i != j]))
        model.remove(worst)
        removed.append(worst)
    return removed[::-1]


def _correlated(rng, q, n, mix=1.0):
    x = _standard(rng.normal(size=(q, n)) + mix * rng.normal(size=(1, n)))
    return x, _standard(rng.normal(size=min(4, q)) @ x[: min(4, q)] + 0.5 * rng.normal(size=n))


@pytest.mark.slow
@pytest.mark.parametrize(("q", "n"), [(1, 5), (7, 12), (12, 60), (40, 20)])
def test_forward_is_greedy_least_squares(q, n, rng):
    for mix in (0.0, 1.0, 10.0):
        x, y = _correlated(rng, q, n, mix)
        most = min(q, n // 2)
        assert select_forward_by_projection(x, y, most, _exact(q), TINY).tolist() == _forward(x, y, most)


@pytest.mark.parametrize(("q", "n"), [(1, 5), (7, 12), (12, 60), (25, 30)])
def test_backward_is_greedy_least_squares(q, n, rng):
    for mix in (0.0, 1.0, 10.0):
        x, y = _correlated(rng, q, n, mix)
        assert eliminate_backward(x, y, TINY).tolist() == _backward(x, y)


def test_both_stay_sound_where_features_are_nearly_dependent(rng):
    u = rng.uniform(0, 1, 80)
    x = _standard(np.stack([u**power for power in range(1, 10)]))
    assert np.linalg.cond(x) > 1e6
    y = _standard(np.sin(9 * u) + 0.1 * rng.normal(size=80))
    assert select_forward_by_projection(x, y, 9, _exact(9), TINY).tolist() == _forward(x, y, 9)
    assert eliminate_backward(x, y, TINY).tolist() == _backward(x, y)


def test_forward_takes_nothing_from_the_span_of_what_it_took(rng):
    base = rng.normal(size=(4, 50))
    sums = [base[0] + base[1], base[1] - 3 * base[2], base.sum(axis=0), -2 * base[3], base[0].copy()]
    x = _standard(np.concatenate([sums, base]))
    y = _standard(rng.normal(size=50))
    order = select_forward_by_projection(x, y, 9, _exact(9), TINY)
    assert order.size == 4
    assert np.linalg.matrix_rank(x[order], tol=1e-6) == 4
    assert find_spanned_features(x, order, _exact(9)).tolist() == sorted(set(range(9)) - set(order.tolist()))


def test_of_equals_the_first_enters_and_the_last_leaves(rng):
    base = _standard(rng.normal(size=(3, 40)))
    y = _standard(base[1] - base[2] + 0.1 * rng.normal(size=40))
    copies = np.concatenate([base, -base, base])
    assert set(select_forward_by_projection(copies, y, 9, _exact(9), TINY).tolist()) == {0, 1, 2}
    # y is the sum of four orthogonal features, all worth the same
    signs = np.array([[1, 1, 1, 1, -1, -1, -1, -1], [1, 1, -1, -1] * 2, [1, -1] * 4, [1, -1, -1, 1] * 2])
    equal = _standard(signs.sum(axis=0).astype(float))
    assert select_forward_by_projection(signs, equal, 4, _exact(4), TINY).tolist() == [0, 1, 2, 3]
    assert eliminate_backward(signs, equal, TINY).tolist() == [0, 1, 2, 3]


def test_forward_stops_when_nothing_is_left_to_explain(rng):
    x = _standard(rng.normal(size=(30, 100)))
    y = _standard(x[3] - 2 * x[17])
    assert select_forward_by_projection(x, y, 20, _exact(30), TINY).tolist() == [17, 3]


def test_constant_features_never_enter(rng):
    x = _standard(rng.normal(size=(3, 20)))
    x[1] = 0.0
    y = _standard(rng.normal(size=20))
    assert set(select_forward_by_projection(x, y, 3, _exact(3), TINY).tolist()) == {0, 2}
    assert select_independent(x, np.arange(3), _exact(3)).tolist() == [0, 2]


def test_independent_features_are_those_that_come_first_in_the_sequence(rng):
    base = rng.normal(size=(3, 30))
    x = _standard(np.concatenate([base, [base[0] + base[1], base[1] + base[2]]]))
    assert select_independent(x, np.arange(5), _exact(5)).tolist() == [0, 1, 2]
    assert select_independent(x, np.array([4, 3, 2, 1, 0]), _exact(5)).tolist() == [2, 3, 4]
    assert select_independent(x, np.array([0, 1, 3, 4, 2]), _exact(5)).tolist() == [0, 1, 4]


def test_no_more_are_independent_than_rows_allow(rng):
    x = _standard(rng.normal(size=(20, 6)))
    assert select_independent(x, np.arange(20), _exact(20)).tolist() == [0, 1, 2, 3, 4]


def test_nested_fits_equal_least_squares(rng):
    x, y = _correlated(rng, 9, 40, mix=3.0)
    order = np.array([4, 0, 8, 1])
    fits = fit_nested_models(x, y, order)
    for size in range(5):
        model = order[:size]
        assert fits.rss[size] == pytest.approx(_rss(x, y, model), rel=1e-11)
        expected = np.linalg.lstsq(x[model].T, y, rcond=None)[0]
        assert fits.coefficients[size, :size] == pytest.approx(expected, rel=1e-10)
        assert not fits.coefficients[size, size:].any()


def test_an_exact_fit_is_seen_as_exact(rng):
    x = _standard(rng.normal(size=(5, 50)))
    y = _standard(1e-9 * x[0] + x[1] + 1e3 * x[2])
    assert fit_nested_models(x, y, np.array([2, 1, 0])).rss[-1] < TINY
    assert fit_nested_models(x, y, np.array([2, 1])).rss[-1] > 1e-25


def test_the_span_widens_with_the_rounding_of_an_offset(rng):
    u, v = rng.normal(size=(2, 60))
    raw = np.stack([u + 1e10, v, u + v + 1e10])
    centers, scales = raw.mean(axis=1), raw.std(axis=1)
    tolerance = compute_span_tolerance(centers, scales)
    x = _standard(raw)
    y = _standard(u + 0.1 * rng.normal(size=60))
    assert (tolerance[[0, 2]] > 1e-6).all()
    assert tolerance[1] == 1e-7
    # the third feature is in the span of the first two, up to the rounding error of the offset
    assert select_forward_by_projection(x, y, 3, tolerance, TINY).size == 2
    for first in range(3):
        sequence = np.roll(np.arange(3), first)
        assert select_independent(x, sequence, tolerance).size == 2
