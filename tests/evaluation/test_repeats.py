from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import sem

from symscreen.errors import OptionError
from symscreen.evaluation.precision_recall import average_precision, compute_precision_recall_curve
from symscreen.evaluation.selection import average_curves, compute_mean_and_error

rankings = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, 2.0, np.nan]), st.booleans()), min_size=1, max_size=8
)


def test_the_error_is_that_of_the_mean(rng):
    values = rng.normal(size=50)
    mean, error = compute_mean_and_error(values.tolist())
    assert mean == pytest.approx(values.mean())
    assert error == pytest.approx(sem(values))


def test_the_error_covers_the_truth_as_often_as_it_should(rng):
    inside = 0
    for _ in range(400):
        mean, error = compute_mean_and_error(rng.normal(3.0, 2.0, 50))
        inside += abs(mean - 3.0) < 1.96 * error
    assert 0.90 < inside / 400 < 0.98


def test_repeats_in_which_a_figure_is_undefined_are_left_out():
    assert compute_mean_and_error([1.0, np.nan, 3.0]) == (2.0, 1.0)


def test_few_repeats_have_no_error():
    assert str(compute_mean_and_error([0.5])) == "(0.5, nan)"
    assert str(compute_mean_and_error([np.nan, np.nan])) == str(compute_mean_and_error([])) == "(nan, nan)"


def test_more_than_one_figure_a_repeat_is_refused():
    with pytest.raises(OptionError, match="one number per repeat"):
        compute_mean_and_error(np.zeros((2, 2)))


@settings(max_examples=60)
@given(st.lists(rankings, min_size=1, max_size=4))
def test_the_area_under_the_mean_curve_is_the_mean_average_precision(several):
    pairs = [tuple(np.array(column) for column in zip(*ranking, strict=True)) for ranking in several]
    recall, precision, error = average_curves([compute_precision_recall_curve(*pair) for pair in pairs])
    known = [average_precision(*pair) for pair in pairs if pair[1].any()]
    assert recall.shape == precision.shape == error.shape
    if not known:
        assert recall.size == 0
        return
    area = (np.diff(recall, prepend=0.0) * precision).sum()
    assert area == pytest.approx(np.mean(known))
    assert recall[0] > 0.0
    assert recall[-1] == 1.0
    assert np.isnan(error).all() == (len(known) == 1)


def test_each_point_of_the_mean_curve_has_its_own_mean_and_error():
    loss = np.array([0.0, 1.0, 2.0])
    curves = [
        compute_precision_recall_curve(loss, np.array(labels) > 0)
        for labels in ([1, 0, 1], [0, 1, 1], [0, 0, 0])
    ]
    recall, precision, error = average_curves(curves)
    # precision 1 and 1/2 at recall 1/2, twice 2/3 at recall 1
    assert recall.tolist() == [0.5, 1.0]
    assert precision.tolist() == pytest.approx([0.75, 2 / 3])
    assert error.tolist() == pytest.approx([0.25, 0.0])
