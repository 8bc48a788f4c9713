from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from symscreen.statistics.inference.step_down import adjust_holm


def _close(p_values):
    """Adjust by the closed test: the largest Bonferroni p-value of all subsets that contain a hypothesis."""
    k = len(p_values)
    subsets = [subset for size in range(1, k + 1) for subset in combinations(range(k), size)]
    return [
        max(min(1.0, len(subset) * min(p_values[list(subset)])) for subset in subsets if place in subset)
        for place in range(k)
    ]


@pytest.mark.parametrize("k", [1, 2, 5])
def test_holms_method_is_the_closed_test_of_bonferroni(k, rng):
    for _ in range(20):
        p_values = rng.uniform(size=k) ** 3
        assert adjust_holm(p_values) == pytest.approx(_close(p_values))


def test_no_p_values_give_none():
    assert len(adjust_holm(np.zeros(0))) == 0
