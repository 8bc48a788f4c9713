from __future__ import annotations

import re
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from helpers.screening_oracles import (
    Whole,
    classes_of,
    fake,
    loss_of,
    request_of,
    score,
    space_of,
    steep_of,
    table_of,
    wide_space_of,
)
from scipy.stats import rankdata

import symscreen
from symscreen.backends import Threads
from symscreen.errors import OptionError
from symscreen.screening.scoring.score_space import find_shortlist_kinds
from symscreen.screening.scoring.top_features import FeatureTable


@pytest.fixture
def whole(rng):
    table = table_of(rng)
    return Whole.of(table, space_of(table))


@pytest.fixture
def wide(rng):
    table = table_of(rng, rows=20)
    return Whole.of(table, wide_space_of(table))


def _screened(whole, *screeners, **changes):
    return score(whole.space, whole.table, request_of(*screeners, **changes))


def _places(whole, found) -> list[int]:
    place = {number: k for k, number in enumerate(whole.numbers.tolist())}
    return [place[number] for number in found.features.number.tolist()]


def _verdict_by_class(whole, found, name, merged):
    """Return for each feature of the space the shortlist index of its class, or None."""
    classes = classes_of(whole.values, merged).tolist()
    shown = found.joint_results[name].shortlist.features.number.tolist()
    numbers = whole.numbers.tolist()
    place = {classes[numbers.index(number)]: k for k, number in enumerate(shown)}
    assert len(place) == len(shown)
    return [place.get(own) for own in classes]


@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize(("name", "merged"), [("t0", "ranks"), ("xi", "ranks"), ("pearson", "affine")])
def test_one_column_screener_ranks_as_brute_force_does(whole, name, merged, sign):
    found = _screened(whole, name, limit=9, sign=sign)
    directions = np.zeros(len(whole.values)) if name == "xi" else None
    loss = loss_of(name, whole.values, whole.y, sign)
    best, sizes = whole.best(loss, merged, 9, directions, mirrored=sign == "free")
    assert _places(whole, found) == best
    assert found.features.class_size.tolist() == sizes
    assert (found.extra_columns, found.joint_results, found.comparison) == ({}, {}, None)
    assert found.n_scored == len(whole.numbers)


@pytest.mark.parametrize("blind_to", ["affine", "ranks"])
@pytest.mark.parametrize("prescreen", [5, 1000])
@pytest.mark.parametrize("limit", [6, None])
def test_scores_in_the_ranking_are_those_of_the_verdict_for_who_stands_for_a_feature(
    whole, blind_to, prescreen, limit
):
    found = _screened(whole, "t0", fake(blind_to=blind_to), limit=limit, prescreen=prescreen)
    verdict = found.joint_results["fake"].scores
    stands = _verdict_by_class(whole, found, "fake", blind_to)
    assert any(place is None for place in stands) == (prescreen == 5)
    scores = found.features.scores[:, 1].tolist()
    selected, own = found.extra_columns["fake_selected"], found.extra_columns["fake_rank2"]
    for row, k in enumerate(_places(whole, found)):
        if stands[k] is None:
            assert np.isnan(scores[row])
            assert selected[row] is pd.NA
            assert np.isnan(own[row])
        else:
            assert scores[row] == verdict.score[stands[k]]
            assert selected[row] == verdict.selected[stands[k]]
            assert np.array_equal(own[row], verdict.columns["fake_rank2"][stands[k]], equal_nan=True)
    assert len(scores) == (len(whole.numbers) if limit is None else limit)
    alone = _screened(whole, "t0", limit=limit)
    assert found.features.number.tolist() == alone.features.number.tolist()
    assert found.features.scores[:, 0].tolist() == alone.features.scores[:, 0].tolist()


