from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.linear_models.exhaustive_subsets import find_best_models
from symscreen.linear_models.gram import MIN_DETERMINANT, MIN_PIVOT, compute_gram

SIZES = (1, 2, 3, 4, 5)


def brute_force(gram, size):
    """Fit every subset that is not collinear on the columns; the best first."""
    fitted = []
    for chosen in combinations(range(len(gram.columns)), size):
        strongest = sorted(chosen, key=lambda k: (-abs(gram.target_products[0, k]), k))
        z = gram.columns[strongest].T
        pivots = np.diagonal(np.linalg.qr(z)[1]) ** 2
        if pivots.min() >= MIN_PIVOT and pivots.prod() >= MIN_DETERMINANT:
            residual = gram.target[0] - z @ np.linalg.lstsq(z, gram.target[0], rcond=None)[0]
            fitted.append((round(float(np.linalg.norm(residual)), 12), chosen))
    return sorted(fitted)


def assert_best(gram, size, keep):
    members, unexplained = find_best_models(gram, size, keep)
    expected = brute_force(gram, size)[:keep]
    assert [tuple(m) for m in members.tolist()] == [chosen for _, chosen in expected]
    np.testing.assert_allclose(np.sqrt(unexplained), [norm for norm, _ in expected], atol=1e-12)


@settings(max_examples=30)
@given(st.sampled_from(SIZES), st.integers(1, 12), st.integers(1, 40), st.integers(0, 2**32))
def test_as_brute_force(size, q, keep, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(q, 25)) + rng.normal(size=25)
    assert_best(compute_gram(values, values[0] - 0.5 * values[-1] + rng.normal(size=25)), size, keep)


@pytest.mark.parametrize("size", SIZES)
def test_jobs_change_no_bit(size, rng):
    values = rng.normal(size=(30, 40))
    gram = compute_gram(values, values[3] + values[17] + rng.normal(size=40))
    one, two = (find_best_models(gram, size, 50, jobs) for jobs in (1, 2))
    assert one[0].tobytes() == two[0].tobytes()
    assert one[1].tobytes() == two[1].tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_the_order_of_the_features_changes_names_only(size, rng):
    values = rng.normal(size=(25, 40))
    target = values[3] + values[17] + rng.normal(size=40)
    order = rng.permutation(25)
    members, unexplained = find_best_models(compute_gram(values, target), size, 40)
    moved, also = find_best_models(compute_gram(values[order], target), size, 40)
    assert np.array_equal(np.sort(order[moved], axis=1), members)
    assert np.array_equal(also, unexplained)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
@pytest.mark.parametrize("size", SIZES)
def test_scales_do_not_matter(size, scale, rng):
    values = rng.normal(size=(15, 40))
    target = values[3] + values[7] + rng.normal(size=40)
    members, unexplained = find_best_models(compute_gram(values, target), size, 30)
    values[::2] *= scale
    scaled, also = find_best_models(compute_gram(values, target / scale), size, 30)
    assert np.array_equal(scaled, members)
    np.testing.assert_allclose(also, unexplained, rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-9, 1e-12, 0.0])
@pytest.mark.parametrize("size", [2, 3])
def test_near_copies_bring_no_false_models(size, gap, rng):
    values = rng.normal(size=(6, 30))
    copies = values.repeat(4, axis=0) * (1 + gap * rng.normal(size=(24, 30)))
    gram = compute_gram(copies, values[0] + values[1] + 0.1 * rng.normal(size=30))
    if gap > 1e-12:  # with smaller gaps whole families tie, and rounding decides within them
        assert_best(gram, size, 30)
    members, unexplained = find_best_models(gram, size, 30)
    families = [set(row) for row in (members // 4).tolist()]
    assert all(len(family) == size for family in families) or gap == 1e-3
    best = brute_force(gram, size)[:30]
    np.testing.assert_allclose(np.sqrt(unexplained), [norm for norm, _ in best], atol=1e-11)


def test_dependent_features_are_not_a_model(rng):
    a, b, c = rng.normal(size=(3, 40))
    gram = compute_gram(np.stack([a, b, a - b, c, np.ones(40)]), a + c + rng.normal(size=40))
    members, _ = find_best_models(gram, 3, 100)
    assert sorted(members.tolist()) == [[0, 1, 3], [0, 2, 3], [1, 2, 3]]


def test_what_only_the_columns_show_to_be_collinear_is_dropped(monkeypatch, rng):
    values = rng.normal(size=(4, 30))
    values[3] = values[2] + 1e-4 * values[3]
    gram = compute_gram(values, rng.normal(size=30))
    assert [2, 3] in find_best_models(gram, 2, 10)[0].tolist()
    monkeypatch.setattr("symscreen.linear_models.gram.MIN_PIVOT", 1e-6)
    members, unexplained = find_best_models(gram, 2, 10)
    assert len(members) == 5
    assert [2, 3] not in members.tolist()
    assert np.isfinite(unexplained).all()


@pytest.mark.parametrize("size", SIZES)
def test_an_exact_formula_comes_first(size, rng):
    x, y, z = rng.uniform(0.5, 2.0, (3, 60))
    powers = [a**k for a in (x, y, z) for k in (1, 2, 3, 4, -1, -2)]
    products = [a * b for a, b in combinations(powers, 2)]
    values = np.stack([*powers, *products])[: 150 if size < 4 else 60]
    values = np.vstack([values, values[:20] * (1 + 1e-9 * rng.normal(size=(20, 60)))])
    truth = sorted(rng.choice(18, size, replace=False).tolist())
    target = 7 + rng.uniform(0.5, 3.0, size) @ values[truth]
    members, unexplained = find_best_models(compute_gram(values, target), size, 5)
    assert members[0].tolist() == truth
    assert unexplained[0] < 1e-25


def test_supersets_of_an_exact_pair_fill_the_table_in_order(rng):
    values = rng.normal(size=(40, 50))
    members, unexplained = find_best_models(compute_gram(values, values[5] - values[30]), 3, 10)
    assert (unexplained < 1e-25).all()
    assert members.tolist() == sorted(sorted([5, 30, k]) for k in range(40) if k not in {5, 30})[:10]


def test_equals_are_ordered_by_their_members(rng):
    values = rng.normal(size=(8, 40))
    values[6] = values[1]
    members, unexplained = find_best_models(compute_gram(values, values[1] + rng.normal(size=40)), 2, 100)
    rows = [tuple(row) for row in members.tolist()]
    for k in (0, 2, 3, 4, 5, 7):
        first, second = rows.index(tuple(sorted((1, k)))), rows.index(tuple(sorted((k, 6))))
        assert second == first + 1
        assert np.isclose(unexplained[first], unexplained[second], rtol=1e-12)
    assert (1, 6) not in rows


@pytest.mark.parametrize("size", SIZES)
def test_few_features_give_all_subsets(size, rng):
    values = rng.normal(size=(5, 30))
    members, unexplained = find_best_models(compute_gram(values, rng.normal(size=30)), size, 100)
    assert len(members) == comb(5, size)
    assert members.dtype == np.int32
    assert (np.diff(unexplained) >= 0).all()
    few, _ = find_best_models(compute_gram(values[:1], rng.normal(size=30)), size, 100)
    assert len(few) == (size == 1)


@pytest.mark.parametrize(
    ("size", "keep", "says"),
    [(6, 1, "the size of a model must be from 1 to 5"), (0, 1, "the size"), (2, 0, "at least 1")],
)
def test_what_has_no_meaning_is_refused(size, keep, says):
    with pytest.raises(OptionError, match=says):
        find_best_models(compute_gram(np.eye(3), np.arange(3.0)), size, keep)
