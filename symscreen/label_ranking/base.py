"""Seeds for the parts of a learner.

Categorical inputs: which they are, and their codes.

What every estimator of rankings has: its score, its tags, how it reads rows to predict.

What every estimator of rankings learns from: rows, rankings and weights, checked and put in order.

What the estimators of ranking median regression make of their training rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from symscreen.errors import DataError, OptionError, suggest
from symscreen.label_ranking.consensus.distances import mean_kendall_tau
from symscreen.label_ranking.consensus.pairwise_probabilities import check_weights
from symscreen.statistics.crit_splits import RankingSample
from symscreen.targets.ranking_notation import find_duplicate
from symscreen.targets.ranking_ranks import compute_pair_signs, mask_ranked_pairs, to_mid_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from symscreen._typing import Ranks, Values


__all__ = [
    "EncodedTrainingData",
    "Ranker",
    "TrainingData",
    "check_magnitudes",
    "draw_seeds",
    "encode_categories",
    "encode_training_data",
    "find_categories",
    "get_label_names",
    "normalize_weights",
    "parse_categorical_features",
    "prepare_training_data",
    "take_rows",
    "to_rankings",
]


def draw_seeds(random_state: int | np.random.RandomState | None, n_seeds: int) -> list[int]:
    """Draw seeds for the parts of a learner, each the same whatever the others are.

    Parameters
    ----------
    random_state : int, RandomState or None
        As scikit-learn's; None is drawn afresh.
    count : int
        How many.

    Returns
    -------
    list of int
        From 0 to 2³¹ − 2.

    Examples
    --------
    >>> draw_seeds(0, 2) == draw_seeds(0, 3)[:2], len(set(draw_seeds(0, 3)))
    (True, 3)
    """
    return [int(seed) for seed in check_random_state(random_state).randint(2**31 - 1, size=n_seeds)]


def parse_categorical_features(
    categorical_features: Any, n_features: int, feature_names: Sequence[str] | None = None
) -> NDArray[np.int64]:
    """Read which of d features are categorical.

    Parameters
    ----------
    asked : None, bool array of shape (d,), or sequence of int or str
        None of them, a mask, places from 0 (negative ones from the end), or names.
    d : int
        How many features there are.
    names : sequence of str, optional
        Of the features.

    Returns
    -------
    int64 array
        Places, ascending, each once.

    Raises
    ------
    OptionError
        If a place or name is unknown, or a mask has another length.

    Examples
    --------
    >>> parse_categorical_features(["colour"], 3, ["size", "colour", "age"]).tolist()
    [1]
    """
    if categorical_features is None:
        return np.empty(0, dtype=np.int64)
    given = np.asarray(categorical_features)
    if given.dtype == bool:
        if given.shape != (n_features,):
            raise OptionError(
                f"categorical_features is a mask of shape {given.shape} for {n_features} features"
            )
        return np.flatnonzero(given).astype(np.int64)
    places = np.array(
        [_find_feature_index(one, n_features, feature_names) for one in given.reshape(-1).tolist()],
        dtype=np.int64,
    )
    return np.unique(places)


def _find_feature_index(feature: Any, n_features: int, feature_names: Sequence[str] | None) -> int:
    if isinstance(feature, str):
        if feature_names is None or feature not in feature_names:
            raise OptionError(
                f"categorical_features names {feature!r}, which is no "
                f"column{suggest(feature, feature_names or [])}"
            )
        return list(feature_names).index(feature)
    if not isinstance(feature, int) or not -n_features <= feature < n_features:
        raise OptionError(
            f"categorical_features holds {feature!r}: places of {n_features} features are 0 to "
            f"{n_features - 1}"
        )
    return feature % n_features


def find_categories(values: Values, feature_indices: NDArray[np.int64]) -> list[Values | None]:
    """List the categories of each feature.

    Parameters
    ----------
    values : float64 array, shape (n, d)
        The inputs; every distinct number of a categorical feature is a category.
    places : int64 array
        The categorical features.

    Returns
    -------
    list of (float64 array or None)
        Ascending; None for a numeric feature.

    Examples
    --------
    >>> find_categories(np.array([[5.0, 0.1], [2.0, 0.2], [5.0, 0.3]]), np.array([0]))
    [array([2., 5.]), None]
    """
    known: list[Values | None] = [None] * values.shape[1]
    for place in feature_indices:
        known[place] = np.unique(values[:, place])
    return known


def encode_categories(values: Values, categories: Sequence[Values | None]) -> Values:
    """Write inputs feature by feature, categories as their codes.

    Parameters
    ----------
    values : float64 array, shape (n, d)
        The inputs.
    categories : sequence of (float64 array or None)
        As `find_categories` returns them.

    Returns
    -------
    float64 array, shape (d, n)
        Codes from 0; what is no known category has the number of categories of the feature with the most.

    Examples
    --------
    >>> encode_categories(np.array([[5.0, 0.1], [3.0, 0.2]]), [np.array([2.0, 5.0]), None]).tolist()
    [[1.0, 2.0], [0.1, 0.2]]
    """
    columns = np.array(values.T, dtype=np.float64, order="C")
    most = max((len(known) for known in categories if known is not None), default=0)
    for column, known in zip(columns, categories, strict=True):
        if known is not None:
            codes = np.searchsorted(known, column).clip(max=len(known) - 1)
            column[:] = np.where(known[codes] == column, codes, most)
    return columns


_MAX_NAMED_LABELS = 6  # labels, at most, in a message


class Ranker(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The base of estimators whose response is a table of ranks, one column a label.

    Attributes
    ----------
    n_labels_ : int
        k.
    labels_ : tuple of str
        Names of the k labels: of y's columns where `fit` was given a data frame, else "0", "1", ….
    largest : float
        The largest magnitude of a feature. Squares are taken of it, and some models inside compute in single
        precision.
    """

    n_labels_: int
    labels_: tuple[str, ...]
    max_abs_input: ClassVar[float] = 1e38

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803  # scikit-learn's names
        """Average Kendall's τ between predictions and rankings.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs.
        y : array or data frame of shape (n, k)
            The rankings; of an incomplete one the labels that it shows are compared. Columns of a data frame
            are found by their names where `fit` was given names; those of an array stand in its order.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        float
            From −1 to 1.

        Raises
        ------
        TableError
            If the rankings cannot be used, or y's columns are other labels than those fitted to.
        """
        predicted = self.predict(X)
        return mean_kendall_tau(self._reorder_labels(y), predicted, sample_weight)

    def _reorder_labels(self, y: Any) -> Any:
        """Put the columns of a data frame into the order of the labels fitted to."""
        given = get_label_names(y)
        if given is None or given == self.labels_:
            return y
        if sorted(given) == sorted(self.labels_):
            return to_rankings(y)[:, [given.index(label) for label in self.labels_]]
        if self.labels_ == tuple(map(str, range(self.n_labels_))):
            return y  # fitted without names
        stray = [name for name in given if name not in self.labels_]
        lacking = [label for label in self.labels_ if label not in given]
        raise DataError(
            f"the rankings to compare with have other labels than those {type(self).__name__} was fitted to"
            + (f"; unknown: {', '.join(map(repr, stray[:_MAX_NAMED_LABELS]))}" if stray else "")
            + (f"; lacking: {', '.join(map(repr, lacking[:_MAX_NAMED_LABELS]))}" if lacking else "")
            + ": name the columns as in fit, or give an array whose columns are in fit's order"
        )

    def _check_rows(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Check what `predict` was given."""
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


_WEIGHT_RESOLUTION = 2.0**40  # of a weight's 53: a common factor changes the others


class TrainingData(NamedTuple):
    """What a learner learns from.

    Parameters
    ----------
    rows : float64 array, shape (n, d)
        Features.
    ranks : float64 array, shape (n, k)
        Rankings, as `to_mid_ranks` writes them.
    weights : float64 array, shape (n,)
        > 0; ones where the user gave none.
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
    """Check what an estimator is fitted to, and order its rows by their content.

    Parameters
    ----------
    estimator : Ranker
        Learns its `n_features_in_`, `feature_names_in_`, `n_labels_` and `labels_`.
    X : array or data frame of shape (n, d)
        Features; finite numbers.
    y : array or data frame of shape (n, k)
        Rankings, NaN or pandas' NA where a label is missing.
    sample_weight : array of shape (n,), optional
        Not negative; rows of weight 0 are left out.
    complete : bool
        Refuse missing and tied labels.

    Returns
    -------
    Learned
        Equal rows are neighbours, so that neither sums nor draws depend on the order of the table.

    Raises
    ------
    TableError
        If the rankings cannot be used, or are not one for each row, or features are too large.
    OptionError
        If the weights cannot be used.
    ValueError
        If scikit-learn refuses X.
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
    given = get_label_names(y)
    estimator.labels_ = tuple(map(str, range(ranks.shape[1]))) if given is None else given
    weights = check_weights(sample_weight, len(rows))
    order = np.lexsort((weights, *ranks.T[::-1], *rows.T[::-1]))
    order = order[weights[order] > 0]
    return TrainingData(rows[order], ranks[order], weights[order])


def to_rankings(y: Any, *, complete: bool = False) -> Ranks:
    """Read rankings as users hand them over, in their own order.

    Parameters
    ----------
    y : array or data frame of shape (n, k)
        Rankings, NaN or pandas' NA where a label is missing.
    complete : bool
        Refuse missing labels.

    Returns
    -------
    float64 array, shape (n, k)
        As `to_mid_ranks` writes them.

    Raises
    ------
    TableError
        If they cannot be used.

    Examples
    --------
    >>> to_rankings([[5, 2], [1, None]]).tolist()
    [[2.0, 1.0], [1.0, nan]]
    """
    # lists and pandas' gaps are read by as_rankings; what only turns into an array does so here
    known = y if isinstance(y, (list, tuple)) or hasattr(y, "to_numpy") else np.asarray(y)
    return to_mid_ranks(known, require_complete=complete)


def get_label_names(y: Any) -> tuple[str, ...] | None:
    """Take the names of the labels off a data frame.

    Parameters
    ----------
    y : array or data frame of shape (n, k)
        Rankings.

    Returns
    -------
    tuple of str or None
        None of an array, and of a frame whose columns are but numbered from 0.

    Raises
    ------
    TableError
        If two columns have one name.

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
        raise DataError(f"two columns of the rankings are named {repeated!r}: rename one")
    return None if names == tuple(map(str, range(len(names)))) else names


def normalize_weights(weights: Values) -> Values:
    """Divide weights by their mean, for models inside that would learn less from smaller ones.

    Parameters
    ----------
    weights : float64 array, shape (n,)
        As `TrainingData` holds them.

    Returns
    -------
    float64 array, shape (n,)
        Of mean 1, as no weights at all are. A common factor changes no bit of them: ratios are rounded to 40
        bits, for what a factor rounds away could turn the choice between two splits that are as good.

    Examples
    --------
    >>> weights = np.array([0.1, 0.7, 0.3])
    >>> bool((normalize_weights(3.0 * weights) == normalize_weights(weights)).all())
    True
    """
    part, power = np.frexp(weights / weights.max())
    ratios = np.ldexp(np.round(part * _WEIGHT_RESOLUTION) / _WEIGHT_RESOLUTION, power)
    return np.asarray(ratios / ratios.mean())


def check_magnitudes(rows: Values, max_abs: float) -> None:
    """Refuse features so large that what is computed of them overflows.

    Parameters
    ----------
    rows : float64 array, shape (n, d)
        Features.
    largest : float
        The largest magnitude that is taken.

    Raises
    ------
    TableError
        With the place of the first that is larger.
    """
    beyond = np.abs(rows) > max_abs
    if beyond.any():
        row, column = np.argwhere(beyond)[0].tolist()
        raise DataError(
            f"X holds {rows[row, column]:g} in row {row}, column {column} (from 0): what is computed of "
            f"numbers beyond {max_abs:g} overflows; give the feature in a larger unit, or its logarithm"
        )


def _check_no_ties(ranks: Ranks, estimator_name: str) -> None:
    tied = (np.sort(ranks, axis=1) != np.arange(1.0, ranks.shape[1] + 1.0)).any(axis=1)
    if tied.any():
        raise DataError(
            f"row {int(tied.argmax())} of the rankings ties labels ({int(tied.sum())} such rows), and "
            f"{estimator_name} needs the position of every label: drop these rows, or take PairwiseRanker or "
            "RankingEnsemble, which read partial rankings by pairs of labels"
        )


@dataclass(frozen=True, eq=False)
class EncodedTrainingData:
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
    """Check what an estimator is fitted to, and order its rows by their content.

    Parameters
    ----------
    estimator : Ranker
        As `prepare_training_data` takes it, and all that follows.
    X, y, sample_weight
        Inputs, rankings, weights.
    categorical_features
        As `parse_categorical_features` takes it.

    Returns
    -------
    Training
        Rows in the order of `prepare_training_data`.

    Raises
    ------
    InputError, ValueError
        If the inputs, rankings, weights or places cannot be used.
    """
    values, ranks, weights = prepare_training_data(estimator, X, y, sample_weight)
    names = getattr(estimator, "feature_names_in_", None)
    places = parse_categorical_features(
        categorical_features, values.shape[1], None if names is None else list(names)
    )
    categories = find_categories(values, places)
    sizes = np.array([0 if known is None else len(known) for known in categories], dtype=np.int64)
    shown = (
        mask_ranked_pairs(ranks)
        if np.isnan(ranks).any()
        else np.empty((0, _count_pairs(ranks)), dtype=np.bool_)
    )
    sample = RankingSample(
        encode_categories(values, categories), sizes, compute_pair_signs(ranks), shown, weights
    )
    return EncodedTrainingData(sample, ranks, categories)


def take_rows(
    sample: RankingSample, rows: NDArray[np.int64], counts: NDArray[np.int64] | None = None
) -> RankingSample:
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
    weights = sample.weights[rows] if counts is None else sample.weights[rows] * counts
    shown = sample.observed[rows] if len(sample.observed) else sample.observed
    return RankingSample(sample.columns[:, rows], sample.categories, sample.signs[rows], shown, weights)


def _count_pairs(ranks: Values) -> int:
    return int(ranks.shape[1] * (ranks.shape[1] - 1) // 2)
