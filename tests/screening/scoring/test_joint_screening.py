from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from helpers.screening_oracles import (
    Whole,
    classes_of,
    fake,
    loss_of,
    request_of,
    space_of,
    steep_of,
    table_of,
    wide_space_of,
)
from threadpoolctl import threadpool_info

from symscreen.backends import Threads
from symscreen.data import read_dataset
from symscreen.expressions.printing import to_text
from symscreen.screeners import PEARSON, SCREENERS, T0, XI, JointScores
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.final_classes import add_margin
from symscreen.screening.scoring.joint_screening import (
    build_shortlist,
    run_joint_screener,
    update_class_sizes,
)
from symscreen.screening.scoring.streaming import score_stream
from symscreen.statistics.ranks.sorted_block import sort_block


def _showing(table, space, leaders, merged, limit, *, sign="free", chunk_size=11):
    keeps = tuple(
        TopKSpec(by, merged, mirrored=True, limit=add_margin(limit)) for by, _ in enumerate(leaders)
    )
    scorer = Scorer(space, table.target, tuple(leaders), sign, keeps)
    return build_shortlist(
        list(score_stream(scorer, Threads(1), chunk_size).top_features), space, limit, merged
    )


@pytest.fixture
def whole(rng):
    table = table_of(rng)
    return Whole.of(table, space_of(table))


@pytest.fixture
def wide(rng):
    table = table_of(rng, rows=20)
    return Whole.of(table, wide_space_of(table))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 7, 1000])
@pytest.mark.parametrize("merged", ["ranks", "affine"])
@pytest.mark.parametrize("leader", ["t0", "xi", "pearson"])
def test_what_is_shown_is_the_best_of_all_features_with_copies_merged(whole, leader, merged, limit):
    showing = _showing(whole.table, whole.space, [SCREENERS[leader]], merged, limit)
    directions = np.zeros(len(whole.values)) if leader == "xi" else None
    best, sizes = whole.best(loss_of(leader, whole.values, whole.y), merged, limit, directions)
    assert showing.features.number.tolist() == whole.numbers[best].tolist()
    assert np.array_equal(showing.values, whole.values[best])
    if leader != "pearson" or merged == "affine":  # Pearson's r differs between members of a rank class
        assert showing.features.class_size.tolist() == sizes


@pytest.mark.parametrize("merged", ["ranks", "affine"])
def test_of_two_leaders_the_union_is_shown_by_the_better_place(whole, merged):
    limit = 6
    showing = _showing(whole.table, whole.space, [T0, XI], merged, limit)
    places = {}
    for leader in ("t0", "xi"):
        directions = np.zeros(len(whole.values)) if leader == "xi" else None
        for place, k in enumerate(
            whole.best(loss_of(leader, whole.values, whole.y), merged, None, directions)[0]
        ):
            places[k] = min(place, places.get(k, place))
    worst = sorted(places.values())[limit - 1]
    shown = set(np.flatnonzero(np.isin(whole.numbers, showing.features.number)).tolist())
    assert len(shown) == limit
    assert {k for k in places if places[k] < worst} <= shown <= {k for k in places if places[k] <= worst}
    own = [places[int(np.flatnonzero(whole.numbers == number)[0])] for number in showing.features.number]
    assert own == sorted(own)


@pytest.mark.parametrize("limit", [3, 8, 1000])
@pytest.mark.parametrize("merged", ["ranks", "affine"])
def test_every_feature_of_the_space_finds_its_stand_in(whole, merged, limit):
    showing = _showing(whole.table, whole.space, [T0], merged, limit)
    best, _ = whole.best(loss_of("t0", whole.values, whole.y), merged, limit)
    classes = _classes(whole, merged)
    place_of = {classes[k]: place for place, k in enumerate(best)}
    expected = [place_of.get(own, -1) for own in classes]
    assert showing.find_positions(sort_block(whole.values)).tolist() == expected
    assert showing.find_positions(sort_block(-2.0 * whole.values)).tolist() == expected
    fewer = showing.take_first(2)
    assert len(fewer.features) == len(fewer.values) == 2
    assert fewer.find_positions(sort_block(whole.values)).tolist() == [
        place if place < 2 else -1 for place in expected
    ]


def _classes(whole, merged):
    return classes_of(whole.values, merged).tolist()


def test_features_equal_up_to_rounding_are_shown_once_and_found_by_either(rng):
    table = table_of(rng, rows=20, inputs=2)
    space = space_of(table, "b[mul] u[log] b[add]", "basic", unary=("log",), binary=("add", "mul"))
    whole = Whole.of(table, space)
    showing = _showing(table, space, [T0], "affine", 1000)
    texts = {to_text(space.build_expression(number)) for number in whole.numbers.tolist()}
    assert {"log(x1*x2)", "log(x1) + log(x2)"} <= texts
    near = np.abs(showing.values[:, None] - showing.values[None]).max(axis=2)
    size = np.abs(showing.values).max(axis=1)
    assert (near + np.diag(np.full(len(near), np.inf)) > 1e-12 * np.minimum.outer(size, size)).all()
    places = showing.find_positions(sort_block(whole.values))
    assert (places >= 0).all()
    for row, place in zip(whole.values, places, strict=True):
        assert abs(np.corrcoef(row, showing.values[place])[0, 1]) > 1 - 1e-12
    assert np.bincount(places).tolist() == showing.features.class_size.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("leader", "sign"), [(PEARSON, "free"), (T0, "positive"), (PEARSON, "positive")])
