from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from result.brute_force import Whole, classes_of, loss_of, space_of, table_of, wide_space_of

from symscreen.expansion import Fate
from symscreen.result.scoring import Keep, Scorer, scores_of, signatures_of
from symscreen.screeners import PEARSON, T0, XI
from symscreen.screeners.correlation import KENDALL
from symscreen.statistics.order import order_features


@pytest.fixture
def whole(rng):
    table = table_of(rng)
    return Whole.of(table, space_of(table))


@pytest.mark.parametrize("sign", ["free", "positive"])
def test_each_list_keeps_the_best_of_a_range(whole, sign):
    mirrored = sign == "free"
    keeps = (
        Keep(0, "ranks", mirrored, 5),
        Keep(1, "affine", mirrored, 3),
        Keep(2, "affine", mirrored, 4),
        Keep(0, "ranks", mirrored, None),
    )
    scorer = Scorer(whole.space, whole.table.response, (T0, XI, PEARSON), sign, keeps)
    found = scorer((0, whole.space.total))
    assert found.scored == len(whole.numbers)
    for keep, name, kept in zip(keeps, ("t0", "xi", "pearson", "t0"), found.kept, strict=True):
        if keep.limit is None:
            assert sorted(kept.number.tolist()) == whole.numbers.tolist()
            continue
        directions = np.zeros(len(whole.values)) if name == "xi" else None
        loss = loss_of(name, whole.values, whole.y, sign)
        best, sizes = whole.best(loss, keep.merged, keep.limit, directions, mirrored=mirrored)
        assert kept.number[: keep.limit].tolist() == whole.numbers[best].tolist()
        assert kept.class_size[: keep.limit].tolist() == sizes
        assert np.allclose(kept.loss[: keep.limit], loss[best], atol=1e-11)


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_features_that_tie_with_the_last_are_not_lost(rng, limit):
    table = table_of(rng, rows=6)  # so few rows that many classes have one Kendall's τ
    whole = Whole.of(table, wide_space_of(table))
    loss = loss_of("kendall", whole.values, whole.y)
    r = 1 - loss_of("kendall", whole.values, whole.y, "positive")
    best, sizes = whole.best(loss, "ranks", limit, np.where(np.round(r, 12) >= 0, 1, -1))
    keep = Keep(0, "ranks", mirrored=True, limit=limit)
    kept = Scorer(whole.space, table.response, (KENDALL,), "free", (keep,))((0, whole.space.total)).kept[0]
    assert len(set(np.round(loss, 9))) < 15
    assert kept.number[:limit].tolist() == whole.numbers[best].tolist()
    assert kept.class_size[:limit].tolist() == sizes


def test_a_mirrored_list_takes_falling_features_whatever_the_sign(rng):
    table = table_of(rng)
    # so that the features which fall with the response are the best
    space = space_of(table, "u[neg] b[sub]", "basic", unary=("neg",), binary=("sub",))
    lists = {}
    for sign in ("free", "positive"):
        keeps = (Keep(0, "ranks", mirrored=True, limit=4), Keep(0, "ranks", mirrored=False, limit=4))
        lists[sign] = Scorer(space, table.response, (T0,), sign, keeps)((0, space.total)).kept
    assert lists["free"][0].number.tolist() == lists["positive"][0].number.tolist()
    assert lists["free"][0].class_size.tolist() == lists["positive"][0].class_size.tolist()
    assert (lists["positive"][1].direction == 1).all()


def test_ranges_add_up(whole):
    scorer = Scorer(whole.space, whole.table.response, (T0,), "free", (Keep(0, "ranks", True, None),))  # noqa: FBT003
    parts = [scorer(chunk) for chunk in whole.space.chunks(5)]
    assert sum(part.scored for part in parts) == len(whole.numbers)
    numbers = np.concatenate([part.kept[0].number for part in parts])
    assert numbers.tolist() == whole.numbers.tolist()
    at_once = scorer((0, whole.space.total)).kept[0]
    for field in ("loss", "signature", "pearson", "scores", "keys"):
        together = np.concatenate([getattr(part.kept[0], field) for part in parts])
        assert together.tobytes() == getattr(at_once, field).tobytes()


def test_what_has_no_use_is_counted(rng):
    table = table_of(rng, rows=15)
    table = replace(table, columns=table.columns * 500)  # exp overflows, which only its values tell
    space = space_of(table, "b[sub] u", "basic", unary=("exp", "sin"), binary=("sub",))
    found = Scorer(space, table.response, (T0,), "free", (Keep(0, "ranks", True, 5),))((0, space.total))  # noqa: FBT003
    assert found.lost[Fate.UNDEFINED] > 0
    assert found.scored + sum(found.lost.values()) == space.size
    assert found.scored == len(Whole.of(table, space).numbers)


def test_scores_that_are_known_are_not_computed_again(whole):
    ordered = order_features(whole.values)
    screeners = (T0, XI, PEARSON)
    expected = scores_of(screeners, ordered, whole.table.response)
    xi = XI.statistic(ordered, whole.table.response)
    assert scores_of(screeners, ordered, whole.table.response, {1: xi}).tobytes() == expected.tobytes()
    wrong = scores_of(screeners, ordered, whole.table.response, {1: 0 * xi})
    assert (wrong[:, 1] == 0).all()
    assert np.array_equal(wrong[:, [0, 2]], expected[:, [0, 2]])


@pytest.mark.parametrize("merged", ["ranks", "affine"])
@pytest.mark.parametrize("mirrored", [True, False])
def test_signatures_are_equal_within_classes_only(whole, merged, mirrored, rng):
    factors = rng.uniform(0.5, 3, (48, 1)) * rng.choice([-1, 1], (48, 1))
    values = np.concatenate((whole.values, -whole.values, factors * whole.values + 0.25))
    signatures = signatures_of(order_features(values), merged, mirrored=mirrored)
    classes = classes_of(values, merged, mirrored=mirrored)
    assert len(np.unique(signatures)) == len(np.unique(classes))
    assert len(np.unique(np.stack([signatures, classes.astype(np.uint64)]), axis=1).T) == classes.max() + 1
