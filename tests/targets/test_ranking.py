from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import DataError, OptionError
from symscreen.targets import NumericTarget
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.ranking_notation import Rankings, parse_rankings
from symscreen.targets.registry import require_numeric_target


def _response(*texts):
    return RankingTarget(parse_rankings(texts), "taste")


def test_rows_count_for_a_pair_that_they_show_and_do_not_tie():
    pairs = _response("a>b>c", "b>a", "a=c>b", "c>a>b").binary_targets
    assert pairs.signs.tolist() == [[-1, 0, 0, 1], [-1, 0, 1, 1], [-1, 1, -1, -1]]  # a, c; b, c; a, b
    assert pairs.n_observed.tolist() == [2, 3, 4]
    assert pairs.n_opposite_pairs.tolist() == [1, 2, 3]


def test_rows_are_counted_by_what_they_show():
    response = _response("a>b>c", "b>a", "a=c>b", "c=a", "c>b>a")
    assert response.completeness_counts == {"complete": 2, "incomplete": 2, "tied": 2}
    assert (response.n, response.labels, response.target_type) == (5, ("a", "b", "c"), "ranking")


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["a>b", "a>b"], "orders no pair of labels both ways"),
        (["a=b", "b=a"], "orders no pair of labels both ways"),
        (["a>b", "c>d"], "orders no pair of labels both ways"),
        (["a>b"], "at least 2 rows and 2 labels"),
    ],
)
def test_what_nothing_can_be_ranked_against_is_refused(texts, says):
    with pytest.raises(DataError, match=says):
        _response(*texts)


def test_one_label_is_refused():
    with pytest.raises(DataError, match="1 label: at least 2 rows"):
        RankingTarget(Rankings(np.ones((3, 1)), ("a",)))


def test_what_needs_numbers_refuses_a_ranking():
    known = NumericTarget(np.array([1.0, 2.0]))
    assert require_numeric_target(known, "it") is known
    with pytest.raises(OptionError, match="it needs a numeric target, but 'taste' is a ranking"):
        require_numeric_target(_response("a>b", "b>a"), "it")
