from __future__ import annotations

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking import LevelSplitsTree
from symscreen.label_ranking.generators import draw_sfn_oracle, draw_sparse_scores, rank_by_score
from symscreen.label_ranking.theory import (
    build_binary_inputs,
    check_diminishing_returns,
    check_marginal_density,
    check_strong_sparsity,
    check_submodularity,
    compute_heterogeneity,
    find_relevant_features,
)


def subsets(features):
    features = list(features)
    return [set(some) for size in range(len(features) + 1) for some in combinations(features, size)]


def heterogeneity(f, weights, x, features, cell=()):
    """Compute E[E[f | x_S]²] over the points of a cell ((feature, value), …), group by group."""
    groups = {}
    for point, value, weight in zip(x, f, weights, strict=True):
        if all(point[i] == side for i, side in cell):
            mass, total = groups.get(tuple(point[sorted(features)]), (0.0, 0.0))
            groups[tuple(point[sorted(features)])] = mass + weight, total + weight * value
    whole = sum(mass for mass, _ in groups.values())
    return sum(total**2 / mass for mass, total in groups.values() if mass) / whole if whole else None


def clean(gain):
    return 0.0 if gain < 1e-9 else gain


def ratio(later, earlier):
    if clean(later) == 0.0:
        return 1.0
    return clean(later) / clean(earlier) if clean(earlier) else math.inf


@st.composite
def problems(draw, d=3):
    """Draw values and weights of all points, with equal values and impossible points among them."""
    values = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.5]), min_size=2**d, max_size=2**d))
    weights = draw(
        st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.5]), min_size=2**d, max_size=2**d).filter(any)
    )
    return np.array(values), np.array(weights)


def list_cells(d):
    return [
        tuple((i, side) for i, side in enumerate(signs) if side < 2) for signs in product(range(3), repeat=d)
    ]


X = build_binary_inputs(3)


@pytest.mark.slow
@given(problems())
def test_submodularity_is_that_of_the_definition(problem):
    f, weights = problem
    gain = {
        (frozenset(s), i): heterogeneity(f, weights, X, s | {i}) - heterogeneity(f, weights, X, s)
        for s in subsets(range(3))
        for i in range(3)
    }
    worst = max(
        ratio(gain[frozenset(t), i], gain[frozenset(s), i])
        for t in subsets(range(3))
        for s in subsets(t)
        for i in range(3)
    )
    found = check_submodularity(f, weights=weights)
    assert found.constant == pytest.approx(max(worst, 1.0), rel=1e-9)
    assert found.holds == math.isfinite(worst)
    # the witness attains the constant
    assert set(found.smaller) <= set(found.larger)
    assert found.smaller_gain == pytest.approx(gain[frozenset(found.smaller), found.feature], abs=1e-12)
    assert found.larger_gain == pytest.approx(gain[frozenset(found.larger), found.feature], abs=1e-12)
    assert ratio(found.larger_gain, found.smaller_gain) == pytest.approx(found.constant, rel=1e-9)


@pytest.mark.slow
@given(problems())
def test_diminishing_returns_are_those_of_the_definition_with_every_further_split(problem):
    f, weights = problem
    value = {
        (cell, frozenset(s)): heterogeneity(f, weights, X, s, cell)
        for cell in list_cells(3)
        for s in subsets(range(3))
    }
    worst = 1.0
    for outer, inner in product(list_cells(3), repeat=2):
        if set(outer) <= set(inner) and value[inner, frozenset()] is not None:
            for i in range(3):
                earlier = value[outer, frozenset({i})] - value[outer, frozenset()]
                for t in subsets(range(3)):
                    later = value[inner, frozenset(t | {i})] - value[inner, frozenset(t)]
                    worst = max(worst, ratio(later, earlier))
    found = check_diminishing_returns(f, weights=weights)
    assert found.constant == pytest.approx(worst, rel=1e-9)
    assert found.holds == math.isfinite(worst)
    assert all(out in {"*", sign} for out, sign in zip(found.outer, found.inner, strict=True))
    for cell, gain in ((found.outer, found.outer_gain), (found.inner, found.inner_gain)):
        before, after = (
            compute_heterogeneity(f, s, weights=weights, cell=cell)[0] for s in ([], [found.feature])
        )
        assert gain == pytest.approx(after - before, abs=1e-12)
    assert ratio(found.inner_gain, found.outer_gain) == pytest.approx(found.constant, rel=1e-9)


