from __future__ import annotations

import pytest

import symscreen
from symscreen.backends import Threads
from symscreen.expansion import candidate_filter


@pytest.mark.parametrize("verb", [symscreen.screen, symscreen.fit])
def test_judging_is_spread_over_the_threads_of_a_run(verb, frame, monkeypatch):
    monkeypatch.setattr(candidate_filter, "_MIN_TASK_SIZE", 8)
    monkeypatch.setattr(candidate_filter, "_BUCKET_ENTRIES", 8)
    mapped, whole = [], Threads.map

    def noted(self, function, tasks):
        mapped.append((self.jobs, getattr(function, "__name__", "")))
        return whole(self, function, tasks)

    monkeypatch.setattr(Threads, "map", noted)
    verb(frame, layers="b", jobs=2)
    assert {(2, "_apply_rules_to_range"), (2, "_fill_buckets"), (2, "_compare_entries")} <= set(mapped)
