from __future__ import annotations

import numpy as np
import pytest
from helpers.tree_cases import columns, loss, partitions
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.trees import compute_swap_gains


def _reversed(y, first):
    return any(y[a] > y[b] for a in first for b in set(range(len(y))) - first)


@pytest.mark.slow
@given(columns(most=6))
def test_every_gain_is_the_difference_of_two_losses(y):
    n = len(y)
    for size in range(1, n):
        for first in partitions(n, size):
            second = set(range(n)) - first
            expected = [
                [loss(y, first) - loss(y, (first - {a}) | {b}) for b in sorted(second)] for a in sorted(first)
            ]
            np.testing.assert_allclose(compute_swap_gains(y, sorted(first)), expected, atol=1e-9)


@given(columns(least=5, unique=True), st.data())
def test_the_larger_reversed_pair_gains_more(y, data):
    # Lemma 15: P1 contains the smallest rows except γ, which is below its two largest rows α and β
    y = np.sort(y)
    size = data.draw(st.integers(2, len(y) - 2))
    first = [*range(size - 2), size - 1, size]
    beta, alpha = compute_swap_gains(y, first)[-2:, 0]
    assert alpha > beta > 0
    # the proof claims that no pair is reversed after either exchange
    assert not _reversed(y, {*range(size)})
    assert _reversed(y, {*range(size - 1), size})


@given(columns(least=3, unique=True), st.data())
def test_any_reversed_pair_gains_and_the_larger_one_more(y, data):
    first = data.draw(st.sets(st.integers(0, len(y) - 1), min_size=1, max_size=len(y) - 1))
    inside = np.isin(np.arange(len(y)), list(first))
    if y[inside].mean() < y[~inside].mean():
        gains = compute_swap_gains(y, sorted(first))
        d = y[inside][:, None] - y[~inside][None, :]
        reversed_ = d > 0
        assert (gains[reversed_] > 0).all()
        order = np.argsort(d[reversed_], kind="stable")
        assert (np.diff(gains[reversed_][order]) >= -1e-9).all()


def test_the_lemma_needs_its_sizes():
    # n = 3, one row in P2: there are reversed pairs, but no exchange reduces the loss
    y = [0.0, 9.0, 10.0]
    assert (compute_swap_gains(y, [1, 2]) < 0).all()


@pytest.mark.parametrize("first", [[], [0, 1, 2]])
def test_an_empty_part_has_nothing_to_exchange(first):
    with pytest.raises(OptionError, match="nothing to exchange"):
        compute_swap_gains([1.0, 2.0, 3.0], first)
