"""What the estimators of ranking median regression make of their training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.label_ranking import pair_signs, pairs_shown
from symscreen.ranking.coding import categorical_places, categories_of, coded
from symscreen.ranking.learned import learned_from
from symscreen.statistics.crit import Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.ranking.ranker import Ranker

    Values = NDArray[np.float64]

__all__ = ["Training", "part_of", "training_of"]


@dataclass(frozen=True, eq=False)
class Training:
    """Training rows in an order that does not depend on how they were given.

    Parameters
    ----------
    sample : Sample
        Inputs, signs of pairs, weights.
    ranks : float64 array, shape (n, k)
        The rankings.
    categories : list of (float64 array or None)
        Of each feature.
    """

    sample: Sample
    ranks: Values
    categories: list[Values | None]


def training_of(
    estimator: Ranker,
    X: Any,  # noqa: N803  # scikit-learn's name
    y: Any,
    sample_weight: Any,
    categorical_features: Any,
) -> Training:
    """Check what an estimator is fitted to, and order its rows by their content.

    Parameters
    ----------
    estimator : Ranker
        As `learned_from` takes it, and all that follows.
    X, y, sample_weight
        Inputs, rankings, weights.
    categorical_features
        As `categorical_places` takes it.

    Returns
    -------
    Training
        Rows in the order of `learned_from`.

    Raises
    ------
    InputError, ValueError
        If the inputs, rankings, weights or places cannot be used.
    """
    values, ranks, weights = learned_from(estimator, X, y, sample_weight)
    names = getattr(estimator, "feature_names_in_", None)
    places = categorical_places(categorical_features, values.shape[1], None if names is None else list(names))
    categories = categories_of(values, places)
    sizes = np.array([0 if known is None else len(known) for known in categories], dtype=np.int64)
    shown = pairs_shown(ranks) if np.isnan(ranks).any() else np.empty((0, _pairs(ranks)), dtype=np.bool_)
    sample = Sample(coded(values, categories), sizes, pair_signs(ranks), shown, weights)
    return Training(sample, ranks, categories)


def part_of(sample: Sample, rows: NDArray[np.int64], times: NDArray[np.int64] | None = None) -> Sample:
    """Take some rows of a sample.

    Parameters
    ----------
    sample : Sample
        n rows.
    rows : int64 array, shape (m,)
        Which.
    times : int64 array, shape (m,), optional
        How often each was drawn; else once.

    Returns
    -------
    Sample
        m rows; a row drawn more often weighs more.
    """
    weights = sample.weights[rows] if times is None else sample.weights[rows] * times
    shown = sample.shown[rows] if len(sample.shown) else sample.shown
    return Sample(sample.columns[:, rows], sample.categories, sample.signs[rows], shown, weights)


def _pairs(ranks: Values) -> int:
    return int(ranks.shape[1] * (ranks.shape[1] - 1) // 2)
