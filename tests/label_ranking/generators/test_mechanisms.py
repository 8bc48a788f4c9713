from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.label_ranking.generators import make_bucket_mechanism, make_survivor_mechanism, rank_by_score

ROWS = 6000


@pytest.fixture
def y(rng):
    return rng.random((ROWS, 4))


@pytest.fixture
def x(rng):
    return rng.integers(2, size=(ROWS, 1)).astype(float)


def test_survivors_keep_their_order_and_lose_their_places(x, y, rng):
    shown = make_survivor_mechanism(0.6)(x, y, rng)
    for seen, scores in zip(shown[:300], y[:300], strict=True):
        left = np.flatnonzero(~np.isnan(seen))
        np.testing.assert_array_equal(seen[left], rank_by_score(scores[np.newaxis, left])[0])


def test_survivors_survive_as_often_as_told(x, y, rng):
    q = np.array([1.0, 0.8, 0.5, 0.1])
    often = (~np.isnan(make_survivor_mechanism(q)(x, y, rng))).mean(axis=0)
    np.testing.assert_allclose(often, q, atol=0.03)


def test_survival_may_depend_on_the_inputs(x, y, rng):
    shown = ~np.isnan(
        make_survivor_mechanism(lambda x: np.where(x > 0, [1, 1, 0, 0], [0, 0, 1, 1]))(x, y, rng)
    )
    np.testing.assert_array_equal(
        shown, np.where(x > 0, [True, True, False, False], [False, False, True, True])
    )


def test_every_row_shows_a_label(x, y, rng):
    assert (~np.isnan(make_survivor_mechanism(0.05)(x, y, rng))).any(axis=1).all()
    with pytest.raises(OptionError, match="at least one must be positive"):
        make_survivor_mechanism([0.0, 0.0, 0.0, 0.0])(x, y, rng)


def test_buckets_keep_the_order_of_what_they_part(x, y, rng):
    shown, complete = make_bucket_mechanism(0.5)(x, y, rng), rank_by_score(y)
    for seen, whole in zip(shown[:300], complete[:300], strict=True):
        in_order = seen[np.argsort(whole)]
        assert (np.diff(in_order) >= 0).all()
    np.testing.assert_allclose(shown.sum(axis=1), 10.0)  # mid-ranks


def test_borders_fall_as_often_as_told(x, y, rng):
    p = np.array([1.0, 0.3, 0.0])
    shown = np.take_along_axis(make_bucket_mechanism(p)(x, y, rng), np.argsort(-y, axis=1), axis=1)
    np.testing.assert_allclose((np.diff(shown, axis=1) > 0).mean(axis=0), p, atol=0.03)
    np.testing.assert_array_equal(make_bucket_mechanism(1.0)(x, y, rng), rank_by_score(y))


@pytest.mark.parametrize(
    "mechanism",
    [make_survivor_mechanism(1.2), make_bucket_mechanism(-0.1), make_survivor_mechanism([0.5, np.nan, 1, 1])],
)
def test_probabilities_lie_between_0_and_1(mechanism, x, y, rng):
    with pytest.raises(OptionError, match="in \\[0, 1\\]"):
        mechanism(x, y, rng)


def test_there_is_a_probability_for_each_label_or_border(x, y, rng):
    with pytest.raises(OptionError, match="do not match"):
        make_bucket_mechanism([0.5, 0.5, 0.5, 0.5])(x, y, rng)
