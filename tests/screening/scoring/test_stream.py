from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from helpers.screening_oracles import space_of, table_of
from hypothesis import given
from hypothesis import strategies as st

from symscreen.backends import Threads
from symscreen.screeners import PEARSON, T0, XI
from symscreen.screening.run_control import RunControl
from symscreen.screening.scoring import streaming
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec, compute_threshold
from symscreen.screening.scoring.final_classes import finalize_features
from symscreen.screening.scoring.streaming import _split_stages, compute_chunk_size, score_stream
from symscreen.screening.scoring.top_features import FeatureTable, merge_distinct_losses, select_best_classes

KEEPS = (
    TopKSpec(0, "ranks", mirrored=True, limit=3),
    TopKSpec(1, "affine", mirrored=True, limit=4),
    TopKSpec(0, "ranks", mirrored=True, limit=None),
)


@pytest.fixture
def scorer(rng):
    table = table_of(rng)
    return Scorer(space_of(table), table.target, (T0, PEARSON, XI), "free", KEEPS)


def _same(a: FeatureTable, b: FeatureTable) -> bool:
    return all(
        getattr(a, field.name).tobytes() == getattr(b, field.name).tobytes() for field in fields(FeatureTable)
    )


@pytest.mark.parametrize(("jobs", "chunk_size"), [(1, 1), (2, 1), (1, 7), (2, 7), (2, 10**6)])
def test_a_stream_is_the_same_for_every_backend_and_chunk_size(scorer, jobs, chunk_size):
    expected = score_stream(scorer, Threads(1), 10**6)
    found = score_stream(scorer, Threads(jobs), chunk_size)
    assert found.n_scored == expected.n_scored
    assert {f: n for f, n in found.n_invalid.items() if n} == {
        f: n for f, n in expected.n_invalid.items() if n
    }
    for keep, kept, whole in zip(KEEPS, found.top_features, expected.top_features, strict=True):
        if keep.limit is None:
            assert _same(kept, whole)
        else:
            limit = keep.limit - 1  # streamed without the margin that merging copies needs
            assert _same(
                finalize_features(kept, scorer.space, limit), finalize_features(whole, scorer.space, limit)
            )


def test_progress_counts_candidates(scorer):
    calls = []
    score_stream(scorer, Threads(2), 20, RunControl(progress=lambda done, total: calls.append((done, total))))
    total = scorer.space.total
    assert calls == [(min(20 * k, total), total) for k in range(1, -(-total // 20) + 1)]


def test_chunks_hold_some_megabytes_of_values_and_never_nothing():
    assert compute_chunk_size(10) == compute_chunk_size(512) == 1 << 14
    assert compute_chunk_size(10_000) * 10_000 <= 1 << 23 < (compute_chunk_size(10_000) + 1) * 10_000
    assert compute_chunk_size(10**9) == 16


def test_tasks_grow_up_to_the_largest_size(scorer, monkeypatch):
    monkeypatch.setattr(streaming, "_FIRST_CHUNK_VALUES", 2 * scorer.space.n_rows)
    chunks = streaming._make_chunks(scorer.space, 9)
    assert [start for start, _ in chunks] == [0, *(stop for _, stop in chunks[:-1])]
    assert chunks[-1][1] == scorer.space.total
    sizes = [stop - start for start, stop in chunks]
    assert sizes[:-1] == [2, 4, *[8] * len(sizes)][: len(sizes) - 1]
    assert len(sizes) > 5


losses = st.lists(st.integers(0, 9).map(lambda k: k / 8) | st.floats(0, 2), max_size=30)


@given(losses, losses, st.integers(1, 8))
def test_the_best_losses_count_no_class_twice(first, second, limit):
    shifts = np.random.default_rng(len(first)).choice([0.0, 1e-12], len(second))  # rounding within a class
    best = merge_distinct_losses(np.zeros(0), np.array(first), limit)
    best = merge_distinct_losses(best, np.array(second) + shifts, limit)
    distinct = sorted({*first, *second})
    separate = [distinct[k] for k in range(len(distinct)) if k == 0 or distinct[k] - distinct[k - 1] > 1e-9]
    assert len(best) <= limit
    assert (np.diff(best) > 5e-12).all()
    # a loss is left out only where `limit` losses of other classes are at least as good
    assert len(best) >= min(limit, len(separate))
    if len(best) == limit:
        assert sum(loss <= best[-1] + 1e-9 for loss in distinct) >= limit


@pytest.mark.parametrize("count", [0, 1, 2, 5, 37])
def test_stages_hold_every_chunk_once_in_order(count):
    chunks = [(place, place + 1) for place in range(count)]
    stages = list(_split_stages(chunks))
    assert [chunk for stage in stages for chunk in stage] == chunks
    assert all(stages)
    assert len(stages) <= 1 + max(count - 1, 0).bit_length()


def _merge(features: FeatureTable, keep: TopKSpec) -> FeatureTable:
    return features if keep.limit is None else select_best_classes(features, keep.limit)


def test_a_bar_only_spares_what_could_not_have_been_kept(scorer):
    expected = score_stream(scorer, Threads(1), 10**6)
    chunks = scorer.space.split_chunks(25)
    bars = tuple(
        compute_threshold(select_best_classes(kept, keep.limit), keep.limit) if keep.limit else np.inf
        for kept, keep in zip(expected.top_features, KEEPS, strict=True)
    )
    low = replace(scorer, thresholds=bars)
    spared = 0
    for chunk in chunks:
        for keep, with_bar, without in zip(
            KEEPS, low(chunk).top_features, scorer(chunk).top_features, strict=True
        ):
            bar = bars[KEEPS.index(keep)]
            numbers = _merge(with_bar, keep).number.tolist()
            merged = _merge(without, keep)
            assert set(numbers) <= set(merged.number.tolist())
            assert set(merged.number[merged.loss <= bar].tolist()) <= set(numbers)
            spared += len(merged) - len(numbers)
    assert spared > 0
