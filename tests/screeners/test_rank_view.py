from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import rankdata

from symscreen.screeners.base import transform_to_ranks

blocks = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=9),
    elements=st.integers(-5, 5).map(float),
)


@given(blocks)
def test_it_is_the_mid_ranks_or_the_mirrored_ones_whose_first_row_off_the_middle_lies_below(values):
    n = values.shape[1]
    shown = transform_to_ranks(values)
    assert shown.shape == (n, len(values))
    assert shown.flags.c_contiguous
    for column, ranks in zip(shown.T, rankdata(values, axis=1), strict=True):
        assert column.tolist() in (ranks.tolist(), (n + 1 - ranks).tolist())
        away = column[column != (n + 1) / 2]
        assert not len(away) or away[0] < (n + 1) / 2


@given(blocks)
def test_members_of_a_rank_class_are_one_and_the_same(values):
    shown = transform_to_ranks(values)
    assert np.array_equal(transform_to_ranks(np.exp(values)), shown)
    assert np.array_equal(transform_to_ranks(-(values**3) + 7.0), shown)
