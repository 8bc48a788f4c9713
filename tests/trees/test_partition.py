from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from helpers.tree_cases import columns, loss, partitions
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import DataError, OptionError
from symscreen.trees import compute_partition_loss, find_local_minima, find_oracle_partition

# Figure 2 of the paper: rows (a) and (b) of Example 3
FIGURE_2A = [5.0, 2.1, 1.0, 2.0, 4.0]
FIGURE_2B = [5.0, 3.9, 1.0, 2.0, 4.0]


@given(columns(), st.randoms(use_true_random=False))
def test_the_loss_is_the_definition(y, random):
    rows = random.sample(range(len(y)), random.randint(0, len(y)))
    assert compute_partition_loss(y, rows) == pytest.approx(loss(y, set(rows)), abs=1e-9)


@given(columns())
def test_no_partition_of_a_size_beats_the_oracle(y):
    # Lemma 1 for all subsets, including size 1 and n ≤ 4, which its conditions exclude
    for size in range(1, len(y)):
        best = min(loss(y, rows) for rows in partitions(len(y), size))
        found = find_oracle_partition(y, size)
        assert size in found.sizes
        assert found.loss == pytest.approx(best, abs=1e-9)
        assert loss(y, set(found.low)) == pytest.approx(best, abs=1e-9)


@given(columns())
def test_no_partition_beats_the_oracle_of_all_sizes(y):
    # Remark 3, eq. (11)
    n = len(y)
    best = min(loss(y, rows) for size in range(1, n) for rows in partitions(n, size))
    found = find_oracle_partition(y)
    assert found.loss == pytest.approx(best, abs=1e-9)
    assert found.loss == pytest.approx(min(find_oracle_partition(y, i).loss for i in range(1, n)), abs=1e-9)


@given(columns(unique=True))
def test_only_the_two_of_lemma_1_minimise(y):
    for size in range(1, len(y)):
        smallest, largest = find_local_minima(y, size)
        losses = {frozenset(rows): loss(y, rows) for rows in partitions(len(y), size)}
        best = {rows for rows, found in losses.items() if found <= min(losses.values()) + 1e-9}
        assert best <= {frozenset(smallest.low.tolist()), frozenset(largest.high.tolist())}


@given(columns(least=3, most=8, unique=True))
def test_they_are_the_local_minima_among_neighbours_in_the_order(y):
    n = len(y)
    order = np.argsort(y).tolist()
    for size in range(1, n):
        found = set()
        for rows in partitions(n, size):
            exchanges = [rows ^ {a, b} for a, b in pairwise(order) if (a in rows) != (b in rows)]
            if all(loss(y, exchanged) > loss(y, rows) - 1e-9 for exchanged in exchanges):
                found.add(frozenset(rows))
        smallest, largest = find_local_minima(y, size)
        assert found == {frozenset(smallest.low.tolist()), frozenset(largest.high.tolist())}


def test_one_of_the_two_is_only_local_and_an_exchange_can_leave_it():
    y = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    smallest, largest = find_local_minima(y, 2)
    assert largest.loss < smallest.loss
    assert smallest.low.tolist() == [0, 1]
    # exchange of rows 1 and 4, which are not neighbours in the order
    assert compute_partition_loss(y, [0, 4]) < smallest.loss
    assert compute_partition_loss(y, [0, 2]) > smallest.loss


@pytest.mark.parametrize(
    ("y", "sizes", "high"), [(FIGURE_2A, (3, 2), {0, 4}), (FIGURE_2B, (2, 3), {0, 1, 4})]
)
def test_the_examples_of_the_paper(y, sizes, high):
    found = find_oracle_partition(y)
    assert found.sizes == sizes
    assert set(found.high) == high
    assert find_oracle_partition(y, 2).sizes == sizes  # Example 2, at fixed sizes


def test_the_differences_of_example_2(rng):
    y = np.sort(rng.normal(size=5))
    first = ((y[1] - y[2]) * (y[0] - y[2] + y[0] - y[1])) / 2
    second = (y[1] - y[2]) * (y[1] + y[2] - y[3] - y[4]) * 2 / 3
    assert first > 0
    assert second > 0
    assert compute_partition_loss(y, [0, 2]) - compute_partition_loss(y, [0, 1]) == pytest.approx(
        first + second
    )


def test_rows_come_back_by_response():
    found = find_oracle_partition([3.0, 1.0, 9.0, 2.0, 8.0])
    assert found.low.tolist() == [1, 3, 0]
    assert found.high.tolist() == [4, 2]
    assert found.means == (2.0, 8.5)


def test_equal_losses_give_the_smallest():
    y = [-2.0, -1.0, 1.0, 2.0, 0.0]  # symmetric: P* and P** of size 2 have the same loss
    smallest, largest = find_local_minima(y, 2)
    assert smallest.loss == pytest.approx(largest.loss)
    assert find_oracle_partition(y, 2).sizes == (2, 3)
    assert find_oracle_partition(y).sizes == (2, 3)


@pytest.mark.parametrize("size", [0, 5, -1, 1.5])
def test_a_size_out_of_range_is_refused(size):
    with pytest.raises(OptionError, match="from 1 to 4"):
        find_oracle_partition(FIGURE_2A, size)


@pytest.mark.parametrize("rows", [[0, 0], [5], [-1], [0.5], [[0]], [True, False]])
def test_invalid_rows_are_rejected(rows):
    with pytest.raises(OptionError):
        compute_partition_loss(FIGURE_2A, rows)


def test_one_row_cannot_be_parted():
    with pytest.raises(DataError, match="at least 2"):
        find_oracle_partition([1.0])


@pytest.mark.parametrize("size", ["a", True, 1.0, None, float("nan")])
def test_the_size_must_be_an_integer(size):
    with pytest.raises(OptionError, match="give an integer from 1 to 3"):
        find_local_minima([1.0, 2.0, 3.0, 4.0], size)
