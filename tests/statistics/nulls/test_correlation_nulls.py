from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr

from symscreen.screeners.registry import SCREENERS
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget


@pytest.mark.parametrize(("name", "theirs"), [("kendall", kendalltau), ("pearson", pearsonr)])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [12, 80])
def test_equals_scipy(name, theirs, ties, n, rng):
    y = np.sort(rng.integers(0, 5, n).astype(float) if ties else rng.normal(size=n))
    x = np.round(y + rng.normal(size=n)) if ties else y + rng.normal(size=n)
    target, ordered = NumericTarget(y), sort_block(x[None])
    statistic = SCREENERS[name].statistic(ordered, target)
    null = SCREENERS[name].null_distribution(target, 0)
    assert null(ordered, statistic, "free")[0] == pytest.approx(theirs(x, y).pvalue, rel=1e-6)
    if name == "pearson":
        assert null(ordered, statistic, "positive")[0] == pytest.approx(
            pearsonr(x, y, alternative="greater").pvalue, rel=1e-6
        )
