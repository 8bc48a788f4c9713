from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from symscreen.errors import OptionError
from symscreen.label_ranking.theory import (
    compute_forest_sample_size,
    compute_pairwise_sample_size,
    compute_tree_sample_size,
    compute_tsybakov_constant,
)

PROBLEMS = st.tuples(
    st.integers(1, 50), st.integers(1, 6), st.integers(1, 5), st.floats(0.01, 0.9), st.floats(0.01, 0.5)
).map(lambda drawn: (drawn[0] + drawn[2], *drawn[1:]))  # d ≥ r
CRITERIA = st.sampled_from(["level", "breiman"])


@given(PROBLEMS, CRITERIA, st.booleans(), st.floats(1.0, 3.0))
def test_with_this_many_rows_the_failures_of_the_proof_sum_to_delta(problem, criterion, independent, c):
    d, k, r, epsilon, delta = problem
    n = compute_tree_sample_size(*problem, submodularity=c, criterion=criterion, independent=independent).n
    # bounds on Pr[B_i] in cases 1a, 1b, 2a and 2b of the proof of Theorem A.3
    rate = {
        ("level", False): (c * r * k / epsilon) ** -(c * r + 2),
        ("level", True): 1 / (2**r * (c * k / epsilon) ** 2),
        ("breiman", False): (c * r * k / epsilon) ** -(c * r + 3),
        ("breiman", True): epsilon**3 / (k**3 * c**2 * 2**r),
    }[criterion, independent]
    assert k * d * math.exp(-n * rate) == pytest.approx(delta, rel=1e-9)


@given(PROBLEMS, CRITERIA, st.booleans())
def test_each_label_is_learned_with_its_share_of_error_and_failure(problem, criterion, independent):
    d, k, r, epsilon, delta = problem
    alone = (d, 1, r, epsilon / k, delta / k)
    trees, tree = (
        compute_tree_sample_size(*which, submodularity=1.5, criterion=criterion, independent=independent)
        for which in (problem, alone)
    )
    assert trees.log10_n == pytest.approx(tree.log10_n)
    forests, forest = (
        compute_forest_sample_size(*which, beta=0.1, zeta=0.5, criterion=criterion)
        for which in (problem, alone)
    )
    assert forests.n == pytest.approx(forest.n)
    assert forests.subsample == pytest.approx(forest.subsample)


@given(PROBLEMS, CRITERIA)
def test_the_depth_is_that_at_which_the_leaves_are_a_power_of_the_rows(problem, criterion):
    d, _, r, _, delta = problem
    found = compute_tree_sample_size(*problem, submodularity=2.0, criterion=criterion, constant=3.0)
    power = 2 * r / (2 * r + (2 if criterion == "level" else 3))
    leaves = (found.n / math.log(d / delta)) ** power
    assert found.depth == pytest.approx(max(math.log2(leaves), 0.0))
    assert compute_tree_sample_size(*problem, submodularity=2.0, independent=True).depth == r
    easy = compute_tree_sample_size(d, 1, r, 1e6, delta, submodularity=2.0, criterion=criterion)
    assert easy.depth == 0.0  # fewer rows than the smallest tree needs


def test_a_constant_multiplies_the_rows():
    problem = (20, 3, 4, 0.1, 0.05)
    one, ten = (compute_tree_sample_size(*problem, submodularity=2.0, constant=c) for c in (1.0, 10.0))
    assert ten.log10_n == pytest.approx(one.log10_n + 1)
    forest = compute_forest_sample_size(*problem, beta=0.1, zeta=0.5, constant=10.0, subsample_constant=100.0)
    plain = compute_forest_sample_size(*problem, beta=0.1, zeta=0.5)
    assert (forest.n, forest.subsample) == pytest.approx((10 * plain.n, 100 * plain.subsample))
    pairs = {"vc_dimension": 5, "noise_exponent": 0.5}
    assert compute_pairwise_sample_size(4, 0.1, 0.05, constant=7.0, **pairs) == pytest.approx(
        7 * compute_pairwise_sample_size(4, 0.1, 0.05, **pairs)
    )


