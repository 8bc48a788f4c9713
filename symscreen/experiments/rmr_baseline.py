"""The baseline of Clémençon and others (2017), §5.1: K-means on inputs, a Plackett–Luce model a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.ranking import orders_of
from symscreen.ranking.generators import ranks_by_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ClusterModes", "cluster_modes", "plackett_luce_weights"]

_PRIOR = 0.5  # choices of each label beside those seen: one that is always last keeps a weight above 0
_TOLERANCE, _STEPS = 1e-8, 10_000


@dataclass(frozen=True, eq=False)
class ClusterModes:
    """Clusters of inputs and a ranking for each.

    Parameters
    ----------
    clusters : fitted scikit-learn KMeans
        Of the inputs.
    modes : float64 array, shape (number of clusters, k)
        Of the Plackett–Luce models.
    """

    clusters: Any
    modes: NDArray[np.float64]

    def predict(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rank by the mode of the nearest cluster's model; shape (n, k)."""
        return np.asarray(self.modes[self.clusters.predict(x)])


def cluster_modes(
    x: NDArray[np.float64], ranks: NDArray[np.float64], clusters: int, seed: int
) -> ClusterModes:
    """Fit the baseline.

    Parameters
    ----------
    x : float64 array, shape (n, d)
        Inputs.
    ranks : float64 array, shape (n, k)
        Complete, without ties.
    clusters : int
        K.
    seed : int
        Of the starts of K-means, ten.

    Returns
    -------
    ClusterModes
        The mode of a Plackett–Luce model has the labels by descending weight.
    """
    from sklearn.cluster import KMeans

    fitted = KMeans(clusters, n_init=10, random_state=seed).fit(x)
    weights = [plackett_luce_weights(ranks[fitted.labels_ == own]) for own in range(clusters)]
    return ClusterModes(fitted, ranks_by_score(np.array(weights)))


def plackett_luce_weights(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit a Plackett–Luce model by minorisation and maximisation: Hunter (2004), §4.

    Parameters
    ----------
    ranks : float64 array, shape (n, k)
        Complete, without ties.

    Returns
    -------
    float64 array, shape (k,)
        Positive weights of sum 1. Every label counts as chosen half a time more than it was, for where a
        label is never preferred to another the likelihood has no maximum.
    """
    orders, times = np.unique(orders_of(ranks), axis=0, return_counts=True)
    k = orders.shape[1]
    # a label is chosen at every place but the last, where there is no choice left
    chosen = _sums(orders[:, : k - 1], np.tile(times[:, np.newaxis], k - 1), k) + _PRIOR
    w = np.full(k, 1.0 / k)
    for _ in range(_STEPS):
        left = np.cumsum(w[orders][:, ::-1], axis=1)[:, ::-1]  # the weight of those not chosen yet, by place
        exposed = np.cumsum(times[:, np.newaxis] / left[:, : k - 1], axis=1)
        denominators = _sums(orders, np.hstack([exposed, exposed[:, -1:]]), k)
        new = chosen / (denominators + k * _PRIOR)
        new /= new.sum()
        if np.abs(np.log(new / w)).max() < _TOLERANCE:
            return np.asarray(new)
        w = new
    return w


def _sums(labels: NDArray[np.int64], values: NDArray[Any], k: int) -> NDArray[np.float64]:
    """Add up values by label; shape (k,)."""
    return np.asarray(np.bincount(labels.ravel(), weights=values.ravel(), minlength=k), dtype=np.float64)