@given(problems())
def test_strong_sparsity_is_that_of_the_definition(problem):
    f, weights = problem
    found = check_strong_sparsity(f, weights=weights)
    relevant = set(found.relevant[0])
    margins = [
        heterogeneity(f, weights, X, t | {i})
        - heterogeneity(f, weights, X, t)
        - heterogeneity(f, weights, X, t | {j})
        + heterogeneity(f, weights, X, t)
        for i in relevant
        for j in set(range(3)) - relevant
        for t in subsets(set(range(3)) - {i})
    ]
    assert found.beta == pytest.approx(min(margins, default=math.inf), abs=1e-11)
    assert found.holds == (min(margins, default=math.inf) > 1e-9)
    if margins:
        t, i, j = set(found.subset), found.feature, found.other
        gains = [heterogeneity(f, weights, X, t | {k}) - heterogeneity(f, weights, X, t) for k in (i, j)]
        assert i in relevant
        assert j not in relevant | t - {j}
        assert gains[0] - gains[1] == pytest.approx(found.beta, abs=1e-11)


@given(problems())
def test_diminishing_returns_imply_submodularity(problem):
    f, weights = problem
    local = check_diminishing_returns(f, weights=weights).constant
    assert check_submodularity(f, weights=weights).constant <= local * (1 + 1e-9)


@given(st.lists(st.integers(-3, 3), min_size=8, max_size=8))
def test_gains_under_fair_coins_are_sums_of_squared_fourier_coefficients(values):
    # Ṽ(S) = Σ_{U ⊆ S} f̂(U)², f̂(U) = E[f·Π_{i ∈ U} (−1)^{x_i}]
    f = np.array(values, dtype=float)
    spectrum = {
        frozenset(u): float(np.mean(f * (-1.0) ** X[:, sorted(u)].sum(axis=1))) ** 2
        for u in subsets(range(3))
    }
    for s in subsets(range(3)):
        expected = sum(power for u, power in spectrum.items() if u <= s)
        assert compute_heterogeneity(f, sorted(s))[0] == pytest.approx(expected, abs=1e-12)
    worst = max(
        ratio(
            sum(power for u, power in spectrum.items() if i in u <= t | {i}),
            sum(power for u, power in spectrum.items() if i in u <= s | {i}),
        )
        for i in range(3)
        for t in subsets(set(range(3)) - {i})
        for s in subsets(t)
    )
    assert check_submodularity(f).constant == pytest.approx(max(worst, 1.0), rel=1e-9)


@given(problems())
def test_the_smallest_set_decides_the_value_of_every_possible_point(problem):
    f, weights = problem
    possible = weights > 0

    def decides(features):
        seen = {}
        return all(
            seen.setdefault(tuple(point[sorted(features)]), value) == value
            for point, value in zip(X[possible], f[possible], strict=True)
        )

    least = min(len(s) for s in subsets(range(3)) if decides(s))
    first = next(s for s in combinations(range(3), least) if decides(s))
    assert find_relevant_features(f, weights=weights) == (first,)


@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_a_conjunction_has_constants_that_double_and_quadruple_with_each_feature(r):
    # after s of the others the gain is 2^(s − 2r); in a cell with s others at 1 it is 4^(s − r)
    x = build_binary_inputs(r + 1)
    f = x[:, :r].prod(axis=1)
    assert check_submodularity(f).constant == 2.0 ** (r - 1)
    assert check_diminishing_returns(f).constant == 4.0 ** (r - 1)
    assert check_strong_sparsity(f).beta == 4.0**-r
    assert find_relevant_features(f) == (tuple(range(r)),)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_parity_has_no_finite_constant_and_no_margin(d):
    x = build_binary_inputs(d + 1)
    f = x[:, :d].sum(axis=1) % 2
    for found in (check_submodularity(f), check_diminishing_returns(f)):
        assert not found.holds
        assert found.constant == math.inf
    assert not check_submodularity(f, constant=1e300).holds
    sparse = check_strong_sparsity(f)
    assert (sparse.holds, sparse.beta) == (False, 0.0)


