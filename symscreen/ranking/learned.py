"""What every estimator of rankings learns from: rows, rankings and weights, checked and put in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from symscreen.errors import TableError
from symscreen.label_ranking import as_rankings
from symscreen.label_ranking.notation import first_repeated
from symscreen.ranking.probabilities import weights_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.ranking.ranker import Ranker

    Ranks = NDArray[np.float64]
    Values = NDArray[np.float64]

__all__ = ["Learned", "label_names", "learned_from", "of_mean_one", "rankings_in", "refuse_large"]

_BITS = 2.0**40  # of a weight's 53: a common factor changes the others


class Learned(NamedTuple):
    """What a learner learns from.

    Parameters
    ----------
    rows : float64 array, shape (n, d)
        Features.
    ranks : float64 array, shape (n, k)
        Rankings, as `as_rankings` writes them.
    weights : float64 array, shape (n,)
        > 0; ones where the user gave none.
    """

    rows: Values
    ranks: Ranks
    weights: Values


def learned_from(
    estimator: Ranker,
    X: Any,  # noqa: N803  # scikit-learn's name
    y: Any,
    sample_weight: Any = None,
    *,
    complete: bool = False,
) -> Learned:
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
        raise TableError(
            f"{name} requires y to be passed, but the target y is None: "
            "give one row of ranks for each row of X"
        )
    rows = validate_data(estimator, X, dtype=np.float64)
    refuse_large(rows, estimator.largest)
    ranks = rankings_in(y, complete=complete)
    if len(rows) != len(ranks):
        raise TableError(
            f"X has {len(rows)} rows and y {len(ranks)} rankings: give one ranking for each row of X"
        )
    if complete:
        _refuse_ties(ranks, name)
    estimator.n_labels_ = ranks.shape[1]
    given = label_names(y)
    estimator.labels_ = tuple(map(str, range(ranks.shape[1]))) if given is None else given
    weights = weights_of(sample_weight, len(rows))
    order = np.lexsort((weights, *ranks.T[::-1], *rows.T[::-1]))
    order = order[weights[order] > 0]
    return Learned(rows[order], ranks[order], weights[order])


def rankings_in(y: Any, *, complete: bool = False) -> Ranks:
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
        As `as_rankings` writes them.

    Raises
    ------
    TableError
        If they cannot be used.

    Examples
    --------
    >>> rankings_in([[5, 2], [1, None]]).tolist()
    [[2.0, 1.0], [1.0, nan]]
    """
    # lists and pandas' gaps are read by as_rankings; what only turns into an array does so here
    known = y if isinstance(y, (list, tuple)) or hasattr(y, "to_numpy") else np.asarray(y)
    return as_rankings(known, complete=complete)


def label_names(y: Any) -> tuple[str, ...] | None:
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
    >>> label_names(pd.DataFrame([[1, 2]], columns=["tea", "milk"])), label_names([[1, 2]])
    (('tea', 'milk'), None)
    """
    columns = getattr(y, "columns", None)
    if columns is None:
        return None
    names = tuple(map(str, columns))
    repeated = first_repeated(names)
    if repeated is not None:
        raise TableError(f"two columns of the rankings are named {repeated!r}: rename one")
    return None if names == tuple(map(str, range(len(names)))) else names


def of_mean_one(weights: Values) -> Values:
    """Divide weights by their mean, for models inside that would learn less from smaller ones.

    Parameters
    ----------
    weights : float64 array, shape (n,)
        As `Learned` holds them.

    Returns
    -------
    float64 array, shape (n,)
        Of mean 1, as no weights at all are. A common factor changes no bit of them: ratios are rounded to 40
        bits, for what a factor rounds away could turn the choice between two splits that are as good.

    Examples
    --------
    >>> weights = np.array([0.1, 0.7, 0.3])
    >>> bool((of_mean_one(3.0 * weights) == of_mean_one(weights)).all())
    True
    """
    part, power = np.frexp(weights / weights.max())
    ratios = np.ldexp(np.round(part * _BITS) / _BITS, power)
    return np.asarray(ratios / ratios.mean())


def refuse_large(rows: Values, largest: float) -> None:
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
    beyond = np.abs(rows) > largest
    if beyond.any():
        row, column = np.argwhere(beyond)[0].tolist()
        raise TableError(
            f"X holds {rows[row, column]:g} in row {row}, column {column} (from 0): what is computed of "
            f"numbers beyond {largest:g} overflows; give the feature in a larger unit, or its logarithm"
        )


def _refuse_ties(ranks: Ranks, name: str) -> None:
    tied = (np.sort(ranks, axis=1) != np.arange(1.0, ranks.shape[1] + 1.0)).any(axis=1)
    if tied.any():
        raise TableError(
            f"row {int(tied.argmax())} of the rankings ties labels ({int(tied.sum())} such rows), and "
            f"{name} needs the position of every label: drop these rows, or take PairwiseRanker or "
            "RankingEnsemble, which read partial rankings by pairs of labels"
        )
