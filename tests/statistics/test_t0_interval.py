from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.response import Response
from symscreen.statistics.order import order_features
from symscreen.statistics.t0 import gini_mean_difference, t0_of
from symscreen.statistics.t0_interval import t0_interval


def t0(theta, y):
    return float(t0_of(order_features(theta[None]), Response(y))[0])


@pytest.mark.parametrize("ties", [False, True])
def test_the_error_is_that_of_leaving_out_each_row(ties, rng):
    y = np.sort(rng.lognormal(size=25) if not ties else rng.integers(0, 6, 25).astype(float))
    theta = y + rng.normal(size=25)
    theta = np.round(theta) if ties else theta
    without = np.array([t0(np.delete(theta, i), np.delete(y, i)) for i in range(25)])
    error = np.sqrt(24 / 25 * ((without - without.mean()) ** 2).sum())
    found = t0_interval(theta[None], Response(y))
    assert found.error[0] == pytest.approx(error, rel=1e-9)
    assert found.low[0] < t0(theta, y) < found.high[0]
    assert found.gamma[0] == pytest.approx(1.0 - t0(theta, y) / gini_mean_difference(Response(y)))


def test_covers_about_as_often_as_it_says(rng):
    held = 0
    for _ in range(300):
        x = rng.normal(size=100)
        y = x + rng.normal(size=100)
        order = np.argsort(y)
        found = t0_interval(x[order][None], Response(y[order]))
        held += (
            found.gamma_low[0] <= np.sqrt(0.5) <= found.gamma_high[0]
        )  # Γ of a normal pair is its correlation
    assert 0.90 <= held / 300 <= 0.985


def test_features_that_agree_or_disagree_everywhere_have_the_end_itself():
    y = Response(np.arange(10.0))
    found = t0_interval(np.array([y.values, -y.values]), y)
    delta = gini_mean_difference(y)
    assert found.low == pytest.approx([0.0, 2 * delta])
    assert found.high == pytest.approx([0.0, 2 * delta])
    assert found.gamma_low.tolist() == [1.0, -1.0]


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95.0])
def test_a_level_that_is_no_share_is_refused(level):
    with pytest.raises(OptionError, match="between 0 and 1"):
        t0_interval(np.ones((1, 5)), Response(np.arange(5.0)), level)


def test_three_rows_are_too_few():
    with pytest.raises(OptionError, match="at least 4 rows"):
        t0_interval(np.ones((1, 3)), Response(np.arange(3.0)))
