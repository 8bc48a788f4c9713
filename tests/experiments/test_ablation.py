from __future__ import annotations

import numpy as np
import pytest

from symscreen import datasets
from symscreen.evaluation import aip, average_precision, select_top_features
from symscreen.experiments.additive_model import NOISE_VARIANCES, screen_additive_model

# mean average precision over 50 tables, computed independently of this project
KNOWN = {"bu": (0.914, 0.913, 0.911), "ub": (0.894, 0.894, 0.893)}


@pytest.mark.slow
@pytest.mark.parametrize("order", KNOWN)
def test_t0_at_the_papers_size(order):
    for variance, known in zip(NOISE_VARIANCES, KNOWN[order], strict=True):
        found, chosen = [], []
        for seed in range(10):
            data = datasets.make_additive(n=100, noise_variance=variance, seed=seed)
            each = screen_additive_model(order, data, ("t0",), seed=seed, jobs=1)
            assert each.correct.sum() == {24: 12, 42: 20}[each.correct.size]
            found.append(average_precision(each.losses["t0"], each.correct))
            chosen.append(aip(select_top_features(each.losses["t0"]), each.correct))
        assert abs(np.mean(found) - known) <= 0.015
        assert np.mean(chosen) >= 0.99
