from __future__ import annotations

import pytest

from symscreen.results.budget_note import format_budget_note, format_duration, format_rounded_count

CHOICE = {"limit": 10**9, "formulas": 384_000_000, "is_counted": False, "rows": 100}


@pytest.mark.parametrize(
    ("search", "pool_size", "text"),
    [
        ("sieve", None, "Instead a sieve drops most formulas on samples of the rows;"),
        ("exact", {"inputs": 960}, "Instead only the best 960 inputs are used;"),
        ("exact", {"u": 50, "b": 50}, "only the best 50 features are kept after each layer but the last;"),
        ("sieve", {"inputs": 9, "u": 9}, "the best 9 inputs are used and the best 9 features are kept after"),
        (None, None, "the other options need every formula"),
    ],
)
def test_the_note_says_what_was_done_instead(search, pool_size, text):
    note = str(format_budget_note({"budget": CHOICE | {"search": search, "pool_size": pool_size}}))
    assert "about 3.8e8 formulas × 100 rows = 3.8e10, about 9 min of two cores" in note
    assert text in note


def test_there_is_no_note_within_the_budget():
    assert not format_budget_note({})


def test_powers_and_durations_have_two_digits():
    assert [format_rounded_count(each) for each in (99, 10**6, 12_345_678)] == ["99", "1e6", "1.2e7"]
    assert [format_duration(each) for each in (59, 60, 7200, 200_000)] == ["59 s", "1 min", "2 h", "2 days"]