def test_what_is_shown_does_not_hang_on_chunks_or_sign(wide, leader, sign):
    expected = _showing(wide.table, wide.space, [leader], "ranks", 2, chunk_size=10**6)
    for chunk_size in (1, 17):
        showing = _showing(wide.table, wide.space, [leader], "ranks", 2, sign=sign, chunk_size=chunk_size)
        assert showing.features.number.tolist() == expected.features.number.tolist()
        assert np.array_equal(showing.signatures, expected.signatures)
        if leader is T0:
            assert showing.features.class_size.tolist() == expected.features.class_size.tolist()


@pytest.mark.slow
def test_class_sizes_are_those_of_the_whole_space(rng):
    steep = steep_of(rng)
    classes = _classes(steep, "ranks")
    for leader, chunk_size in product((PEARSON, T0), (1, 7, 10**6)):
        showing = _showing(steep.table, steep.space, [leader], "ranks", 1, chunk_size=chunk_size)
        if leader is PEARSON:  # the streamed counts may depend on the chunks and are ignored
            showing = replace(
                showing, features=replace(showing.features, class_size=showing.features.class_size * 0)
            )
        showing = update_class_sizes(showing, [leader], steep.space, Threads(2), chunk_size)
        shown = [int(np.flatnonzero(steep.numbers == number)[0]) for number in showing.features.number]
        assert showing.features.class_size.tolist() == [classes.count(classes[k]) for k in shown]


@pytest.mark.parametrize("merged", ["ranks", "affine"])
def test_features_that_rounding_splits_are_shown_once(rng, merged):
    # of integers: log(x1*x2) and log(x1) + log(x2) have other ties, and so other ranks
    columns = {f"x{place}": rng.integers(2, 9, 40).astype(float) for place in (1, 2)}
    table = read_dataset(columns | {"y": rng.normal(size=40)})
    space = space_of(table, "b[mul] u[log] b[add]", "basic", unary=("log",), binary=("add", "mul"))
    whole = Whole.of(table, space)
    classes = np.unique(_classes(whole, merged))
    showing = _showing(table, space, [T0], merged, 1000)
    near = np.isclose(showing.values[:, None], showing.values[None], rtol=1e-12, atol=0).all(axis=2)
    assert np.array_equal(near, np.eye(len(near), dtype=bool))
    assert (showing.find_positions(sort_block(whole.values)) >= 0).all()
    assert showing.features.class_size.sum() == len(whole.numbers)
    if merged == "ranks":
        assert len(showing.features) < len(classes)


def test_nothing_is_shown_of_nothing(rng):
    table = table_of(rng, rows=12, inputs=2)
    table = replace(table, columns=table.columns + 2.0)
    space = space_of(table, "u[acos]", "basic", "strict", unary=("acos",))
    showing = _showing(table, space, [T0], "affine", 5)
    assert len(showing.features) == 0
    assert showing.find_positions(sort_block(table.columns)).tolist() == [-1, -1]


def test_a_screener_judges_no_more_than_it_can_take_and_may_change_nothing(whole):
    log = []
    showing = _showing(whole.table, whole.space, [T0], "affine", 10)
    own = run_joint_screener(fake(most=4, log=log), showing, whole.table.target, seed=7, jobs=2)
    assert len(own.shortlist.features) == len(own.scores.score) == 4
    assert np.array_equal(log[0].values, showing.values[:4])
    assert log[0].values.flags.c_contiguous
    assert not log[0].values.flags.writeable
    assert (log[0].seed, log[0].jobs) == (7, 2)


def test_a_verdict_is_given_with_one_blas_thread_and_its_last_bits_do_not_order(whole):
    threads = []

    def judge(shown, settings):
        del settings
        threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        q = len(shown.values)
        return JointScores(
            np.full(q, -0.0), 0.5 + 1e-16 * np.arange(q), np.ones(q, bool), np.zeros(q, np.int8)
        )

    showing = _showing(whole.table, whole.space, [T0], "affine", 10)
    verdict = run_joint_screener(fake(judge=judge), showing, whole.table.target, seed=0, jobs=1).scores
    assert threads
    assert set(threads) == {1}
    assert len(set(verdict.loss.tolist())) == 1
    assert not np.signbit(verdict.score).any()


def test_a_request_knows_who_leads():
    assert request_of("lasso").prescreeners == request_of("lasso").column_screeners == (T0, XI)
    assert request_of("lasso", "xi", "t0").prescreeners == (XI,)
    assert request_of("lasso", "xi", "t0").column_screeners == (XI, T0)
    assert [one.name for one in request_of("lasso", "xi", "scad").joint_screeners] == ["lasso", "scad"]
