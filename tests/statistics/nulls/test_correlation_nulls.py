from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata

from symscreen.screeners.registry import SCREENERS
from symscreen.statistics.nulls.correlation_nulls import SpearmanNull
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [12, 80])
def test_pearsons_p_values_are_those_of_scipy(ties, n, rng):
    y = np.sort(rng.integers(0, 5, n).astype(float) if ties else rng.normal(size=n))
    x = np.round(y + rng.normal(size=n)) if ties else y + rng.normal(size=n)
    target, ordered = NumericTarget(y), sort_block(x[None])
    statistic = SCREENERS["pearson"].statistic(ordered, target)
    null = SCREENERS["pearson"].null_distribution(target, 0)
    for sign, alternative in (("free", "two-sided"), ("positive", "greater")):
        expected = pearsonr(x, y, alternative=alternative).pvalue
        assert null(ordered, statistic, sign)[0] == pytest.approx(expected, rel=1e-6)


def test_spearmans_statistic_of_tied_features_has_the_unit_of_untied_ranks(rng):
    class Recorder:
        def compute_p_values(self, ordered, z, sign):
            self.ordered, self.z, self.sign = ordered, z, sign

    n = 21
    y = np.arange(float(n))
    x = np.array([rng.permutation(n), rng.integers(0, 4, n), rng.integers(0, 2, n)], dtype=float)
    ordered, recorder = sort_block(x), Recorder()
    SpearmanNull(recorder)(ordered, SCREENERS["spearman"].statistic(ordered, NumericTarget(y)), "free")
    ranks, unit = rankdata(x, axis=1) - (n + 1) / 2, np.arange(n) - (n - 1) / 2
    expected = ranks @ unit / (unit @ unit) * np.sqrt(n - 1)
    np.testing.assert_allclose(recorder.z, expected, rtol=1e-12)
    assert recorder.ordered.tied.tolist() == [False, True, True]
