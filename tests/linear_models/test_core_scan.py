from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.linear_models.exhaustive_subsets import merge_core_models, search_core_subsets
from symscreen.linear_models.gram import (
    MIN_DETERMINANT,
    MIN_PIVOT,
    TILE_FEATURES,
    compute_gram,
    normalize_rows,
)

SIZES = (0, 1, 2, 3)


def brute_force(block, core, size):
    """Fit each feature with every subset that is not collinear; each feature's best, the best first."""
    fitted = []
    for number, row in enumerate(normalize_rows(block)):
        models = []
        for chosen in combinations(range(len(core.columns)), size):
            strongest = sorted(chosen, key=lambda k: (-abs(core.target_products[0, k]), k))
            z = np.vstack([core.columns[strongest], row]).T
            pivots = np.diagonal(np.linalg.qr(z)[1]) ** 2
            if pivots.min() >= MIN_PIVOT and pivots.prod() >= MIN_DETERMINANT:
                residual = core.target[0] - z @ np.linalg.lstsq(z, core.target[0], rcond=None)[0]
                models.append((float(np.linalg.norm(residual)), number, chosen))
        if models:
            fitted.append(min(models))
    return sorted(fitted)


def assert_best(block, core, size, keep):
    found = search_core_subsets(block, core, sizes=[size], keep=keep)[0]
    expected = brute_force(block, core, size)[:keep]
    assert found.features.tolist() == [number for _, number, _ in expected]
    assert [tuple(row) for row in found.subsets.tolist()] == [chosen for _, _, chosen in expected]
    np.testing.assert_allclose(np.sqrt(found.unexplained), [norm for norm, _, _ in expected], atol=1e-12)


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.features.tobytes() == b.features.tobytes()
        assert a.subsets.tobytes() == b.subsets.tobytes()
        assert a.unexplained.tobytes() == b.unexplained.tobytes()


def _stream(rng, m=300, s=9, n=35):
    stream, simple = rng.normal(size=(m, n)), rng.normal(size=(s, n))
    return stream, simple, stream[m // 2] + simple[1] - simple[s - 1] + rng.normal(size=n)


@settings(max_examples=25)
@given(
    st.sampled_from(SIZES), st.integers(1, 7), st.integers(1, 30), st.integers(1, 20), st.integers(0, 2**32)
)
def test_as_brute_force(size, s, m, keep, seed):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=25)
    simple, stream = rng.normal(size=(s, 25)) + common, rng.normal(size=(m, 25)) - common
    assert_best(stream, compute_gram(simple, simple[0] + stream[-1] + rng.normal(size=25)), size, keep)


def test_jobs_change_no_bit(rng):
    stream, simple, target = _stream(rng, m=3 * TILE_FEATURES + 5)
    core = compute_gram(simple, target)
    assert_same(*(search_core_subsets(stream, core, sizes=SIZES, keep=40, jobs=jobs) for jobs in (1, 2)))


@pytest.mark.parametrize("cut", [1, 127, 200])
def test_blocks_change_no_bit(cut, rng):
    stream, simple, target = _stream(rng)
    core = compute_gram(simple, target)
    whole = search_core_subsets(stream, core, sizes=SIZES, keep=40)
    head = search_core_subsets(stream[:cut], core, sizes=SIZES, keep=40)
    bars = [part.unexplained[-1] if len(part.features) == 40 else np.inf for part in head]
    tail = search_core_subsets(
        stream[cut:], core, sizes=SIZES, keep=40, first_feature=cut, max_unexplained=bars
    )
    assert_same(whole, [merge_core_models(parts, 40) for parts in zip(head, tail, strict=True)])


def test_the_bar_leaves_out_what_cannot_be_kept(rng):
    stream, simple, target = _stream(rng)
    core = compute_gram(simple, target)
    every = search_core_subsets(stream, core, sizes=[1], keep=40)[0]
    bar = float(every.unexplained[9])
    assert search_core_subsets(stream, core, sizes=[1], keep=40, max_unexplained=[bar])[
        0
    ].features.tolist() == (every.features[:10].tolist())


