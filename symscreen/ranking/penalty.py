"""The penalty λ of a pruned tree, chosen by cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import KFold

from symscreen.ranking.distances import kendall_distance
from symscreen.ranking.leaves import rankings_at
from symscreen.ranking.pruning import ends_at, parents_of, path_of
from symscreen.ranking.training import part_of
from symscreen.statistics.crit import grow, leaves_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.ranking.training import Training

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["best_penalty", "risks_over_folds"]

_ALIKE = 1e-12  # risks that differ by less are one


def risks_over_folds(
    training: Training, penalties: Values, limits: Mapping[str, Any], folds: int, seed: int
) -> Values:
    """Estimate the risk of the trees that penalties choose, by rows that did not grow them.

    Parameters
    ----------
    training : Training
        n rows.
    penalties : float64 array, shape (s,)
        λ.
    limits : mapping
        Arguments of `grow`.
    folds : int
        Into how many parts the rows are dealt, from 2 to n.
    seed : int
        Of the deal.

    Returns
    -------
    float64 array, shape (s,)
        The weighted mean Kendall distance of held-out rankings to their predictions.
    """
    weights = training.sample.weights
    total = np.zeros(penalties.size)
    for kept, held in KFold(folds, shuffle=True, random_state=seed).split(training.ranks):
        distances = _distances(training, kept, held, penalties, limits)
        total += (distances * weights[held]).sum(axis=1)
    return np.asarray(total / weights.sum())


def best_penalty(penalties: Values, risks: Values) -> float:
    """Take the penalty of the least risk; of those as good the largest, whose tree is the smallest.

    Parameters
    ----------
    penalties : float64 array, shape (s,)
        Ascending.
    risks : float64 array, shape (s,)
        Of each.

    Returns
    -------
    float

    Examples
    --------
    >>> best_penalty(np.array([0.0, 0.1, 0.2]), np.array([1.5, 1.0, 1.0]))
    0.2
    """
    return float(penalties[np.flatnonzero(risks <= risks.min() + _ALIKE)[-1]])


def _distances(
    training: Training, kept: Whole, held: Whole, penalties: Values, limits: Mapping[str, Any]
) -> Values:
    """Return the distance of each held-out ranking to its prediction, one row a penalty."""
    nodes = grow(part_of(training.sample, kept), **limits)
    path, parents = path_of(nodes), parents_of(nodes)
    ends = np.array([ends_at(nodes, path, penalty) for penalty in penalties])
    rankings = rankings_at(nodes, np.flatnonzero(ends.any(axis=0)), training.ranks.shape[1])
    deepest = leaves_of(nodes, training.sample.columns[:, held])
    cells = np.empty((penalties.size, held.size), dtype=np.int64)
    for row, end in enumerate(ends):
        at = deepest
        while not end[at].all():
            at = np.where(end[at], at, parents[at])
        cells[row] = at
    # most penalties leave a row where the one before did: each distance is computed once
    met, which = np.unique(cells * held.size + np.arange(held.size), return_inverse=True)
    known = kendall_distance(training.ranks[held[met % held.size]], rankings[met // held.size])
    return np.asarray(known[which].reshape(cells.shape))
