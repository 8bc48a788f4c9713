import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from symscreen.statistics.level_splits import compute_honest_values, split_rows_in_half


def by_algorithm_10(tree, valuing, targets, asked):
    """Walk down from the root as Algorithm 10 cuts: a cell with at most one valuing row is a leaf."""
    inner, held, node = tree.tree_, np.arange(len(valuing)), 0
    value = targets.mean()
    while True:
        if len(held) == 0:
            return value
        value = targets[held].mean()
        if len(held) <= 1 or inner.children_left[node] < 0:
            return value
        feature, threshold = inner.feature[node], inner.threshold[node]
        below = asked[feature] <= threshold
        node = inner.children_left[node] if below else inner.children_right[node]
        held = held[(valuing[held, feature] <= threshold) == below]


@pytest.mark.parametrize("n", [2, 5, 40])
def test_values_are_those_of_algorithm_10(rng, n):
    shaping = rng.integers(0, 5, (n, 3)).astype(float)
    valuing, asked = rng.integers(0, 5, (2, 30, 3)).astype(float)
    targets = rng.normal(size=30)
    tree = DecisionTreeRegressor(random_state=0).fit(shaping, rng.normal(size=n))
    found = compute_honest_values(tree, valuing, targets)[tree.apply(asked)]
    assert found == pytest.approx([by_algorithm_10(tree, valuing, targets, one) for one in asked])


def test_halves_are_disjoint_and_cover(rng):
    for n in (2, 3, 10, 11):
        shaping, valuing = split_rows_in_half(n, rng)
        assert sorted([*shaping, *valuing]) == list(range(n))
        assert len(shaping) - len(valuing) in (0, 1)


def test_a_single_row_is_in_both_halves(rng):
    assert [half.tolist() for half in split_rows_in_half(1, rng)] == [[0], [0]]
