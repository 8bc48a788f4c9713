from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import t as student_t

import symscreen
from symscreen.errors import DataError, OptionError
from symscreen.statistics.inference.t0_interval import compute_t0_intervals
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference, compute_t0
from symscreen.targets import NumericTarget


def t0(theta, y):
    return float(compute_t0(sort_block(theta[None]), NumericTarget(y))[0])


@pytest.mark.parametrize("ties", [False, True])
def test_the_error_is_that_of_leaving_out_each_row(ties, rng):
    y = np.sort(rng.lognormal(size=25) if not ties else rng.integers(0, 6, 25).astype(float))
    theta = y + rng.normal(size=25)
    theta = np.round(theta) if ties else theta
    without = np.array([t0(np.delete(theta, i), np.delete(y, i)) for i in range(25)])
    error = np.sqrt(24 / 25 * ((without - without.mean()) ** 2).sum())
    found = compute_t0_intervals(theta[None], NumericTarget(y))
    assert found.error[0] == pytest.approx(error, rel=1e-9)
    assert found.low[0] < t0(theta, y) < found.high[0]
    assert found.gini[0] == pytest.approx(1.0 - t0(theta, y) / compute_gini_mean_difference(NumericTarget(y)))


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("ties", [False, True])
def test_the_ends_are_those_of_the_logarithm_and_of_fishers_z_without_each_row(ties, level, rng):
    n = 60  # with much noise: no few rows decide
    y = np.sort(rng.normal(size=n) if not ties else rng.integers(0, 6, n).astype(float))
    theta = y + 2.0 * rng.normal(size=n)
    theta = np.round(theta) if ties else theta

    def figures(theta, y):
        share = t0(theta, y) / compute_gini_mean_difference(NumericTarget(y))
        return np.log(t0(theta, y)), np.arctanh(1.0 - share)

    whole = np.array(figures(theta, y))
    without = np.array([figures(np.delete(theta, i), np.delete(y, i)) for i in range(n)])
    errors = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    reach = student_t.ppf(0.5 + level / 2, n - 1) * errors
    found = compute_t0_intervals(theta[None], NumericTarget(y), level)
    assert [found.low[0], found.high[0]] == pytest.approx(
        np.exp(whole[0] + [-reach[0], reach[0]]).tolist(), rel=1e-8
    )
    ends = np.tanh(whole[1] + [-reach[1], reach[1]]).tolist()
    assert [found.gini_low[0], found.gini_high[0]] == pytest.approx(ends, rel=1e-8)


def test_covers_about_as_often_as_it_says(rng):
    held = 0
    for _ in range(300):
        x = rng.normal(size=100)
        y = x + rng.normal(size=100)
        order = np.argsort(y)
        found = compute_t0_intervals(x[order][None], NumericTarget(y[order]))
        held += (
            found.gini_low[0] <= np.sqrt(0.5) <= found.gini_high[0]
        )  # Γ of a normal pair is its correlation
    assert 0.90 <= held / 300 <= 0.985


def test_features_that_agree_or_disagree_everywhere(rng):
    y = NumericTarget(np.sort(rng.normal(size=40)))
    found = compute_t0_intervals(np.array([y.values, -y.values]), y)
    delta = compute_gini_mean_difference(y)
    most = 1 - 0.025 ** (1 / 20)  # none of 20 pairs without a common row disagrees
    assert (found.error[0], found.low[0]) == (0, 0)
    assert found.gini.tolist() == [1.0, -1.0]
    assert found.gini_low.tolist() == pytest.approx([1 - most, -1], abs=1e-12)
    assert found.gini_high.tolist() == pytest.approx([1, most - 1], abs=1e-12)
    without = np.array(
        [compute_gini_mean_difference(NumericTarget(np.delete(y.values, i))) for i in range(40)]
    )
    of_log = np.sqrt(39 / 40 * ((np.log(without) - np.log(without).mean()) ** 2).sum())
    assert found.high[0] == pytest.approx(delta * most * np.exp(stdtrit(39, 0.975) * of_log))
    # T0 of what disagrees everywhere is 2Δ, which is known no better than Δ
    assert found.error[1] == pytest.approx(np.sqrt(39 / 40 * (4 * (without - without.mean()) ** 2).sum()))
    assert found.low[1] == pytest.approx(delta * (2 - most) * np.exp(-stdtrit(39, 0.975) * of_log))
    assert found.high[1] == pytest.approx(2 * delta * np.exp(stdtrit(39, 0.975) * of_log))


def test_one_wrong_row_or_pair_is_told_from_none_and_from_many():
    y = NumericTarget(np.arange(1.0, 61.0) ** 1.5)
    slipped, swapped = y.values.copy(), y.values.copy()
    slipped[10] = 500.0
    swapped[[30, 31]] = swapped[[31, 30]]
    found = compute_t0_intervals(np.array([slipped, swapped, slipped + 1e-9 * swapped]), y)
    assert np.all(found.gini_low[[0, 2]] > 0.3)  # it was -1
    assert np.all(found.gini_low[[0, 2]] < 0.8)
    # one discordant pair of neighbours gives hardly more information than none
    assert found.gini_low[1] == pytest.approx(0.025 ** (1 / 30), abs=0.03)
    assert np.all((found.low > 0) & (found.gini_high < 1))


