"""A forest of consensus ranking trees, for the screener `forest` where the response is a ranking.

A regression forest over the signs of all pairs of labels would split alike on complete rankings: the variance
of signs is four times the dispersion p(1 − p). But it would read a label that is missing as a tie, and learn
who is missing. A CRIT tree (`symscreen.statistics.crit`) judges a pair by the rows that show it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from symscreen.screeners.ranking_sample import dispersion_of
from symscreen.statistics.crit import Sample, grow, importances, leaves_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen.statistics.crit import Nodes

    Flags = NDArray[np.bool_]
    Values = NDArray[np.float64]

__all__ = ["Growth", "impurity_importance", "permutation_importance"]

_T = TypeVar("_T")
_LEAF = 5  # rows of a leaf, Breiman's for regression


class Growth(NamedTuple):
    """How a forest is grown."""

    seed: np.random.SeedSequence  # each tree draws from a child of its own
    trees: int
    share: float  # of the features, that a node tries
    jobs: int  # threads, whose number changes nothing


class _Tree(NamedTuple):
    """A tree, and the rows that its sample left out."""

    nodes: Nodes
    left_out: NDArray[np.int64]


def impurity_importance(sample: Sample, growth: Growth) -> Values:
    """Compute the share of the dispersion that each feature's splits remove, in the mean of the trees.

    Parameters
    ----------
    sample : Sample
        n rows, q features.
    growth : Growth
        Of at least one tree.

    Returns
    -------
    float64 array, shape (q,)
    """
    q = len(sample.columns)
    removed = _of_trees(sample, growth, lambda tree, _: importances(tree.nodes, q))
    return np.asarray(_summed(removed) / (growth.trees * dispersion_of(sample)))


def permutation_importance(sample: Sample, growth: Growth) -> Values:
    """Compute the R² that trees lose on the rows left out of their samples where a feature is shuffled there.

    Parameters
    ----------
    sample : Sample
        n rows, q features.
    growth : Growth
        Of at least one tree.

    Returns
    -------
    float64 array, shape (q,)
        R² of the signs of pairs of labels, each predicted by its mean in the leaf, over the pairs that rows
        show: tied labels have the sign 0.
    """
    shown = sample.shown if len(sample.shown) else np.ones(sample.signs.shape, dtype=np.bool_)
    lost = _of_trees(sample, growth, lambda tree, rng: _lost(tree, sample, shown, rng))
    tested = [own for own in lost if own is not None]
    if not tested:
        return np.zeros(len(sample.columns))
    variance = 4.0 * dispersion_of(sample) * sample.weights.size / shown.sum()  # of signs −1 and 1
    return np.asarray(_summed(tested) / (len(tested) * variance))


def _of_trees(
    sample: Sample, growth: Growth, of_tree: Callable[[_Tree, np.random.Generator], _T]
) -> list[_T]:
    """Grow trees on bootstrap samples of the rows, and keep what is asked of each.

    A tree itself is not kept: its sums for every pair of labels, 16 bytes a node and pair, would fill the
    memory where labels are many.
    """

    def one(own: np.random.SeedSequence) -> _T:
        rng = np.random.default_rng(own)
        return of_tree(_grown(sample, growth, rng), rng)

    with ThreadPoolExecutor(growth.jobs) as pool:
        return list(pool.map(one, growth.seed.spawn(growth.trees)))


def _grown(sample: Sample, growth: Growth, rng: np.random.Generator) -> _Tree:
    n, tried = sample.weights.size, max(1, int(growth.share * len(sample.columns)))
    times = np.bincount(rng.integers(n, size=n), minlength=n)
    rows = np.flatnonzero(times)
    part = Sample(
        np.ascontiguousarray(sample.columns[:, rows]),
        sample.categories,
        sample.signs[rows],
        sample.shown[rows] if len(sample.shown) else sample.shown,
        times[rows].astype(np.float64),
    )
    leaf = max(1, min(_LEAF, len(rows) // 4))
    nodes = grow(part, min_leaf=leaf, max_features=tried, seed=int(rng.integers(2**62)))
    return _Tree(nodes, np.flatnonzero(times == 0))


def _lost(tree: _Tree, sample: Sample, shown: Flags, rng: np.random.Generator) -> Values | None:
    """Compute what the mean square rises by where a feature is shuffled; None where no row tests the tree."""
    nodes, out = tree
    if not shown[out].any():
        return None
    means = np.divide(nodes.differences, nodes.seen, out=np.zeros_like(nodes.seen), where=nodes.seen > 0)
    unseen, signs, count = np.ascontiguousarray(sample.columns[:, out]), sample.signs[out], shown[out]
    error = _mean_square(nodes, means, unseen, signs, count)
    lost = np.zeros(len(sample.columns))
    for feature in np.unique(nodes.feature[nodes.feature >= 0]):
        own = unseen[feature].copy()
        unseen[feature] = rng.permutation(own)
        lost[feature] = _mean_square(nodes, means, unseen, signs, count) - error
        unseen[feature] = own
    return lost


def _summed(each: list[Values]) -> Values:
    total = np.zeros_like(each[0])
    for own in each:  # in the order of the trees, whichever thread was first
        total += own
    return total


def _mean_square(
    nodes: Nodes, means: Values, columns: Values, signs: NDArray[np.int8], count: Flags
) -> float:
    away = (signs - means[leaves_of(nodes, columns)])[count]
    return float((away * away).mean())
