"""Any classification or regression set as a label-ranking set: Cheng, Hühn and Hüllermeier (2009), §5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.ranking.generators.by_score import ranks_by_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Converted", "type_a", "type_b"]


@dataclass(frozen=True, eq=False)
class Converted:
    """A label-ranking set made of another one.

    Parameters
    ----------
    x : float64 array, shape (n, d)
        The inputs that remain.
    ranks : float64 array, shape (n, k)
        Complete, 1 is preferred most.
    labels : tuple of str
        What the columns of `ranks` are: classes (type A) or columns (type B).
    """

    x: NDArray[np.float64]
    ranks: NDArray[np.float64]
    labels: tuple[str, ...]


def type_a(x: ArrayLike, y: ArrayLike, classifier: Any = None, *, digits: int | None = None) -> Converted:
    """Rank the classes of a classification set by their probabilities, as a classifier sees them.

    Parameters
    ----------
    x : array_like, shape (n, d)
        Inputs.
    y : array_like, shape (n,)
        Classes: the labels to be ranked.
    classifier : scikit-learn classifier, optional
        Fitted here, to a copy, on all rows; naive Bayes with Gaussian parts by default, as the benchmark sets
        were made.
    digits : int, optional
        To which the probabilities are rounded, so that small ones tie; they are not by default. With 3 the
        published rankings of iris and wine come out but for 3 rows of 150 and 1 of 178, and without rounding
        in two thirds of the rows only.

    Returns
    -------
    Converted
        All inputs; of equal probabilities the class that is smaller comes first.

    Raises
    ------
    OptionError
        If the classifier gives no probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> iris = type_a(*load_iris(return_X_y=True))
    >>> iris.x.shape, iris.ranks.shape, iris.labels
    ((150, 4), (150, 3), ('0', '1', '2'))
    >>> iris.ranks[0]  # setosa first, then versicolor, then virginica
    array([1., 2., 3.])
    """
    from sklearn.base import clone
    from sklearn.naive_bayes import GaussianNB

    inputs = np.asarray(x, dtype=np.float64)
    fitted = clone(GaussianNB() if classifier is None else classifier).fit(inputs, y)
    # probabilities that underflow still have an order as logarithms
    exact = ("predict_joint_log_proba", "predict_log_proba") if digits is None else ()
    for name in (*exact, "predict_proba"):
        if hasattr(fitted, name):
            scores = getattr(fitted, name)(inputs)
            if digits is not None:
                scores = scores.round(digits)
            return Converted(inputs, ranks_by_score(scores), tuple(map(str, fitted.classes_)))
    raise OptionError(
        f"{type(fitted).__name__} gives no probabilities to rank classes by; take one with predict_proba"
    )


def type_b(x: ArrayLike, columns: Sequence[int], names: Sequence[str] | None = None) -> Converted:
    """Take numeric columns away from a set and rank them, standardised, by their values in each row.

    Parameters
    ----------
    x : array_like, shape (n, d)
        Inputs of a regression set; its target may be one of the columns.
    columns : sequence of int
        Two or more, the labels to be ranked: the largest standardised value comes first.
    names : sequence of str, optional
        Of all d columns; their numbers by default.

    Returns
    -------
    Converted
        The other columns as inputs; of equal values the label that is listed first comes first.

    Raises
    ------
    OptionError
        If columns repeat, are out of range or constant, or none is left as an input.

    Examples
    --------
    >>> made = type_b([[1.0, 10.0, 7.0], [2.0, 20.0, 8.0], [3.0, 0.0, 9.0]], columns=[0, 1])
    >>> made.ranks
    array([[2., 1.],
           [2., 1.],
           [1., 2.]])
    >>> made.x.ravel()
    array([7., 8., 9.])
    """
    values = np.asarray(x, dtype=np.float64)
    d, chosen = values.shape[1], list(columns)
    if len(set(chosen)) != len(chosen) or not all(0 <= column < d for column in chosen):
        raise OptionError(f"columns {chosen} of {d}: give distinct numbers from 0 to {d - 1}")
    if not 2 <= len(chosen) < d:
        raise OptionError(f"{len(chosen)} of {d} columns as labels: take two or more, and leave an input")
    labels = values[:, chosen]
    spread = labels.std(axis=0)
    if not (spread > 0.0).all():
        still = [column for column, width in zip(chosen, spread, strict=True) if not width > 0.0]
        raise OptionError(f"columns {still} are constant and cannot be standardised; leave them out")
    standardised = (labels - labels.mean(axis=0)) / spread
    rest = [column for column in range(d) if column not in set(chosen)]
    told = tuple(names[column] if names is not None else str(column) for column in chosen)
    return Converted(np.ascontiguousarray(values[:, rest]), ranks_by_score(standardised), told)
