"""What scikit-learn hands to an estimator, as the core takes it: columns with names, and nothing unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, check_consistent_length

from symscreen.errors import OptionError, TableError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "named_columns",
    "names_in_formulas",
    "refuse_further",
    "require_distinct",
    "require_names",
    "weights_of_rows",
]


def names_in_formulas(given: Iterable[object] | None, count: int) -> list[str]:
    """Return what columns are called in formulas.

    Parameters
    ----------
    given : iterable of str or None
        The names of a data frame's columns, of any marks; None for an array's.
    count : int
        How many columns there are.

    Returns
    -------
    list of str
        The names given; x1, x2, … where there are none.

    Examples
    --------
    >>> names_in_formulas(["a b", "c"], 2), names_in_formulas(None, 2)
    (['a b', 'c'], ['x1', 'x2'])
    """
    return [f"x{place + 1}" for place in range(count)] if given is None else list(map(str, given))


def require_distinct(frame: Any, said: str = "X") -> None:
    """Refuse a data frame in which columns share a name: no formula could tell them apart.

    Parameters
    ----------
    frame : array or data frame
        Whose names are looked at, if it has any.
    said : str
        What the user calls it.

    Raises
    ------
    TableError
        With the name.
    """
    names = list(map(str, getattr(frame, "columns", ())))
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise TableError(f"{said} has more than one column named {twice[0]!r}: rename or remove the others")


def named_columns(values: NDArray[np.float64], names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Take the columns of an array apart.

    Examples
    --------
    >>> import numpy as np
    >>> named_columns(np.eye(2), ["a", "b"])["b"].tolist()
    [0.0, 1.0]
    """
    return dict(zip(names, values.T, strict=True))


def require_names(asked: Sequence[str], seen: Iterable[object] | None, count: int) -> None:
    """Refuse names that are not those of the columns.

    Parameters
    ----------
    asked : sequence of str
        The names for `get_feature_names_out`.
    seen : iterable of str or None
        Those that `fit` saw.
    count : int
        How many columns it saw.

    Raises
    ------
    TableError
        In scikit-learn's own words, which its checks look for.
    """
    if seen is not None and list(asked) != list(map(str, seen)):
        raise TableError("input_features is not equal to feature_names_in_: give none, or the same names")
    if twice := [name for name in dict.fromkeys(asked) if list(asked).count(name) > 1]:
        raise TableError(
            f"input_features holds {twice[0]!r} more than once: give each column a name of its own"
        )
    if len(asked) != count:
        raise TableError(
            f"input_features should have length equal to number of features ({count}), got {len(asked)}"
        )


def refuse_further(estimator: str, given: Mapping[str, Any], known: Sequence[str] = ()) -> None:
    """Refuse what `fit` was given and would not heed.

    Parameters
    ----------
    estimator : str
        Its name, for the message.
    given : mapping
        Further arguments by name; None stands for nothing given.
    known : sequence of str
        Names that would have been right.

    Raises
    ------
    OptionError
        If there is any.

    Examples
    --------
    >>> refuse_further("SymbolicScreener", {"weights": [1.0]}, ["sample_weight", "groups"])
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: fit of SymbolicScreener takes no 'weights'; did you mean 'sample_weight'?
    """
    for name, value in given.items():
        if value is not None and name == "sample_weight" and name not in known:
            raise OptionError(
                f"{estimator} takes no sample_weight: its search, choice and intervals count each row once; "
                "leave it out, or put SymbolicScreener and a linear model that take it into a pipeline"
            )
        if value is not None:
            raise OptionError(f"fit of {estimator} takes no {name!r}{nearest(name, known)}")


def weights_of_rows(given: Any, X: Any) -> NDArray[np.float64] | None:  # noqa: N803  # scikit-learn's name
    """Check weights as scikit-learn does.

    Parameters
    ----------
    given : array-like of shape (n,), number, or None
        Finite, not negative; a number is the weight of every row.
    X : array or data frame of shape (n, d)
        Whose rows they are of.

    Returns
    -------
    float64 array, shape (n,), or None

    Raises
    ------
    ValueError
        As of scikit-learn, if they are not finite numbers, or are not as many as rows.
    TableError
        If they are no line of numbers, one is negative, or all are zero.

    Examples
    --------
    >>> weights_of_rows([1, 2], [[0.0], [1.0]]).tolist()
    [1.0, 2.0]
    """
    if given is None:
        return None
    weights = check_array(
        given, ensure_2d=False, dtype="float64", ensure_min_samples=0, input_name="sample_weight"
    )
    if weights.ndim == 0:
        weights = np.full(_num_samples(X), weights)
    check_consistent_length(X, weights)
    if weights.ndim != 1:
        raise TableError(f"sample_weight has shape {weights.shape}: one number for each row is needed")
    if (weights < 0.0).any():
        row = int(np.flatnonzero(weights < 0.0)[0])
        raise TableError(f"sample_weight is {weights[row]:g} in row {row}: give numbers of at least 0")
    if not weights.any():
        raise TableError("sample_weight is zero in every row: no row is left")
    return np.asarray(weights)
