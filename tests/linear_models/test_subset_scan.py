from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.linear_models._kernels import (
    PADDING,
    CollinearityLimits,
    SchurState,
    TopModels,
    push_model,
    scan_subsets,
)


def _left(q, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(q + 1, 30))
    z /= np.linalg.norm(z, axis=1)[:, None]
    padded = np.zeros((q + 1, q + PADDING))
    padded[:, :q] = z @ z[:q].T
    pivots = np.zeros(q + PADDING)
    pivots[:q] = 1.0
    return SchurState(padded[:q].copy(), pivots, padded[q:], 0.0, 1.0, 0)


def _empty(most):
    return TopModels(np.full(most, -np.inf), np.full(most, np.iinfo(np.int64).max))


def _sorted(best):
    order = np.lexsort((best.codes, -best.scores))
    return best.scores[order].tolist(), best.codes[order].tolist()


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 99)), max_size=60), st.integers(1, 9))
def test_the_heap_keeps_the_best(pushed, most):
    pushed = list(dict.fromkeys(pushed))
    best = _empty(most)
    for score, code in pushed:
        push_model(float(score), code, best)
    expected = sorted(pushed, key=lambda model: (-model[0], model[1]))[:most]
    scores, codes = _sorted(best)
    assert list(zip(scores, codes, strict=True))[: len(expected)] == expected
    assert np.isneginf(scores[len(expected) :]).all()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_all_subsets_are_scored(size, rng):
    q = 11
    left = _left(q, rng.integers(1 << 30))
    best = _empty(1000)
    scan_subsets(size, 0, q, 0, left, CollinearityLimits(1e-10, 1e-13), best)
    full = np.triu(left.products[:, :q], 1)
    full = full + full.T + np.eye(q)
    expected = {}
    for chosen in combinations(range(q), size):
        c = left.target_products[0, list(chosen)]
        code = int(np.dot(chosen, [q**k for k in reversed(range(size))]))
        expected[code] = c @ np.linalg.solve(full[np.ix_(chosen, chosen)], c)
    found = {c: s for s, c in zip(*_sorted(best), strict=True) if s > -np.inf}
    assert found.keys() == expected.keys()
    assert all(abs(found[code] - score) < 1e-12 for code, score in expected.items())


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_shares_and_bars_change_no_bit(size, rng):
    q, most = 23, 12
    left = _left(q, rng.integers(1 << 30))
    whole, other = _empty(most), _empty(most)
    scan_subsets(size, 0, q, 0, left, CollinearityLimits(1e-10, 1e-13), whole)
    for first in reversed(range(q)):  # the weakest bars first
        scan_subsets(size, first, first + 1, 0, left, CollinearityLimits(1e-10, 1e-13), other)
    assert _sorted(whole) == _sorted(other)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_apart_finds_what_all_subsets_find(size, rng):
    s, lanes = 9, 13
    left = _left(s + lanes, rng.integers(1 << 30))
    best = TopModels(np.full(lanes, -np.inf), np.zeros(lanes, dtype=np.int64))
    core = SchurState(left.products[:s].copy(), left.pivots, left.target_products, 0.0, 1.0, 0)
    cut = SchurState(
        core.products[:, : s + lanes].copy(),
        left.pivots[: s + lanes],
        left.target_products[:, : s + lanes].copy(),
        0.0,
        1.0,
        0,
    )
    scan_subsets(size, 0, s, s, cut, CollinearityLimits(1e-10, 1e-13), best)
    for k in range(lanes):
        keep = [*range(s), s + k]
        products = np.zeros((s + 1, s + 1 + PADDING))
        full = np.vstack([left.products[:s, keep], np.zeros(s + 1)])
        products[:, : s + 1] = full
        pivots, with_target = np.zeros(s + 1 + PADDING), np.zeros((1, s + 1 + PADDING))
        pivots[: s + 1], with_target[:, : s + 1] = 1.0, left.target_products[:, keep]
        every = _empty(5000)
        scan_subsets(
            size,
            0,
            s + 1,
            0,
            SchurState(products, pivots, with_target, 0.0, 1.0, 0),
            CollinearityLimits(1e-10, 1e-13),
            every,
        )
        scores, codes = _sorted(every)
        score, code = next((a, b) for a, b in zip(scores, codes, strict=True) if b % (s + 1) == s)
        digits = [code // (s + 1) ** power % (s + 1) for power in reversed(range(1, size))]
        assert best.scores[k] == score
        assert best.codes[k] == int(np.dot(digits, [s**power for power in reversed(range(size - 1))]))


@pytest.mark.parametrize("size", [2, 3, 4])
def test_collinear_subsets_take_no_place(size, rng):
    q = 8
    z = rng.normal(size=(5, 30))
    z = np.vstack([z, z[:2] + 1e-7 * rng.normal(size=(2, 30)), z[3] - z[4], rng.normal(size=30)])
    z /= np.linalg.norm(z, axis=1)[:, None]
    products, with_target, pivots = (
        np.zeros((q, q + PADDING)),
        np.zeros((1, q + PADDING)),
        np.zeros(q + PADDING),
    )
    products[:, :q], with_target[:, :q], pivots[:q] = z[:q] @ z[:q].T, z[:q] @ z[q], 1.0
    best = _empty(100)
    scan_subsets(
        size,
        0,
        q,
        0,
        SchurState(products, pivots, with_target, 0.0, 1.0, 0),
        CollinearityLimits(1e-10, 1e-13),
        best,
    )
    found = {c for s, c in zip(*_sorted(best), strict=True) if s > -np.inf}
    dependent = [{0, 5}, {1, 6}, {3, 4, 7}]
    expected = [c for c in combinations(range(q), size) if not any(d <= set(c) for d in dependent)]
    assert found == {int(np.dot(c, [q**k for k in reversed(range(size))])) for c in expected}
