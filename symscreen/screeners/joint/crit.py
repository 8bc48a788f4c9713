"""CRIT, the consensus ranking tree (Clémençon et al. 2018), as a screener."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from symscreen.screeners.base import JointScores, JointScreener, ScreenerOption, transform_to_ranks
from symscreen.statistics.crit_tree import RankingSample, compute_importances, grow_tree
from symscreen.targets.ranking_ranks import compute_pair_signs, mask_ranked_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.screeners.base import JointInput
    from symscreen.targets.ranking import RankingTarget


def build_ranking_sample(columns: Values, target: RankingTarget) -> RankingSample:
    """Build the sample for trees from features and rankings.

    Parameters
    ----------
    columns : float64 array, shape (n, q)
        One feature per column.
    target : RankingTarget
        n rankings; ties are allowed, and labels may be missing.

    Returns
    -------
    RankingSample
        All rows have equal weight. The order of the pairs does not depend on the names of the labels.
    """
    ranks = target.ranks
    signs, observed = compute_pair_signs(ranks), mask_ranked_pairs(ranks)
    order = _sort_pairs_by_content(signs, observed)
    signs, observed = np.ascontiguousarray(signs[:, order]), np.ascontiguousarray(observed[:, order])
    if observed.all():
        observed = observed[:0]
    categories = np.zeros(columns.shape[1], dtype=np.int64)
    return RankingSample(np.ascontiguousarray(columns.T), categories, signs, observed, np.ones(len(signs)))


def _sort_pairs_by_content(signs: NDArray[np.int8], observed: NDArray[np.bool_]) -> list[int]:
    """Sort pairs by their signs in the rows, so that sums do not depend on the names of labels."""
    first = np.take_along_axis(signs, np.argmax(signs != 0, axis=0)[None], axis=0)
    content = np.ascontiguousarray((signs * first).T), np.ascontiguousarray(observed.T)
    return sorted(range(signs.shape[1]), key=lambda pair: [part[pair].tobytes() for part in content])


def compute_dispersion(sample: RankingSample) -> float:
    """Compute the dispersion of all rows relative to their weight, that is, of the root of a tree.

    Parameters
    ----------
    sample : RankingSample
        n rows with equal weights.

    Returns
    -------
    float
        Σ_{i<j} S_ij p̂_ij (1 − p̂_ij) / n; see `symscreen.statistics.crit_tree`.
    """
    n, pairs = sample.signs.shape
    sign_sums = sample.signs.sum(axis=0, dtype=np.int64)
    n_observed = sample.observed.sum(axis=0) if len(sample.observed) else np.full(pairs, n)
    is_observed = n_observed > 0
    # S·p(1 − p) of every pair with p = (1 − D/S)/2
    pair_dispersions = (n_observed[is_observed] - sign_sums[is_observed] ** 2 / n_observed[is_observed]) / 4.0
    return float(np.sort(pair_dispersions).sum() / n)


_MAX_CORE_TIME_S = 600.0


def _score_features(inputs: JointInput, settings: Mapping[str, Any]) -> JointScores:
    """Grow one tree; score features by their share of the explained dispersion."""
    q = len(inputs.values)
    sample = build_ranking_sample(transform_to_ranks(inputs.values), cast("RankingTarget", inputs.target))
    dispersion = compute_dispersion(sample)
    nodes = grow_tree(
        sample,
        max_depth=settings["depth"],
        min_leaf=settings["leaf"],
        min_decrease=settings["gain"] * dispersion,
    )
    importance = compute_importances(nodes, q) / dispersion
    selected = np.bincount(nodes.feature[nodes.feature >= 0], minlength=q) > 0
    return JointScores(
        score=importance,
        loss=np.round(1.0 - importance, 9),
        selected=selected,
        direction=np.zeros(q, dtype=np.int8),
        record={
            "leaves": int((nodes.feature < 0).sum()),
            "explained": round(float(importance.sum()), 12),
            "selected": int(selected.sum()),
            "warnings": [],
        },
    )


def _estimate_capacity(n_rows: int, settings: Mapping[str, Any]) -> int:
    """Estimate the number of features that take `_MAX_CORE_TIME_S` on one core."""
    # A level of the tree takes about 20 ns per row and feature with ten pairs of labels, 0.2 µs with a
    # hundred.
    return int(np.clip(_MAX_CORE_TIME_S / (2e-7 * n_rows * settings["depth"]), 20, 5000))


CRIT = JointScreener(
    name="crit",
    score_function=_score_features,
    capacity=_estimate_capacity,
    equivalence="ranks",
    options=(
        ScreenerOption("depth", 5, "maximum depth of the tree, in splits", min_value=1, max_value=30),
        ScreenerOption("leaf", 5, "minimum number of rows of a leaf", min_value=1),
        ScreenerOption(
            "gain",
            0.01,
            "minimum share of the total dispersion that a split must remove",
            min_value=0.0,
            max_value=1.0,
        ),
    ),
    summary="share of the dispersion of rankings that the splits on the feature remove in one tree (CRIT)",
    assumes="the rankings depend on few of the features, in any way",
    fails="of similarly good features a tree uses one and ignores the others; use forest for this",
    cost="O(depth · features · rows · pairs of labels)",
    source="Clémençon, Korba and Sibony 2018, ALT, section 4.3",
    target_types=("ranking",),
)
