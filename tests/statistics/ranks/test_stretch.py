from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from symscreen.statistics.ranks._kernels import write_signed_log_keys

finite = st.floats(allow_nan=False, allow_infinity=False)
crowded = st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), -1.0, 5e-324, -5e-324, 1e-300, 1e300])
blocks = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=50), elements=finite | crowded
)


def _stretched(values, features):
    out = np.empty((len(features), values.shape[1]))
    write_signed_log_keys(values.view(np.int64), np.array(features), out)
    return out


@given(blocks)
def test_no_number_falls_where_a_value_rises(values):
    features = list(range(len(values)))[::-1]
    for z, u in zip(values[features], _stretched(values, features), strict=True):
        assert np.isfinite(u).all()
        assert (np.diff(u[np.argsort(z, kind="stable")]) >= 0).all()
        assert len(set(u[z == 0].tolist())) <= 1


def test_logarithms_spread(rng):
    logarithms = rng.uniform(-50, 50, (1, 500))
    u = _stretched(np.exp(logarithms) * rng.choice([-1.0, 1.0], (1, 500)), [0])
    assert np.corrcoef(np.abs(u[0]), logarithms[0])[0, 1] > 0.999
    # what lies between the two signs takes little of the range
    assert np.abs(u).min() < 0.1 * np.abs(u).max()


def test_magnitudes_below_a_256th_of_the_smallest_of_the_sample_share_one_key():
    values = np.full((1, 64), 1.5)
    values[0, 1] = 1.0  # of 64 rows, every second one is in the sample
    values[0, 0:10:2] = [2.0**-7, 2.0**-7.5, 2.0**-8, 2.0**-8.5, 2.0**-20]
    out = np.empty((1, 64))
    write_signed_log_keys(values.view(np.int64), np.array([0]), out)
    above, middle, *floor = out[0, 0:10:2]
    assert above > middle > floor[0]
    assert len(set(floor)) == 1
