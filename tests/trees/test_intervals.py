from __future__ import annotations

import pytest

from symscreen.trees import Interval
from symscreen.trees.preference import merge_adjacent


@pytest.mark.parametrize(("with_low", "with_high"), [(a, b) for a in (True, False) for b in (True, False)])
def test_its_ends_belong_to_it_where_said(with_low, with_high):
    interval = Interval(0.0, 1.0, with_low, with_high)
    assert (0.0 in interval, 0.5 in interval, 1.0 in interval) == (with_low, True, with_high)
    assert 1.5 not in interval
    assert str(interval) == f"{'[' if with_low else '('}0, 1{']' if with_high else ')'}"


def test_neighbours_with_one_label_are_joined():
    def interval(low, high, ends):
        return Interval(low, high, ends[0] == "[", ends[1] == "]")

    parts = [
        (interval(0, 1, "[)"), "a"),
        (interval(1, 1, "[]"), "a"),
        (interval(1, 2, "()"), "b"),
        (interval(2, 3, "()"), "b"),  # neither contains 2
        (interval(4, 5, "[]"), "b"),
    ]
    assert [(str(one), label) for one, label in merge_adjacent(parts)] == [
        ("[0, 1]", "a"),
        ("(1, 2)", "b"),
        ("(2, 3)", "b"),
        ("[4, 5]", "b"),
    ]
