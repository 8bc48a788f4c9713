from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf, log

import numpy as np
import pytest
from helpers.fitting_cases import dictionary
from hypothesis import given
from hypothesis import strategies as st

from symscreen.fitting import (
    EXACT_SHARE,
    ModelSearchResult,
    ScoredModel,
    find_alternatives,
    find_pareto_front,
    score_models,
    select_model,
)
from symscreen.fitting.model_selection import _compute_exact_gain, explains_many_rows, is_robust
from symscreen.linear_models.model_criteria import round_unexplained_share

COMPLEXITY = [1, 2, 2, 3, 5, 8]
shares = st.one_of(st.floats(1e-12, 1.0), st.just(0.0), st.sampled_from([0.25, 0.5]))
models = st.dictionaries(
    st.sets(st.integers(0, 5), min_size=1, max_size=4).map(lambda some: tuple(sorted(some))), shares
)


def _found(models, *, rivals=10.0, constants=0):
    rng = np.random.default_rng(0)
    return ModelSearchResult(
        dictionary(rng, COMPLEXITY, rivals=rivals, constants=constants), dict(models), 6, len(models)
    )


def _one(found, rows, criterion, members):
    return next(one for one in score_models(found, rows, criterion) if one.term_indices == members)


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ("aic", 50 * log(0.2) + 2 * 3),
        ("bic", 50 * log(0.2) + 3 * log(50)),
        ("ebic", 50 * log(0.2) + 3 * log(50) + 2 * (log(7) + log(11)) * 50 / (50 - 3)),
    ],
)
def test_a_criterion_is_its_formula(criterion, expected):
    found = _found({(0, 3): 0.2})
    found.terms.search_sizes[[0, 3]] = 7, 11
    assert _one(found, 50, criterion, (0, 3)).score == pytest.approx(expected, rel=1e-14)


def test_a_constant_inside_a_term_counts_as_a_coefficient_does():
    plain, fitted = (_one(_found({(1,): 0.3}, constants=c), 40, "bic", (1,)).score for c in (0, 2))
    assert fitted - plain == pytest.approx(2 * log(40))


def test_the_mean_stands_among_the_models_and_wins_where_nothing_else_pays():
    weak = _found({(0,): 0.97, (1, 2): 0.95})
    best = score_models(weak, 60, "ebic")[0]
    assert (best.term_indices, best.unexplained_share, best.complexity) == ((), 1.0, 0)
    assert best.score == pytest.approx(log(60))
    assert score_models(weak, 6000, "ebic")[0].term_indices == (1, 2)


def test_of_models_that_leave_as_much_the_simplest_stands_for_all():
    found = _found({(0, 5): 0.3, (1, 3): 0.3 * (1 + 1e-11), (2, 4): 0.3, (0, 1): 0.3001, (3,): 0.3})
    kept = {one.term_indices: one.n_rewritings for one in score_models(found, 100, "bic")}
    assert kept == {(): 0, (3,): 0, (1, 3): 2, (0, 1): 0}


def test_of_exact_formulas_the_simplest_is_first_whatever_the_criterion():
    found = _found({(5,): 0.0, (0, 1, 2): 1e-30, (4,): EXACT_SHARE, (3,): 1e-20})
    for criterion in ("aic", "bic", "ebic"):
        ranked = score_models(found, 100, criterion)
        assert [one.term_indices for one in ranked[:3]] == [(4,), (0, 1, 2), (3,)]
        assert ranked[0].n_rewritings == 1
        assert select_model(ranked) is ranked[0]


def test_between_equally_complex_formulas_the_one_with_simpler_terms_is_taken():
    found = _found({(0, 3): 0.0, (1, 2): 0.0})  # 1 + 3 and 2 + 2
    ranked = score_models(found, 100, "bic")
    assert ranked[0].term_indices == (1, 2)
    long, short = ScoredModel((0,), 0.0, 6, 0.0, (5,)), ScoredModel((1, 2), 1e-30, 6, 0.0, (2, 2))
    assert find_pareto_front([long, short]) == [short]


@pytest.mark.parametrize(("rows", "largest"), [(5, 1), (14, 1), (15, 2), (19, 2), (20, 3), (25, 4)])
def test_few_rows_allow_few_terms_unless_the_formula_is_exact(rows, largest):
    sizes = [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)]
    found = _found({members: 0.1 ** (3 * len(members)) for members in sizes})
    assert max(len(one.term_indices) for one in score_models(found, rows, "bic")) == largest
    exact = _found(dict.fromkeys(sizes, 0.0))
    assert {len(one.term_indices) for one in score_models(exact, rows, "bic")} == {0, 1, 2, 3, 4}


