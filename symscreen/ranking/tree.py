"""CRIT, the consensus ranking tree, as an estimator (Clémençon et al. 2018, section 4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from symscreen.errors import OptionError
from symscreen.ranking.coding import coded
from symscreen.ranking.growing import features_tried, is_real, is_whole, limits_of
from symscreen.ranking.leaves import rankings_at
from symscreen.ranking.penalty import best_penalty, risks_over_folds
from symscreen.ranking.pruning import ends_at, path_of, penalties_of, pruned
from symscreen.ranking.ranker import Ranker
from symscreen.ranking.seeds import fresh_seeds
from symscreen.ranking.training import training_of
from symscreen.statistics.crit import grow, importances, leaves_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray

    from symscreen.ranking.training import Training
    from symscreen.statistics.crit import Nodes

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["ConsensusRankingTree"]


class ConsensusRankingTree(Ranker):
    """CRIT: a tree whose cells hold rankings of little dispersion, and predict their consensus.

    Parameters
    ----------
    max_depth : int, optional
        How many splits deep.
    min_samples_leaf : int or float
        The fewest training rows of a leaf, or their share of all, rounded up.
    min_impurity_decrease : float
        The least by which a split must lower γ̂ of the tree (see Notes), of which k(k − 1)/8 is the maximum.
    ccp_lambda : float or "cv"
        λ of eq. (52), the price of a leaf: see `symscreen.ranking.pruning`. "cv" chooses it by
        cross-validation.
    folds : int
        How many that has, ≥ 2; never more than rows.
    categorical_features : None, bool array of shape (d,), or sequence of int or str
        Which columns hold categories: any numbers, each of which is one.
    max_features : {"sqrt", "log2"}, int, float or None
        How many features a node looks at; None for all.
    random_state : int, RandomState or None
        Of the folds, and of the features drawn where these are not all. With neither nothing is random.

    Attributes
    ----------
    tree_ : Nodes
        The nodes, as arrays.
    rankings_ : float64 array, shape (N, k)
        The consensus at each leaf; NaN at inner nodes.
    labels_ : tuple of str
        Names of the k labels: of y's columns where it was a data frame, else "0", "1", ….
    categories_ : list of (float64 array or None)
        The categories of each feature.
    feature_importances_ : float64 array, shape (d,)
        The decrease of γ̂ by the splits on each feature; they sum to γ̂ of all rows less that of the tree.
    ccp_lambda_ : float
        The λ that was used.
    penalties_, risks_ : float64 arrays
        With "cv": the λ tried, and the mean Kendall distance on held-out rows.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The split is exact: all thresholds of all features, and all subsets of up to ten categories; more are cut
    along their principal axis (`symscreen.statistics.crit_categories`). Thresholds are values of the training
    rows, and x ≤ threshold goes left: no increasing function of an input changes a prediction. Of splits that
    are as good the first feature and its smallest threshold are taken. A node is a leaf where no split lowers
    the dispersion (Remark 19). A category that a node has not seen goes to its heavier child. The order of
    the training rows does not matter.

    Incomplete rankings and ties are welcome: a pair counts in the rows that show it, a tie half each way.
    γ̂ of a node is Σ_{i<j} S_ij p̂_ij(1 − p̂_ij)/W, S_ij the weight of its rows that show both labels and W that
    of all its rows; of a tree, the mean over leaves by W. For complete rankings S_ij = W, and γ̂ is that of
    Remark 2, `symscreen.ranking.dispersion`; a pair that half of the rows lack adds half as much.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1]]
    >>> tree = ConsensusRankingTree(max_depth=1).fit(X, y)
    >>> tree.predict([[0.5], [9.0]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    largest: ClassVar[float] = np.inf  # inputs are compared, and nothing else

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        min_impurity_decrease: float = 0.0,
        ccp_lambda: float | str = 0.0,
        folds: int = 5,
        categorical_features: Any = None,
        max_features: float | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_lambda = ccp_lambda
        self.folds = folds
        self.categorical_features = categorical_features
        self.max_features = max_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803  # scikit-learn's names
        """Grow the tree, and prune it.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs; finite numbers.
        y : array or data frame of shape (n, k)
            Rankings; NaN where a label is missing.
        sample_weight : array of shape (n,), optional
            Weights of the rows, not negative.

        Returns
        -------
        ConsensusRankingTree
            Itself.

        Raises
        ------
        InputError, ValueError
            If the data or an option cannot be used.
        """
        training = training_of(self, X, y, sample_weight, self.categorical_features)
        n, d = len(training.ranks), len(training.sample.columns)
        limits = limits_of(self.max_depth, self.min_samples_leaf, self.min_impurity_decrease, n)
        seed, deal = fresh_seeds(self.random_state, 2)
        limits |= {"max_features": features_tried(self.max_features, d), "seed": seed}
        nodes = grow(training.sample, **limits)
        self.tree_: Nodes = self._pruned(nodes, training, limits, deal)
        leaves = np.flatnonzero(self.tree_.feature < 0)
        self.rankings_: Values = rankings_at(self.tree_, leaves, training.ranks.shape[1])
        self.categories_ = training.categories
        self.feature_importances_: Values = importances(self.tree_, d)
        return self

    def _pruned(self, nodes: Nodes, training: Training, limits: Mapping[str, Any], deal: int) -> Nodes:
        path, n = path_of(nodes), len(training.ranks)
        asked: Any = self.ccp_lambda
        if isinstance(asked, str) and asked == "cv":
            if not is_whole(self.folds) or self.folds < 2:
                raise OptionError(f"folds is {self.folds!r}: give a whole number ≥ 2")
            self.penalties_ = penalties_of(path)
            self.risks_ = np.zeros(self.penalties_.size)
            if path.merged.size and n > 1:
                self.risks_ = risks_over_folds(training, self.penalties_, limits, min(self.folds, n), deal)
            self.ccp_lambda_ = best_penalty(self.penalties_, self.risks_)
        elif is_real(asked) and np.isfinite(asked) and asked >= 0:
            self.ccp_lambda_ = float(asked)
        else:
            raise OptionError(f"ccp_lambda is {asked!r}: give a number ≥ 0, or 'cv'")
        return pruned(nodes, ends_at(nodes, path, self.ccp_lambda_))

    def apply(self, X: Any) -> Whole:  # noqa: N803  # scikit-learn's name
        """Find the leaf of each row.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            The inputs.

        Returns
        -------
        int64 array, shape (m,)
            Numbers of nodes of `tree_`.
        """
        values = self._rows(X)
        return leaves_of(self.tree_, coded(values, self.categories_))

    def predict(self, X: Any) -> Values:  # noqa: N803  # scikit-learn's name
        """Predict the ranking of each row.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            The inputs.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k.
        """
        leaves = self.apply(X)
        return self.rankings_[leaves]
