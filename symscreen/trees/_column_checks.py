"""Columns as the rank view takes them: numbers, finite, one dimension, one length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError, OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from symscreen._typing import Values


__all__ = ["check_column", "check_features", "check_target", "check_threshold"]

_MIN_SPREAD, _MAX_MAGNITUDE = 1e-150, 1e150  # beyond these the squares of (5) leave float64


def check_column(values: ArrayLike, name: str, n_rows: int | None = None) -> Values:
    """Read one column.

    Parameters
    ----------
    values : array_like, shape (n,)
        Finite numbers.
    name : str
        What the caller names it, for messages.
    rows : int, optional
        The n that it must have.

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    TableError
        If it is none.

    Examples
    --------
    >>> check_column([1, 2], "z")
    array([1., 2.])
    """
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not a column of numbers: {error}") from error
    if found.ndim != 1:
        raise DataError(f"{name} has shape {found.shape}; one dimension is needed")
    if n_rows is not None and found.size != n_rows:
        raise DataError(f"{name} has {found.size} rows and y has {n_rows}; give one value for each row")
    if not np.isfinite(found).all():
        raise DataError(f"{name} holds NaN or infinity: drop or correct these rows")
    return found


def check_target(y: ArrayLike) -> Values:
    """Read the responses of a node.

    Parameters
    ----------
    y : array_like, shape (n,)
        Finite, n ≥ 2, of a size whose squares float64 holds.

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    TableError
        If they are none.

    Examples
    --------
    >>> check_target([1, 2])
    array([1., 2.])
    """
    found = check_column(y, "y")
    if found.size < 2:
        raise DataError(f"y has {found.size} rows; at least 2 are needed to split")
    largest, spread = float(np.abs(found).max()), float(np.ptp(found))
    if largest > _MAX_MAGNITUDE or 0.0 < spread < _MIN_SPREAD:
        raise DataError(
            f"y reaches {largest:g} and spreads over {spread:g}: its squares would leave float64; rescale it"
        )
    return found


def check_features(table: ArrayLike, n_rows: int) -> Values:
    """Read the features of a node.

    Parameters
    ----------
    table : array_like, shape (n, q) or (n,)
        Features in columns, or one feature.
    rows : int
        n.

    Returns
    -------
    float64 array, shape (q, n)
        One row a feature.

    Raises
    ------
    TableError
        If shapes do not agree or a value is not finite.

    Examples
    --------
    >>> check_features([[1, 2], [3, 4], [5, 6]], 3)
    array([[1., 3., 5.],
           [2., 4., 6.]])
    """
    shape = np.shape(table)
    if len(shape) not in {1, 2} or shape[0] != n_rows or shape[1:] == (0,):
        raise DataError(f"Z has shape {shape} and y {n_rows} rows; Z must be (n, q) or (n,) with the n of y")
    block = np.asarray(table).reshape(n_rows, -1).T
    return np.stack([check_column(one, f"feature {k} of Z") for k, one in enumerate(block)])


def check_threshold(value: float) -> float:
    """Read a splitting value C.

    Parameters
    ----------
    value : float
        Any number; infinite ones leave a side empty.

    Returns
    -------
    float

    Raises
    ------
    OptionError
        If it is not a number.

    Examples
    --------
    >>> check_threshold(2)
    2.0
    """
    number = float(value)
    if np.isnan(number):
        raise OptionError("the threshold is NaN, which is neither above nor below any value; give a number")
    return number