def test_a_fitted_constant_needs_its_rows_too():
    found = _found({(0, 1): 0.1}, constants=1)  # an intercept, two coefficients, two constants
    assert [len(one.term_indices) for one in score_models(found, 24, "bic")] == [0]
    assert [len(one.term_indices) for one in score_models(found, 25, "bic")] == [2, 0]


@given(models, st.sampled_from(["aic", "bic", "ebic"]))
def test_the_order_is_exact_first_and_then_by_score(models, criterion):
    ranked = score_models(_found(models), 200, criterion)
    assert ranked == score_models(_found(dict(reversed(models.items()))), 200, criterion)
    exact = [one.unexplained_share <= EXACT_SHARE for one in ranked]
    assert exact == sorted(exact, reverse=True)
    scores = [round(one.score, 6) for one in ranked if one.unexplained_share > EXACT_SHARE]
    assert scores == sorted(scores)
    assert sum(1 + one.n_rewritings for one in ranked) == len(models) + 1
    for one in ranked:
        assert one.complexity == sum(COMPLEXITY[place] + 1 for place in one.term_indices)


@given(models)
def test_the_front_is_a_pareto_front(models):
    everyone = score_models(_found(models), 200, "bic")
    shown = find_pareto_front(everyone)
    left = [max(one.unexplained_share, EXACT_SHARE) for one in shown]
    assert all(a.complexity < b.complexity for a, b in pairwise(shown))
    assert all(a > b for a, b in pairwise(left))
    for one in everyone:
        beaten = any(
            other.complexity <= one.complexity
            and max(other.unexplained_share, EXACT_SHARE)
            <= max(one.unexplained_share, EXACT_SHARE) * (1 + 1e-9)
            for other in shown
        )
        assert beaten
    assert all(any(one is other for other in everyone) for one in shown)


@given(models)
def test_the_exact_formula_chosen_stands_on_the_front(models):
    everyone = score_models(_found(models), 200, "bic")
    if everyone[0].unexplained_share <= EXACT_SHARE:
        assert any(one is everyone[0] for one in find_pareto_front(everyone))


@given(models, st.floats(0.0, 500.0), st.integers(0, 6))
def test_rivals_are_within_the_margin_best_first_and_never_the_one_chosen(models, margin, limit):
    everyone = score_models(_found(models), 200, "bic")
    for chosen in everyone:
        near = find_alternatives(chosen, everyone, margin, limit)
        able = [
            one
            for one in everyone
            if one is not chosen
            and one.score <= chosen.score + margin
            and not (
                chosen.unexplained_share <= EXACT_SHARE and set(chosen.term_indices) < set(one.term_indices)
            )
        ]
        if chosen.unexplained_share > EXACT_SHARE:
            # another form of the same function, such as that of one more term, is no rival
            own = {round_unexplained_share(chosen.unexplained_share)}
            able = [
                one
                for one in able
                if (share := round_unexplained_share(one.unexplained_share)) not in own and not own.add(share)
            ]
        assert near == able[:limit]


@given(models)
def test_what_is_preferred_is_the_simplest_within_two_points(models):
    everyone = score_models(_found(models), 200, "bic")
    one = select_model(everyone)
    if everyone[0].unexplained_share > EXACT_SHARE:
        near = [other for other in everyone if other.score <= everyone[0].score + 2]
        assert one in near
        sizes = [other.complexity + 2 * other.n_parameters for other in near]
        size = one.complexity + 2 * one.n_parameters
        assert size == min(sizes)
        # where length says nothing, the criterion does
        alike = [other for other, own in zip(near, sizes, strict=True) if own == size]
        assert one.score <= min(other.score for other in alike) + 1e-6


def test_a_formula_without_numbers_comes_before_an_equally_good_one_with_a_number():
    plain = ScoredModel((0,), 0.5, 11, -10.0, n_parameters=1)
    with_number = ScoredModel((1,), 0.5, 10, -10.5, n_parameters=2)
    assert select_model([with_number, plain]) is plain


def test_preferring_the_simpler_model_ends_at_two_points():
    best, near, far = (
        ScoredModel((0, 1), 0.5, 9, -10.0),
        ScoredModel((0,), 0.6, 4, -8.1),
        ScoredModel((), 1.0, 0, -7.9),
    )
    assert select_model([best, near, far]) is near
    assert select_model([best, far]) is best
    assert find_alternatives(best, [best, near, far], inf, 1) == [near]


