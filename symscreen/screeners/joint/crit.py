"""What trees of rankings are grown on: the rank view of features, and how rows order each pair of labels.

CRIT, the consensus ranking tree: what each feature explains of rankings (Clémençon et al. 2018).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from symscreen.screeners.base import JointScores, JointScreener, ScreenerOption, transform_to_ranks
from symscreen.statistics.crit_splits import RankingSample
from symscreen.statistics.crit_tree import compute_importances, grow_tree
from symscreen.targets.ranking_ranks import compute_pair_signs, mask_ranked_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.screeners.base import JointInput
    from symscreen.targets.ranking import RankingTarget


__all__ = ["CRIT", "build_ranking_sample", "compute_dispersion"]


def build_ranking_sample(columns: Values, target: RankingTarget) -> RankingSample:
    """Put features and rankings together for trees.

    Parameters
    ----------
    columns : float64 array, shape (n, q)
        One column a feature.
    response : RankingResponse
        n rankings; ties are allowed, and labels may be missing.

    Returns
    -------
    Sample
        All rows weigh the same; pairs stand in an order that the names of labels do not decide.
    """
    ranks = target.ranks
    signs, shown = compute_pair_signs(ranks), mask_ranked_pairs(ranks)
    order = _sort_pairs_by_content(signs, shown)
    signs, shown = np.ascontiguousarray(signs[:, order]), np.ascontiguousarray(shown[:, order])
    if shown.all():
        shown = shown[:0]
    categories = np.zeros(columns.shape[1], dtype=np.int64)
    return RankingSample(np.ascontiguousarray(columns.T), categories, signs, shown, np.ones(len(signs)))


def _sort_pairs_by_content(signs: NDArray[np.int8], observed: NDArray[np.bool_]) -> list[int]:
    """Order pairs by what rows say of them, whichever label comes first: sums do not follow names then."""
    first = np.take_along_axis(signs, np.argmax(signs != 0, axis=0)[None], axis=0)
    content = np.ascontiguousarray((signs * first).T), np.ascontiguousarray(observed.T)
    return sorted(range(signs.shape[1]), key=lambda pair: [each[pair].tobytes() for each in content])


def compute_dispersion(sample: RankingSample) -> float:
    """Compute the dispersion of all rows, relative to their weight: what a tree starts from.

    Parameters
    ----------
    sample : Sample
        n rows that weigh the same.

    Returns
    -------
    float
        Σ_{i<j} S_ij p̂_ij (1 − p̂_ij) / n; see `symscreen.statistics.crit_tree`.
    """
    n, pairs = sample.signs.shape
    differences = sample.signs.sum(axis=0, dtype=np.int64)
    seen = sample.observed.sum(axis=0) if len(sample.observed) else np.full(pairs, n)
    shown = seen > 0
    # of every pair S·p(1 − p) with p = (1 − D/S)/2
    each = (seen[shown] - differences[shown] ** 2 / seen[shown]) / 4.0
    return float(np.sort(each).sum() / n)


_MAX_CORE_TIME_S = 600.0  # seconds of one core


def _score_features(inputs: JointInput, settings: Mapping[str, Any]) -> JointScores:
    q = len(inputs.values)
    sample = build_ranking_sample(transform_to_ranks(inputs.values), cast("RankingTarget", inputs.target))
    whole = compute_dispersion(sample)
    nodes = grow_tree(
        sample,
        max_depth=settings["depth"],
        min_leaf=settings["leaf"],
        min_decrease=settings["gain"] * whole,
    )
    importance = compute_importances(nodes, q) / whole
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
    # a level of the tree takes about 20 ns a row and feature with ten pairs of labels, 0.2 µs with a hundred
    return int(np.clip(_MAX_CORE_TIME_S / (2e-7 * n_rows * settings["depth"]), 20, 5000))


CRIT = JointScreener(
    name="crit",
    score_function=_score_features,
    capacity=_estimate_capacity,
    equivalence="ranks",
    options=(
        ScreenerOption("depth", 5, "how many splits deep the tree is", min_value=1, max_value=30),
        ScreenerOption("leaf", 5, "the fewest rows of a leaf", min_value=1),
        ScreenerOption(
            "gain",
            0.01,
            "the least share of all dispersion that a split removes",
            min_value=0.0,
            max_value=1.0,
        ),
    ),
    summary="the share of the dispersion of rankings that a feature's splits remove in one tree (CRIT), for "
    "features shown together",
    assumes="the rankings depend on few of the features shown, of any shape",
    fails="of features that are nearly as good a tree takes one, and leaves nothing to others; use forest",
    cost="O(depth · features · rows · pairs of labels)",
    source="Clémençon, Korba and Sibony 2018, ALT, section 4.3",
    target_types=("ranking",),
)
