"""What trees of rankings are grown on: the rank view of features, and how rows order each pair of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.label_ranking import pair_signs, pairs_shown
from symscreen.statistics.crit import Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response.rankings import RankingResponse

    Values = NDArray[np.float64]

__all__ = ["dispersion_of", "sample_of"]


def sample_of(columns: Values, response: RankingResponse) -> Sample:
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
    ranks = response.ranks
    signs, shown = pair_signs(ranks), pairs_shown(ranks)
    order = _by_content(signs, shown)
    signs, shown = np.ascontiguousarray(signs[:, order]), np.ascontiguousarray(shown[:, order])
    if shown.all():
        shown = shown[:0]
    categories = np.zeros(columns.shape[1], dtype=np.int64)
    return Sample(np.ascontiguousarray(columns.T), categories, signs, shown, np.ones(len(signs)))


def _by_content(signs: NDArray[np.int8], shown: NDArray[np.bool_]) -> list[int]:
    """Order pairs by what rows say of them, whichever label comes first: sums do not follow names then."""
    first = np.take_along_axis(signs, np.argmax(signs != 0, axis=0)[None], axis=0)
    content = np.ascontiguousarray((signs * first).T), np.ascontiguousarray(shown.T)
    return sorted(range(signs.shape[1]), key=lambda pair: [each[pair].tobytes() for each in content])


def dispersion_of(sample: Sample) -> float:
    """Compute the dispersion of all rows, relative to their weight: what a tree starts from.

    Parameters
    ----------
    sample : Sample
        n rows that weigh the same.

    Returns
    -------
    float
        Σ_{i<j} S_ij p̂_ij (1 − p̂_ij) / n; see `symscreen.statistics.crit`.
    """
    n, pairs = sample.signs.shape
    differences = sample.signs.sum(axis=0, dtype=np.int64)
    seen = sample.shown.sum(axis=0) if len(sample.shown) else np.full(pairs, n)
    shown = seen > 0
    # of every pair S·p(1 − p) with p = (1 − D/S)/2
    each = (seen[shown] - differences[shown] ** 2 / seen[shown]) / 4.0
    return float(np.sort(each).sum() / n)
