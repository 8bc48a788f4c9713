"""The search for duplicates: its memory, and the tasks into which it is divided."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import candidate_filter, expand
from symscreen.expansion.candidate_filter import estimate_duplicate_search_bytes
from symscreen.grammar import load_grammar


@pytest.mark.parametrize("n", [0, 1, 1000, 1 << 16, 1 << 20, 1 << 24, 10**9])
def test_memory_is_a_bit_a_candidate_ten_bytes_an_entry_and_250_a_collision(n):
    entries, collisions = min(n, 2**24), min(n, 2**16)
    assert estimate_duplicate_search_bytes(n) == n // 8 + 10 * entries + 250 * collisions


def test_a_search_has_about_32_tasks_a_stage_and_finds_the_same(monkeypatch, rng):
    grammar, columns = load_grammar("basic"), rng.uniform(0.5, 2.0, (4, 20))
    lengths = []

    def note_length(function, tasks):
        lengths.append(len(tasks))
        return map(function, tasks)

    def grow():
        layers = grammar.resolve_layers("bb")
        names = ["a", "b", "c", "d"]
        options = SpaceOptions()
        space = expand(
            names, columns, grammar, layers, "cumulative", options=options, map_function=note_length
        )
        return space.statuses

    whole = grow()
    assert max(lengths) <= 1
    lengths.clear()
    monkeypatch.setattr(candidate_filter, "_MIN_TASK_SIZE", 2)
    monkeypatch.setattr(candidate_filter, "_BUCKET_ENTRIES", 1)
    np.testing.assert_array_equal(grow(), whole)
    assert 25 < max(lengths) <= 33
    assert len(whole) > 1000
