from __future__ import annotations

import numpy as np
import pytest
from helpers.ranking_cases import rankings
from hypothesis import given
from hypothesis import strategies as st

from symscreen.targets.ranking_ranks import sort_rows_by_content, to_mid_ranks


def _told(groups, ranks, back):
    """Every pair of rows by groups and rankings, in the order found; labels in the order `back`."""
    rows = sort_rows_by_content(groups, ranks)
    return groups[rows].tolist(), np.nan_to_num(ranks[rows][:, back])


def _same_up_to_names(one, other):
    """Whether some renaming of the labels, with or without a reversal, makes two lists of rankings one."""
    columns = [sorted(column.tobytes() for column in own.T) for own in (one, other)]
    shown = (other > 0).sum(axis=1, keepdims=True)
    reverse = np.where(other > 0, shown + 1 - other, 0.0)
    return columns[0] in (columns[1], sorted(column.tobytes() for column in reverse.T))


@pytest.mark.slow
@given(rankings(most_labels=4, most_rows=8), st.data())
def test_names_rows_and_the_sense_of_numbers_decide_nothing(rows, data):
    ranks = to_mid_ranks(rows)
    n, k = ranks.shape
    groups = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    moved, renamed = data.draw(st.permutations(range(n))), data.draw(st.permutations(range(k)))
    sense = data.draw(st.sampled_from([1.0, -1.0]))
    other = to_mid_ranks(sense * ranks[moved][:, renamed])
    first, found = _told(groups, ranks, range(k))
    second, again = _told(groups[moved], other, range(k))
    assert first == second == sorted(first)
    assert _same_up_to_names(found, again)


def test_rows_that_inputs_tell_apart_keep_the_order_of_inputs():
    assert sort_rows_by_content(np.array([2, 0, 1]), np.array([[1.0, 2.0]] * 3)).tolist() == [1, 2, 0]


def test_many_labels_that_are_alike_do_not_take_forever():
    ranks = to_mid_ranks(np.random.default_rng(0).permuted(np.tile(np.arange(12.0), (12, 1)), axis=1))
    latin = to_mid_ranks((np.arange(12)[:, None] + np.arange(12)) % 12)
    for own in (ranks, latin):
        assert sorted(sort_rows_by_content(np.zeros(12, dtype=np.int64), own).tolist()) == list(range(12))
