"""Categorical inputs: which they are, and their codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["categorical_places", "categories_of", "coded"]


def categorical_places(asked: Any, d: int, names: Sequence[str] | None = None) -> NDArray[np.int64]:
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
    >>> categorical_places(["colour"], 3, ["size", "colour", "age"]).tolist()
    [1]
    """
    if asked is None:
        return np.empty(0, dtype=np.int64)
    given = np.asarray(asked)
    if given.dtype == bool:
        if given.shape != (d,):
            raise OptionError(f"categorical_features is a mask of shape {given.shape} for {d} features")
        return np.flatnonzero(given).astype(np.int64)
    places = np.array([_place(one, d, names) for one in given.reshape(-1).tolist()], dtype=np.int64)
    return np.unique(places)


def _place(one: Any, d: int, names: Sequence[str] | None) -> int:
    if isinstance(one, str):
        if names is None or one not in names:
            raise OptionError(
                f"categorical_features names {one!r}, which is no column{nearest(one, names or [])}"
            )
        return list(names).index(one)
    if not isinstance(one, int) or not -d <= one < d:
        raise OptionError(f"categorical_features holds {one!r}: places of {d} features are 0 to {d - 1}")
    return one % d


def categories_of(values: Values, places: NDArray[np.int64]) -> list[Values | None]:
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
    >>> categories_of(np.array([[5.0, 0.1], [2.0, 0.2], [5.0, 0.3]]), np.array([0]))
    [array([2., 5.]), None]
    """
    known: list[Values | None] = [None] * values.shape[1]
    for place in places:
        known[place] = np.unique(values[:, place])
    return known


def coded(values: Values, categories: Sequence[Values | None]) -> Values:
    """Write inputs feature by feature, categories as their codes.

    Parameters
    ----------
    values : float64 array, shape (n, d)
        The inputs.
    categories : sequence of (float64 array or None)
        As `categories_of` returns them.

    Returns
    -------
    float64 array, shape (d, n)
        Codes from 0; what is no known category has the number of categories of the feature with the most.

    Examples
    --------
    >>> coded(np.array([[5.0, 0.1], [3.0, 0.2]]), [np.array([2.0, 5.0]), None]).tolist()
    [[1.0, 2.0], [0.1, 0.2]]
    """
    columns = np.array(values.T, dtype=np.float64, order="C")
    most = max((len(known) for known in categories if known is not None), default=0)
    for column, known in zip(columns, categories, strict=True):
        if known is not None:
            codes = np.searchsorted(known, column).clip(max=len(known) - 1)
            column[:] = np.where(known[codes] == column, codes, most)
    return columns
