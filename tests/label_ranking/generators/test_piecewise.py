from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.label_ranking.generators import draw_piecewise_partition


@pytest.mark.parametrize("setting", [1, 2, 3])
@pytest.mark.parametrize("k", [3, 5, 8])
def test_six_cells_of_the_same_probability(setting, k, rng):
    partition = draw_piecewise_partition(setting, k, rng)
    x = partition.draw_inputs(6000, rng)
    cells = partition.find_cells(x)
    np.testing.assert_allclose(np.bincount(cells, minlength=6) / 6000, np.full(6, 1 / 6), atol=0.025)
    np.testing.assert_array_equal(np.sort(partition.medians, axis=1), np.tile(np.arange(1.0, k + 1), (6, 1)))
    for row, ranks in zip(x[:50], partition.compute_true_ranks(x[:50]), strict=True):
        np.testing.assert_array_equal(ranks, partition.medians[partition.find_cells(row[np.newaxis])[0]])


def test_numeric_cells_are_the_grids(rng):
    partition = draw_piecewise_partition(1, 3, rng)
    x = np.array([[0.0, 0.0], [0.49, 0.34], [0.0, 0.99], [0.5, 0.33], [0.51, 0.5], [1.0, 1.0]])
    assert partition.find_cells(x).tolist() == [0, 1, 2, 3, 4, 5]


def test_categorical_features_are_codes_without_an_order(rng):
    partition = draw_piecewise_partition(3, 3, rng)
    x = partition.draw_inputs(2000, rng)
    assert [np.unique(column).tolist() for column in x.T] == [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]
    drawn = {tuple(draw_piecewise_partition(2, 3, rng).sides[1].tolist()) for _ in range(40)}
    assert len(drawn) > 20  # of 90


def test_there_are_three_settings(rng):
    with pytest.raises(OptionError, match="unknown setting 4"):
        draw_piecewise_partition(4, 3, rng)
