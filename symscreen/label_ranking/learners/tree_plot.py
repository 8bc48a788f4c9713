"""A consensus ranking tree as text and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from symscreen.errors import OptionError, escape_control_chars
from symscreen.targets.ranking_notation import format_ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from symscreen.label_ranking.learners.consensus_tree import ConsensusRankingTree


__all__ = ["format_tree", "plot_tree"]

_MAX_CATEGORIES = 4  # categories in a picture; more are counted
_LEAF_WIDTH_INCHES, _LEVEL_HEIGHT_INCHES = (
    1.9,
    1.2,
)  # inches that a leaf (at least) and a level have in a picture
_CHARACTER_WIDTH_INCHES, _BOX_GAP_INCHES = (
    0.078,
    0.3,
)  # inches of a letter of the size used, and between two boxes


class _NodeText(NamedTuple):
    """What is written at a node."""

    left_condition: str  # the condition of the left child; empty at a leaf
    right_condition: str
    leaf_ranking: str  # the ranking; empty inside
    row_summary: str


def format_tree(tree: ConsensusRankingTree, *, feature_names: Sequence[str] | None = None) -> str:
    """Write a tree as text, one line for each child of a split.

    Parameters
    ----------
    tree : ConsensusRankingTree
        Fitted.
    feature_names : sequence of str, length d, optional
        Else the names it was fitted with, or x1 to xd.

    Returns
    -------
    str
        Leaves show their consensus, how many training rows they hold, and γ̂ of these as
        `ConsensusRankingTree` has it: pairs of labels weigh by the share of the rows that show both.

    Raises
    ------
    OptionError
        If there is not one name a feature.

    Examples
    --------
    >>> from symscreen.label_ranking.learners.consensus_tree import ConsensusRankingTree
    >>> tree = ConsensusRankingTree().fit([[0.0], [1.0], [2.0]], [[1, 2], [1, 2], [2, 1]])
    >>> print(format_tree(tree, feature_names=["age"]))
    age <= 1
      0>1  (2 rows, dispersion 0)
    age > 1
      1>0  (1 row, dispersion 0)
    """
    words = _build_node_texts(tree, feature_names, max_categories=None)
    nodes, lines = tree.tree_, []
    waiting = [(0, "")]
    while waiting:
        node, before = waiting.pop()
        if before:
            lines.append("  " * (int(nodes.depth[node]) - 1) + before)
        if words[node].leaf_ranking:
            lines.append(
                f"{'  ' * int(nodes.depth[node])}{words[node].leaf_ranking}  ({words[node].row_summary})"
            )
        else:
            waiting.append((int(nodes.right[node]), words[node].right_condition))
            waiting.append((int(nodes.left[node]), words[node].left_condition))
    return "\n".join(lines)


def plot_tree(
    tree: ConsensusRankingTree, *, feature_names: Sequence[str] | None = None, title: str = ""
) -> Figure:
    """Draw a tree.

    Parameters
    ----------
    tree : ConsensusRankingTree
        Fitted.
    feature_names : sequence of str, length d, optional
        Else the names it was fitted with, or x1 to xd.
    title : str
        Above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        Rows that meet the condition go left. The thicker a branch, the more of them; at a leaf stand its
        consensus, its rows and their γ̂, as in `format_tree`.

    Raises
    ------
    OptionError
        If matplotlib is not installed, or there is not one name a feature.
    """
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError:
        raise OptionError("pictures need matplotlib: pip install 'symscreen[plot]'") from None
    words, nodes = _build_node_texts(tree, feature_names, max_categories=_MAX_CATEGORIES), tree.tree_
    across, depth = _compute_node_positions(tree), nodes.depth
    share = nodes.weight / nodes.weight[0]
    widest = max(
        len(line)
        for said in words
        for line in (said.leaf_ranking, said.row_summary if said.leaf_ranking else said.left_condition)
    )
    width = max(_LEAF_WIDTH_INCHES, _CHARACTER_WIDTH_INCHES * widest + _BOX_GAP_INCHES)
    size = (width * (across.max() + 1.0), _LEVEL_HEIGHT_INCHES * (depth.max() + 1.0) + 0.4)
    with style.context("default"):  # whatever the user has set
        figure = Figure(figsize=size, dpi=100, layout="constrained")
        axes = figure.add_subplot()
        axes.set_axis_off()
        for parent in np.flatnonzero(nodes.feature >= 0):
            for child in (nodes.left[parent], nodes.right[parent]):
                ends = [across[parent], across[child]], [-depth[parent], -depth[child]]
                axes.plot(*ends, color="0.6", linewidth=0.8 + 6.0 * share[child], zorder=1)
        for node, said in enumerate(words):
            text = f"{said.leaf_ranking}\n{said.row_summary}" if said.leaf_ranking else said.left_condition
            edge = "#009E73" if said.leaf_ranking else "0.3"
            box = {"boxstyle": "round", "facecolor": "white", "edgecolor": edge}
            axes.text(
                across[node], -depth[node], text,
                ha="center", va="center", fontsize=8, bbox=box, parse_math=False, zorder=2,
            )  # fmt: skip
        axes.set_xlim(-0.6, across.max() + 0.6)
        axes.set_ylim(-depth.max() - 0.5, 0.5)
        axes.set_title(escape_control_chars(title), parse_math=False)
    return figure


def _build_node_texts(
    tree: ConsensusRankingTree, feature_names: Sequence[str] | None, max_categories: int | None
) -> list[_NodeText]:
    check_is_fitted(tree)
    names = _get_feature_names(tree, feature_names)
    nodes, found = tree.tree_, []
    for node, feature in enumerate(nodes.feature.tolist()):
        left = right = leaf = ""
        if feature < 0:
            leaf = escape_control_chars(format_ranking(tree.rankings_[node], tree.labels_))
        elif tree.categories_[feature] is None:
            left = f"{names[feature]} <= {nodes.threshold[node]:.6g}"
            right = f"{names[feature]} > {nodes.threshold[node]:.6g}"
        else:
            goes_left = nodes.goes_left[node, : len(tree.categories_[feature])]
            left = f"{names[feature]} in {_format_categories(tree.categories_[feature][goes_left], max_categories)}"
            right = f"{names[feature]} in {_format_categories(tree.categories_[feature][~goes_left], max_categories)}"
        rows, spread = int(nodes.n_rows[node]), nodes.dispersion[node] / nodes.weight[node]
        counted = f"{rows} row{'s' if rows != 1 else ''}, dispersion {spread:.3g}"
        found.append(_NodeText(left, right, leaf, counted))
    return found


def _get_feature_names(tree: ConsensusRankingTree, feature_names: Sequence[str] | None) -> list[str]:
    d = tree.n_features_in_
    known = getattr(tree, "feature_names_in_", None) if feature_names is None else feature_names
    names = (
        [f"x{place + 1}" for place in range(d)]
        if known is None
        else [escape_control_chars(str(one)) for one in known]
    )
    if len(names) != d:
        raise OptionError(f"feature_names has {len(names)} names for {d} features: give one each")
    return names


def _format_categories(categories: NDArray[np.float64], max_categories: int | None) -> str:
    shown = [f"{one:.6g}" for one in categories[:max_categories]]
    left_out = len(categories) - len(shown)
    return "{" + ", ".join(shown) + (f", {left_out} more" if left_out else "") + "}"


def _compute_node_positions(tree: ConsensusRankingTree) -> NDArray[np.float64]:
    """Put leaves side by side from the left, and every other node halfway between its children."""
    nodes = tree.tree_
    across = np.empty(len(nodes.feature))
    waiting, leaves = [0], 0
    while waiting:
        node = waiting.pop()
        if nodes.feature[node] < 0:
            across[node] = leaves
            leaves += 1
        else:
            waiting += [int(nodes.right[node]), int(nodes.left[node])]
    for parent in np.flatnonzero(nodes.feature >= 0)[::-1]:
        across[parent] = (across[nodes.left[parent]] + across[nodes.right[parent]]) / 2.0
    return across
