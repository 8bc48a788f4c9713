from itertools import product

import numpy as np
import pytest

from symscreen.statistics.level_splits import grow_level_tree, predict_level_tree


def explained(cells, y):
    """n V_n(S) of eq. (9), from the definition: each row's cell mean, squared and summed."""
    return sum(np.mean([b for c, b in zip(cells, y, strict=True) if c == cell]) ** 2 for cell in cells)


def directions(rows):
    for feature in range(rows.shape[1]):
        known = np.unique(rows[:, feature])
        for threshold in (known[:-1] + known[1:]) / 2:
            yield feature, threshold


@pytest.mark.slow
@pytest.mark.parametrize("levels", [2, 4])
@pytest.mark.parametrize("labels", [2, 3, 14])
def test_each_level_takes_a_best_direction(rng, levels, labels):
    rows = rng.integers(0, levels, (14, 4)).astype(float)
    y = rng.integers(0, labels, 14).astype(float)
    tree = grow_level_tree(rows, y, rows, y)
    centered, cells = y - y.mean(), [()] * 14
    for feature, threshold in zip(tree.features, tree.thresholds, strict=True):
        best = 0.0
        for i, c in directions(rows):
            cut = [(*cell, x) for cell, x in zip(cells, rows[:, i] > c, strict=True)]
            if len(set(cut)) > len(set(cells)):
                best = max(best, explained(cut, centered))
        cells = [(*cell, bool(x)) for cell, x in zip(cells, rows[:, feature] > threshold, strict=True)]
        assert explained(cells, centered) == pytest.approx(best)


def test_a_fully_grown_tree_gives_the_mean_of_equal_rows(rng):
    rows = rng.integers(0, 2, (60, 4)).astype(float)
    y = rng.normal(size=60)
    found = predict_level_tree(grow_level_tree(rows, y, rows, y), rows)
    for row, value in zip(rows, found, strict=True):
        assert value == pytest.approx(y[(rows == row).all(axis=1)].mean())


def test_a_direction_without_gain_is_taken_where_rows_still_differ():
    rows = np.array(list(product([0.0, 1.0], repeat=2)))
    y = np.array([0.0, 1.0, 1.0, 0.0])  # neither feature explains anything by itself
    assert predict_level_tree(grow_level_tree(rows, y, rows, y), rows).tolist() == y.tolist()


@pytest.mark.parametrize("least", [1, 3])
def test_cells_are_cut_where_both_parts_hold_valuing_rows(rng, least):
    shaping, valuing = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    y, valuing_y = rng.normal(size=40), np.arange(30.0)
    tree = grow_level_tree(shaping, y, valuing, valuing_y, min_leaf=least)
    values = predict_level_tree(tree, valuing)
    cells = [np.flatnonzero(values == value) for value in np.unique(values)]
    assert len(cells) > 1
    for cell in cells:
        assert len(cell) >= least
        assert values[cell[0]] == pytest.approx(valuing_y[cell].mean())


def test_the_number_of_levels_is_bounded_and_pure_cells_are_left_alone(rng):
    rows = rng.normal(size=(50, 3))
    y = (rows[:, 1] > 0).astype(float)
    assert len(grow_level_tree(rows, rng.normal(size=50), rows, y, max_levels=2).features) == 2
    tree = grow_level_tree(rows, y, rows, y)
    assert tree.features.tolist() == [1]
    assert len(grow_level_tree(rows, np.ones(50), rows, y).features) == 0


def test_row_order_does_not_matter(rng):
    rows, y = rng.integers(0, 4, (40, 3)).astype(float), rng.integers(0, 4, 40).astype(float)
    mixed = rng.permutation(40)
    one, two = grow_level_tree(rows, y, rows, y), grow_level_tree(rows[mixed], y[mixed], rows, y)
    assert one.features.tolist() == two.features.tolist()
    assert one.thresholds.tolist() == two.thresholds.tolist()


def test_of_tied_directions_the_first_feature_and_the_smallest_threshold_are_taken():
    x, y = np.arange(4.0), np.array([0.0, 1.0, 1.0, 0.0])  # separating the first or the last row is a tie
    rows = np.column_stack([x, x, -x])
    tree = grow_level_tree(rows, y, rows, y, max_levels=1)
    assert (tree.features.tolist(), tree.thresholds.tolist()) == ([0], [0.5])


def test_neighbouring_numbers_are_told_apart():
    rows = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    y = np.array([0.0, 1.0])
    assert predict_level_tree(grow_level_tree(rows, y, rows, y), rows).tolist() == [0.0, 1.0]


def test_a_constant_added_to_the_target_changes_no_split(rng):
    rows = rng.integers(0, 3, (40, 4)).astype(float)
    y = rng.integers(0, 5, 40).astype(float)
    tree, moved = (grow_level_tree(rows, one, rows, one) for one in (y, y + 2.0**30))
    assert tree.features.size > 2
    assert moved.features.tolist() == tree.features.tolist()
    assert moved.thresholds.tolist() == tree.thresholds.tolist()
