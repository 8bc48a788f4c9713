from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.screening.scoring.top_features import (
    FeatureTable,
    concatenate_features,
    make_empty_features,
    merge_classes_if_due,
    merge_rankings,
    rank_all_features,
    select_best_classes,
)


def _features(losses_of_classes, members):
    """Build features from (class, |pearson|, complexity, direction); a class has one loss."""
    classes, pearson, complexity, direction = (np.array(column) for column in zip(*members, strict=True))
    k = len(members)
    return FeatureTable(
        number=np.arange(k),
        loss=np.array(losses_of_classes, dtype=float)[classes],
        signature=classes.astype(np.uint64) * np.uint64(7919),
        pearson=pearson.astype(float),
        complexity=complexity.astype(np.int32),
        direction=direction.astype(np.int8),
        keys=np.stack([np.arange(k)[::-1], np.zeros(k)], axis=1).astype(np.uint64),
        class_size=np.ones(k, dtype=np.int64),
        scores=np.arange(k)[:, None] * 1.0,
    )


member = st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(1, 3), st.sampled_from([-1, 1]))
spaces = st.tuples(
    st.lists(st.integers(0, 5), min_size=10, max_size=10), st.lists(member, min_size=1, max_size=60)
)


def _same(a: FeatureTable, b: FeatureTable) -> bool:
    return a.number.tolist() == b.number.tolist() and a.class_size.tolist() == b.class_size.tolist()


@pytest.mark.slow
@given(spaces, st.integers(1, 12), st.integers(1, 25), st.randoms())
def test_merging_part_by_part_in_any_order_equals_merging_at_once(space, limit, size, random):
    whole = _features(*space)
    at_once = select_best_classes(whole, limit).take_first(limit)
    places = list(range(len(whole)))
    random.shuffle(places)
    streamed = make_empty_features(1)
    for start in range(0, len(places), size):
        part = select_best_classes(whole.take(np.array(places[start : start + size])), limit)
        streamed = select_best_classes(concatenate_features([streamed, part]), limit)
    assert _same(streamed.take_first(limit), at_once)


@given(spaces, st.integers(1, 12))
def test_best_classes_are_those_of_a_plain_sort(space, limit):
    whole = _features(*space)

    def order(k):
        return (whole.loss[k], -whole.pearson[k], whole.complexity[k], -whole.direction[k], whole.keys[k, 0])

    best = {}
    for k in sorted(range(len(whole)), key=order):
        best.setdefault(int(whole.signature[k]), k)
    expected = sorted(best.values(), key=order)[:limit]
    merged = select_best_classes(whole, limit).take_first(limit)
    assert merged.number.tolist() == expected
    sizes = [int((whole.signature == whole.signature[k]).sum()) for k in expected]
    assert merged.class_size.tolist() == sizes


def test_more_ties_than_fit_still_merge_to_one_answer_in_any_order(monkeypatch, rng):
    monkeypatch.setattr("symscreen.screening.scoring.top_features.MAX_TIED_CLASSES", 5)
    members = [
        (int(c), int(p), 1, 1) for c, p in zip(rng.permutation(np.arange(60) % 10), range(60), strict=True)
    ]
    whole = _features([0] * 10, members)
    answers = set()
    for _ in range(20):
        places = rng.permutation(60)
        streamed = make_empty_features(1)
        for start in range(0, 60, 7):
            streamed = select_best_classes(
                concatenate_features([streamed, whole.take(places[start : start + 7])]), 3
            )
        answers.add((tuple(streamed.number.tolist()), tuple(streamed.class_size.tolist())))
    assert len(answers) == 1


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(1, 5))
def test_merging_only_when_due_changes_nothing(sizes, limit):
    parts = [make_empty_features(1)]
    every = []
    for place, size in enumerate(sizes):
        part = _features(
            [k % 4 for k in range(10)],
            [((place + k) % 10, k % 3, 1, 1) for k in range(size)] or [(0, 0, 1, 1)],
        )
        every.append(part)
        parts = merge_classes_if_due([*parts, part], limit)
        assert sum(map(len, parts)) <= 3 * (len(parts[0]) + 2 * limit) + 40
    lazily = select_best_classes(concatenate_features(parts), limit).take_first(limit)
    assert (
        lazily.class_size.tolist()
        == select_best_classes(concatenate_features(every), limit).take_first(limit).class_size.tolist()
    )


@given(spaces)
def test_every_feature_keeps_all_and_classes_together(space):
    whole = _features(*space)
    ordered = rank_all_features(whole)
    assert sorted(ordered.number.tolist()) == list(range(len(whole)))
    signatures = ordered.signature.tolist()
    runs = 1 + sum(a != b for a, b in itertools.pairwise(signatures))
    assert runs == len(set(signatures))
    leaders = [k for k in range(len(whole)) if k == 0 or signatures[k] != signatures[k - 1]]
    assert ordered.number[leaders].tolist() == select_best_classes(whole, len(whole)).number.tolist()


def test_a_last_bit_never_decides():
    kept = _features([0.1, 0.1 + 1e-16], [(0, 0, 9, 1), (1, 0, 1, 1)])
    assert select_best_classes(kept, 2).number.tolist() == [1, 0]


@pytest.mark.parametrize("limit", [1, 3])
def test_merging_nothing_gives_nothing(limit):
    assert len(select_best_classes(make_empty_features(2), limit)) == 0


orders = st.lists(st.permutations(range(12)).map(lambda order: order[:7]), min_size=1, max_size=3)


@given(orders, st.integers(1, 12))
def test_a_union_puts_each_feature_where_the_list_that_puts_it_first_does(lists, limit):
    whole = _features(list(range(12)), [(k, k % 3, 1 + k % 2, 1) for k in range(12)])
    found = merge_rankings([whole.take(np.array(own)) for own in lists], limit)
    best = {k: min(own.index(k) for own in lists if k in own) for own in lists for k in own}
    assert len(found) == min(limit, len(best))
    places = [best[number] for number in found.number.tolist()]
    assert places == sorted(best.values())[: len(places)]
    assert len(set(found.number.tolist())) == len(found)
    if len(lists) > 1:
        assert found.loss.tolist() == places
        for a, b in itertools.pairwise(found.number.tolist()):
            if best[a] == best[b]:  # as members of one class are ordered
                assert (-(a % 3), 1 + a % 2, -a) < (-(b % 3), 1 + b % 2, -b)


def test_a_union_has_one_member_of_a_class_even_if_the_lists_chose_two():
    one = _features([0, 1], [(0, 0, 1, 1), (1, 0, 1, 1)])
    other = replace(one, number=one.number + 10, keys=one.keys + np.uint64(10))
    found = merge_rankings([one, other.take(np.array([1, 0]))], 9)
    assert sorted(found.signature.tolist()) == sorted(one.signature.tolist())


def test_one_list_is_its_own_union():
    one = _features([3, 1, 2], [(1, 0, 1, 1), (2, 0, 1, 1), (0, 0, 1, 1)])
    assert _same(merge_rankings([one], 2), one.take_first(2))


def test_a_union_has_a_feature_once_even_if_the_lists_merge_by_other_classes():
    one = _features([0, 1], [(0, 0, 1, 1), (1, 0, 1, 1)])
    other = replace(one, signature=one.signature + np.uint64(1))
    assert merge_rankings([one, other], 9).number.tolist() == one.number.tolist()
