"""Common parts of the ranking estimators: base class, training data, categorical inputs and seeds.

`prepare_training_data` checks rows, rankings and weights and sorts the rows by their content, so that no
fitted model depends on the order of the input table. `encode_training_data` converts them to the arrays of
the consensus ranking trees. `Ranker` supplies the score, the tags and the input checks of `predict`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from symscreen._parameters import Learner
from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.consensus.distances import mean_kendall_tau
from symscreen.label_ranking.consensus.pairwise_probabilities import check_weights
from symscreen.messages import suggest
from symscreen.statistics.crit_tree import RankingSample
from symscreen.targets.ranking_notation import find_duplicate
from symscreen.targets.ranking_ranks import compute_pair_signs, mask_ranked_pairs, to_mid_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from symscreen._typing import Ranks, Values

_MAX_NAMED_LABELS = 6  # labels listed in an error message

_WEIGHT_RESOLUTION = 2.0**40  # weights keep 40 of 53 bits: a common factor changes the lowest bits


def draw_seeds(random_state: int | np.random.RandomState | None, n_seeds: int) -> list[int]:
    """Draw seeds for the parts of a learner; a seed does not depend on the number of later seeds.

    Parameters
    ----------
    random_state : int, RandomState or None
        Random state of scikit-learn. None draws different seeds at each call.
    n_seeds : int
        Number of seeds.

    Returns
    -------
    list of int
        Integers from 0 to 2³¹ − 2.

    Examples
    --------
    >>> draw_seeds(0, 2) == draw_seeds(0, 3)[:2], len(set(draw_seeds(0, 3)))
    (True, 3)
    """
    return [int(seed) for seed in check_random_state(random_state).randint(2**31 - 1, size=n_seeds)]


def parse_categorical_features(
    categorical_features: Any, n_features: int, feature_names: Sequence[str] | None = None
) -> NDArray[np.int64]:
    """Convert a selection of categorical features to indices.

    Parameters
    ----------
    categorical_features : None, bool array of shape (n_features,), or sequence of int or str
        None for no categorical feature, a mask, indices (negative ones count from the end), or names.
    n_features : int
        Number of features.
    feature_names : sequence of str, optional
        Names of the features.

    Returns
    -------
    int64 array
        Distinct indices in ascending order.

    Raises
    ------
    OptionError
        If an index or name is unknown, or the mask has the wrong length.

    Examples
    --------
    >>> parse_categorical_features(["colour"], 3, ["size", "colour", "age"]).tolist()
    [1]
    """
    if categorical_features is None:
        return np.empty(0, dtype=np.int64)
    features = np.asarray(categorical_features)
    if features.dtype == bool:
        if features.shape != (n_features,):
            raise OptionError(
                f"categorical_features is a mask of shape {features.shape}, but X has {n_features} features"
            )
        return np.flatnonzero(features).astype(np.int64)
    indices = [_find_feature_index(index, n_features, feature_names) for index in features.ravel().tolist()]
    return np.unique(np.array(indices, dtype=np.int64))


def _find_feature_index(feature: Any, n_features: int, feature_names: Sequence[str] | None) -> int:
    """Convert one feature name or index to an index from 0."""
    if isinstance(feature, str):
        if feature_names is None or feature not in feature_names:
            raise OptionError(
                f"categorical_features names {feature!r}, which is not a "
                f"column{suggest(feature, feature_names or [])}"
            )
        return list(feature_names).index(feature)
    if not isinstance(feature, int) or not -n_features <= feature < n_features:
        raise OptionError(
            f"categorical_features contains {feature!r}: the indices of {n_features} features are 0 to "
            f"{n_features - 1}"
        )
    return feature % n_features


def find_categories(values: Values, feature_indices: NDArray[np.int64]) -> list[Values | None]:
    """List the categories of each categorical feature.

    Parameters
    ----------
    values : float64 array, shape (n, d)
        Inputs. Each distinct value of a categorical feature is a category.
    feature_indices : int64 array
        Indices of the categorical features.

    Returns
    -------
    list of (float64 array or None)
        Categories in ascending order; None for a numeric feature.

    Examples
    --------
    >>> find_categories(np.array([[5.0, 0.1], [2.0, 0.2], [5.0, 0.3]]), np.array([0]))
    [array([2., 5.]), None]
    """
    return [np.unique(column) if index in feature_indices else None for index, column in enumerate(values.T)]


def encode_categories(values: Values, categories: Sequence[Values | None]) -> Values:
    """Transpose the inputs and replace categories by their codes.

    Parameters
    ----------
    values : float64 array, shape (n, d)
        Inputs.
    categories : sequence of (float64 array or None)
        Result of `find_categories`.

    Returns
    -------
    float64 array, shape (d, n)
        Codes count from 0. An unknown category has as code the largest number of categories of any feature.

    Examples
    --------
    >>> encode_categories(np.array([[5.0, 0.1], [3.0, 0.2]]), [np.array([2.0, 5.0]), None]).tolist()
    [[1.0, 2.0], [0.1, 0.2]]
    """
    columns = np.array(values.T, dtype=np.float64, order="C")
    unknown_code = max((len(levels) for levels in categories if levels is not None), default=0)
    for column, levels in zip(columns, categories, strict=True):
        if levels is not None:
            codes = np.searchsorted(levels, column).clip(max=len(levels) - 1)
            column[:] = np.where(levels[codes] == column, codes, unknown_code)
    return columns


class Ranker(Learner):
    """Base class of estimators whose target is a table of ranks with one column per label.

    Attributes
    ----------
    n_labels_ : int
        Number of labels k.
    labels_ : tuple of str
        Names of the k labels: the columns of y if `fit` received a data frame, else "0", "1", ….
    max_abs_input : float
        Largest accepted magnitude of a feature. Features are squared, and some inner models use single
        precision.
    """

    n_labels_: int
    labels_: tuple[str, ...]
    max_abs_input: ClassVar[float] = 1e38

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803  # scikit-learn's names
        """Compute the mean Kendall τ between predictions and rankings.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Inputs.
        y : array or data frame of shape (n, k)
            Rankings. Only the labels that a row ranks are compared. Columns of a data frame are matched by
            name if `fit` received names; columns of an array have the order of the fitted labels.
        sample_weight : array of shape (n,), optional
            Row weights.

        Returns
        -------
        float
            From −1 to 1.

        Raises
        ------
        DataError
            If the rankings are invalid, or their labels differ from the fitted ones.
        """
        predicted = self.predict(X)
        return mean_kendall_tau(self._reorder_labels(y), predicted, sample_weight)

    def _reorder_labels(self, y: Any) -> Any:
        """Sort the columns of a data frame into the order of the fitted labels."""
        names = get_label_names(y)
        if names is None or names == self.labels_:
            return y
        if sorted(names) == sorted(self.labels_):
            return to_rankings(y)[:, [names.index(label) for label in self.labels_]]
        if self.labels_ == tuple(map(str, range(self.n_labels_))):
            return y  # fitted without names
        unknown = [name for name in names if name not in self.labels_]
        missing = [label for label in self.labels_ if label not in names]
        raise DataError(
            f"the labels of the rankings differ from those {type(self).__name__} was fitted to"
            + (f"; unknown: {', '.join(map(repr, unknown[:_MAX_NAMED_LABELS]))}" if unknown else "")
            + (f"; missing: {', '.join(map(repr, missing[:_MAX_NAMED_LABELS]))}" if missing else "")
            + ": use the column names of fit, or pass an array with columns in the order of fit"
        )

    def _check_rows(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Validate the inputs of `predict`, shape (m, d)."""
        check_is_fitted(self)
        rows = np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        check_magnitudes(rows, self.max_abs_input)
        return rows

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


