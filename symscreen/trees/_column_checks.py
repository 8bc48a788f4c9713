"""Checks of the columns passed to `symscreen.trees`: finite numbers, one dimension, equal lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError, OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from symscreen._typing import Values


# limits of the target's range and magnitude: beyond them the squares of eq. (5) underflow or overflow float64
_MIN_SPREAD, _MAX_MAGNITUDE = 1e-150, 1e150


def check_column(values: ArrayLike, name: str, n_rows: int | None = None) -> Values:
    """Convert one column to float64 and check that it is finite.

    Parameters
    ----------
    values : array_like, shape (n,)
        Finite numbers.
    name : str
        Name of the argument, used in error messages.
    n_rows : int, optional
        Required number of rows.

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    DataError
        If the values are not a one-dimensional column of `n_rows` finite numbers.

    Examples
    --------
    >>> check_column([1, 2], "z")
    array([1., 2.])
    """
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not a column of numbers: {error}") from error
    if column.ndim != 1:
        raise DataError(f"{name} has shape {column.shape}; it must be one-dimensional")
    if n_rows is not None and column.size != n_rows:
        raise DataError(f"{name} has {column.size} rows and y has {n_rows}; give one value for each row")
    if not np.isfinite(column).all():
        raise DataError(f"{name} holds NaN or infinity: drop or correct these rows")
    return column


def check_target(y: ArrayLike) -> Values:
    """Convert the target values of a node to float64 and check them.

    Parameters
    ----------
    y : array_like, shape (n,)
        Finite numbers whose squares are representable in float64; n ≥ 2.

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    DataError
        If there are fewer than two rows, a value is not finite, or the squares would overflow or underflow.

    Examples
    --------
    >>> check_target([1, 2])
    array([1., 2.])
    """
    target = check_column(y, "y")
    if target.size < 2:
        raise DataError(f"y has {target.size} rows; a split needs at least 2")
    largest, spread = float(np.abs(target).max()), float(np.ptp(target))
    if largest > _MAX_MAGNITUDE or 0.0 < spread < _MIN_SPREAD:
        raise DataError(
            f"y has magnitude {largest:g} and range {spread:g}: "
            "its squares would overflow or underflow; rescale it"
        )
    return target


def check_features(table: ArrayLike, n_rows: int) -> Values:
    """Convert the features of a node to float64 and check them.

    Parameters
    ----------
    table : array_like, shape (n, q) or (n,)
        Features in columns, or a single feature.
    n_rows : int
        Required number of rows, n.

    Returns
    -------
    float64 array, shape (q, n)
        One row per feature.

    Raises
    ------
    DataError
        If the shape is not (n, q) or (n,), or a value is not finite.

    Examples
    --------
    >>> check_features([[1, 2], [3, 4], [5, 6]], 3)
    array([[1., 3., 5.],
           [2., 4., 6.]])
    """
    shape = np.shape(table)
    if len(shape) not in {1, 2} or shape[0] != n_rows or shape[1:] == (0,):
        raise DataError(
            f"Z has shape {shape} and y has {n_rows} rows; "
            "Z must have shape (n, q) or (n,) with as many rows as y"
        )
    features = np.asarray(table).reshape(n_rows, -1).T
    return np.stack([check_column(column, f"feature {k} of Z") for k, column in enumerate(features)])


def check_threshold(value: float) -> float:
    """Check a split threshold C.

    Parameters
    ----------
    value : float
        Any number except NaN. An infinite threshold leaves one side empty.

    Returns
    -------
    float

    Raises
    ------
    OptionError
        If the threshold is NaN.

    Examples
    --------
    >>> check_threshold(2)
    2.0
    """
    threshold = float(value)
    if np.isnan(threshold):
        raise OptionError("the threshold is NaN; give a number")
    return threshold