@pytest.mark.parametrize(("share", "is_kept"), [(0.9, False), (0.5, True)])
def test_a_model_without_an_intercept_must_be_better_than_the_mean_by_a_parameter(share, is_kept):
    # with 30 rows, the share 0.9 gains 3.2 points, less than log 30 = 3.4
    found = replace(_found({(0,): share}), models_without_intercept=frozenset({(0,)}))
    kept = [model for model in score_models(found, 30, "bic") if not model.has_intercept]
    assert bool(kept) == is_kept


def test_a_peak_at_the_outliers_of_a_target_explains_only_a_few_rows(rng):
    target = rng.standard_t(2.0, 200)
    peaks = np.where(np.abs(target) > np.sort(np.abs(target))[-4], target, 0.0)
    mean = ScoredModel((), 1.0, 0, np.log(200))
    share = 1.0 - np.corrcoef(peaks, target)[0, 1] ** 2
    model = ScoredModel((0,), share, 5, 200 * np.log(share) + 30.0)
    assert model.score < mean.score
    assert not explains_many_rows(model, mean, peaks[None], target)
    assert explains_many_rows(mean, mean, peaks[:0], target)


def test_a_law_of_a_skewed_target_explains_many_rows(rng):
    x = rng.lognormal(0, 1, 100)
    target = x**3 + 0.05 * rng.normal(size=100) * np.sqrt(np.mean(x**6))
    share = 1.0 - np.corrcoef(x**3, target)[0, 1] ** 2
    model = ScoredModel((0,), share, 5, 100 * np.log(share) + 20.0)
    assert explains_many_rows(model, ScoredModel((), 1.0, 0, np.log(100)), (x**3)[None], target)


def test_a_best_of_many_features_with_errors_as_unequal_as_its_own_is_seldom_robust():
    n, n_features, n_tables = 100, 1000, 20
    n_preferred = n_robust = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        sizes = np.exp(rng.uniform(0, 3, n))
        target = sizes * rng.normal(size=n)
        features = sizes * rng.normal(size=(n_features, n))
        correlations = np.corrcoef(np.vstack([target, features]))[0, 1:]
        best = int(np.argmax(np.abs(correlations)))
        share = 1.0 - float(correlations[best]) ** 2
        mean = ScoredModel((), 1.0, 0, np.log(n))
        model = ScoredModel((0,), share, 5, n * np.log(share) + 2.0 * np.log(n_features) + 2.0 * np.log(n))
        if model.score < mean.score:
            n_preferred += 1
            n_robust += is_robust(model, mean, features[[best]], target)
    assert n_preferred == n_tables
    assert n_robust <= n_tables // 4


def test_with_few_rows_a_best_of_many_features_is_seldom_robust():
    n, n_features, n_tables = 6, 5_000, 40
    n_preferred = n_robust = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        target, features = rng.normal(size=n), rng.normal(size=(n_features, n))
        centered = features - features.mean(axis=1, keepdims=True)
        correlations = centered @ (target - target.mean()) / np.linalg.norm(centered, axis=1)
        best = int(np.argmax(np.abs(correlations)))
        share = 1.0 - float(correlations[best]) ** 2 / float(np.var(target) * n)
        mean = ScoredModel((), 1.0, 0, np.log(n))
        model = ScoredModel((0,), share, 5, n * np.log(share) + 2.0 * np.log(n_features) + 2.0 * np.log(n))
        if model.score < mean.score:
            n_preferred += 1
            n_robust += is_robust(model, mean, features[[best]], target)
    assert n_preferred > n_tables // 2
    assert n_robust <= n_tables // 10


def test_the_gain_with_few_rows_is_that_of_an_f_test():
    from scipy.stats import f

    share, n, k = 0.2, 12, 3
    statistic = (1.0 - share) / k / (share / (n - 1 - k))
    assert _compute_exact_gain(share, n, k) == pytest.approx(-2.0 * f.logsf(statistic, k, n - 1 - k))


def test_a_law_whose_errors_grow_with_it_is_robust(rng):
    x = rng.uniform(1.0, 5.0, 100)
    target = x**3 * (1.0 + 0.3 * rng.normal(size=100))
    share = 1.0 - np.corrcoef(x**3, target)[0, 1] ** 2
    model = ScoredModel((0,), share, 5, 100 * np.log(share) + 30.0)
    assert is_robust(model, ScoredModel((), 1.0, 0, np.log(100)), (x**3)[None], target)


def test_of_equal_forms_the_one_of_the_smallest_search_counts():
    found = _found({(0,): 0.1, (1,): 0.1})
    complexity = np.full_like(found.terms.complexity, 3)
    found = replace(
        found,
        terms=replace(found.terms, complexity=complexity, search_sizes=np.array([50.0, 5.0, *[9.0] * 4])),
    )
    best = score_models(found, 100, "ebic")[0]
    assert best.term_indices == (1,)
    assert best.n_rewritings == 1