def test_a_majority_of_three_doubles_the_gain_of_the_last():
    found = check_submodularity(X.sum(axis=1) >= 2)
    assert found.constant == 2.0
    assert (found.smaller, len(found.larger)) == ((), 2)
    assert not check_submodularity(X.sum(axis=1) >= 2, constant=1.99).holds
    assert check_submodularity(X.sum(axis=1) >= 2, constant=2.0).holds
    assert not check_submodularity(X.sum(axis=1) >= 2, sparsity=2).holds
    assert check_submodularity(X.sum(axis=1) >= 2, sparsity=3).holds


@given(st.integers(1, 40), st.integers(1, 40))
def test_an_additive_function_of_opposed_features_needs_the_ratio_of_their_cells(a, b):
    # Pr[00] = Pr[11] = a, Pr[01] = Pr[10] = b: x1 alone gains 4a², after x2 it gains 2a − 4a²
    found = check_submodularity(build_binary_inputs(2).sum(axis=1), weights=[a, b, b, a])
    assert found.constant == pytest.approx(max(1.0, b / a))


def test_equal_gains_that_are_summed_in_another_order_leave_no_margin():
    # a third feature follows the majority of two others and a coin: alone it gains what each of them gains
    x = build_binary_inputs(5)
    for a, b, c, u, v in permutations(range(5)):
        votes = x[:, a] + x[:, b]
        follows = np.where(votes == 1, 0.5, np.where(votes == 2, x[:, c], 1 - x[:, c]))
        weights = follows * np.where(x[:, u] == 1, 0.7, 0.3) * np.where(x[:, v] == 1, 0.1, 0.9)
        found = check_strong_sparsity(0.1 * votes, weights=weights)
        assert (found.holds, found.beta, found.subset) == (False, 0.0, ())


def test_an_additive_function_of_independent_features_has_constant_one(rng):
    x = build_binary_inputs(6)
    odds = rng.uniform(0.1, 0.9, 6)
    weights = (x * odds + (1 - x) * (1 - odds)).prod(axis=1)
    f = x[:, :5] @ rng.uniform(0.5, 1.0, 5)
    assert check_submodularity(f, weights=weights).constant == 1.0
    assert check_diminishing_returns(f, weights=weights).constant == 1.0


def test_shift_scale_and_order_change_only_what_they_must(rng):
    x, f = build_binary_inputs(4), rng.integers(0, 4, 16).astype(float)
    weights = rng.integers(0, 4, 16).astype(float)
    order = rng.permutation(32) % 16  # every point twice
    whole = check_submodularity(f, weights=weights)
    assert check_submodularity(f[order], x[order], weights[order]) == whole
    assert check_strong_sparsity(f[order], x[order], weights[order]) == check_strong_sparsity(
        f, weights=weights
    )
    for check in (check_submodularity, check_diminishing_returns):
        moved = check(1024.0 - 0.125 * f, weights=weights)
        assert moved.constant == pytest.approx(check(f, weights=weights).constant, rel=1e-9)
    wide = f * x[:, 0]
    assert check_strong_sparsity(1e-3 * wide - 7).beta == pytest.approx(
        1e-6 * check_strong_sparsity(wide).beta, abs=1e-15
    )


def test_a_feature_of_no_effect_changes_no_constant(rng):
    f = rng.random(8)
    more = np.repeat(f, 2)  # the last feature changes fastest
    for check in (check_submodularity, check_diminishing_returns):
        assert check(more).constant == pytest.approx(check(f).constant)


def test_every_label_is_checked_and_the_worst_is_named():
    table = np.column_stack([X @ [1.0, 2.0, 4.0], X[:, 0] * X[:, 1], X[:, 1]])
    found = check_submodularity(table)
    assert (found.constant, found.label) == (2.0, 1)
    assert found.relevant == ((0, 1, 2), (0, 1), (1,))
    assert check_diminishing_returns(table).label == 1
    sparse = check_strong_sparsity(table)
    assert (sparse.label, sparse.beta) == (1, 1 / 16)
    assert sparse.relevant == found.relevant


# the synthetic functions of the paper


def test_the_scores_of_the_experiments_satisfy_the_conditions(rng):
    scores = draw_sparse_scores(10, 5, 4, rng)
    x = build_binary_inputs(10)
    table = scores(x)
    assert check_submodularity(table, constant=1.0, sparsity=4).holds
    assert check_diminishing_returns(table, constant=1.0).holds
    sparse = check_strong_sparsity(table)
    assert sparse.relevant == tuple(map(tuple, scores.features.tolist()))
    # a share s of the weights moves the score by s/2, which explains (s/2)²/4
    shares = scores.weights / scores.weights.sum(axis=1, keepdims=True)
    assert sparse.beta == pytest.approx(((shares.min() / 2) ** 2) / 4)
    assert check_marginal_density(x, size=4).zeta == 1.0


