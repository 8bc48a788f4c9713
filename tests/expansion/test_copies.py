from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from symscreen.expansion._kernels import find_collisions, pick_representatives

few = st.integers(0, 3)
NAME_BITS = 10


def entries_of(buckets):
    """Lay out buckets of upper bits as entries, named from 1 in their order."""
    sizes = [len(bucket) for bucket in buckets]
    uppers = [upper for bucket in buckets for upper in bucket]
    entries = [(upper << NAME_BITS) | name for name, upper in enumerate(uppers, start=1)]
    return np.array(entries, dtype=np.uint64), np.cumsum([0, *sizes])


upper = st.integers(0, 5) | st.integers(0, 2 ** (64 - NAME_BITS) - 1) | st.just(2 ** (64 - NAME_BITS) - 1)


@given(st.lists(st.lists(upper, max_size=30), min_size=1, max_size=5), st.integers(0, 40))
def test_suspects_are_all_that_share_their_bits_in_their_bucket(buckets, room):
    entries, bounds = entries_of(buckets)
    largest = max(map(len, buckets))
    table, names = np.empty(64, dtype=np.uint64), np.empty(max(room, largest), dtype=np.int64)
    found, start = [], 0
    while start < len(buckets):
        start, size = find_collisions(entries, bounds, start, len(buckets), NAME_BITS, table, names)
        found += names[:size].tolist()
    expected = []
    for first, bucket in zip(bounds.tolist(), buckets, strict=False):
        often = Counter(bucket)
        expected += [first + place + 1 for place, one in enumerate(bucket) if often[one] > 1]
    assert sorted(found) == expected


@given(st.lists(st.tuples(few, few, few), max_size=40), st.randoms())
def test_of_equal_keys_the_least_burdened_then_first_named_is_chosen(drawn, random):
    names = list(range(100, 100 + len(drawn)))
    random.shuffle(names)
    first, second, burdens = np.array(drawn, dtype=np.int64).reshape(-1, 3).T
    keys = np.ascontiguousarray(np.stack([first, second], axis=1).astype(np.uint64))
    chosen = np.empty(len(drawn), dtype=np.int64)
    pick_representatives(keys, burdens.astype(np.int32), np.array(names, dtype=np.int64), chosen)
    best = {}
    for place, (a, b, cost) in enumerate(drawn):
        mine = cost, names[place], place
        best[a, b] = min(best.get((a, b), mine), mine)
    assert chosen.tolist() == [best[a, b][-1] for a, b, _ in drawn]
