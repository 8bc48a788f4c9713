"""Consensus ranking trees as text and as figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from symscreen.errors import OptionError
from symscreen.messages import escape_control_chars
from symscreen.targets.ranking_notation import format_ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from symscreen.label_ranking.learners.consensus_tree import ConsensusRankingTree


_MAX_CATEGORIES = 4  # categories listed in a figure; further ones are counted
_LEAF_WIDTH_INCHES = 1.9  # minimum width of a leaf in a figure
_LEVEL_HEIGHT_INCHES = 1.2
_CHARACTER_WIDTH_INCHES = 0.078  # width of a character in the font size that is used
_BOX_GAP_INCHES = 0.3  # between two boxes


class _NodeText(NamedTuple):
    """Texts of a node."""

    left_condition: str  # condition of the left child; empty at a leaf
    right_condition: str
    leaf_ranking: str  # consensus; empty at an inner node
    row_summary: str


def format_tree(tree: ConsensusRankingTree, *, feature_names: Sequence[str] | None = None) -> str:
    """Format a tree as text with one line per child of a split.

    Parameters
    ----------
    tree : ConsensusRankingTree
        Fitted tree.
    feature_names : sequence of str, length d, optional
        Feature names. By default the names of `fit`, or x1 to xd.

    Returns
    -------
    str
        A leaf contains its consensus, its number of training rows and their γ̂. The dispersion γ̂ is defined
        in `ConsensusRankingTree`: a pair of labels is weighted by the share of the rows that rank both.

    Raises
    ------
    OptionError
        If the number of names is not d.

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
    texts = _build_node_texts(tree, feature_names, max_categories=None)
    nodes, lines = tree.tree_, []
    stack = [(0, "")]
    while stack:
        node, condition = stack.pop()
        if condition:
            lines.append("  " * (int(nodes.depth[node]) - 1) + condition)
        if texts[node].leaf_ranking:
            lines.append(
                f"{'  ' * int(nodes.depth[node])}{texts[node].leaf_ranking}  ({texts[node].row_summary})"
            )
        else:
            stack.append((int(nodes.right[node]), texts[node].right_condition))
            stack.append((int(nodes.left[node]), texts[node].left_condition))
    return "\n".join(lines)


def plot_tree(
    tree: ConsensusRankingTree, *, feature_names: Sequence[str] | None = None, title: str = ""
) -> Figure:
    """Plot a tree.

    Parameters
    ----------
    tree : ConsensusRankingTree
        Fitted tree.
    feature_names : sequence of str, length d, optional
        Feature names. By default the names of `fit`, or x1 to xd.
    title : str
        Title of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        Rows that satisfy the condition of a node go left. The width of a branch increases with its share of
        the rows. A leaf contains its consensus, its number of rows and their γ̂, as in `format_tree`.

    Raises
    ------
    OptionError
        If matplotlib is not installed, or the number of names is not d.
    """
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError:
        raise OptionError("figures need matplotlib: pip install 'symscreen[plot]'") from None
    texts, nodes = _build_node_texts(tree, feature_names, max_categories=_MAX_CATEGORIES), tree.tree_
    x, depth = _compute_node_positions(tree), nodes.depth
    shares = nodes.weight / nodes.weight[0]
    max_characters = max(
        len(line)
        for text in texts
        for line in (text.leaf_ranking, text.row_summary if text.leaf_ranking else text.left_condition)
    )
    width = max(_LEAF_WIDTH_INCHES, _CHARACTER_WIDTH_INCHES * max_characters + _BOX_GAP_INCHES)
    size = (width * (x.max() + 1.0), _LEVEL_HEIGHT_INCHES * (depth.max() + 1.0) + 0.4)
    with style.context("default"):  # independent of the user's style
        figure = Figure(figsize=size, dpi=100, layout="constrained")
        axes = figure.add_subplot()
        axes.set_axis_off()
        for parent in np.flatnonzero(nodes.feature >= 0):
            for child in (nodes.left[parent], nodes.right[parent]):
                endpoints = [x[parent], x[child]], [-depth[parent], -depth[child]]
                axes.plot(*endpoints, color="0.6", linewidth=0.8 + 6.0 * shares[child], zorder=1)
        for node, text in enumerate(texts):
            label = f"{text.leaf_ranking}\n{text.row_summary}" if text.leaf_ranking else text.left_condition
            edge_color = "#009E73" if text.leaf_ranking else "0.3"
            box = {"boxstyle": "round", "facecolor": "white", "edgecolor": edge_color}
            axes.text(
                x[node], -depth[node], label,
                ha="center", va="center", fontsize=8, bbox=box, parse_math=False, zorder=2,
            )  # fmt: skip
        axes.set_xlim(-0.6, x.max() + 0.6)
        axes.set_ylim(-depth.max() - 0.5, 0.5)
        axes.set_title(escape_control_chars(title), parse_math=False)
    return figure