@pytest.mark.slow
def test_few_positions_of_the_published_family_satisfy_the_conditions():
    # the counts that docs/reproduction.md quotes
    points, counts = build_binary_inputs(5), np.zeros(2, dtype=int)
    for seed in range(60):
        scores = draw_sfn_oracle(np.random.default_rng(seed), as_published=True).score_function
        x = np.zeros((32, 100))
        x[:, scores.features[0]] = points
        assert check_submodularity(scores(x), points, constant=1.0, sparsity=5).holds
        positions = rank_by_score(scores(x)) / 5
        counts += [check_submodularity(positions).holds, check_diminishing_returns(positions).holds]
    assert counts.tolist() == [32, 1]


def test_the_positions_of_additive_scores_can_be_a_parity():
    # Theorem A.4 asks for conditions on m, and its proof applies them to the positions σ(i)/k
    sums = X[:, 0] + X[:, 1]
    scores = 0.5 + np.column_stack([np.zeros(8), (sums - 0.5) / 6, (1.5 - sums) / 7])
    assert ((scores >= 0.25) & (scores <= 0.75)).all()
    assert check_submodularity(scores).constant == 1.0
    positions = rank_by_score(scores) / 3
    found = check_submodularity(positions)
    assert (found.constant, found.label) == (math.inf, 0)
    assert (positions[:, 0] == (2 + (sums == 1)) / 3).all()


def test_a_greedy_tree_does_not_find_these_positions(rng):
    x = rng.integers(0, 2, (400, 30)).astype(float)
    sums = x[:, 0] + x[:, 1]
    scores = 0.5 + np.column_stack([np.zeros(400), (sums - 0.5) / 6, (1.5 - sums) / 7])
    ranks = rank_by_score(scores)
    unexplained = []
    for d in (2, 30):
        tree = LevelSplitsTree(max_depth=2).fit(x[:, :d], ranks)
        errors = tree.trees_[0][0](x[:, :d]) - ranks[:, 0] / 3
        unexplained.append(np.mean(errors**2) / np.var(ranks[:, 0] / 3))
    # splits on the first two features tell the position of the first label; among others they are not found
    assert unexplained[0] < 1e-12
    assert unexplained[1] > 0.8


# densities


@given(problems(), st.integers(1, 3))
def test_the_density_is_that_of_the_rarest_pattern(problem, q):
    _, weights = problem
    found = check_marginal_density(X, weights, size=q)
    shares = {
        (chosen, pattern): sum(
            weight
            for point, weight in zip(X, weights, strict=True)
            if tuple(point[list(chosen)]) == tuple(map(float, pattern))
        )
        / weights.sum()
        for chosen in combinations(range(3), q)
        for pattern in map("".join, product("01", repeat=q))
    }
    assert found.probability == pytest.approx(min(shares.values()))
    assert shares[found.features, found.pattern] == pytest.approx(found.probability)
    assert found.zeta == pytest.approx(found.probability * 2**q)
    assert found.holds == (found.zeta > 0)
    only = check_marginal_density(X, weights, features=found.features)
    possible = [share for (chosen, _), share in shares.items() if chosen == found.features and share > 0]
    assert only.zeta == pytest.approx(min(possible) * 2**q)
    assert only.holds


def test_independent_coins_have_the_density_of_their_rarest_sides():
    odds = np.array([0.5, 0.2, 0.1])
    weights = (X * odds + (1 - X) * (1 - odds)).prod(axis=1)
    found = check_marginal_density(X, weights, size=2, zeta=0.08)
    assert found.holds  # 4·0.2·0.1
    assert (found.features, found.pattern, found.zeta) == ((1, 2), "11", 0.08)
    assert not check_marginal_density(X, weights, size=2, zeta=0.081).holds


