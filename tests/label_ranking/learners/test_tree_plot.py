from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from symscreen.errors import OptionError
from symscreen.label_ranking.learners.consensus_tree import ConsensusRankingTree
from symscreen.label_ranking.learners.tree_plot import format_tree, plot_tree


@pytest.fixture
def tree():
    frame = pd.DataFrame({"age": [1.0, 1.0, 1.0, 2.5, 2.5, 2.5], "job": [0.0, 1.0, 7.0, 0.0, 1.0, 7.0]})
    y = pd.DataFrame(
        [[1, 2, 3], [1, 2, 3], [1, 2, 3], [3, 2, 1], [2, 3, 1], [3, 2, 1]], columns=["pay", "peace", "$time$"]
    )
    return ConsensusRankingTree(categorical_features=["job"]).fit(frame, y)


def test_a_tree_is_written_line_by_line(tree):
    assert format_tree(tree).splitlines() == [
        "age <= 1",
        "  pay>peace>$time$  (3 rows, dispersion 0)",
        "age > 1",
        "  job in {1}",
        "    $time$>pay>peace  (1 row, dispersion 0)",
        "  job in {0, 7}",
        "    $time$>peace>pay  (2 rows, dispersion 0)",
    ]
    assert format_tree(tree, feature_names=["years", "work"]).startswith("years <= 1\n")


def test_a_leaf_alone_is_written_and_drawn():
    stump = ConsensusRankingTree().fit(np.zeros((3, 1)), [[1, 2]] * 3)
    assert format_tree(stump) == "0>1  (3 rows, dispersion 0)"
    assert len(plot_tree(stump).axes[0].texts) == 1


def test_a_drawn_tree_shows_every_node_and_branch(tree):
    axes = plot_tree(tree, title="jobs").axes[0]
    words = [text.get_text() for text in axes.texts]
    assert len(words) == len(tree.tree_.feature) == 5
    assert len(axes.lines) == 4
    assert words[0] == "age <= 1"
    assert "pay>peace>$time$\n3 rows, dispersion 0" in words
    places = {text.get_position() for text in axes.texts}
    assert len(places) == 5


def test_leaves_do_not_cover_each_other_however_long_their_rankings_are():
    names = [f"a drink with a long name {place}" for place in range(5)]
    y = pd.DataFrame([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [3, 4, 5, 1, 2], [2, 1, 5, 4, 3]], columns=names)
    figure = plot_tree(ConsensusRankingTree().fit(np.arange(4.0)[:, None], y))
    figure.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 7
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])


def test_many_categories_are_counted_in_a_picture():
    x = np.arange(20.0)[:, None]
    y = np.where((x < 10) ^ (x % 2 == 0), [[1.0, 2.0]], [[2.0, 1.0]])
    tree = ConsensusRankingTree(categorical_features=[0]).fit(x, y)
    assert ", 6 more}" in plot_tree(tree).axes[0].texts[0].get_text()
    assert "more" not in format_tree(tree)


def test_names_must_match_and_matplotlib_must_be_there(tree, monkeypatch):
    with pytest.raises(OptionError, match="feature_names has 1 names for 2 features"):
        format_tree(tree, feature_names=["one"])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match="figures need matplotlib"):
        plot_tree(tree)
