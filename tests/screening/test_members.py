from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.screening_oracles import Whole, classes_of, request_of, score, table_of, wide_space_of

from symscreen.backends import Threads
from symscreen.screening.class_members import build_members_record, find_class_members, read_members_record
from symscreen.statistics.ranks.sorted_block import sort_block


@pytest.fixture
def whole(rng):
    table = table_of(rng, rows=12)
    return Whole.of(table, wide_space_of(table))


@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize("screener", ["t0", "xi", "pearson"])
def test_members_are_the_features_of_the_whole_matrix_in_the_class(whole, screener, sign):
    request = request_of(screener, sign=sign, limit=15, table=whole.table)
    found = score(whole.space, whole.table, request)
    merged = "affine" if screener == "pearson" else "ranks"
    by_hand = classes_of(whole.values, merged, mirrored=sign == "free")
    members = find_class_members(whole.space, request, found, 10**6)
    assert members.class_sizes.tolist() == found.features.class_size.tolist()
    assert members.class_sizes.max() > 1
    own = dict(zip(whole.numbers.tolist(), by_hand.tolist(), strict=True))
    for place, number in enumerate(found.features.number.tolist()):
        expected = {other for other, kind in own.items() if kind == own[number]}
        assert set(members.features.number[members.class_indices == place].tolist()) == expected


def test_few_members_are_the_first_of_all_whatever_the_chunks(whole):
    request = request_of("t0", limit=8, table=whole.table)
    found = score(whole.space, whole.table, request)
    every = find_class_members(whole.space, request, found, 10**6)
    for jobs, chunk_size in ((1, 7), (2, 50)):
        cut = request_of("t0", limit=8, chunk_size=chunk_size, backend=Threads(jobs), table=whole.table)
        few = find_class_members(whole.space, cut, found, 2)
        first = [np.flatnonzero(every.class_indices == place)[:2] for place in range(8)]
        assert few.features.number.tolist() == every.features.number[np.concatenate(first)].tolist()
        assert few.class_sizes.tolist() == every.class_sizes.tolist()


def test_of_a_ranking_of_all_features_the_first_of_each_class_has_the_members(whole):
    request = request_of("t0", limit=None, table=whole.table)
    found = score(whole.space, whole.table, request)
    members = find_class_members(whole.space, request, found, 10**6)
    assert members.class_sizes.sum() == len(whole.values)
    heads = np.flatnonzero(members.class_sizes)
    assert members.class_sizes[heads].tolist() == found.features.class_size[heads].tolist()


def test_features_of_other_classes_are_in_none(whole):
    request = request_of("t0", limit=3, table=whole.table)
    found = score(whole.space, whole.table, request)
    ordered = sort_block(whole.space.compute_values(found.features.number))
    assert found.classes.find_positions(ordered).tolist() == [0, 1, 2]
    assert found.classes.reorder(np.array([2, 0])).find_positions(ordered).tolist() == [1, -1, 0]
    assert found.classes.reorder(np.arange(0)).find_positions(ordered).tolist() == [-1, -1, -1]


def test_what_is_stored_is_read_back():
    rows = [(1, 3, 1, "x", 1, 0, "+", "shown"), (1, 3, 2, "x**3", 2, 1, "+", "same ranks"),
            (2, 1, 1, "z", 1, 0, "-", "shown")]  # fmt: skip
    names = ["rank", "class_size", "member", "expression", "complexity", "layer", "direction", "relation"]
    table = pd.DataFrame(rows, columns=names)
    record = {"classes": build_members_record(table, 2)}
    assert record["classes"]["members"] == 2
    assert [len(one["members"]) for one in record["classes"]["shown"]] == [2, 1]
    assert read_members_record(record, ["shown", "same ranks"]).equals(table)
    assert read_members_record({}, []) is None