class TrainingData(NamedTuple):
    """Training rows of a learner.

    Parameters
    ----------
    rows : float64 array, shape (n, d)
        Features.
    ranks : float64 array, shape (n, k)
        Rankings in the format of `to_mid_ranks`.
    weights : float64 array, shape (n,)
        Positive weights; ones if the user passed none.
    """

    rows: Values
    ranks: Ranks
    weights: Values


def prepare_training_data(
    estimator: Ranker,
    X: Any,  # noqa: N803  # scikit-learn's name
    y: Any,
    sample_weight: Any = None,
    *,
    complete: bool = False,
) -> TrainingData:
    """Check the training data of an estimator and sort its rows by their content.

    Parameters
    ----------
    estimator : Ranker
        The function sets its `n_features_in_`, `feature_names_in_`, `n_labels_` and `labels_`.
    X : array or data frame of shape (n, d)
        Features; finite numbers.
    y : array or data frame of shape (n, k)
        Rankings; NaN or pandas' NA for a missing label.
    sample_weight : array of shape (n,), optional
        Non-negative weights. Rows with weight 0 are dropped.
    complete : bool
        Raise an error for missing or tied labels.

    Returns
    -------
    TrainingData
        Sorted rows: neither sums nor random draws depend on the order of the table.

    Raises
    ------
    DataError
        If the rankings are invalid, their number differs from the number of rows, or a feature is too large.
    OptionError
        If the weights are invalid.
    ValueError
        If scikit-learn rejects X.
    """
    name = type(estimator).__name__
    if y is None:
        raise DataError(
            f"{name} requires y to be passed, but the target y is None: "
            "give one row of ranks for each row of X"
        )
    rows = validate_data(estimator, X, dtype=np.float64)
    check_magnitudes(rows, estimator.max_abs_input)
    ranks = to_rankings(y, complete=complete)
    if len(rows) != len(ranks):
        raise DataError(
            f"X has {len(rows)} rows and y {len(ranks)} rankings: give one ranking for each row of X"
        )
    if complete:
        _check_no_ties(ranks, name)
    estimator.n_labels_ = ranks.shape[1]
    label_names = get_label_names(y)
    estimator.labels_ = tuple(map(str, range(ranks.shape[1]))) if label_names is None else label_names
    weights = check_weights(sample_weight, len(rows))
    order = np.lexsort((weights, *ranks.T[::-1], *rows.T[::-1]))
    order = order[weights[order] > 0]
    return TrainingData(rows[order], ranks[order], weights[order])


