from __future__ import annotations

import pytest

from symscreen.errors import OptionError
from symscreen.label_ranking import ConsensusRankingForest, ConsensusRankingTree
from symscreen.label_ranking.learners.consensus_tree import count_features, count_rows


def test_shares_of_rows_are_rounded_up_and_not_beyond():
    assert [count_rows(share, 70) for share in (0.1, 0.101, 1.0, 1, 5)] == [7, 8, 70, 1, 5]


def test_features_are_tried_by_number_share_or_word():
    assert [count_features(asked, 10) for asked in (None, "sqrt", "log2", 3, 0.25, 99)] == [
        10,
        3,
        3,
        3,
        3,
        10,
    ]
    assert count_features("log2", 1) == 1


@pytest.mark.parametrize("asked", [0, -1, 0.0, 1.5, float("nan"), True, "2"])
@pytest.mark.parametrize(
    ("learner", "name"), [(ConsensusRankingTree, "min_samples_leaf"), (ConsensusRankingForest, "max_samples")]
)
def test_invalid_row_counts_are_rejected(learner, name, asked):
    with pytest.raises(
        OptionError, match=rf"{name} is .*: give an integer ≥ 1, .*a number above 0 and up to"
    ):
        learner(**{name: asked}).fit([[0.0], [1.0]], [[1, 2], [2, 1]])


def test_a_leaf_has_a_number_of_rows():
    with pytest.raises(OptionError, match="min_samples_leaf is None: give an integer ≥ 1"):
        ConsensusRankingTree(min_samples_leaf=None).fit([[0.0], [1.0]], [[1, 2], [2, 1]])
