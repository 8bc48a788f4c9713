from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import DataError, OptionError
from symscreen.targets.registry import require_numeric_target
from symscreen.targets.stages import StagesTarget

STAGES = ("viewed", "liked", "followed")


def _response(*chains, weights=(1, 1, 1)):
    return StagesTarget(np.array(chains, dtype=np.int8), STAGES, np.array(weights, dtype=float))


def test_rows_at_a_stage_tell_whether_they_reach_a_later_one():
    response = _response([1, 1, 1], [1, 1, -1], [1, -1, -1], [1, 0, 0], [1, 0, 1])
    assert response.pairs == [(1, 2), (0, 1), (0, 2)]
    assert response.binary_targets.signs.tolist() == [[1, -1, 0, 0, 0], [1, 1, -1, 0, 0], [1, -1, -1, 0, 1]]
    assert response.binary_targets.n_observed.tolist() == [2, 3, 4]
    assert (response.n, response.name, response.target_type) == (5, "viewed,liked,followed", "stages")


def test_a_pair_that_all_rows_go_is_left_out_while_others_lead_to_the_stage():
    response = _response([1, 1, 1], [1, 1, 1], [1, -1, -1])
    assert response.pairs == [(0, 1), (0, 2)]
    assert response.weighted_pairs == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("chains", "weights", "says"),
    [
        ([[1, 1, -1], [1, -1, -1]], (1, 1, 1), "none of the 2 rows that are at a stage before 'followed'"),
        ([[1, 1, 1], [1, 1, -1]], (1, 1, 1), "all of the 2 rows that are at a stage before 'liked' reach it"),
        (
            [[1, 1, 1], [1, 1, 1], [1, -1, -1]],
            (1, 0, 1),
            "all of the 2 rows that are at a stage before 'f",
        ),
    ],
)
def test_a_stage_that_all_rows_reach_or_none_is_refused(chains, weights, says):
    with pytest.raises(DataError, match=says):
        _response(*chains, weights=weights)


def test_what_needs_numbers_refuses_stages():
    response = _response([1, 1, 1], [1, 1, -1], [1, -1, -1])
    with pytest.raises(OptionError, match="it needs a numeric target, but 'viewed,liked,followed' is"):
        require_numeric_target(response, "it")
