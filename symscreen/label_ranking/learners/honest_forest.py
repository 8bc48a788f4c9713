"""One tree for the position of one label: what the trees and forests of Fotakis et al. are made of.

Trees and honest forests on the positions of labels (Fotakis et al., Algorithms 3 to 5, 9 and 10).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError, suggest
from symscreen.label_ranking.base import Ranker, draw_seeds, prepare_training_data
from symscreen.label_ranking.consensus.median import rank_by_position
from symscreen.label_ranking.learners.labelwise import compute_canonical_positions
from symscreen.statistics.level_splits import (
    compute_honest_values,
    grow_level_tree,
    predict_level_tree,
    split_rows_in_half,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from numpy.typing import ArrayLike

    from symscreen._typing import Ranks, Values

    TreeGrower = Callable[..., "PositionTree"]
    PositionTree = Callable[[Values], Values]

__all__ = [
    "TREE_GROWERS",
    "BreimanTree",
    "HonestForest",
    "LevelSplitsTree",
    "grow_breiman_position_tree",
    "grow_level_position_tree",
]


def grow_breiman_position_tree(
    rows: Values, y: Values, rng: np.random.Generator, *, honest: bool, max_depth: int | None, min_leaf: int
) -> PositionTree:
    """Grow a tree by Breiman's criterion, cell by cell (Fotakis et al., Algorithm 10).

    Parameters
    ----------
    rows : float64 array, shape (n, d)
        Features.
    y : float64 array, shape (n,)
        The label's positions.
    rng : numpy Generator
        Draws the halves, and which of equally good directions is taken.
    honest : bool
        h: shape the tree by one half of the rows, value it by the other.
    max_depth : int, optional
        Cells are not cut more often than this.
    min_leaf : int
        Every cell holds at least so many shaping rows.

    Returns
    -------
    callable
        From features, shape (m, d), to predicted positions, shape (m,).

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0]])
    >>> options = {"honest": False, "max_depth": None, "min_leaf": 1}
    >>> grow_breiman_position_tree(rows, np.array([0.5, 1.0]), np.random.default_rng(0),
    ...     **options)(rows).tolist()
    [0.5, 1.0]
    """
    from sklearn.tree import DecisionTreeRegressor

    seed = int(rng.integers(2**31 - 1))
    tree = DecisionTreeRegressor(max_depth=max_depth, min_samples_leaf=min_leaf, random_state=seed)
    if not honest:
        return tree.fit(rows, y).predict  # type: ignore[no-any-return]
    shaping, valuing = split_rows_in_half(len(rows), rng)
    tree.fit(rows[shaping], y[shaping])  # its gain, of squared error, is that of eq. (12)
    values = compute_honest_values(tree, rows[valuing], y[valuing])
    return partial(_predict_values, tree, values)


def grow_level_position_tree(
    rows: Values, y: Values, rng: np.random.Generator, *, honest: bool, max_depth: int | None, min_leaf: int
) -> PositionTree:
    """Grow a tree by level splits, all cells in one direction (Fotakis et al., Algorithm 9).

    Parameters
    ----------
    rows, y, rng, honest, max_depth
        As of `grow_breiman_position_tree`; nothing but the halves is drawn.
    min_leaf : int
        A cell is cut where both parts hold at least so many valuing rows.

    Returns
    -------
    callable
        From features, shape (m, d), to predicted positions, shape (m,).

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0]])
    >>> options = {"honest": False, "max_depth": None, "min_leaf": 1}
    >>> grow_level_position_tree(rows, np.array([0.5, 1.0]), np.random.default_rng(0),
    ...     **options)(rows).tolist()
    [0.5, 1.0]
    """
    shaping, valuing = split_rows_in_half(len(rows), rng) if honest else (np.arange(len(rows)),) * 2
    tree = grow_level_tree(
        rows[shaping], y[shaping], rows[valuing], y[valuing], max_levels=max_depth, min_leaf=min_leaf
    )
    return partial(predict_level_tree, tree)


def _predict_values(tree: Any, values: Values, rows: Values) -> Values:
    return np.asarray(values[tree.apply(rows)])


TREE_GROWERS: dict[str, TreeGrower] = {
    "breiman": grow_breiman_position_tree,
    "level": grow_level_position_tree,
}


class _PositionRanker(Ranker):
    """Average the position trees of each label, and sort."""

    trees_: list[list[PositionTree]]

    def decision_function(self, X: Any) -> Values:  # noqa: N803
        """Predict the canonical positions.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Estimates of σ(i)/k: what is smallest is preferred.
        """
        rows = self._check_rows(X)
        total = np.zeros((len(rows), self.n_labels_))
        for trees in self.trees_:
            total += np.column_stack([tree(rows) for tree in trees])
        return total / len(self.trees_)

    def predict(self, X: Any) -> Ranks:  # noqa: N803
        """Predict rankings: labels in ascending order of their predicted positions.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k; of labels predicted alike the one with the smaller index comes first.
        """
        return rank_by_position(self.decision_function(X))

    def _grow(self, X: Any, y: ArrayLike, base: str, n_trees: int, sample_share: float | None) -> Self:  # noqa: N803
        """Grow `n_trees` trees for each label, each on a sample of the rows."""
        _check_limits(self.max_depth, self.min_samples_leaf)
        learned = prepare_training_data(self, X, y, complete=True)
        targets = compute_canonical_positions(learned.ranks)
        n = len(targets)
        size = n if sample_share is None else _compute_sample_size(sample_share, n)
        options = {"honest": self.honest, "max_depth": self.max_depth, "min_leaf": self.min_samples_leaf}
        self.trees_ = []
        for seed in draw_seeds(self.random_state, n_trees):
            rng = np.random.default_rng(seed)
            drawn = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
            rows = learned.rows[drawn]
            self.trees_.append(
                [TREE_GROWERS[base](rows, target, rng, **options) for target in targets[drawn].T]
            )
        return self


class BreimanTree(_PositionRanker):
    """One tree for the position of each label, by Breiman's criterion (Algorithms 4, 5 and 10).

    Parameters
    ----------
    honest : bool
        Shape each tree by a random half of the rows, value its leaves by the other: a cell that holds at most
        one row of the second half is not cut, one that holds none has its parent's value.
    max_depth : int, optional
        Cut no cell more often than this (log t in the paper); by default trees are fully grown.
    min_samples_leaf : int
        Every leaf holds at least so many of the rows that shape the tree.
    random_state : int, RandomState or None
        Draws the halves, and breaks ties between features.

    Attributes
    ----------
    trees_ : list of one list of k callables
        From features to the position of a label, canonical (σ(i)/k).
    n_labels_, n_features_in_ : int
        k and d.

    Notes
    -----
    Rankings must be complete and without ties. The paper's features are binary; thresholds on numeric ones
    are our extension.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0]], [[1, 2, 3], [2, 1, 3], [3, 2, 1]]
    >>> BreimanTree(honest=False).fit(X, y).predict([[0.1], [1.9]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    def __init__(
        self,
        *,
        honest: bool = True,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.honest = honest
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """Grow the trees.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Complete rankings without ties.

        Returns
        -------
        BreimanTree
            Itself.

        Raises
        ------
        TableError
            If the rankings are none, incomplete or tied.
        OptionError
            If a depth or a size is not positive.
        """
        return self._grow(X, y, "breiman", 1, None)


class LevelSplitsTree(_PositionRanker):
    """One tree for the position of each label, all cells of a level cut alike (Algorithms 3, 5 and 9).

    Parameters
    ----------
    honest : bool
        Choose the directions by a random half of the rows; cut and value cells by the other.
    max_depth : int, optional
        log t: at most so many levels; by default levels are added until the rows that choose directions have
        one position in every cell, or no cell can be cut.
    min_samples_leaf : int
        A cell is cut where both parts hold at least so many of the rows that value it.
    random_state : int, RandomState or None
        Draws the halves; without honesty nothing is random.

    Attributes
    ----------
    trees_ : list of one list of k callables
        From features to the position of a label, canonical (σ(i)/k).
    n_labels_, n_features_in_ : int
        k and d.

    Notes
    -----
    Rankings must be complete and without ties. The paper's features are binary, and a direction is a feature;
    on numeric features, our extension, it is a feature with a threshold. Of equally good directions the
    feature with the smaller index is taken, and its lowest threshold.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0]], [[1, 2, 3], [2, 1, 3], [3, 2, 1]]
    >>> LevelSplitsTree().fit(X, y).predict([[0.1], [1.9]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    def __init__(
        self,
        *,
        honest: bool = False,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.honest = honest
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """Grow the trees.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Complete rankings without ties.

        Returns
        -------
        LevelSplitsTree
            Itself.

        Raises
        ------
        TableError
            If the rankings are none, incomplete or tied.
        OptionError
            If a depth or a size is not positive.
        """
        return self._grow(X, y, "level", 1, None)


class HonestForest(_PositionRanker):
    """Fully grown honest trees on subsamples, averaged (Fotakis et al., Theorem A.5 and Appendix D).

    Parameters
    ----------
    base : {"breiman", "level"}
        Which trees: those of `BreimanTree` or of `LevelSplitsTree`.
    n_estimators : int
        Trees for each label.
    subsample : float or int
        s: how many of the n rows each tree is grown on, drawn without replacement; a share of them in (0, 1],
        or a number.
    honest : bool
        False gives the plain forest, whose trees are shaped and valued by the same rows.
    max_depth : int, optional
        By default trees are fully grown.
    min_samples_leaf : int
        As of the trees.
    random_state : int, RandomState or None
        Draws samples and halves.

    Attributes
    ----------
    trees_ : list of n_estimators lists of k callables
        From features to the position of a label, canonical (σ(i)/k). The k trees of a list share their
        sample of rows, and each draws its own halves.
    n_labels_, n_features_in_ : int
        k and d.

    Examples
    --------
    >>> X = np.linspace(0.0, 1.0, 40)[:, None]
    >>> y = np.where(X < 0.5, [1, 2, 3], [3, 2, 1])
    >>> HonestForest(n_estimators=20).fit(X, y).predict([[0.1], [0.9]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    def __init__(
        self,
        base: str = "breiman",
        *,
        n_estimators: int = 100,
        subsample: float = 0.5,
        honest: bool = True,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.base = base
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.honest = honest
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """Grow the trees.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Complete rankings without ties.

        Returns
        -------
        HonestForest
            Itself.

        Raises
        ------
        TableError
            If the rankings are none, incomplete or tied.
        OptionError
            If the base is unknown, or a number, depth or size is not positive.
        """
        if not isinstance(self.base, str) or self.base not in TREE_GROWERS:
            raise OptionError(f"base is {self.base!r}{suggest(str(self.base), TREE_GROWERS)}")
        _check_positive("n_estimators", self.n_estimators)
        return self._grow(X, y, self.base, self.n_estimators, self.subsample)


def _check_limits(max_depth: int | None, min_leaf: int) -> None:
    if max_depth is not None:
        _check_positive("max_depth", max_depth)
    _check_positive("min_samples_leaf", min_leaf)


def _check_positive(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise OptionError(f"{name} is {value!r}: give a whole number of at least 1")


def _compute_sample_size(sample_share: float, n: int) -> int:
    """Read how many of n rows a tree is grown on."""
    whole = isinstance(sample_share, (int, np.integer)) and not isinstance(sample_share, bool)
    if whole and 1 <= sample_share <= n:
        return int(sample_share)
    if isinstance(sample_share, float) and 0.0 < sample_share <= 1.0:
        return max(1, round(sample_share * n))
    raise OptionError(
        f"subsample is {sample_share!r}: give a share of the rows in (0, 1], such as 0.5, or a whole number "
        "of "
        f"rows from 1 to {n}"
    )
