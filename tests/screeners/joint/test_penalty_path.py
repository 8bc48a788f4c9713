from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from symscreen.screeners.joint.penalty_path import (
    compute_path_direction,
    compute_path_loss,
    find_entry_lambdas,
    find_min_error_step,
    find_one_se_step,
)


@st.composite
def paths(draw):
    """Draw coefficients of some λ and features, many of them zero."""
    s, q = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    number = st.one_of(st.just(0.0), st.integers(-3, 3).map(float))
    row = st.lists(number, min_size=q, max_size=q)
    return np.array(draw(st.lists(row, min_size=s, max_size=s)))


@given(paths(), st.data())
def test_the_verdict_of_a_path_read_off_feature_by_feature(coefficients, data):
    s, q = coefficients.shape
    lambdas = 2.0 ** -np.arange(s)
    step = data.draw(st.integers(0, s - 1))
    entry = find_entry_lambdas(coefficients, lambdas)
    loss = compute_path_loss(coefficients[step], entry, lambdas)
    direction = compute_path_direction(coefficients, step)
    for j in range(q):
        track = coefficients[:, j].tolist()
        first = next((k for k, b in enumerate(track) if b), None)
        if first is None:
            assert np.isnan(entry[j])
            assert (loss[j], direction[j]) == (2.0, 0)
            continue
        assert entry[j] == lambdas[first]
        if track[step]:
            assert loss[j] == 1 - round(abs(track[step]) / abs(coefficients[step]).max(), 6)
            assert direction[j] == np.sign(track[step])
        else:
            assert loss[j] == 1 + first / s
            assert direction[j] == np.sign(track[first])


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=8))
def test_what_is_selected_stands_before_what_is_not_however_small(coefficients):
    coefficient = np.array(coefficients)
    loss = compute_path_loss(coefficient, np.full(coefficient.size, 1.0), np.array([1.0]))
    assert ((loss >= 0) & (loss < 1)).tolist() == (coefficient != 0).tolist()
    assert np.isfinite(loss).all()


def test_the_last_bits_of_a_coefficient_do_not_order_features():
    entry, lambdas = np.ones(3), np.array([1.0])
    loss = compute_path_loss(np.array([0.3, 0.1 + 0.2, 1.0]), entry, lambdas)
    assert loss[0] == loss[1] == 0.7


def test_equal_errors_choose_the_largest_lambda():
    assert find_min_error_step(np.array([4.0, 2.0, 1.0 + 1e-12, 1.0, 1.0])) == 2
    assert find_min_error_step(np.array([4.0, 2.0, 1.0 + 1e-6, 1.0, 3.0])) == 3
    # noise-free: what is left is rounding, and its least value means nothing
    assert find_min_error_step(np.array([4.0, 1e-3, 1e-20, 1e-22, 1e-21])) == 2


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=12), st.data())
def test_the_one_error_rule_takes_the_largest_lambda_in_reach(errors, data):
    error = np.array(errors)
    standard = np.array([data.draw(st.floats(0, 1e9)) for _ in errors])
    best, one = find_min_error_step(error), find_one_se_step(error, standard)
    assert one <= best
    assert one == best or error[one] <= error[best] + standard[best]
    assert (error[:one] > error[best] + standard[best]).all()


def test_an_error_at_the_tolerance_of_the_smallest_is_as_small():
    smallest, first = 1.0, 3.0
    at_tolerance = smallest * (1.0 + 1e-9) + 1e-16 * first
    beyond = np.nextafter(at_tolerance, 2.0)
    assert find_min_error_step(np.array([first, at_tolerance, smallest, 2.0])) == 1
    assert find_min_error_step(np.array([first, beyond, smallest, 2.0])) == 2