def to_rankings(y: Any, *, complete: bool = False) -> Ranks:
    """Convert rankings to mid-ranks without changing the order of the rows.

    Parameters
    ----------
    y : array or data frame of shape (n, k)
        Rankings; NaN or pandas' NA for a missing label.
    complete : bool
        Raise an error for missing labels.

    Returns
    -------
    float64 array, shape (n, k)
        Rankings in the format of `to_mid_ranks`.

    Raises
    ------
    DataError
        If the rankings are invalid.

    Examples
    --------
    >>> to_rankings([[5, 2], [1, None]]).tolist()
    [[2.0, 1.0], [1.0, nan]]
    """
    # to_mid_ranks converts lists and pandas' missing values; other array-likes are converted here
    rankings = y if isinstance(y, (list, tuple)) or hasattr(y, "to_numpy") else np.asarray(y)
    return to_mid_ranks(rankings, require_complete=complete)


def get_label_names(y: Any) -> tuple[str, ...] | None:
    """Return the column names of a data frame of rankings.

    Parameters
    ----------
    y : array or data frame of shape (n, k)
        Rankings.

    Returns
    -------
    tuple of str or None
        None for an array, and for a data frame whose columns are the numbers from 0.

    Raises
    ------
    DataError
        If two columns have the same name.

    Examples
    --------
    >>> import pandas as pd
    >>> get_label_names(pd.DataFrame([[1, 2]], columns=["tea", "milk"])), get_label_names([[1, 2]])
    (('tea', 'milk'), None)
    """
    columns = getattr(y, "columns", None)
    if columns is None:
        return None
    names = tuple(map(str, columns))
    repeated = find_duplicate(names)
    if repeated is not None:
        raise DataError(f"two columns of the rankings have the name {repeated!r}: rename one")
    return None if names == tuple(map(str, range(len(names)))) else names


def normalize_weights(weights: Values) -> Values:
    """Divide weights by their mean, for inner models that depend on the scale of the weights.

    Parameters
    ----------
    weights : float64 array, shape (n,)
        Positive weights, as in `TrainingData`.

    Returns
    -------
    float64 array, shape (n,)
        Weights with mean 1. A common factor does not change any bit of the result: ratios are rounded to 40
        bits. Otherwise rounding errors could decide between two equally good splits.

    Examples
    --------
    >>> weights = np.array([0.1, 0.7, 0.3])
    >>> bool((normalize_weights(3.0 * weights) == normalize_weights(weights)).all())
    True
    """
    mantissas, exponents = np.frexp(weights / weights.max())
    ratios = np.ldexp(np.round(mantissas * _WEIGHT_RESOLUTION) / _WEIGHT_RESOLUTION, exponents)
    return np.asarray(ratios / ratios.mean())


