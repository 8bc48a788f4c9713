from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from result.brute_force import Whole, space_of, table_of

from symscreen.backends import Threads
from symscreen.result.course import Course
from symscreen.result.kept import Kept, best_classes
from symscreen.result.scoring import Keep, Scorer, bar_of
from symscreen.result.stream import _stages, chunk_size_for, final_classes, streamed, with_margin
from symscreen.screeners import PEARSON, T0, XI

KEEPS = (
    Keep(0, "ranks", mirrored=True, limit=3),
    Keep(1, "affine", mirrored=True, limit=4),
    Keep(0, "ranks", mirrored=True, limit=None),
)


@pytest.fixture
def scorer(rng):
    table = table_of(rng)
    return Scorer(space_of(table), table.response, (T0, PEARSON, XI), "free", KEEPS)


def _same(a: Kept, b: Kept) -> bool:
    return all(getattr(a, field.name).tobytes() == getattr(b, field.name).tobytes() for field in fields(Kept))


@pytest.mark.parametrize(("jobs", "chunk_size"), [(1, 1), (2, 1), (1, 7), (2, 7), (2, 10**6)])
def test_a_stream_is_the_same_for_every_backend_and_chunk_size(scorer, jobs, chunk_size):
    expected = streamed(scorer, Threads(1), 10**6)
    found = streamed(scorer, Threads(jobs), chunk_size)
    assert found.scored == expected.scored
    assert {f: n for f, n in found.lost.items() if n} == {f: n for f, n in expected.lost.items() if n}
    for keep, kept, whole in zip(KEEPS, found.kept, expected.kept, strict=True):
        if keep.limit is None:
            assert _same(kept, whole)
        else:
            limit = keep.limit - 1  # streamed without the margin that merging copies needs
            assert _same(final_classes(kept, scorer.space, limit), final_classes(whole, scorer.space, limit))


def test_progress_counts_candidates(scorer):
    told = []
    streamed(scorer, Threads(2), 20, Course(progress=lambda done, total: told.append((done, total))))
    total = scorer.space.total
    assert told == [(min(20 * k, total), total) for k in range(1, -(-total // 20) + 1)]


def test_chunks_hold_some_megabytes_of_values_and_never_nothing():
    assert chunk_size_for(10) == chunk_size_for(512) == 1 << 14
    assert chunk_size_for(10_000) * 10_000 <= 1 << 23 < (chunk_size_for(10_000) + 1) * 10_000
    assert chunk_size_for(10**9) == 16


def test_classes_that_are_equal_up_to_rounding_are_one_and_the_simplest_stands_for_them(rng):
    table = table_of(rng, rows=20, inputs=2)
    space = space_of(table, "b[mul] u[log] b[add]", "basic", unary=("log",), binary=("add", "mul"))
    whole = Whole.of(table, space)
    keep = Keep(0, "affine", mirrored=True, limit=with_margin(100))
    kept = streamed(Scorer(space, table.response, (PEARSON,), "free", (keep,)), Threads(1), 9).kept[0]
    # as if rounding had split every class
    apart = whole.space.features(whole.numbers)
    split = kept.take(np.zeros(len(whole.numbers), dtype=np.int64))
    split = replace(
        split,
        number=whole.numbers,
        signature=np.arange(len(whole.numbers), dtype=np.uint64),
        complexity=apart.complexity,
        keys=apart.keys,
        class_size=np.ones(len(whole.numbers), dtype=np.int64),
    )
    settled = final_classes(split, space, 100)
    assert settled.class_size.sum() == len(whole.numbers)
    values = space.values(settled.number)
    for number, own in zip(whole.numbers, whole.values, strict=True):
        near = np.isclose(values, own, rtol=1e-12, atol=0).all(axis=1)
        assert near.sum() == 1
        simplest = settled.complexity[near][0]
        assert simplest <= space.features(np.array([number])).complexity[0]
    assert len(settled) < len(whole.numbers)
    assert len(final_classes(split, space, 2)) == 2


@pytest.mark.parametrize("count", [0, 1, 2, 5, 37])
def test_stages_hold_every_chunk_once_in_order(count):
    chunks = [(place, place + 1) for place in range(count)]
    stages = list(_stages(chunks))
    assert [chunk for stage in stages for chunk in stage] == chunks
    assert all(stages)
    assert len(stages) <= 4


def test_a_bar_only_spares_what_could_not_have_been_kept(scorer):
    expected = streamed(scorer, Threads(1), 10**6)
    chunks = scorer.space.chunks(25)
    bars = tuple(
        bar_of(best_classes(kept, keep.limit), keep.limit) if keep.limit else np.inf
        for kept, keep in zip(expected.kept, KEEPS, strict=True)
    )
    low = replace(scorer, bars=bars)
    spared = 0
    for chunk in chunks:
        for keep, with_bar, without in zip(KEEPS, low(chunk).kept, scorer(chunk).kept, strict=True):
            bar = bars[KEEPS.index(keep)]
            assert set(with_bar.number.tolist()) <= set(without.number.tolist())
            assert set(without.number[without.loss <= bar].tolist()) <= set(with_bar.number.tolist())
            spared += len(without) - len(with_bar)
    assert spared > 0
