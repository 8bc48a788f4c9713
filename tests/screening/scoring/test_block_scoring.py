from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.screening_oracles import Whole, classes_of, loss_of, space_of, table_of, wide_space_of

from symscreen.expansion import CandidateStatus
from symscreen.screeners import PEARSON, T0, XI
from symscreen.screeners.column.correlation import KENDALL
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec, compute_scores
from symscreen.screening.scoring.top_features import compute_signatures
from symscreen.statistics.ranks.sorted_block import sort_block


@pytest.fixture
def whole(rng):
    table = table_of(rng)
    return Whole.of(table, space_of(table))


@pytest.mark.parametrize("sign", ["free", "positive"])
def test_each_list_keeps_the_best_of_a_range(whole, sign):
    mirrored = T0.merges_mirrored(sign)
    keeps = (
        TopKSpec(0, "ranks", mirrored, 5),
        TopKSpec(1, "affine", mirrored, 3),
        TopKSpec(2, "affine", mirrored, 4),
        TopKSpec(0, "ranks", mirrored, None),
    )
    scorer = Scorer(whole.space, whole.table.target, (T0, XI, PEARSON), sign, keeps)
    found = scorer((0, whole.space.total))
    assert found.n_scored == len(whole.numbers)
    for keep, name, kept in zip(keeps, ("t0", "xi", "pearson", "t0"), found.top_features, strict=True):
        if keep.limit is None:
            assert sorted(kept.number.tolist()) == whole.numbers.tolist()
            continue
        directions = np.zeros(len(whole.values)) if name == "xi" else None
        loss = loss_of(name, whole.values, whole.y, sign)
        best, sizes = whole.best(loss, keep.equivalence, keep.limit, directions, mirrored=mirrored)
        assert kept.number[: keep.limit].tolist() == whole.numbers[best].tolist()
        assert kept.class_size[: keep.limit].tolist() == sizes
        assert np.allclose(kept.loss[: keep.limit], loss[best], atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_features_that_tie_with_the_last_are_not_lost(rng, limit):
    table = table_of(rng, rows=6)  # so few rows that many classes have one Kendall's τ
    whole = Whole.of(table, wide_space_of(table))
    loss = loss_of("kendall", whole.values, whole.y)
    r = 1 - loss_of("kendall", whole.values, whole.y, "positive")
    best, sizes = whole.best(loss, "ranks", limit, np.where(np.round(r, 12) >= 0, 1, -1))
    keep = TopKSpec(0, "ranks", mirrored=True, limit=limit)
    kept = Scorer(whole.space, table.target, (KENDALL,), "free", (keep,))(
        (0, whole.space.total)
    ).top_features[0]
    assert len(set(np.round(loss, 9))) < 15
    assert kept.number[:limit].tolist() == whole.numbers[best].tolist()
    assert kept.class_size[:limit].tolist() == sizes


def test_a_mirrored_list_takes_falling_features_whatever_the_sign(rng):
    table = table_of(rng)
    # the best features fall with the target
    space = space_of(table, "u[neg] b[sub]", "basic", unary=("neg",), binary=("sub",))
    lists = {}
    for sign in ("free", "positive"):
        keeps = (TopKSpec(0, "ranks", mirrored=True, limit=4), TopKSpec(0, "ranks", mirrored=False, limit=4))
        lists[sign] = Scorer(space, table.target, (T0,), sign, keeps)((0, space.total)).top_features
    assert lists["free"][0].number.tolist() == lists["positive"][0].number.tolist()
    assert lists["free"][0].class_size.tolist() == lists["positive"][0].class_size.tolist()
    assert (lists["positive"][1].direction == 1).all()


def test_ranges_add_up(whole):
    scorer = Scorer(whole.space, whole.table.target, (T0,), "free", (TopKSpec(0, "ranks", True, None),))  # noqa: FBT003
    parts = [scorer(chunk) for chunk in whole.space.split_chunks(5)]
    assert sum(part.n_scored for part in parts) == len(whole.numbers)
    numbers = np.concatenate([part.top_features[0].number for part in parts])
    assert numbers.tolist() == whole.numbers.tolist()
    at_once = scorer((0, whole.space.total)).top_features[0]
    for field in ("loss", "signature", "pearson", "scores", "keys"):
        together = np.concatenate([getattr(part.top_features[0], field) for part in parts])
        assert together.tobytes() == getattr(at_once, field).tobytes()


def test_what_has_no_use_is_counted(rng):
    table = table_of(rng, rows=15)
    table = replace(table, columns=table.columns * 500)  # exp overflows, which only its values show
    space = space_of(table, "b[sub] u", "ablation", unary=("exp", "sin"), binary=("sub",))
    found = Scorer(space, table.target, (T0,), "free", (TopKSpec(0, "ranks", True, 5),))((0, space.total))  # noqa: FBT003
    assert found.n_invalid[CandidateStatus.UNDEFINED] > 0
    assert found.n_scored + sum(found.n_invalid.values()) == space.size
    assert found.n_scored == len(Whole.of(table, space).numbers)


def test_scores_that_are_known_are_not_computed_again(whole):
    ordered = sort_block(whole.values)
    screeners = (T0, XI, PEARSON)
    expected = compute_scores(screeners, ordered, whole.table.target)
    xi = XI.statistic(ordered, whole.table.target)
    assert compute_scores(screeners, ordered, whole.table.target, {1: xi}).tobytes() == expected.tobytes()
    wrong = compute_scores(screeners, ordered, whole.table.target, {1: 0 * xi})
    assert (wrong[:, 1] == 0).all()
    assert np.array_equal(wrong[:, [0, 2]], expected[:, [0, 2]])


@pytest.mark.parametrize("merged", ["ranks", "affine"])
@pytest.mark.parametrize("mirrored", [True, False])
def test_signatures_are_equal_within_classes_only(whole, merged, mirrored, rng):
    factors = rng.uniform(0.5, 3, (48, 1)) * rng.choice([-1, 1], (48, 1))
    values = np.concatenate((whole.values, -whole.values, factors * whole.values + 0.25))
    signatures = compute_signatures(sort_block(values), merged, mirrored=mirrored)
    classes = classes_of(values, merged, mirrored=mirrored)
    assert len(np.unique(signatures)) == len(np.unique(classes))
    assert len(np.unique(np.stack([signatures, classes.astype(np.uint64)]), axis=1).T) == classes.max() + 1
