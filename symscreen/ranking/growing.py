"""How far trees are grown, as estimators are told."""

from __future__ import annotations

from math import ceil, isfinite
from numbers import Integral, Real
from typing import Any

from symscreen.errors import OptionError, nearest

__all__ = ["features_tried", "is_real", "is_whole", "limits_of", "rows_of"]


def limits_of(max_depth: Any, min_samples_leaf: Any, min_impurity_decrease: Any, n: int) -> dict[str, Any]:
    """Read the limits of growth.

    Parameters
    ----------
    max_depth : int or None
        ≥ 1.
    min_samples_leaf : int or float
        As `rows_of` takes it.
    min_impurity_decrease : float
        ≥ 0.
    n : int
        How many rows there are.

    Returns
    -------
    dict
        Arguments of `symscreen.statistics.crit.grow`.

    Raises
    ------
    OptionError
        If one of them has no meaning.

    Examples
    --------
    >>> limits_of(3, 0.1, 0.0, 700)
    {'max_depth': 3, 'min_leaf': 70, 'min_decrease': 0.0}
    """
    if max_depth is not None and not (is_whole(max_depth) and max_depth >= 1):
        raise OptionError(f"max_depth is {max_depth!r}: give a whole number ≥ 1, or None for no limit")
    decrease = min_impurity_decrease
    if not (is_real(decrease) and isfinite(decrease) and decrease >= 0):
        raise OptionError(f"min_impurity_decrease is {decrease!r}: give a number ≥ 0")
    leaf = rows_of("min_samples_leaf", min_samples_leaf, n)
    return {"max_depth": max_depth, "min_leaf": leaf, "min_decrease": float(decrease)}


def rows_of(name: str, asked: Any, n: int) -> int:
    """Read a number of rows: whole, or a share of all, rounded up.

    Parameters
    ----------
    name : str
        What it is called, for the error.
    asked : int or float
        A whole number ≥ 1, or a float above 0 and up to 1.
    n : int
        How many rows there are.

    Returns
    -------
    int

    Raises
    ------
    OptionError
        If it is neither.

    Examples
    --------
    >>> rows_of("min_samples_leaf", 0.1, 55)
    6
    """
    if is_whole(asked) and asked >= 1:
        return int(asked)
    if is_real(asked) and not isinstance(asked, Integral) and 0.0 < asked <= 1.0:
        return ceil(round(float(asked) * n, 9))  # 0.1 · 70 is 7.000000000000001 in float64
    raise OptionError(f"{name} is {asked!r}: give a whole number ≥ 1, or a share above 0 and up to 1.0")


def features_tried(asked: Any, d: int) -> int:
    """Read how many features a node looks at.

    Parameters
    ----------
    asked : {"sqrt", "log2"}, int, float or None
        A number, a share of all, or None for all.
    d : int
        How many there are.

    Returns
    -------
    int
        From 1 to d.

    Raises
    ------
    OptionError
        If it has no meaning.

    Examples
    --------
    >>> features_tried("sqrt", 24), features_tried(0.5, 24), features_tried(None, 24)
    (4, 12, 24)
    """
    known = {"sqrt": int(d**0.5), "log2": d.bit_length() - 1}
    if asked is None:
        return d
    if isinstance(asked, str):
        if asked not in known:
            raise OptionError(f"max_features is {asked!r}{nearest(asked, known)}")
        return max(known[asked], 1)
    return min(rows_of("max_features", asked, d), d)


def is_whole(value: Any) -> bool:
    """Tell whether an option is a whole number, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Tell whether an option is a number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)
