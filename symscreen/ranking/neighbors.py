"""Nearest neighbours, and the consensus of their rankings (Clémençon et al. 2018, section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from symscreen.errors import OptionError
from symscreen.label_ranking import pair_signs, pairs_shown
from symscreen.ranking.growing import is_whole
from symscreen.ranking.medians import medians_of
from symscreen.ranking.ranker import Ranker
from symscreen.ranking.training import training_of

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["KemenyNeighbors"]

_AT_ONCE = 2_500_000  # sums of signs held at one time: 20 MB


class KemenyNeighbors(Ranker):
    """The k nearest training rows, and the consensus of their rankings.

    Parameters
    ----------
    n_neighbors : int or "auto"
        How many; "auto" grows as N^{2/(d + 2)}, at which the bound of Theorem 13 is least. More than there
        are rows are all of them.
    metric : str or callable
        Any of `sklearn.neighbors.NearestNeighbors`.
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
        The training rankings, in an order that does not depend on that of the table.
    labels_ : tuple of str
        Names of the k labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Clémençon, Korba and Sibony (2018), eq. (26) to (28): the pseudo-empirical median of the neighbours'
    rankings, ties counting half. Rows with equal inputs are equally near: where only some of them are among
    the k nearest, all count, by the same share. A pair of labels that no neighbour shows is judged by all
    training rows.
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
            The inputs; finite numbers.
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
        training = training_of(self, X, y, None, None)
        values = training.sample.columns.T
        self.n_neighbors_ = _neighbours(self.n_neighbors, *values.shape)
        self.ranks_, self.labels_ = training.ranks, training.labels
        # rows are sorted, by inputs first
        new = np.concatenate([[True], (values[1:] != values[:-1]).any(axis=1)])
        starts = np.flatnonzero(new)
        self._sizes = np.diff(starts, append=len(values)).astype(np.float64)
        self._signs = np.add.reduceat(pair_signs(self.ranks_), starts, axis=0, dtype=np.float64)
        self._shown = np.add.reduceat(pairs_shown(self.ranks_), starts, axis=0, dtype=np.float64)
        self._search = NearestNeighbors(
            n_neighbors=min(self.n_neighbors_, starts.size),
            metric=self.metric,
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
            The inputs.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k.
        """
        values = self._rows(X)
        part = max(_AT_ONCE // (self.n_neighbors_ * max(self._signs.shape[1], 1)), 1)
        found = np.empty((len(values), len(self.labels_)))
        for start in range(0, len(values), part):
            near = self._search.kneighbors(values[start : start + part], return_distance=False)
            share = _shares(self._sizes[near], self.n_neighbors_)[:, :, np.newaxis]
            differences = (share * self._signs[near]).sum(axis=1)
            seen = (share * self._shown[near]).sum(axis=1)
            differences = np.where(seen > 0, differences, self._signs.sum(axis=0))
            seen = np.where(seen > 0, seen, self._shown.sum(axis=0))
            found[start : start + part] = medians_of(differences, seen, found.shape[1])
        return found


def _shares(sizes: Values, k: int) -> Values:
    """Tell which share of each group of equal rows, the nearest first, is among the k nearest rows."""
    before = np.cumsum(sizes, axis=1) - sizes
    return np.asarray(np.clip(k - before, 0.0, sizes) / sizes)


def _neighbours(asked: Any, n: int, d: int) -> int:
    if isinstance(asked, str) and asked == "auto":
        # k ~ N^{2/(d+2)}                                                                          (below 28)
        return int(np.clip(round(n ** (2.0 / (d + 2.0))), 1, n))
    if not is_whole(asked) or asked < 1:
        raise OptionError(f"n_neighbors is {asked!r}: give a whole number ≥ 1, or 'auto'")
    return min(int(asked), n)
