"""A forest of consensus ranking trees, for the screener `forest` where the response is a ranking.

A regression forest over the signs of all pairs of labels would split alike on complete rankings: the variance
of signs is four times the dispersion p(1 − p). But it would read a label that is missing as a tie, and learn
who is missing. A CRIT tree (`symscreen.statistics.crit`) judges a pair by the rows that show it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.screeners.ranking_sample import dispersion_of
from symscreen.statistics.crit import Sample, grow, importances, leaves_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.crit import Nodes

    Flags = NDArray[np.bool_]
    Values = NDArray[np.float64]

__all__ = ["RankingTree", "grown", "impurity_importance", "permutation_importance"]

_LEAF = 5  # rows of a leaf, Breiman's for regression


class RankingTree(NamedTuple):
    """A tree, and the rows that its sample left out."""

    nodes: Nodes
    left_out: NDArray[np.int64]


def grown(
    sample: Sample, seed: np.random.SeedSequence, trees: int, share: float, jobs: int
) -> list[RankingTree]:
    """Grow trees on bootstrap samples of the rows.

    Parameters
    ----------
    sample : Sample
        n rows, q features.
    seed : SeedSequence
        Each tree draws from a child of its own: the number of threads changes nothing.
    trees : int
        How many.
    share : float
        The share of features that a node tries.
    jobs : int
        Threads.

    Returns
    -------
    list of RankingTree
    """
    n, tried = sample.weights.size, max(1, int(share * len(sample.columns)))

    def one(own: np.random.SeedSequence) -> RankingTree:
        rng = np.random.default_rng(own)
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
        return RankingTree(nodes, np.flatnonzero(times == 0))

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, seed.spawn(trees)))


def impurity_importance(forest: list[RankingTree], sample: Sample) -> Values:
    """Compute the share of the dispersion that each feature's splits remove, in the mean of the trees.

    Parameters
    ----------
    forest : list of RankingTree
        At least one.
    sample : Sample
        What it was grown on.

    Returns
    -------
    float64 array, shape (q,)
    """
    q = len(sample.columns)
    summed = np.zeros(q)
    for tree in forest:
        summed += importances(tree.nodes, q)
    return np.asarray(summed / (len(forest) * dispersion_of(sample)))


def permutation_importance(forest: list[RankingTree], sample: Sample, rng: np.random.Generator) -> Values:
    """Compute the R² that trees lose on the rows left out of their samples where a feature is shuffled there.

    Parameters
    ----------
    forest : list of RankingTree
        At least one.
    sample : Sample
        What it was grown on.
    rng : numpy.random.Generator
        What shuffles.

    Returns
    -------
    float64 array, shape (q,)
        R² of the signs of pairs of labels, each predicted by its mean in the leaf, over the pairs that rows
        show: tied labels have the sign 0.
    """
    shown = sample.shown if len(sample.shown) else np.ones(sample.signs.shape, dtype=np.bool_)
    lost, tested = np.zeros(len(sample.columns)), 0
    for nodes, out in forest:
        if not shown[out].any():
            continue
        tested += 1
        means = np.divide(nodes.differences, nodes.seen, out=np.zeros_like(nodes.seen), where=nodes.seen > 0)
        unseen, signs, count = np.ascontiguousarray(sample.columns[:, out]), sample.signs[out], shown[out]
        error = _mean_square(nodes, means, unseen, signs, count)
        for feature in np.unique(nodes.feature[nodes.feature >= 0]):
            own = unseen[feature].copy()
            unseen[feature] = rng.permutation(own)
            lost[feature] += _mean_square(nodes, means, unseen, signs, count) - error
            unseen[feature] = own
    variance = 4.0 * dispersion_of(sample) * sample.weights.size / shown.sum()  # of signs −1 and 1
    return np.asarray(lost / (max(tested, 1) * variance))


def _mean_square(
    nodes: Nodes, means: Values, columns: Values, signs: NDArray[np.int8], count: Flags
) -> float:
    away = (signs - means[leaves_of(nodes, columns)])[count]
    return float((away * away).mean())
