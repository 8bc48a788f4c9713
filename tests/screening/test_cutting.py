from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from helpers.screening_oracles import (
    Whole,
    classes_of,
    fake,
    loss_of,
    request_of,
    space_of,
    table_of,
)

from symscreen.backends import Threads
from symscreen.screening.space_generation import keep_pool, select_pool_features


@pytest.fixture
def whole(rng):
    table = table_of(rng)
    return Whole.of(table, space_of(table, "ub"))


def _best(whole, name, sign="free"):
    directions = np.zeros(len(whole.values)) if name == "xi" else None
    best, _ = whole.best(loss_of(name, whole.values, whole.y, sign), "affine", None, directions)
    return whole.numbers[best].tolist()


def _cut(whole, request, keep):
    return select_pool_features(whole.space, replace(request, dataset=whole.table), keep)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [1, 5, 10**6, None])
@pytest.mark.parametrize("name", ["t0", "xi", "pearson"])
def test_a_column_screener_keeps_its_best_with_affine_copies_merged(whole, name, keep):
    chosen = _cut(whole, request_of(name), keep)
    assert chosen.pruning.numbers.tolist() == _best(whole, name)[:keep]
    assert chosen.record == {
        "layer": 2,
        "screeners": [name],
        "scored": len(whole.numbers),
        "chosen": len(chosen.pruning.numbers),
        "verdicts": {},
    }