@pytest.mark.parametrize("blind_to", ["affine", "ranks"])
def test_a_joint_screener_that_ranks_gives_its_own_order(whole, blind_to):
    found = _screened(whole, fake(blind_to=blind_to), "xi", "t0", limit=6, prescreen=12)
    verdict, shown = found.joint_results["fake"].scores, found.joint_results["fake"].shortlist.features
    assert found.joint_results["fake"].shortlist.features.number.tolist() == [
        int(whole.numbers[k])
        for k in whole.best(loss_of("xi", whole.values, whole.y), blind_to, 12, np.zeros(len(whole.values)))[
            0
        ]
    ]
    order = np.argsort(verdict.loss, kind="stable")[:6]
    assert found.features.number.tolist() == shown.number[order].tolist()
    assert found.features.loss.tolist() == verdict.loss[order].tolist()
    assert found.features.direction.tolist() == verdict.direction[order].tolist()
    assert found.features.scores[:, 0].tolist() == verdict.score[order].tolist()
    places = _places(whole, found)
    assert np.allclose(found.features.scores[:, 1], 1 - loss_of("xi", whole.values, whole.y)[places])
    sizes = np.bincount(classes_of(whole.values, blind_to))
    classes = classes_of(whole.values, blind_to)
    assert found.features.class_size.tolist() == sizes[classes[places]].tolist()


@pytest.mark.parametrize("blind_to", ["affine", "ranks"])
@pytest.mark.parametrize("prescreen", [5, 1000])
def test_all_features_are_listed_under_a_joint_screener_with_equal_scores_in_a_class(
    whole, blind_to, prescreen
):
    found = _screened(whole, fake(blind_to=blind_to), limit=None, prescreen=prescreen)
    assert sorted(found.features.number.tolist()) == whole.numbers.tolist()
    stands = _verdict_by_class(whole, found, "fake", blind_to)
    rows = [stands[k] for k in _places(whole, found)]
    shown = [row for row in rows if row is not None]
    assert rows[: len(shown)] == shown  # features outside the shortlist come last
    verdict = found.joint_results["fake"].scores
    assert found.features.scores[: len(shown), 0].tolist() == verdict.score[shown].tolist()
    assert np.isnan(found.features.scores[len(shown) :, 0]).all()
    assert verdict.loss[shown].tolist() == sorted(verdict.loss[shown].tolist())
    assert (found.features.direction[len(shown) :] == 0).all()
    classes = classes_of(whole.values, blind_to)
    assert found.features.class_size.tolist() == np.bincount(classes)[classes[_places(whole, found)]].tolist()


def test_ranks_are_those_among_the_features_compared(whole):
    found = _screened(whole, "t0", fake(), fake("trees", "ranks", most=4), "pearson", limit=None, prescreen=9)
    shown, _ = whole.best(loss_of("t0", whole.values, whole.y), "affine", 9)
    ranks = found.comparison.ranks
    for name in ("t0", "pearson"):
        loss = np.round(loss_of(name, whole.values, whole.y), 11)[shown]
        assert ranks[name].tolist() == rankdata(loss, method="min").tolist()
    assert ranks["fake"].tolist() == rankdata(found.joint_results["fake"].scores.loss, method="min").tolist()
    # of the 9 features only those in one of the 4 rank classes
    stands = _verdict_by_class(whole, found, "trees", "ranks")
    loss = np.array(
        [np.nan if stands[k] is None else found.joint_results["trees"].scores.loss[stands[k]] for k in shown]
    )
    known = ~np.isnan(loss)
    assert 4 <= known.sum() < 9
    assert np.isnan(ranks["trees"][~known]).all()
    assert ranks["trees"][known].tolist() == rankdata(loss[known], method="min").tolist()
    # and the ranking shows them for every affine copy of a feature compared
    classes = classes_of(whole.values, "affine")
    place = {classes[k]: row for row, k in enumerate(shown)}
    for row, k in enumerate(_places(whole, found)):
        shown_rank = found.extra_columns["t0_rank"][row]
        if classes[k] in place:
            assert shown_rank == ranks["t0"][place[classes[k]]]
        else:
            assert shown_rank is pd.NA


def test_lists_are_made_for_each_kind_that_is_needed():
    trees, linear = fake("trees", "ranks"), fake("linear", "affine")
    assert find_shortlist_kinds(request_of("t0")) == []
    assert find_shortlist_kinds(request_of("t0", "xi")) == ["affine"]
    assert find_shortlist_kinds(request_of(trees)) == ["ranks"]
    assert find_shortlist_kinds(request_of(linear)) == ["affine"]
    assert find_shortlist_kinds(request_of("t0", trees)) == ["affine", "ranks"]


def _same(a, b) -> bool:
    kept = all(
        getattr(a.features, field.name).tobytes() == getattr(b.features, field.name).tobytes()
        for field in fields(FeatureTable)
    )
    columns = pd.DataFrame(a.extra_columns).equals(pd.DataFrame(b.extra_columns))
    verdicts = all(
        a.joint_results[name].scores.score.tobytes() == b.joint_results[name].scores.score.tobytes()
        for name in b.joint_results
    )
    return kept and columns and verdicts and list(a.extra_columns) == list(b.extra_columns)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [4, None])
