from fractions import Fraction
from itertools import product

import numpy as np
from helpers.statistic_oracles import t0_by_definition
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.statistics.inference.order_uncertainty import (
    compute_t0_bounds,
    find_order_uncertainty,
    find_separated_runs,
)
from symscreen.targets import NumericTarget

small = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.5, np.inf])), min_size=2, max_size=7
)


def by_rows(rows):
    return rows.astype(np.uint64)


@given(small)
def test_runs_are_what_overlapping_intervals_chain_together(pairs):
    values, error = (np.array(own, dtype=float) for own in zip(*pairs, strict=True))
    n, run = len(values), find_separated_runs(values, error)
    meet = np.abs(values[:, None] - values) <= error[:, None] + error
    for _ in range(n):
        meet = meet | (meet.astype(int) @ meet.astype(int) > 0)
    for i, j in product(range(n), repeat=2):
        assert (run[i] == run[j]) == meet[i, j]
        assert run[i] >= run[j] or values[i] < values[j]


@settings(max_examples=60)
@given(small.filter(lambda pairs: len(pairs) <= 5), st.randoms(use_true_random=False))
def test_the_range_of_t0_holds_that_of_every_exact_order(pairs, random):
    values, error = (np.array(own, dtype=float) for own in zip(*pairs, strict=True))
    y = np.sort([float(random.randint(0, 5)) for _ in values])
    if y[0] == y[-1]:
        return
    target = NumericTarget(y)
    uncertainty = find_order_uncertainty(values, error, by_rows, target.tie_groups)
    least, largest = compute_t0_bounds(uncertainty, target)
    for _ in range(10):
        width = np.where(np.isinf(error), 20.0, error)
        exact = values + width * np.array([random.choice([-1.0, -0.4, 0.0, 0.3, 1.0]) for _ in values])
        found = t0_by_definition(exact, y)
        if not uncertainty.is_uncertain.any():
            assert found == t0_by_definition(values, y)
        slack = Fraction(1, 10**12)
        assert Fraction(least) - slack <= found <= Fraction(largest) + slack


def test_ties_are_safe_where_they_tie_in_fact_and_as_computed():
    values = np.array([1.0, 1.0, 1.0 + 1e-15, 4.0, 4.0])
    error = np.full(5, 1e-15)
    tied = find_order_uncertainty(values, error, lambda rows: (rows >= 3).astype(np.uint64), None)
    assert tied.is_uncertain.tolist() == [True, True, True, False, False]
    assert tied.is_tied.all()
    split = find_order_uncertainty(values, error, by_rows, None)
    assert split.is_uncertain.all()
    assert not split.is_tied.any()


def test_known_ties_leave_t0_no_range():
    values, y = np.array([1.0, 1.0 + 1e-15, 2.0, 3.0]), np.array([1.0, 2.0, 5.0, 7.0])
    uncertainty = find_order_uncertainty(
        values, np.full(4, 1e-15), np.zeros_like, NumericTarget(y).tie_groups
    )
    least, largest = compute_t0_bounds(uncertainty, NumericTarget(y))
    assert least == largest
    assert abs(least - t0_by_definition([1, 1, 2, 3], y)) <= 1e-15


def test_a_row_between_rows_that_tie_exactly_ties_with_them():
    values = np.array([1.0, 1.0 + 1e-15, 2.0, 3.0, 3.0 + 1e-15])  # by its error, only row 2 stands alone
    uncertainty = find_order_uncertainty(values, np.full(5, 1e-15), lambda rows: np.full(len(rows), 7), None)
    assert uncertainty.run.tolist() == [0] * 5
    assert uncertainty.is_uncertain.all()
    assert uncertainty.is_tied.all()


def test_rows_of_one_response_may_stand_in_any_order():
    values, error = np.array([1.0, 1.0, 2.0, 2.0]), np.full(4, 0.1)
    uncertainty = find_order_uncertainty(values, error, by_rows, np.array([0, 0, 1, 2]))
    assert uncertainty.is_uncertain.tolist() == [False, False, True, True]


def test_exact_values_are_never_in_doubt():
    values = np.array([1.0, 1.0, 1.0 + 2**-52, -0.0, 0.0])
    assert not find_order_uncertainty(values, np.zeros(5), by_rows, None).is_uncertain.any()
