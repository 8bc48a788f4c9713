from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from symscreen.errors import DataError
from symscreen.targets import NumericTarget

columns = st.lists(st.integers(-3, 3) | st.floats(-1e9, 1e9), min_size=2, max_size=30).filter(
    lambda v: len(set(v)) > 1
)


@given(columns)
def test_what_rank_statistics_need(values):
    y = np.sort(np.array(values, dtype=float))
    response = NumericTarget(y)
    assert np.array_equal(response.doubled_ranks, 2 * rankdata(y))
    assert np.array_equal(response.counts_at_most, [(y <= v).sum() for v in y])
    assert np.array_equal(response.counts_at_least, [(y >= v).sum() for v in y])
    assert response.is_untied == (len(set(y.tolist())) == len(y))
    assert np.array_equal(response.tie_group_sizes[response.tie_groups], [(y == v).sum() for v in y])
    centered, exponent = response.centered_values
    assert np.allclose(
        np.ldexp(np.diff(centered), exponent), np.diff(np.unique(y)), rtol=1e-9, atol=1e-15 * np.abs(y).max()
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([2.0, 1.0], "not in ascending order"),
        ([1.0, 1.0], r"constant \(1 in all 2 rows\).*target="),
        ([1.0, np.nan], "NaN or infinity"),
        ([-1e308, 1.0, 1e308], r"reaches 1e\+308: differences would overflow; scale it down"),
        ([1.0], "at least 2 rows"),
        ([[1.0, 2.0]], "at least 2 rows"),
    ],
)
def test_a_response_that_cannot_be_ranked_is_refused(values, message):
    with pytest.raises(DataError, match=message):
        NumericTarget(np.array(values), "y")