@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize(
    "screeners",
    [
        ("lasso", "t0"),
        ("stepwise",),
        ("pearson", "scad", fake("trees", "ranks")),
        (fake("trees", "ranks"), "pearson"),
    ],
    ids=lambda screeners: "-".join(getattr(one, "name", str(one)) for one in screeners),
)
def test_jobs_and_chunks_change_nothing(wide, screeners, sign, limit):
    expected = _screened(wide, *screeners, prescreen=3, limit=limit, sign=sign)
    for changes in ({"chunk_size": 3}, {"chunk_size": 17, "jobs": 2, "backend": Threads(2)}):
        assert _same(_screened(wide, *screeners, prescreen=3, limit=limit, sign=sign, **changes), expected)


@pytest.mark.slow
def test_class_sizes_do_not_hang_on_chunks_where_the_leader_tells_members_of_a_class_apart(rng):
    steep = steep_of(rng)
    classes = classes_of(steep.values, "ranks").tolist()
    for chunk_size in (3, 50):
        found = _screened(
            steep, fake("trees", "ranks"), "pearson", limit=1, prescreen=1, chunk_size=chunk_size
        )
        assert found.features.class_size.tolist() == [
            classes.count(classes[k]) for k in _places(steep, found)
        ]


@pytest.mark.parametrize("blind_to", ["affine", "ranks"])
@pytest.mark.parametrize("limit", [2, None])
def test_a_joint_screener_does_not_see_the_sign_that_is_asked_for(wide, blind_to, limit):
    free, positive = (
        _screened(wide, fake("own", blind_to), prescreen=2, limit=limit, sign=sign, chunk_size=17)
        for sign in ("free", "positive")
    )
    assert _same(free, positive)
    classes = classes_of(wide.values, blind_to).tolist()
    expected = [classes.count(classes[k]) for k in _places(wide, positive)]
    assert positive.features.class_size.tolist() == expected


@pytest.mark.parametrize("screeners", [("lasso",), ("t0", "lasso"), ("lasso", "t0"), (fake("a", "ranks"),)])
@pytest.mark.parametrize("limit", [4, None])
def test_nothing_is_found_in_nothing(rng, screeners, limit):
    table = table_of(rng, rows=12, inputs=2)
    table = replace(table, columns=table.columns + 2.0)
    space = space_of(table, "u[acos]", "basic", "strict", unary=("acos",))
    found = score(space, table, request_of(*screeners, limit=limit))
    assert (len(found.features), found.n_scored, found.joint_results) == (0, 0, {})
    assert found.features.scores.shape[1] >= len(screeners)


def test_seed_and_jobs_reach_joint_screeners(whole):
    request = request_of("t0", fake(), seed=11, jobs=2)
    record = score(whole.space, whole.table, request).joint_results["fake"].scores.record
    assert (record["seed"], record["jobs"]) == (11, 2)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True])
def test_a_seed_that_is_no_whole_number_is_told(seed):
    with pytest.raises(OptionError, match=re.escape(f"seed is {seed!r}; give an integer of at least 0")):
        request_of("t0", seed=seed)


@pytest.mark.parametrize(
    "options", [{"screener": "lasso", "prescreen": 5}, {"screener": "t0", "pool_size": "u:5"}]
)
def test_near_copies_with_other_ties_take_no_place_of_other_classes(options):
    # affine classes are recognized to nine digits: their members break ties in different ways
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, size=60).astype(float)
    y = x + rng.normal(size=60)
    data = {f"x{k}": x + 1e-12 * rng.normal(size=60) for k in range(120)}
    data |= {f"w{k}": 0.05 * (k + 1) * y + rng.normal(size=60) for k in range(6)}
    layers = {
        "layers": "ub" if "pool_size" in options else "u",
        "unary": ["square"],
        "binary": ["add"],
        "top": 5,
    }
    tables = [
        symscreen.screen({**data, "y": y}, chunk_size=size, **layers, **options).table for size in (1, None)
    ]
    assert len(tables[0]) == 5
    for table in tables[1:]:
        assert table.to_csv() == tables[0].to_csv()
