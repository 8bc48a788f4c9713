"""Nearest neighbours, and the consensus of their rankings (Clémençon et al. 2018, section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.base import Ranker, encode_training_data, prepare_training_data, to_rankings
from symscreen.label_ranking.consensus.median import compute_median_rankings
from symscreen.label_ranking.learners.consensus_tree import is_integer
from symscreen.targets.ranking_ranks import compute_pair_signs, mask_ranked_pairs

if TYPE_CHECKING:
    from typing import Self

    from sklearn.utils import Tags

    from symscreen._typing import Values


__all__ = ["KemenyNeighbors"]

_MAX_BLOCK_ELEMENTS = 2_500_000  # sums of signs held at one time: 20 MB


class KemenyNeighbors(Ranker):
    """The k nearest training rows, and the consensus of their rankings.

    Parameters
    ----------
    n_neighbors : int or "auto"
        How many; "auto" grows as N^{2/(d + 2)}, at which the bound of Theorem 13 is least. More than there
        are rows are all of them.
    metric : str or callable
        Any of `sklearn.neighbors.NearestNeighbors`. A callable is asked for the distance of every new row to
        every training row, and need be no metric. With "precomputed", X holds the distances: (N, N) to fit,
        (m, N) to predict, columns in the order of the training rows.
    p : float
        The power of the Minkowski metric.
    metric_params : dict, optional
        Further arguments of the metric.
    n_jobs : int, optional
        Threads of the search for neighbours, as scikit-learn counts them.

    Attributes
    ----------
    n_neighbors_ : int
        The number that is used.
    ranks_ : float64 array, shape (N, k)
        The training rankings, in an order that does not depend on that of the table; with "precomputed" in
        the table's own.
    labels_ : tuple of str
        Names of the k labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Clémençon, Korba and Sibony (2018), eq. (26) to (28): the pseudo-empirical median of the neighbours'
    rankings, ties counting half. Rows with equal inputs are equally near: where only some of them are among
    the k nearest, all count, by the same share; of precomputed distances rows that are equally far do. A pair
    of labels that no neighbour shows is judged by all training rows.
    Inputs are not scaled: put a scaler before it where their units differ.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1]]
    >>> KemenyNeighbors(n_neighbors=2).fit(X, y).predict([[0.4], [9.0]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    def __init__(
        self,
        n_neighbors: int | str = 5,
        *,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's names
        """Keep the training rows.

        Parameters
        ----------
        X : array or data frame of shape (N, d)
            The inputs; finite numbers. Distances, (N, N), where the metric is "precomputed".
        y : array or data frame of shape (N, k)
            Rankings; NaN where a label is missing.

        Returns
        -------
        KemenyNeighbors
            Itself.

        Raises
        ------
        InputError, ValueError
            If the data, the number of neighbours or the metric cannot be used.
        """
        if self._is_precomputed():
            return self._fit_precomputed(X, y)
        training = encode_training_data(self, X, y, None, None)
        values = training.sample.columns.T
        self.n_neighbors_ = _parse_n_neighbors(self.n_neighbors, *values.shape)
        self.ranks_ = training.ranks
        # rows are sorted, by inputs first
        new = np.concatenate([[True], (values[1:] != values[:-1]).any(axis=1)])
        starts = np.flatnonzero(new)
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
            The inputs, or distances to the N training rows, (m, N), where the metric is "precomputed".

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k.
        """
        values = self._check_rows(X)
        if self._is_precomputed():
            check_distances_nonnegative(values)
        near_at_once = len(self._pair_signs) if self._is_precomputed() else self.n_neighbors_
        part = max(_MAX_BLOCK_ELEMENTS // (near_at_once * max(self._pair_signs.shape[1], 1)), 1)
        found = np.empty((len(values), self.n_labels_))
        for start in range(0, len(values), part):
            differences, seen = self._sum_neighbor_pairs(values[start : start + part])
            differences = np.where(seen > 0, differences, self._pair_signs.sum(axis=0))
            seen = np.where(seen > 0, seen, self._pair_counts.sum(axis=0))
            found[start : start + part] = compute_median_rankings(differences, seen, found.shape[1])
        return found

    def _sum_neighbor_pairs(self, values: Values) -> tuple[Values, Values]:
        """Add up the signs of all pairs, and the rows that show them, over the neighbours of each row."""
        if self._is_precomputed():
            share = compute_neighbor_shares(values, self.n_neighbors_)[:, :, np.newaxis]
            return (share * self._pair_signs).sum(axis=1), (share * self._pair_counts).sum(axis=1)
        near = self._neighbor_index.kneighbors(values, return_distance=False)
        share = _compute_group_shares(self._group_sizes[near], self.n_neighbors_)[:, :, np.newaxis]
        return (share * self._pair_signs[near]).sum(axis=1), (share * self._pair_counts[near]).sum(axis=1)

    def _is_precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _fit_precomputed(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Keep the rankings alone, in the order of the columns of distances."""
        n = len(prepare_training_data(self, X, y).rows)
        if self.n_features_in_ != n:
            raise DataError(
                f"metric='precomputed' needs the distances of all training rows to each other, and X has "
                f"shape ({n}, {self.n_features_in_}): give a square matrix, or features with another metric"
            )
        check_distances_nonnegative(np.asarray(X, dtype=np.float64))
        if isinstance(self.n_neighbors, str):
            raise OptionError(
                f"n_neighbors is {self.n_neighbors!r}, and with metric='precomputed' the number of inputs, "
                "which it needs, is not known: give a whole number ≥ 1"
            )
        self.n_neighbors_ = _parse_n_neighbors(self.n_neighbors, n, n)
        self.ranks_ = to_rankings(y)
        self._pair_signs = compute_pair_signs(self.ranks_).astype(np.float64)
        self._pair_counts = mask_ranked_pairs(self.ranks_).astype(np.float64)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = (
            self._is_precomputed()
        )  # cross-validation then cuts columns as it does rows
        return tags


def compute_neighbor_shares(distances: Values, k: int) -> Values:
    """Tell which share of each training row is among the k nearest.

    Parameters
    ----------
    distances : float64 array, shape (m, N)
        Of new rows to training rows.
    k : int
        From 1 to N.

    Returns
    -------
    float64 array, shape (m, N)
        1 of nearer rows, 0 of farther ones; rows as far as the k-th share the room that is left.

    Examples
    --------
    >>> compute_neighbor_shares(np.array([[2.0, 0.0, 2.0, 9.0]]), 2).tolist()
    [[0.5, 1.0, 0.5, 0.0]]
    """
    last = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    nearer, as_far = distances < last, distances == last
    room = k - nearer.sum(axis=1, keepdims=True)
    return np.asarray(nearer + as_far * (room / as_far.sum(axis=1, keepdims=True)))


def check_distances_nonnegative(distances: Values) -> None:
    """Refuse distances below 0, such as similarities with their sign turned."""
    if (distances < 0.0).any():
        row, column = np.argwhere(distances < 0.0)[0].tolist()
        raise DataError(
            f"the distance in row {row}, column {column} (from 0) is {distances[row, column]:g}, and "
            "metric='precomputed' needs distances ≥ 0"
        )


def _compute_group_shares(sizes: Values, k: int) -> Values:
    """Tell which share of each group of equal rows, the nearest first, is among the k nearest rows."""
    before = np.cumsum(sizes, axis=1) - sizes
    return np.asarray(np.clip(k - before, 0.0, sizes) / sizes)


def _parse_n_neighbors(n_neighbors: Any, n_rows: int, n_features: int) -> int:
    if isinstance(n_neighbors, str) and n_neighbors == "auto":
        # k ~ N^{2/(d+2)}                                                                          (below 28)
        return int(np.clip(round(n_rows ** (2.0 / (n_features + 2.0))), 1, n_rows))
    if not is_integer(n_neighbors) or n_neighbors < 1:
        raise OptionError(f"n_neighbors is {n_neighbors!r}: give a whole number ≥ 1, or 'auto'")
    return min(int(n_neighbors), n_rows)