@pytest.mark.parametrize(("noise", "slips"), [(2e-4, 0.0), (1e-3, 0.0), (0.0, 0.01), (1e-4, 0.02)])
def test_covers_where_all_but_a_few_rows_agree(noise, slips, rng):
    def drawn(n):
        x = rng.normal(size=n)
        y = x + noise * rng.normal(size=n)
        x = np.where(rng.random(n) < slips, rng.normal(size=n), x)
        order = np.argsort(y)
        return x[order][None], NumericTarget(y[order])

    x, y = drawn(200_000)
    truth = float(compute_t0(sort_block(x), y)[0])
    gamma, held = 1 - truth / compute_gini_mean_difference(y), np.zeros(2)
    for _ in range(150):
        found = compute_t0_intervals(*drawn(100))
        held += found.low[0] <= truth <= found.high[0], found.gini_low[0] <= gamma <= found.gini_high[0]
        assert found.gini_low[0] > -0.5
    assert np.all(held >= 0.93 * 150)


@pytest.mark.parametrize("sizes", [[5] * 6, [1, 2, 9, 4, 14]])
def test_by_groups_it_leaves_out_each_group(sizes, rng):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    groups = rng.permutation(groups)
    y = np.sort(rng.normal(size=30))
    theta = np.round(y + rng.normal(size=30), 1)
    kept = [groups != one for one in range(len(sizes))]
    without = np.array([t0(theta[own], y[own]) for own in kept])
    units = len(sizes)
    error = np.sqrt((units - 1) / units * ((without - without.mean()) ** 2).sum())
    found = compute_t0_intervals(theta[None], NumericTarget(y), groups=groups)
    assert found.error[0] == pytest.approx(error, rel=1e-9)
    assert found.low[0] < t0(theta, y) < found.high[0]
    alone = compute_t0_intervals(theta[None], NumericTarget(y), groups=np.arange(30))
    plain = compute_t0_intervals(theta[None], NumericTarget(y))
    assert alone.error[0] == pytest.approx(plain.error[0], rel=1e-9)
    assert alone.gini_low[0] == pytest.approx(plain.gini_low[0], rel=1e-9)


@pytest.mark.slow
def test_by_groups_it_covers_where_groups_decide(rng):
    held = np.zeros(2)
    groups = np.repeat(np.arange(20), 8)
    for _ in range(200):
        sites = rng.normal(size=(2, 20))[:, groups]  # two effects that have nothing to do with each other
        x, y = sites + 0.1 * rng.normal(size=(2, 160))
        order = np.argsort(y)
        for at, own in enumerate((groups[order], None)):
            found = compute_t0_intervals(x[order][None], NumericTarget(y[order]), groups=own)
            held[at] += found.gini_low[0] <= 0 <= found.gini_high[0]
    assert held[0] >= 0.9 * 200 > 0.7 * 200 > held[1]


def test_three_groups_are_too_few():
    with pytest.raises(OptionError, match="by groups needs at least 4 groups: there are 3"):
        compute_t0_intervals(
            np.ones((1, 6)), NumericTarget(np.arange(6.0)), groups=np.array([0, 0, 1, 1, 2, 2])
        )


@pytest.mark.parametrize("ties", [False, True])
def test_of_the_negative_gamma_is_mirrored_and_t0_covers_as_well(ties, rng):
    held = 0
    for _ in range(200):
        x = rng.normal(size=60)
        y = x + 0.3 * rng.normal(size=60)
        order = np.argsort(y)
        theta = np.round(x[order], 1) if ties else x[order]
        found = compute_t0_intervals(np.array([theta, -theta]), NumericTarget(y[order]))
        assert found.gini_low[1] == pytest.approx(-found.gini_high[0], abs=1e-9)
        assert found.gini_high[1] == pytest.approx(-found.gini_low[0], abs=1e-9)
        # E|y - y'| of N(0, 1.09) is 2/√π · √1.09; Γ of a normal pair is its correlation
        truth = 2 / np.sqrt(np.pi) * np.sqrt(1.09) * (1 + 1 / np.sqrt(1.09))
        held += found.low[1] <= truth <= found.high[1]
    assert 0.88 <= held / 200 <= 0.99


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95.0])
def test_a_level_that_is_no_share_is_refused(level):
    with pytest.raises(OptionError, match="between 0 and 1"):
        compute_t0_intervals(np.ones((1, 5)), NumericTarget(np.arange(5.0)), level)


def test_three_rows_are_too_few():
    with pytest.raises(OptionError, match="at least 4 rows"):
        compute_t0_intervals(np.ones((1, 3)), NumericTarget(np.arange(3.0)))


def test_plain_arrays_in_any_order_of_rows(rng):
    x, rows = rng.normal(size=(30, 3)), rng.permutation(30)
    y = x[:, 0] + rng.normal(size=30)
    order = np.argsort(y)
    expected = compute_t0_intervals(np.ascontiguousarray(x[order].T), NumericTarget(y[order]), 0.9)
    found = symscreen.t0_interval(x[rows], y[rows], level=0.9)
    single = symscreen.t0_interval(x[:, 0], y, 0.9)
    for name in ("error", "low", "high", "gini", "gini_low", "gini_high"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9)
        assert getattr(single, name) == pytest.approx(getattr(expected, name)[:1], rel=1e-9)
    with pytest.raises(DataError, match="Z must be"):
        symscreen.t0_interval(x[:5], y)


def test_four_rows_are_enough_and_three_are_not():
    y = np.array([0.0, 1.0, 2.0, 4.0])
    found = compute_t0_intervals(y[None, [1, 0, 2, 3]], NumericTarget(y))
    assert found.low[0] <= t0(y[[1, 0, 2, 3]], y) <= found.high[0]
    with pytest.raises(OptionError, match="needs at least 4 rows: the target has 3"):
        compute_t0_intervals(y[None, :3], NumericTarget(y[:3]))
