"""Nearest neighbours with the consensus of their rankings (Clémençon et al. 2018, section 4.2)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import StrOptions

from symscreen._parameters import POSITIVE_INTEGER
from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.base import (
    Ranker,
    encode_training_data,
    prepare_training_data,
    to_rankings,
)
from symscreen.label_ranking.consensus.median import MEDIAN_METHODS, compute_median_rankings
from symscreen.targets.ranking_ranks import compute_pair_signs, mask_ranked_pairs

if TYPE_CHECKING:
    from typing import Self

    from sklearn.utils import Tags

    from symscreen._parameters import Constraints
    from symscreen._typing import Values


_MAX_BLOCK_ELEMENTS = 2_500_000  # pair sums of one block: 20 MB


@dataclass(eq=False, repr=False)
class KemenyNeighbors(Ranker):
    """Nearest-neighbour prediction: the consensus of the rankings of the nearest training rows.

    Parameters
    ----------
    n_neighbors : int or "auto"
        Number of neighbours k, limited to the number of rows N. "auto" increases as N^{2/(d + 2)}, which
        minimises the bound of Theorem 13.
    metric : str or callable
        Metric of `sklearn.neighbors.NearestNeighbors`. A callable is evaluated for every new row and every
        training row and need not satisfy the triangle inequality. With "precomputed", X contains distances:
        (N, N) in `fit`, (m, N) in `predict`, with columns in the order of the training rows.
    p : float
        Power of the Minkowski metric.
    median_method : {"auto", "pseudo_empirical", "kemeny", "copeland", "borda"}
        Consensus of the neighbours' rankings; see `find_median_ranking`. "auto" is the exact Kemeny median of
        eq. (27) where it can be found, "pseudo_empirical" the Copeland or Borda ranking of eq. (28).
    metric_params : dict, optional
        Further arguments of the metric.
    n_jobs : int, optional
        Number of threads of the neighbour search; see scikit-learn.

    Attributes
    ----------
    n_neighbors_ : int
        Number of neighbours used.
    ranks_ : float64 array, shape (N, k)
        Training rankings, sorted independently of the order of the table; with "precomputed" in the order of
        the table.
    labels_ : tuple of str
        Names of the k labels.
    n_features_in_, feature_names_in_
        See scikit-learn.

    Notes
    -----
    Clémençon, Korba and Sibony (2018), eq. (26) to (28): the prediction is the consensus of the neighbours'
    rankings; ties count half. Rows with equal inputs have equal distances. If only some of them are among the
    k nearest rows, all of them count with the same share. With precomputed distances this applies to rows
    with equal distances. All training rows determine the order of a pair of labels that no neighbour ranks.
    Inputs are not scaled; use a scaler if their units differ.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1]]
    >>> KemenyNeighbors(n_neighbors=2).fit(X, y).predict([[0.4], [9.0]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    n_neighbors: int | str = 5
    _: KW_ONLY
    metric: Any = "minkowski"
    p: float = 2
    median_method: str = "auto"
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "n_neighbors": (POSITIVE_INTEGER, StrOptions({"auto"})),
        "median_method": (StrOptions(set(MEDIAN_METHODS)),),
    }

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's names
        """Store the training rows.

        Parameters
        ----------
        X : array or data frame of shape (N, d)
            Inputs; finite numbers. Distances, (N, N), if the metric is "precomputed".
        y : array or data frame of shape (N, k)
            Rankings; NaN for a missing label.

        Returns
        -------
        KemenyNeighbors
            The fitted estimator.

        Raises
        ------
        InputError, ValueError
            If the data, the number of neighbours or the metric is invalid.
        """
        self._validate_params()
        if self._is_precomputed():
            return self._fit_precomputed(X, y)
        training = encode_training_data(self, X, y, None, None)
        values = training.sample.columns.T
        n, d = values.shape
        # k ~ N^{2/(d+2)}                                                                      (below 28)
        size = round(n ** (2.0 / (d + 2.0))) if isinstance(self.n_neighbors, str) else self.n_neighbors
        self.n_neighbors_ = int(np.clip(size, 1, n))
        self.ranks_ = training.ranks
        # rows are sorted by inputs first, so equal inputs are adjacent
        is_new = np.concatenate([[True], (values[1:] != values[:-1]).any(axis=1)])
        starts = np.flatnonzero(is_new)
        self._group_sizes = np.diff(starts, append=len(values)).astype(np.float64)
        self._pair_signs = np.add.reduceat(compute_pair_signs(self.ranks_), starts, axis=0, dtype=np.float64)
        self._pair_counts = np.add.reduceat(mask_ranked_pairs(self.ranks_), starts, axis=0, dtype=np.float64)
        self._neighbor_index = NearestNeighbors(
            n_neighbors=min(self.n_neighbors_, starts.size),
            metric=self.metric,
            algorithm="brute" if callable(self.metric) else "auto",  # trees need the triangle inequality
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        ).fit(values[starts])
        return self

    def predict(self, X: Any) -> Values:  # noqa: N803  # scikit-learn's name
        """Predict the ranking of each row.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Inputs, or distances to the N training rows, (m, N), if the metric is "precomputed".

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k.
        """
        values = self._check_rows(X)
        if self._is_precomputed():
            check_distances_nonnegative(values)
        rows_per_query = len(self._pair_signs) if self._is_precomputed() else self.n_neighbors_
        block_size = max(_MAX_BLOCK_ELEMENTS // (rows_per_query * max(self._pair_signs.shape[1], 1)), 1)
        rankings = np.empty((len(values), self.n_labels_))
        for start in range(0, len(values), block_size):
            differences, pair_weights = self._sum_neighbor_pairs(values[start : start + block_size])
            differences = np.where(pair_weights > 0, differences, self._pair_signs.sum(axis=0))
            pair_weights = np.where(pair_weights > 0, pair_weights, self._pair_counts.sum(axis=0))
            rankings[start : start + block_size] = compute_median_rankings(
                differences, pair_weights, rankings.shape[1], self.median_method
            )
        return rankings

    def _sum_neighbor_pairs(self, values: Values) -> tuple[Values, Values]:
        """Sum the pair signs and pair counts over the neighbours of each row; two (m, pairs) arrays."""
        if self._is_precomputed():
            shares = compute_neighbor_shares(values, self.n_neighbors_)[:, :, np.newaxis]
            return (shares * self._pair_signs).sum(axis=1), (shares * self._pair_counts).sum(axis=1)
        neighbors = self._neighbor_index.kneighbors(values, return_distance=False)
        shares = _compute_group_shares(self._group_sizes[neighbors], self.n_neighbors_)[:, :, np.newaxis]
        return (shares * self._pair_signs[neighbors]).sum(axis=1), (
            shares * self._pair_counts[neighbors]
        ).sum(axis=1)

    def _is_precomputed(self) -> bool:
        """Return whether X contains distances."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _fit_precomputed(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Store the rankings in the order of the columns of distances."""
        n = len(prepare_training_data(self, X, y).rows)
        if self.n_features_in_ != n:
            raise DataError(
                f"metric='precomputed' needs the distances between all training rows, but X has "
                f"shape ({n}, {self.n_features_in_}): give a square matrix, or features with another metric"
            )
        check_distances_nonnegative(np.asarray(X, dtype=np.float64))
        if isinstance(self.n_neighbors, str):
            raise OptionError(
                f"n_neighbors is {self.n_neighbors!r}, which needs the number of inputs; it is unknown with "
                "metric='precomputed': give an integer ≥ 1"
            )
        self.n_neighbors_ = min(int(self.n_neighbors), n)
        self.ranks_ = to_rankings(y)
        self._pair_signs = compute_pair_signs(self.ranks_).astype(np.float64)
        self._pair_counts = mask_ranked_pairs(self.ranks_).astype(np.float64)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()  # cross-validation then also splits columns
        return tags


def compute_neighbor_shares(distances: Values, k: int) -> Values:
    """Compute the share of each training row that counts among the k nearest rows.

    Parameters
    ----------
    distances : float64 array, shape (m, N)
        Distances of new rows to training rows.
    k : int
        From 1 to N.

    Returns
    -------
    float64 array, shape (m, N)
        1 for nearer rows and 0 for farther rows. Rows at the same distance as the k-th row share the
        remaining number of neighbours.

    Examples
    --------
    >>> compute_neighbor_shares(np.array([[2.0, 0.0, 2.0, 9.0]]), 2).tolist()
    [[0.5, 1.0, 0.5, 0.0]]
    """
    kth_distance = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    is_nearer, is_tied = distances < kth_distance, distances == kth_distance
    n_remaining = k - is_nearer.sum(axis=1, keepdims=True)
    return np.asarray(is_nearer + is_tied * (n_remaining / is_tied.sum(axis=1, keepdims=True)))


def check_distances_nonnegative(distances: Values) -> None:
    """Check that no distance is negative; negated similarities, for example, are.

    Raises
    ------
    DataError
        If a distance is negative.
    """
    if (distances < 0.0).any():
        row, column = np.argwhere(distances < 0.0)[0].tolist()
        raise DataError(
            f"the distance in row {row}, column {column} (from 0) is {distances[row, column]:g}, but "
            "metric='precomputed' needs distances ≥ 0"
        )


def _compute_group_shares(sizes: Values, k: int) -> Values:
    """Compute the share of each group of equal rows among the k nearest rows, shape (m, groups)."""
    before = np.cumsum(sizes, axis=1) - sizes
    return np.asarray(np.clip(k - before, 0.0, sizes) / sizes)