def _build_node_texts(
    tree: ConsensusRankingTree, feature_names: Sequence[str] | None, max_categories: int | None
) -> list[_NodeText]:
    """Build the texts of all nodes."""
    check_is_fitted(tree)
    names = _get_feature_names(tree, feature_names)
    nodes, texts = tree.tree_, []
    for node, feature in enumerate(nodes.feature.tolist()):
        left = right = leaf = ""
        if feature < 0:
            leaf = escape_control_chars(format_ranking(tree.rankings_[node], tree.labels_))
        elif tree.categories_[feature] is None:
            left = f"{names[feature]} <= {nodes.threshold[node]:.6g}"
            right = f"{names[feature]} > {nodes.threshold[node]:.6g}"
        else:
            goes_left = nodes.goes_left[node, : len(tree.categories_[feature])]
            left, right = (
                f"{names[feature]} in {_format_categories(tree.categories_[feature][mask], max_categories)}"
                for mask in (goes_left, ~goes_left)
            )
        rows, dispersion = int(nodes.n_rows[node]), nodes.dispersion[node] / nodes.weight[node]
        row_summary = f"{rows} row{'s' if rows != 1 else ''}, dispersion {dispersion:.3g}"
        texts.append(_NodeText(left, right, leaf, row_summary))
    return texts


def _get_feature_names(tree: ConsensusRankingTree, feature_names: Sequence[str] | None) -> list[str]:
    """Return the d feature names, escaped for display."""
    d = tree.n_features_in_
    user_names = getattr(tree, "feature_names_in_", None) if feature_names is None else feature_names
    names = (
        [f"x{index + 1}" for index in range(d)]
        if user_names is None
        else [escape_control_chars(str(name)) for name in user_names]
    )
    if len(names) != d:
        raise OptionError(f"feature_names has {len(names)} names for {d} features: give one name per feature")
    return names


def _format_categories(categories: NDArray[np.float64], max_categories: int | None) -> str:
    """Format a set of categories, at most `max_categories` of them."""
    shown = [f"{category:.6g}" for category in categories[:max_categories]]
    n_omitted = len(categories) - len(shown)
    return "{" + ", ".join(shown) + (f", {n_omitted} more" if n_omitted else "") + "}"


def _compute_node_positions(tree: ConsensusRankingTree) -> NDArray[np.float64]:
    """Compute horizontal positions: leaves from left to right, parents midway between their children."""
    nodes = tree.tree_
    x = np.empty(len(nodes.feature))
    stack, n_leaves = [0], 0
    while stack:
        node = stack.pop()
        if nodes.feature[node] < 0:
            x[node] = n_leaves
            n_leaves += 1
        else:
            stack += [int(nodes.right[node]), int(nodes.left[node])]
    for parent in np.flatnonzero(nodes.feature >= 0)[::-1]:
        x[parent] = (x[nodes.left[parent]] + x[nodes.right[parent]]) / 2.0
    return x
