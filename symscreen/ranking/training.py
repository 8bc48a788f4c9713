"""What the estimators of ranking median regression make of their training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, validate_data

from symscreen.errors import OptionError
from symscreen.label_ranking import as_rankings, pair_signs, pairs_shown
from symscreen.ranking.coding import categorical_places, categories_of, coded
from symscreen.statistics.crit import Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.base import BaseEstimator

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
    labels : tuple of str
        The names of the k labels.
    """

    sample: Sample
    ranks: Values
    categories: list[Values | None]
    labels: tuple[str, ...]


def training_of(
    estimator: BaseEstimator,
    X: Any,  # noqa: N803  # scikit-learn's name
    y: Any,
    sample_weight: Any,
    categorical_features: Any,
) -> Training:
    """Check what an estimator is fitted to, and order its rows by their content.

    Parameters
    ----------
    estimator : estimator
        Learns its `n_features_in_` and `feature_names_in_`.
    X : array or data frame of shape (n, d)
        The inputs; finite numbers.
    y : array or data frame of shape (n, k)
        The rankings.
    sample_weight : array of shape (n,), optional
        Not negative; rows of weight 0 are left out.
    categorical_features
        As `categorical_places` takes it.

    Returns
    -------
    Training
        Equal rows are neighbours, so that neither sums nor draws depend on the order of the table.

    Raises
    ------
    InputError, ValueError
        If the inputs, rankings, weights or places cannot be used.
    """
    labels = _names(y)
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None: give rankings")
    values = validate_data(estimator, X, dtype=np.float64)
    ranks = as_rankings(np.asarray(y))
    check_consistent_length(values, ranks)
    weights = _weights(sample_weight, len(values))
    names = getattr(estimator, "feature_names_in_", None)
    places = categorical_places(categorical_features, values.shape[1], None if names is None else list(names))
    rows = np.lexsort((weights, *ranks.T[::-1], *values.T[::-1]))
    rows = rows[weights[rows] > 0]
    values, ranks = values[rows], ranks[rows]
    categories = categories_of(values, places)
    sizes = np.array([0 if known is None else len(known) for known in categories], dtype=np.int64)
    shown = pairs_shown(ranks) if np.isnan(ranks).any() else np.empty((0, _pairs(ranks)), dtype=np.bool_)
    sample = Sample(coded(values, categories), sizes, pair_signs(ranks), shown, weights[rows])
    return Training(sample, ranks, categories, labels or tuple(str(place) for place in range(ranks.shape[1])))


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


def _weights(asked: Any, n: int) -> Values:
    if asked is None:
        return np.ones(n)
    weights = np.asarray(asked, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise OptionError(
            f"sample_weight of shape {weights.shape} for {n} rows: give one finite number ≥ 0 each"
        )
    if not weights.any():
        raise OptionError("all sample weights are zero: nothing is left to learn from")
    return weights


def _pairs(ranks: Values) -> int:
    return int(ranks.shape[1] * (ranks.shape[1] - 1) // 2)


def _names(y: Any) -> tuple[str, ...] | None:
    """Take the names of the labels off a data frame."""
    return tuple(str(name) for name in y.columns) if hasattr(y, "columns") else None