def test_the_order_of_the_core_changes_names_only(rng):
    stream, simple, target = _stream(rng)
    order = rng.permutation(len(simple))
    found = search_core_subsets(stream, compute_gram(simple, target), sizes=SIZES, keep=40)
    moved = search_core_subsets(stream, compute_gram(simple[order], target), sizes=SIZES, keep=40)
    for a, b in zip(found, moved, strict=True):
        assert np.array_equal(a.features, b.features)
        assert np.array_equal(a.unexplained, b.unexplained)
        if a.subsets.shape[1]:
            assert np.array_equal(a.subsets, np.sort(order[b.subsets], axis=1))


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_scales_do_not_matter(scale, rng):
    stream, simple, target = _stream(rng)
    found = search_core_subsets(stream, compute_gram(simple, target), sizes=SIZES, keep=20)
    stream[::2] *= scale
    simple[1::2] /= scale
    scaled = search_core_subsets(stream, compute_gram(simple, target * scale), sizes=SIZES, keep=20)
    for a, b in zip(found, scaled, strict=True):
        assert np.array_equal(a.features, b.features)
        assert np.array_equal(a.subsets, b.subsets)
        np.testing.assert_allclose(a.unexplained, b.unexplained, rtol=1e-11)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-12, 0.0])
def test_near_copies_of_the_core_bring_no_false_models(size, gap, rng):
    simple = rng.normal(size=(6, 30))
    simple[5] = simple[4] * (1 + gap * rng.normal(size=30))
    stream = np.vstack(
        [
            simple.repeat(2, axis=0) * (1 + gap * rng.normal(size=(12, 30))),
            simple[0] + simple[1] + gap * rng.normal(size=(2, 30)),
            rng.normal(size=(4, 30)),
            np.ones((2, 30)),
        ]
    )
    core = compute_gram(simple, simple[0] + rng.normal(size=30))
    found = search_core_subsets(stream, core, sizes=[size])[0]
    expected = brute_force(stream, core, size)
    assert sorted(found.features.tolist()) == sorted(number for _, number, _ in expected)
    np.testing.assert_allclose(np.sqrt(found.unexplained), [norm for norm, _, _ in expected], atol=1e-8)


def test_what_only_the_columns_show_to_be_collinear_is_dropped(monkeypatch, rng):
    stream, simple, target = _stream(rng, m=5)
    stream[2] = simple[0] + 1e-4 * stream[2]
    core = compute_gram(simple[:1], target)
    assert sorted(search_core_subsets(stream, core, sizes=[1])[0].features.tolist()) == [0, 1, 2, 3, 4]
    monkeypatch.setattr("symscreen.linear_models.gram.MIN_PIVOT", 1e-6)
    assert sorted(search_core_subsets(stream, core, sizes=[1])[0].features.tolist()) == [0, 1, 3, 4]


@pytest.mark.parametrize("size", SIZES)
def test_an_exact_formula_comes_first(size, rng):
    x, y = rng.uniform(0.5, 2.0, (2, 60))
    simple = np.stack([a**k for a in (x, y) for k in (1, 2, 3, 4, -1, -2)])
    stream = np.stack([np.sin(a * x + b * y) for a, b in rng.uniform(-3, 3, (200, 2))])
    stream[150] = stream[77] * (1 + 1e-9 * rng.normal(size=60))
    truth = sorted(rng.choice(12, size, replace=False).tolist())
    target = 1 - 2 * stream[77] + rng.uniform(0.5, 2.0, size) @ simple[truth]
    found = search_core_subsets(stream, compute_gram(simple, target), sizes=[size], keep=5)[0]
    assert found.features[:2].tolist() == [77, 150]
    assert found.subsets[0].tolist() == truth
    assert found.unexplained[0] < 1e-25


def test_what_is_constant_or_not_finite_is_never_named(rng):
    stream, simple, target = _stream(rng, m=20)
    simple[0] = 3.0
    stream[3], stream[5, 7], stream[6, 0] = 0.1, np.nan, np.inf
    for found in search_core_subsets(stream, compute_gram(simple, target), sizes=SIZES):
        assert sorted(found.features.tolist()) == [k for k in range(20) if k not in {3, 5, 6}]
        assert 0 not in found.subsets


def test_a_small_core_has_few_subsets(rng):
    stream, simple, target = _stream(rng, m=8)
    found = search_core_subsets(stream, compute_gram(simple[:2], target), sizes=SIZES)
    assert [len(part.features) for part in found] == [8, 8, 8, 0]
    assert [part.subsets.shape for part in found] == [(8, 0), (8, 1), (8, 2), (0, 3)]
    alone = search_core_subsets(stream, compute_gram(simple[:0], target), sizes=[0])[0]
    assert np.array_equal(alone.unexplained, found[0].unexplained)


@pytest.mark.parametrize(
    ("given", "says"),
    [({"sizes": [4]}, "sizes of core subsets must be from 0 to 3"), ({"keep": 0}, "at least 1")],
)
def test_what_has_no_meaning_is_refused(given, says, rng):
    stream, simple, target = _stream(rng, m=3)
    with pytest.raises(OptionError, match=says):
        search_core_subsets(stream, compute_gram(simple, target), **given)
