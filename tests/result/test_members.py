from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from result.brute_force import Whole, classes_of, request_of, table_of, wide_space_of

from symscreen.backends import Threads
from symscreen.result import members_of, members_record, screened, stored_members
from symscreen.statistics.order import order_features


@pytest.fixture
def whole(rng):
    table = table_of(rng, rows=12)
    return Whole.of(table, wide_space_of(table))


@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize("screener", ["t0", "xi", "pearson"])
def test_members_are_the_features_of_the_whole_matrix_in_the_class(whole, screener, sign):
    request = request_of(screener, sign=sign, limit=15)
    found = screened(whole.space, whole.table.response, request)
    merged = "affine" if screener == "pearson" else "ranks"
    by_hand = classes_of(whole.values, merged, mirrored=sign == "free")
    members = members_of(whole.space, whole.table.response, request, found, 10**6)
    assert members.sizes.tolist() == found.kept.class_size.tolist()
    assert members.sizes.max() > 1
    own = dict(zip(whole.numbers.tolist(), by_hand.tolist(), strict=True))
    for place, number in enumerate(found.kept.number.tolist()):
        expected = {other for other, kind in own.items() if kind == own[number]}
        assert set(members.kept.number[members.place == place].tolist()) == expected


def test_few_members_are_the_first_of_all_whatever_the_chunks(whole):
    request = request_of("t0", limit=8)
    found = screened(whole.space, whole.table.response, request)
    every = members_of(whole.space, whole.table.response, request, found, 10**6)
    for jobs, chunk_size in ((1, 7), (2, 50)):
        cut = request_of("t0", limit=8, chunk_size=chunk_size, backend=Threads(jobs))
        few = members_of(whole.space, whole.table.response, cut, found, 2)
        first = [np.flatnonzero(every.place == place)[:2] for place in range(8)]
        assert few.kept.number.tolist() == every.kept.number[np.concatenate(first)].tolist()
        assert few.sizes.tolist() == every.sizes.tolist()


def test_of_a_ranking_of_all_features_the_first_of_each_class_has_the_members(whole):
    request = request_of("t0", limit=None)
    found = screened(whole.space, whole.table.response, request)
    members = members_of(whole.space, whole.table.response, request, found, 10**6)
    assert members.sizes.sum() == len(whole.values)
    heads = np.flatnonzero(members.sizes)
    assert members.sizes[heads].tolist() == found.kept.class_size[heads].tolist()


def test_features_of_other_classes_are_in_none(whole):
    request = request_of("t0", limit=3)
    found = screened(whole.space, whole.table.response, request)
    ordered = order_features(whole.space.values(found.kept.number))
    assert found.classes.places_of(ordered).tolist() == [0, 1, 2]
    assert found.classes.reordered(np.array([2, 0])).places_of(ordered).tolist() == [1, -1, 0]
    assert found.classes.reordered(np.arange(0)).places_of(ordered).tolist() == [-1, -1, -1]


def test_what_is_stored_is_read_back():
    rows = [(1, 3, 1, "x", 1, 0, "+", "shown"), (1, 3, 2, "x**3", 2, 1, "+", "same ranks"),
            (2, 1, 1, "z", 1, 0, "-", "shown")]  # fmt: skip
    names = ["rank", "class_size", "member", "expression", "complexity", "layer", "direction", "relation"]
    table = pd.DataFrame(rows, columns=names)
    record = {"classes": members_record(table, 2)}
    assert record["classes"]["members"] == 2
    assert [len(one["members"]) for one in record["classes"]["shown"]] == [2, 1]
    assert stored_members(record, ["shown", "same ranks"]).equals(table)
    assert stored_members({}, []) is None
