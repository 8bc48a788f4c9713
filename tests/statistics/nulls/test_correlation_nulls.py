from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, rankdata

from symscreen.screeners.registry import SCREENERS
from symscreen.statistics.nulls.correlation_nulls import SpearmanNull, build_kendall_null
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


@pytest.mark.parametrize(("n", "is_exact"), [(60, True), (61, False)])
def test_kendalls_p_values_are_exact_up_to_60_rows(n, is_exact, rng):
    y = np.arange(float(n))
    x = y + 20.0 * rng.normal(size=n)
    target, ordered = NumericTarget(y), sort_block(x[None])
    found = build_kendall_null(target, 0)(ordered, SCREENERS["kendall"].statistic(ordered, target), "free")[0]
    exact, asymptotic = (kendalltau(x, y, method=method).pvalue for method in ("exact", "asymptotic"))
    assert found == pytest.approx(exact if is_exact else asymptotic, rel=1e-6)
    assert exact != pytest.approx(asymptotic, rel=1e-3)


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