# what is refused


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (([1.0, 2.0, 3.0],), DataError, "3 values without rows"),
        (([],), DataError, "values have shape"),
        ((np.zeros((2, 2, 2)),), DataError, "values have shape"),
        (([0.0, np.nan],), DataError, "values hold NaN"),
        (([0.0, 1e200],), DataError, "magnitude above 1e"),
        ((np.zeros(2**13),), OptionError, "13 features.*takes 1 to 12"),
        (([0.0, 1.0], np.zeros((2, 13))), OptionError, "13 features"),
        (([0.0, 1.0], [[0], [2]]), DataError, "other numbers than 0 and 1"),
        (([0.0, 1.0], [[0], [np.nan]]), DataError, "other numbers than 0 and 1"),
        (([0.0, 1.0], [[0], [0]]), DataError, "row 0 has other values"),
        (([0.0, 1.0, 2.0], [[0], [1], [1]]), DataError, "row 1 has other values"),
        (([0.0, 1.0, 2.0], [[0], [1]]), DataError, r"rows have shape \(2, 1\); give shape \(3, d\)"),
        (([0.0, 1.0], [0, 1]), DataError, r"rows have shape \(2,\)"),
        (([0.0, 1.0], None, [1.0]), DataError, "weights have shape"),
        (([0.0, 1.0], None, [1.0, -1.0]), DataError, "at least 0"),
        (([0.0, 1.0], None, [0.0, 0.0]), DataError, "a positive one"),
    ],
)
@pytest.mark.parametrize(
    "check",
    [check_submodularity, check_diminishing_returns, check_strong_sparsity, compute_heterogeneity],
)
def test_data_that_are_no_function_of_binary_features_are_refused(check, arguments, error, said):
    values, *rest = arguments
    with pytest.raises(error, match=said):
        check(values, **dict(zip(("rows", "weights"), rest, strict=False)))


def test_points_without_a_row_are_impossible():
    # 000, 001, 100 and 101: the second feature is constant, the first two points are the first cell
    rows = X[[0, 1, 4, 5]]
    found = check_submodularity([0.0, 0.0, 0.0, 1.0], rows)
    assert (found.constant, found.relevant) == (2.0, ((0, 2),))
    assert check_marginal_density(rows, size=1).features == (1,)


def test_the_largest_magnitude_is_accepted():
    found = check_submodularity([-1e150, 1e150])
    assert (found.constant, found.smaller_gain) == (1.0, pytest.approx(1e300))


def test_a_row_of_weight_zero_is_not_read():
    assert find_relevant_features([0.0, 5.0, 1.0], [[0], [0], [1]], [1.0, 0.0, 1.0]) == ((0,),)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: build_binary_inputs(0), OptionError, "0 features"),
        (lambda: check_submodularity([0, 1], constant=0.5), OptionError, "constant is 0.5"),
        (lambda: check_diminishing_returns([0, 1], constant=math.nan), OptionError, "constant is nan"),
        (lambda: check_strong_sparsity([0, 1], beta=0.0), OptionError, "beta is 0.0"),
        (lambda: check_marginal_density(X), OptionError, "give either size"),
        (lambda: check_marginal_density(X[:0], size=1), DataError, r"rows have shape \(0, 3\)"),
        (lambda: check_marginal_density(X, size=1, features=[0]), OptionError, "give either size"),
        (lambda: check_marginal_density(X, size=4), OptionError, "size is 4"),
        (lambda: check_marginal_density(X, features=[]), OptionError, "features are"),
        (lambda: check_marginal_density(X, features=[3]), OptionError, "features are"),
        (lambda: check_marginal_density(X, size=1, zeta=-1.0), OptionError, "zeta is -1.0"),
        (lambda: compute_heterogeneity([0, 1], [1]), OptionError, "feature 1 of 1"),
        (lambda: compute_heterogeneity([0, 1], cell="2"), OptionError, "the cell is '2'"),
        (lambda: compute_heterogeneity([0, 1], weights=[1, 0], cell="1"), DataError, "probability 0"),
    ],
)
def test_an_option_that_has_no_meaning_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_a_margin_can_be_asked_for():
    f = X[:, :2] @ [0.5, 0.25]
    assert check_strong_sparsity(f, beta=1 / 64).holds
    assert not check_strong_sparsity(f, beta=1 / 63).holds
    all_relevant = check_strong_sparsity(X @ [1.0, 2.0, 4.0], beta=9.0)
    assert (all_relevant.holds, all_relevant.beta, all_relevant.label) == (True, math.inf, None)
