"""A forest of consensus ranking trees (Clémençon et al. 2018, appendix, "Aggregation")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from symscreen.errors import OptionError
from symscreen.label_ranking import pair_signs
from symscreen.ranking.coding import coded
from symscreen.ranking.growing import features_tried, is_whole, limits_of, rows_of
from symscreen.ranking.leaves import rankings_at
from symscreen.ranking.medians import medians_of
from symscreen.ranking.ranker import Ranker
from symscreen.ranking.seeds import fresh_seeds
from symscreen.ranking.training import part_of, training_of
from symscreen.statistics.crit import grow, importances, leaves_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray

    from symscreen.statistics.crit import Nodes, Sample

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["ConsensusRankingForest", "Grown"]


class Grown(NamedTuple):
    """One tree of a forest."""

    nodes: Nodes  # without pair sums: leaves keep their rankings
    rankings: Values  # (N, k): NaN at inner nodes
    importances: Values  # (d,)


class ConsensusRankingForest(Ranker):
    """Many consensus ranking trees on bootstrap samples, and the consensus of their predictions.

    Parameters
    ----------
    n_estimators : int
        How many trees.
    max_depth, min_samples_leaf, min_impurity_decrease, categorical_features
        Of each tree, as of `ConsensusRankingTree`.
    max_features : {"sqrt", "log2"}, int, float or None
        How many features a node looks at, drawn anew for each; None for all, which is bagging.
    bootstrap : bool
        Whether each tree has rows drawn with replacement; else all rows.
    max_samples : int, float or None
        How many are drawn, or their share; None for as many as there are.
    random_state : int, RandomState or None
        Of all draws.
    n_jobs : int, optional
        Threads, as scikit-learn counts them. Their number changes nothing else.

    Attributes
    ----------
    trees_ : list of Grown
        The trees.
    labels_, categories_
        As of `ConsensusRankingTree`.
    feature_importances_ : float64 array, shape (d,)
        The mean over trees of the decrease of γ̂ by the splits on each feature, γ̂ as there.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The prediction at x is the pseudo-empirical median of the B rankings that the trees predict there. These
    are the same in every joint cell C_1 ∩ … ∩ C_B of the trees: one consensus serves all rows of one.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1]]
    >>> forest = ConsensusRankingForest(n_estimators=20, random_state=0).fit(X, y)
    >>> forest.predict([[0.0], [9.0]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    largest: ClassVar[float] = np.inf  # inputs are compared, and nothing else

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        min_impurity_decrease: float = 0.0,
        categorical_features: Any = None,
        max_features: float | str | None = "sqrt",
        bootstrap: bool = True,
        max_samples: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.categorical_features = categorical_features
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803  # scikit-learn's names
        """Grow the trees.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs; finite numbers.
        y : array or data frame of shape (n, k)
            Rankings; NaN where a label is missing.
        sample_weight : array of shape (n,), optional
            Weights of the rows, not negative. Draws do not depend on them.

        Returns
        -------
        ConsensusRankingForest
            Itself.

        Raises
        ------
        InputError, ValueError
            If the data or an option cannot be used.
        """
        training = training_of(self, X, y, sample_weight, self.categorical_features)
        (n, k), d = training.ranks.shape, len(training.sample.columns)
        if not is_whole(self.n_estimators) or self.n_estimators < 1:
            raise OptionError(f"n_estimators is {self.n_estimators!r}: give a whole number ≥ 1")
        drawn = n if self.max_samples is None else rows_of("max_samples", self.max_samples, n)
        limits = limits_of(self.max_depth, self.min_samples_leaf, self.min_impurity_decrease, n)
        limits["max_features"] = features_tried(self.max_features, d)
        seeds = fresh_seeds(self.random_state, self.n_estimators)
        take = drawn if self.bootstrap else None
        self.trees_: list[Grown] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_grown)(training.sample, limits, k, take, seed) for seed in seeds
        )
        self.categories_ = training.categories
        self.feature_importances_ = np.mean([tree.importances for tree in self.trees_], axis=0)
        return self

    def apply(self, X: Any) -> Whole:  # noqa: N803  # scikit-learn's name
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            The inputs.

        Returns
        -------
        int64 array, shape (m, B)
            Numbers of nodes.
        """
        values = self._rows(X)
        columns = coded(values, self.categories_)
        leaves = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(leaves_of)(tree.nodes, columns) for tree in self.trees_
        )
        return np.stack(leaves, axis=1)

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
        cells, where = np.unique(self.apply(X), axis=0, return_inverse=True)
        k = self.n_labels_
        votes = np.zeros((len(cells), k * (k - 1) // 2))
        for tree, leaf in zip(self.trees_, cells.T, strict=True):
            votes += pair_signs(tree.rankings)[leaf]
        return medians_of(votes, np.full(votes.shape, float(len(self.trees_))), k)[where.reshape(-1)]


def _grown(sample: Sample, limits: Mapping[str, Any], k: int, drawn: int | None, seed: int) -> Grown:
    """Grow one tree; nothing of it depends on the others or on the thread."""
    if drawn is not None:
        n = sample.weights.size
        times = np.bincount(np.random.default_rng(seed).integers(n, size=drawn), minlength=n)
        rows = np.flatnonzero(times)
        sample = part_of(sample, rows, times[rows])
    nodes = grow(sample, **limits, seed=seed)
    rankings = rankings_at(nodes, np.flatnonzero(nodes.feature < 0), k)
    found = importances(nodes, len(sample.columns))
    empty = np.empty((len(nodes.feature), 0))  # of many deep trees the pair sums would fill the memory
    return Grown(nodes._replace(differences=empty, seen=empty), rankings, found)