@pytest.mark.parametrize("keep", [1, 4, 9])
def test_of_two_column_screeners_the_union_stays_by_the_better_place(whole, keep):
    chosen = _cut(whole, request_of("t0", "xi"), keep).pruning.numbers.tolist()
    lists = [_best(whole, "t0"), _best(whole, "xi")]
    place = {number: min(own.index(number) for own in lists) for number in lists[0]}
    assert len(chosen) == keep
    assert [place[number] for number in chosen] == sorted(place.values())[:keep]
    # at most one of the two features that share the last rank is omitted
    assert set(lists[0][: keep // 2]) | set(lists[1][: keep // 2]) <= set(chosen)


def test_a_cut_is_blind_to_the_sign_and_to_chunks_and_jobs(whole):
    expected = _cut(whole, request_of("t0", "xi"), 7).pruning.numbers.tolist()
    for changes in (
        {"sign": "positive"},
        {"chunk_size": 1},
        {"chunk_size": 7, "backend": Threads(2), "jobs": 2},
        {"limit": None},
    ):
        assert _cut(whole, request_of("t0", "xi", **changes), 7).pruning.numbers.tolist() == expected


def test_joint_screeners_keep_what_they_select_beside_all_of_earlier_cuts(whole):
    older = len(whole.space.pool_indices)
    assert older > 0
    log = []
    request = request_of(fake(chosen=4, log=log), prescreen=10)
    chosen = _cut(whole, request, None)
    # the shortlist has the best features by T0 and ξ; the strongest correlations in it are selected
    strength = [abs(np.corrcoef(row, whole.y)[0, 1]) for row in log[0].values]
    rows = {row.tobytes(): number for number, row in zip(whole.numbers.tolist(), whole.values, strict=True)}
    picked = {rows[log[0].values[k].tobytes()] for k in np.argsort(strength)[-4:]}
    assert set(chosen.pruning.numbers.tolist()) == picked | set(range(older))
    assert chosen.record["chosen"] == len(picked | set(range(older)))
    assert chosen.record["verdicts"] == {
        "fake": {"shown": 10, "settings": {"strength": 1.0}, "q": 10, "seed": 0, "jobs": 1}
    }
    assert json.loads(json.dumps(chosen.record)) == chosen.record


def test_what_a_joint_screener_was_not_shown_it_does_not_keep(whole):
    chosen = _cut(whole, request_of(fake(most=3, chosen=3)), None)
    assert chosen.record["verdicts"]["fake"]["shown"] == 3
    older = set(range(len(whole.space.pool_indices)))
    assert len(set(chosen.pruning.numbers.tolist()) | older) <= 3 + len(older)


def test_of_a_class_that_trees_select_every_member_stays_that_is_no_affine_copy(whole):
    log = []
    chosen = _cut(whole, request_of("t0", fake("trees", "ranks", chosen=2, log=log)), None).pruning.numbers
    only = _cut(whole, request_of(fake("trees", "ranks", chosen=2), prescreen=1000), None).pruning.numbers
    assert set(only.tolist()) <= set(chosen.tolist())
    strength = [abs(np.corrcoef(row, whole.y)[0, 1]) for row in log[0].values]
    classes = classes_of(whole.values, "ranks")
    rows = {row.tobytes(): classes[k] for k, row in enumerate(whole.values)}
    picked = {rows[log[0].values[k].tobytes()] for k in np.argsort(strength)[-2:]}
    members = {k for k in range(len(classes)) if classes[k] in picked}
    affine = classes_of(whole.values, "affine")
    older = set(range(len(whole.space.pool_indices)))
    stay = {int(np.flatnonzero(whole.numbers == number)[0]) for number in set(only.tolist()) - older}
    assert stay <= members
    found = {int(affine[k]) for k in stay | {k for k in members if whole.numbers[k] in older}}
    assert found == {int(affine[k]) for k in members}
    assert len({int(affine[k]) for k in stay}) == len(stay)


@pytest.mark.parametrize("keep", [1, 3, 10])
def test_keep_caps_what_joint_screeners_select_by_their_own_order(whole, keep):
    every = request_of(fake(chosen=6), prescreen=10)
    older = set(range(len(whole.space.pool_indices)))
    log = []
    capped = _cut(whole, request_of(fake(chosen=6, log=log), prescreen=10), keep).pruning.numbers.tolist()
    strength = np.array([abs(np.corrcoef(row, whole.y)[0, 1]) for row in log[0].values])
    rows = {row.tobytes(): number for number, row in zip(whole.numbers.tolist(), whole.values, strict=True)}
    picked = [rows[log[0].values[k].tobytes()] for k in np.argsort(-strength)[: min(keep, 6)]]
    assert set(capped) == set(picked) | older
    assert set(capped) <= set(_cut(whole, every, None).pruning.numbers.tolist())


def test_a_joint_and_a_column_screener_are_united(whole):
    both = _cut(whole, request_of("t0", fake(chosen=3), prescreen=8), 5).pruning.numbers.tolist()
    first = _best(whole, "t0")[0]
    older = set(range(len(whole.space.pool_indices)))
    assert first in both
    assert len(set(both) - older) <= 5
    assert older <= set(both)


def test_in_a_strict_pool_a_joint_cut_keeps_its_selection_alone(rng):
    table = table_of(rng)
    whole = Whole.of(table, space_of(table, "ub", pool="strict"))
    assert len(_cut(whole, request_of(fake(chosen=4)), None).pruning.numbers) == 4


def test_what_had_no_use_is_counted(rng):
    table = table_of(rng, rows=15)
    table = replace(table, columns=table.columns * 500)  # exp overflows, which only its values show
    space = space_of(table, "b[sub] u", "ablation", unary=("exp", "sin"), binary=("sub",))
    lost = Counter()
    for block in space.evaluate_range(0, space.total):
        lost.update(block.n_invalid)
    assert sum(lost.values())
    whole = Whole.of(table, space)
    assert Counter(_cut(whole, request_of("t0"), 3).pruning.n_invalid) == lost
    for backend in (Threads(1), Threads(2)):
        cut = keep_pool(space, backend, 7)
        assert cut.numbers.tolist() == whole.numbers.tolist()
        assert Counter(cut.n_invalid) == lost


def test_nothing_is_chosen_of_nothing(rng):
    table = table_of(rng, rows=12, inputs=2)
    table = replace(table, columns=table.columns + 2.0)
    space = space_of(table, "u[acos]", "basic", "strict", unary=("acos",))
    assert len(select_pool_features(space, request_of(fake(), table=table), None).pruning.numbers) == 0
    assert len(select_pool_features(space, request_of("t0", "xi", table=table), 5).pruning.numbers) == 0
    assert len(keep_pool(space, Threads(1), 10).numbers) == 0
