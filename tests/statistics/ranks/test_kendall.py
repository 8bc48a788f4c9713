from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from symscreen.statistics.ranks.correlations import compute_kendall
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget

columns = st.integers(2, 15).flatmap(
    lambda n: st.tuples(
        *(
            st.lists(elements, min_size=n, max_size=n).filter(lambda v: len(set(v)) > 1)
            for elements in (st.integers(0, 5) | st.floats(-9, 9), st.integers(0, 5) | st.floats(-9, 9))
        )
    )
)


@given(columns)
def test_equals_scipy_with_ties_of_every_kind(pair):
    theta, y = map(np.array, pair)
    rows = np.argsort(y, kind="stable")
    block = np.stack([theta, -theta])[:, rows].astype(float)
    up, down = compute_kendall(sort_block(block), NumericTarget(y[rows].astype(float)))
    assert abs(up - kendalltau(theta, y).statistic) < 1e-10
    assert down == -up
