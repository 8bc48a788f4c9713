from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import rankdata

from symscreen.screeners import SCREENERS, T0
from symscreen.statistics.inference.max_t import (
    compute_max_t_p_values,
    draw_circular_shifts,
    permute_target,
)
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.workspace import Workspace
from symscreen.targets import NumericTarget


def _features(rng, m, n):
    values = rng.normal(size=(m, n))
    values[::3] = np.round(values[::3] * 1.5)  # tied
    values[1::4] = values[1::4] > 0.3  # in two levels
    return values


def _centered(weights):
    return (weights - (weights.min() + weights.max()) / 2) / np.ptp(weights)


def _make_target(rng, n, kind):
    y = {
        "normal": rng.normal(size=n),
        "cauchy": rng.standard_cauchy(size=n),
        "tied": rng.integers(0, 4, n).astype(float),
        "far": 1e9 + rng.normal(size=n),
    }[kind]
    return NumericTarget(np.sort(y))


@pytest.mark.parametrize("kind", ["normal", "cauchy", "tied", "far"])
@pytest.mark.parametrize("name", ["t0", "spearman"])
@pytest.mark.parametrize("free", [True, False])
def test_the_best_under_each_permutation_is_that_of_the_ordinary_scores(rng, kind, name, free):
    n, screener = 25, SCREENERS[name]
    target, values = _make_target(rng, n, kind), _features(rng, 40, n)
    weights = screener.rank_weights(target)
    shuffles = permute_target(weights, 30, seed=3, sign_free=free)
    best = shuffles.initial_max
    shuffles.update_max(sort_block(values), best, Workspace())

    spread = np.sqrt([((rankdata(row) - (n + 1) / 2) ** 2).sum() for row in values])
    places = np.argsort(shuffles.weights, kind="stable")
    for b in range(30):
        # rows permuted as y is: the rows of y in ascending order are what the screener takes
        rows = np.argsort(shuffles.permuted_weights[:, b], kind="stable")
        assert shuffles.permuted_weights[rows, b].tolist() == shuffles.weights[places].tolist()
        statistics = screener.statistic(sort_block(np.ascontiguousarray(values[:, rows])), target)
        ratio = statistics / spread if name == "t0" else statistics
        own = np.abs(ratio).max() if free else ratio.max()
        unit = shuffles.compute_statistics(sort_block(np.arange(n)[None] * 1.0))[0]
        one = screener.statistic(sort_block(np.arange(n)[None] * 1.0), target)[0]
        one = one / np.sqrt(n * (n * n - 1) / 12) if name == "t0" else one
        assert best[b] / unit == pytest.approx(own / one, rel=1e-8)


def test_blocks_and_their_order_do_not_matter(rng):
    target, values = _make_target(rng, 57, "cauchy"), _features(rng, 103, 57)
    shuffles = permute_target(T0.rank_weights(target), 17, seed=0, sign_free=True)
    at_once = shuffles.initial_max
    shuffles.update_max(sort_block(values), at_once, Workspace())
    workspace, bit_by_bit = Workspace(), shuffles.initial_max
    for size, start in ((1, 60), (59, 0), (1, 59), (42, 61)):
        shuffles.update_max(sort_block(values[start : start + size]), bit_by_bit, workspace)
    assert bit_by_bit.tobytes() == at_once.tobytes()
    multioutput_target = shuffles.compute_statistics(sort_block(values))
    alone = np.concatenate([shuffles.compute_statistics(sort_block(row[None])) for row in values])
    assert multioutput_target.tobytes() == alone.tobytes()
    mirrored = shuffles.compute_statistics(sort_block(-values))
    assert mirrored.tobytes() == multioutput_target.tobytes()


@pytest.mark.parametrize("n", [3, 400, 4097, 9000])
def test_sums_are_exact_at_any_length(rng, n):
    weights = rng.standard_cauchy(size=n) if n % 2 else rng.lognormal(0, 3, size=n)
    shuffles = permute_target(weights, 3, seed=1, sign_free=False)
    assert (shuffles.permuted_weights == np.rint(shuffles.permuted_weights)).all()
    values = rng.normal(size=(2, n))
    best = shuffles.initial_max
    shuffles.update_max(sort_block(values), best, Workspace())
    doubled = (2 * rankdata(values, axis=1) - (n + 1)).astype(int)
    exact = [
        max(sum(w * r for w, r in zip(column, ranks, strict=True)) for ranks in doubled.tolist())
        for column in shuffles.permuted_weights.astype(int).T.tolist()
    ]
    sums = best / (1.0 / np.sqrt(n * (n * n - 1.0) / 3.0))
    # of one stretch of rows the sum is exact; over several it is rounded once a stretch
    assert np.allclose(sums, np.array(exact, dtype=float), rtol=1e-14)
    assert np.allclose(shuffles.weights / np.ptp(shuffles.weights), _centered(weights), atol=2.0**-20)


def test_the_first_of_more_permutations_are_the_same(rng):
    y = rng.normal(size=30)
    few, many = (permute_target(y, count, seed=5, sign_free=True).permuted_weights for count in (4, 9))
    assert few.tolist() == many[:, :4].tolist()
    assert permute_target(y, 4, seed=6, sign_free=True).permuted_weights.tolist() != few.tolist()


def test_a_family_p_value_counts_who_does_as_well(rng):
    best = rng.integers(0, 9, 40) / 8.0
    z = np.array([-1.0, 0.0, 0.125, 0.5, 1.0, 2.0])
    expected = [(1 + sum(b >= own for b in best.tolist())) / 41 for own in z.tolist()]
    assert compute_max_t_p_values(z, best).tolist() == expected
    last_bit = np.where(z == 0, z, np.nextafter(z, 3))  # which never decides
    assert compute_max_t_p_values(last_bit, best).tolist() == expected


def test_circular_shifts_keep_the_order_within_each_run():
    rng = np.random.default_rng(3)
    runs = [np.array([4, 0, 2, 6]), np.array([1, 5, 3])]
    shifts = set()
    for _ in range(200):
        drawn = draw_circular_shifts(runs, rng)
        for rows in runs:
            start = rows.tolist().index(drawn[rows[0]])
            assert drawn[rows].tolist() == np.roll(rows, -start).tolist()
        shifts.add(tuple(drawn.tolist()))
    assert len(shifts) == 12


def test_shifts_hold_their_level_where_rows_follow_each_other_and_shuffles_do_not():
    n_draws, n, rejected = 60, 150, {"shifts": 0, "shuffles": 0}
    for seed in range(n_draws):
        series = lfilter([1.0], [1.0, -0.9], np.random.default_rng(seed).normal(size=(4, n + 100)))
        series = np.ascontiguousarray(series[:, 100:])  # as in a screen: kernels for others would be compiled
        block = sort_block(series[:3])
        for kind, runs in (("shifts", [np.arange(n)]), ("shuffles", None)):
            target = permute_target(series[3], 99, seed=seed, sign_free=True, runs=runs)
            maxima = target.initial_max
            target.update_max(block, maxima, Workspace())
            rejected[kind] += compute_max_t_p_values(target.compute_statistics(block), maxima).min() <= 0.05
    assert rejected["shifts"] <= 6  # 3 are expected
    assert rejected["shuffles"] >= 30