def check_magnitudes(rows: Values, max_abs: float) -> None:
    """Raise an error for features so large that computations overflow.

    Parameters
    ----------
    rows : float64 array, shape (n, d)
        Features.
    max_abs : float
        Largest accepted magnitude.

    Raises
    ------
    DataError
        With row and column of the first larger value.
    """
    is_too_large = np.abs(rows) > max_abs
    if is_too_large.any():
        row, column = np.argwhere(is_too_large)[0].tolist()
        raise DataError(
            f"X contains {rows[row, column]:g} in row {row}, column {column} (from 0): numbers above "
            f"{max_abs:g} cause an overflow; use a larger unit for the feature, or its logarithm"
        )


def _check_no_ties(ranks: Ranks, estimator_name: str) -> None:
    """Raise `DataError` if a complete ranking has ties."""
    tied = (np.sort(ranks, axis=1) != np.arange(1.0, ranks.shape[1] + 1.0)).any(axis=1)
    if tied.any():
        raise DataError(
            f"row {int(tied.argmax())} of the rankings has ties ({int(tied.sum())} rows in total), but "
            f"{estimator_name} needs the position of every label: drop these rows, or use PairwiseRanker or "
            "RankingEnsemble, which support partial rankings"
        )


@dataclass(frozen=True, eq=False)
class EncodedTrainingData:
    """Training rows of a consensus ranking tree, sorted by their content.

    Parameters
    ----------
    sample : RankingSample
        Inputs, pair signs and weights.
    ranks : float64 array, shape (n, k)
        Rankings.
    categories : list of (float64 array or None)
        Categories of each feature; None for a numeric one.
    """

    sample: RankingSample
    ranks: Values
    categories: list[Values | None]


def encode_training_data(
    estimator: Ranker,
    X: Any,  # noqa: N803  # scikit-learn's name
    y: Any,
    sample_weight: Any,
    categorical_features: Any,
) -> EncodedTrainingData:
    """Check the training data of an estimator and encode them as a sorted sample.

    Parameters
    ----------
    estimator : Ranker
        The estimator to fit; see `prepare_training_data`.
    X, y, sample_weight
        Inputs, rankings and weights; see `prepare_training_data`.
    categorical_features
        Selection of categorical features; see `parse_categorical_features`.

    Returns
    -------
    EncodedTrainingData
        Rows in the order of `prepare_training_data`.

    Raises
    ------
    InputError, ValueError
        If the inputs, rankings, weights or feature indices are invalid.
    """
    values, ranks, weights = prepare_training_data(estimator, X, y, sample_weight)
    names = getattr(estimator, "feature_names_in_", None)
    indices = parse_categorical_features(
        categorical_features, values.shape[1], None if names is None else list(names)
    )
    categories = find_categories(values, indices)
    sizes = np.array([0 if levels is None else len(levels) for levels in categories], dtype=np.int64)
    signs = compute_pair_signs(ranks)
    observed = mask_ranked_pairs(ranks)[: len(ranks) * bool(np.isnan(ranks).any())]  # empty: all are observed
    sample = RankingSample(encode_categories(values, categories), sizes, signs, observed, weights)
    return EncodedTrainingData(sample, ranks, categories)


def take_rows(
    sample: RankingSample, rows: NDArray[np.int64], counts: NDArray[np.int64] | None = None
) -> RankingSample:
    """Select rows of a sample.

    Parameters
    ----------
    sample : RankingSample
        Sample of n rows.
    rows : int64 array, shape (m,)
        Row indices.
    counts : int64 array, shape (m,), optional
        Number of times each row was drawn; the weights are multiplied by it. By default 1.

    Returns
    -------
    RankingSample
        Sample of m rows.
    """
    weights = sample.weights[rows] if counts is None else sample.weights[rows] * counts
    observed = sample.observed[rows] if len(sample.observed) else sample.observed
    return RankingSample(sample.columns[:, rows], sample.categories, sample.signs[rows], observed, weights)