@given(PROBLEMS, st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_a_forest_of_breimans_trees_needs_one_subsample_for_each_share_of_the_error(problem, beta, zeta):
    _, k, r, epsilon, _ = problem
    found = compute_forest_sample_size(*problem, beta=beta, zeta=zeta, criterion="breiman")
    assert found.n == pytest.approx(found.subsample * k / epsilon)
    deeper = compute_forest_sample_size(
        problem[0] + 1, k, r + 1, *problem[3:], beta=beta, zeta=zeta, criterion="breiman"
    )
    assert deeper.subsample > 2 * found.subsample * (1 - 1e-9)


def test_a_forest_of_level_splits_by_hand():
    # d = e², k = 1, δ = 1/e would give logarithms 2, 1 and 3; here with integers
    found = compute_forest_sample_size(8, 2, 3, 0.5, 0.25, beta=0.5, zeta=0.5)
    log2 = math.log(2.0)
    assert found.n == pytest.approx(8 * 2 * 3 * log2 / 0.5 * (3 * log2 * 4 + 2))
    assert found.subsample == pytest.approx(8 * (6 * log2 * 4 + 3 * log2 * 2))


def test_pairs_grow_with_the_printed_and_the_corrected_powers():
    pairs = {"vc_dimension": 100.0, "noise_exponent": 0.8, "tolerance": 0.5}
    for form, power in (("printed", 1.0), ("corrected", 3.0)):
        four, eight = (compute_pairwise_sample_size(k, 0.1, 0.05, form=form, **pairs) for k in (4, 8))
        assert eight / four == pytest.approx(2.0**power)
    fine = compute_pairwise_sample_size(4, 0.05, 0.05, **pairs)
    rare = compute_pairwise_sample_size(4, 0.1, 0.05, **{**pairs, "tolerance": 0.25})
    coarse = compute_pairwise_sample_size(4, 0.1, 0.05, **pairs)
    assert fine / coarse == pytest.approx(2.0**1.5)  # (2 − a)/a
    assert rare == pytest.approx(fine)
    assert compute_pairwise_sample_size(4, 0.1, 0.05, power=2.0, **pairs) == pytest.approx(
        4**1 * 100 * 0.05**-2
    )
    few = compute_pairwise_sample_size(4, 0.1, 0.05, **{**pairs, "vc_dimension": 1.0})
    assert coarse / few == pytest.approx(100 / math.log(80))


@given(st.floats(0.1, 0.9), st.floats(0.1, 10.0), st.floats(0.01, 1.0))
def test_the_tsybakov_constant_is_the_best_of_the_proof(a, bound, disagreement):
    # excess risk ≥ t·(Pr[g ≠ g*] − B·t^(a/(1−a))) for all t
    optimum = (disagreement * (1 - a) / bound) ** ((1 - a) / a)
    best = minimize_scalar(
        lambda t: -t * (disagreement - bound * t ** (a / (1 - a))),
        bounds=(0.5 * optimum, 2.0 * optimum),
        method="bounded",
        options={"xatol": 1e-9 * optimum},
    )
    assert compute_tsybakov_constant(a, bound) * (-best.fun) ** a == pytest.approx(disagreement, rel=1e-6)


def test_sizes_beyond_floating_point_are_infinite():
    huge = compute_tree_sample_size(1000, 5, 100, 0.01, 0.05, submodularity=2.0)
    assert huge.n == math.inf
    assert 1e3 < huge.log10_n < 1e4
    assert np.isfinite(huge.depth)
    assert compute_forest_sample_size(3000, 5, 2000, 0.1, 0.1, beta=0.1, zeta=1.0).n == math.inf
    assert compute_pairwise_sample_size(10**6, 1e-9, 0.1, vc_dimension=5, noise_exponent=0.01) == math.inf


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: compute_tree_sample_size(3, 2, 4, 0.1, 0.1, submodularity=1.0), "r = 4"),
        (lambda: compute_tree_sample_size(3, 0, 2, 0.1, 0.1, submodularity=1.0), "k = 0"),
        (lambda: compute_tree_sample_size(3, 2, 2, 0.0, 0.1, submodularity=1.0), "epsilon is 0.0"),
        (lambda: compute_tree_sample_size(3, 2, 2, 0.1, 1.0, submodularity=1.0), "delta is 1.0"),
        (lambda: compute_tree_sample_size(3, 2, 2, 0.1, 0.1, submodularity=0.5), "submodularity is 0.5"),
        (lambda: compute_tree_sample_size(3, 2, 2, 0.1, 0.1, submodularity=math.inf), "is inf"),
        (
            lambda: compute_tree_sample_size(3, 2, 2, 0.1, 0.1, submodularity=1.0, criterion="levels"),
            "did you mean 'level'",
        ),
        (lambda: compute_tree_sample_size(3, 2, 2, 0.1, 0.1, submodularity=1, constant=0), "constant is 0"),
        (lambda: compute_forest_sample_size(3, 2, 2, 0.1, 0.1, beta=0.0, zeta=1.0), "beta is 0.0"),
        (lambda: compute_forest_sample_size(3, 2, 2, 0.1, 0.1, beta=0.1, zeta=-1.0), "zeta is -1.0"),
        (lambda: compute_pairwise_sample_size(1, 0.1, 0.1, vc_dimension=2, noise_exponent=0.5), "k is 1"),
        (
            lambda: compute_pairwise_sample_size(3, 0.1, 0.1, vc_dimension=0, noise_exponent=0.5),
            "vc_dimension is 0",
        ),
        (
            lambda: compute_pairwise_sample_size(3, 0.1, 0.1, vc_dimension=2, noise_exponent=1.0),
            "noise_exponent is 1.0",
        ),
        (
            lambda: compute_pairwise_sample_size(
                3, 0.1, 0.1, vc_dimension=2, noise_exponent=0.5, tolerance=0.0
            ),
            "tolerance is 0.0",
        ),
        (
            lambda: compute_pairwise_sample_size(
                3, 0.1, 0.1, vc_dimension=2, noise_exponent=0.5, form="fixed"
            ),
            "unknown form",
        ),
        (lambda: compute_tsybakov_constant(0.5, 0.0), "bound is 0.0"),
    ],
)
def test_a_number_that_has_no_meaning_is_refused(call, said):
    with pytest.raises(OptionError, match=said):
        call()
